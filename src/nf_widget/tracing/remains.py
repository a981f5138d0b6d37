"""What is left of the forward of the metadata pass, so that the capture pass need not make it again."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import torch
from torch import Tensor, nn

from ..nested import leaves
from ..records import CallId, TensorSpec
from ..running import children, is_wrapped, own_parameters

# Nothing is copied before so few of the modules with parameters are left to be called.
_LATE = 1 / 3
# Of all that the model's children gave out, so much may be copied.
_SHARE = 1 / 8
# With so few of these modules left the forward is about to end, and so many times as much as the largest may be copied.
_FEW, _MORE = 2, 2
# Bytes that are copied at most.
_LIMIT = 1 << 27


class Last:
    """Copies of what the model's own children gave out last. Stages lie among them in many a model, and a pass that
    need not reach the last ones is shorter.

    They take memory: a share of what all gave out, and more where the forward is about to end, and needs less itself
    than it did.
    """

    def __init__(self, modules: Sequence[tuple[str, nn.Module]]) -> None:
        """`modules` are (path, module) of all, the model first."""
        self._around = _wrappers(modules[0][1])
        self._waiting = {path for path, module in modules if own_parameters(module)}
        self._late = max(_FEW, int(len(self._waiting) * _LATE))
        self._held: deque[tuple[CallId, Tensor, int]] = deque()
        self._sizes: dict[int, int] = {}
        self._seen = self._size = self._largest = 0

    def began(self, path: str) -> None:
        """The module at this path is called."""
        self._waiting.discard(path)

    def is_child_of(self, path: str) -> bool:
        """Whether calls inside of the module at this path are the model's own children."""
        return path in self._around

    def add(self, call: CallId, spec: TensorSpec, output: Tensor) -> None:
        """`spec` is that of the output."""
        size, before = self._sizes.get(id(spec)) or self._size_of(spec), self._largest
        self._seen, self._largest = self._seen + size, max(before, size)
        if len(self._waiting) > self._late:
            return
        # What is larger than all before it is likely to be the model's own output, which is held anyway.
        room = min(self._seen * _SHARE + (_MORE * before if len(self._waiting) <= _FEW else 0), _LIMIT)
        if size <= room:
            with torch._C.DisableTorchFunction(), torch.no_grad():
                if _is_ordinary(output):
                    self._held.append((call, output.clone(), size))
                    self._size += size
        while self._held and self._size > room:
            self._size -= self._held.popleft()[2]

    def _size_of(self, spec: TensorSpec) -> int:
        """In bytes. A spec stands for many tensors, and lives as long as the pass."""
        size: int = math.prod(spec.shape) * getattr(torch, spec.dtype).itemsize
        self._sizes[id(spec)] = size
        return size

    def take(self) -> dict[CallId, Tensor]:
        held, self._held = self._held, deque()
        return {call: tensor for call, tensor, _ in held}


Left: TypeAlias = "tuple[dict[str, Tensor], dict[CallId, Tensor]]"


class Remains:
    """Held until they are taken. Of the `result` only what is sure to stay as it is: ordinary tensors in the CPU's
    memory, of which none is written to. Elsewhere little time is saved, and how much could not be told without waiting
    for the device.

    `is_private`: a tensor's memory is no part of the model's state, which is put back after the forward, and nobody can
    write to it unseen; `private` are the paths of such leaves. `progress`, by call: how much of the forward's time had
    passed when it ended, 0 to 1.
    """

    def __init__(
        self,
        result: Any,
        last: dict[CallId, Tensor],
        is_private: Callable[[Tensor], bool],
        progress: Sequence[float],
    ) -> None:
        self.progress = progress
        self._last = last
        with torch._C.DisableTorchFunction():
            found = leaves(result)
            self.private = frozenset(path for path, tensor in found if is_private(tensor))
            lasting = all(_is_ordinary(tensor) and path in self.private for path, tensor in found)
            # Detached: not with what gradients would need.
            self._result = [(path, tensor.detach(), tensor._version) for path, tensor in found if lasting]

    def take(self) -> Left:
        """The leaves of what the model gave out, by their paths, all or none; and what calls gave out. Nothing the
        second time."""
        result, last = self._result, self._last
        self._result, self._last = [], {}
        if any(tensor._version != version for _, tensor, version in result):
            result = []
        return {path: tensor for path, tensor, _ in result}, last


def _wrappers(model: nn.Module) -> set[str]:
    """The path of the model, and of what it, or another wrapper, has as its only child."""
    paths, path, inside, seen = {""}, "", children(model), {id(model)}
    while len(inside) == 1 and id(inside[0][1]) not in seen:
        name, module = inside[0]
        path = f"{path}.{name}" if path else name
        paths.add(path)
        seen.add(id(module))
        inside = children(module)
    return paths


def _is_ordinary(value: Any) -> bool:
    if type(value) is not Tensor or value.layout != torch.strided or value.device.type != "cpu":
        return False
    return not (value.is_nested or value.is_quantized or value.is_inference() or is_wrapped(value))

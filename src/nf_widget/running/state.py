"""What a forward may change in a model, and how it is put back.

Parameters are not copied: they are watched through their version counters, and a pass that sees a write to one
coming asks for a copy first (`ModelState.keep`). Buffers and plain tensor attributes are cloned, up to a bound.
Attributes and the containers that they hold are copied shallowly.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedTensorMixin

_CONTAINERS: tuple[type, ...] = (list, dict, set, OrderedDict, defaultdict, deque)
_OPAQUE = (
    str, bytes, int, float, complex, bool, type(None), type, ModuleType, FunctionType, BuiltinFunctionType, MethodType,
    Tensor, nn.Module, torch.dtype, torch.device, torch.Size, np.ndarray, np.generic,
)  # fmt: skip
_SCAN = 10_000
_OBJECTS = 20_000
_CLONE_BYTES = 256 * 2**20
# Objects inside objects are followed this deep: a cache and its layers, but not a whole trainer.
_DEPTH = 3


class ModelState:
    """A snapshot of `model`, taken when made. `restore()` puts everything back and names what it could not."""

    def __init__(self, model: nn.Module) -> None:
        self._undo: list[Callable[[], None]] = []
        self._seen: set[int] = set()
        self._generators: list[tuple[torch.Generator, Tensor]] = []
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._tensors: dict[int, tuple[str, Tensor]] = {}
        self._clones: dict[int, Tensor] = {}
        self._kept: dict[int, tuple[Tensor, Tensor]] = {}
        self._parameters = [
            (name, p, _version(p), p.requires_grad, p.grad, None if p.grad is None else _version(p.grad))
            for name, p in model.named_parameters()
        ]
        for name, module in model.named_modules():
            self._look_into_module(name, module)
        parameters = {id(p) for _, p, *_ in self._parameters}
        self._versions = {key: _version(t) for key, (_, t) in self._tensors.items() if key not in parameters}
        self._clone_tensors()

    def keep(self, tensor: Tensor) -> None:
        """Remember this tensor's storage and values: it is about to be written to."""
        if id(tensor) not in self._kept and id(tensor) not in self._clones and not tensor.is_meta:
            with torch.no_grad(), torch._C.DisableTorchFunction():
                self._kept[id(tensor)] = (tensor, tensor.detach().clone())

    def tensors(self) -> list[Tensor]:
        """Parameters, buffers, and the tensors held by attributes and their containers."""
        return [p for _, p, *_ in self._parameters] + [tensor for _, tensor in self._tensors.values()]

    def written(self) -> tuple[str, ...]:
        """Names of the parameters that a pass wrote to."""
        return tuple(name for name, p, version, *_ in self._parameters if _version(p) != version)

    def restore(self) -> tuple[str, ...]:
        """Put everything back. Returns the names of what could not be."""
        lost = [name for name, p, version, *_ in self._parameters if _version(p) != version and id(p) not in self._kept]
        lost += [
            name
            for key, (name, t) in self._tensors.items()
            if key in self._versions and _version(t) != self._versions[key] and key not in self._clones
        ]
        with torch.no_grad(), torch._C.DisableTorchFunction():
            self._restore_tensors()
        for live, saved in self._attributes:
            if len(live) != len(saved) or any(live.get(key, saved) is not value for key, value in saved.items()):
                live.clear()
                live.update(saved)
        for live, saved in self._containers:
            _restore_container(live, saved)
        for generator, state in self._generators:
            generator.set_state(state)
        for _, parameter, _, requires_grad, grad, _ in self._parameters:
            if parameter.requires_grad != requires_grad:
                parameter.requires_grad_(requires_grad)
            if parameter.grad is not grad:
                parameter.grad = grad
        return tuple(lost)

    def _restore_tensors(self) -> None:
        for tensor, kept in self._kept.values():
            if tensor.data_ptr() != kept.data_ptr() and tensor.shape == kept.shape:
                tensor.copy_(kept)
            else:
                tensor.data = kept
        for key, clone in self._clones.items():
            name, tensor = self._tensors[key]
            version = self._versions[key]
            if version is None or _version(tensor) != version:
                if tensor.shape != clone.shape:
                    tensor.resize_(clone.shape)
                _inference_safe_copy(tensor, clone)

    def _look_into_module(self, name: str, module: nn.Module) -> None:
        prefix = f"{name}." if name else ""
        if isinstance(module, torch.jit.ScriptModule):
            for key, buffer in module.named_buffers(recurse=False):
                self._tensors[id(buffer)] = (prefix + key, buffer)
            return
        attributes = module.__dict__
        self._attributes.append((attributes, dict(attributes)))
        for key, value in attributes.items():
            if key != "_parameters":
                self._look_at(value, prefix + key.removeprefix("_"))
            elif value:
                self._containers.append((value, dict(value)))

    def _look_at(self, value: Any, name: str, depth: int = 0) -> None:
        kind = type(value)
        if kind in _CONTAINERS:
            self._look_into_container(value, name, depth)
        elif isinstance(value, Tensor):
            self._tensors.setdefault(id(value), (name, value))
        elif kind is tuple:
            for index, item in enumerate(value[:_SCAN]):
                self._look_at(item, f"{name}.{index}", depth)
        elif isinstance(value, torch.Generator):
            self._generators.append((value, value.get_state()))
        elif depth < _DEPTH and not isinstance(value, _OPAQUE) and self._is_new(value):
            attributes = getattr(value, "__dict__", None)
            if type(attributes) is dict:
                self._attributes.append((attributes, dict(attributes)))
                for key, item in attributes.items():
                    self._look_at(item, f"{name}.{key}", depth + 1)

    def _look_into_container(self, value: Any, name: str, depth: int) -> None:
        if not self._is_new(value):
            return
        self._containers.append((value, value.copy()))
        if not value or len(value) > _SCAN:
            return
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in items:
            if type(item) not in (int, float, str, bool):
                self._look_at(item, f"{name}.{key}", depth)

    def _is_new(self, value: Any) -> bool:
        if id(value) in self._seen or len(self._seen) > _OBJECTS:
            return False
        self._seen.add(id(value))
        return True

    def _clone_tensors(self) -> None:
        room = _CLONE_BYTES
        with torch.no_grad(), torch._C.DisableTorchFunction():
            for key, (_, tensor) in self._tensors.items():
                if key not in self._versions or tensor.is_meta or isinstance(tensor, UninitializedTensorMixin):
                    continue
                size = tensor.element_size() * tensor.numel() if tensor.layout == torch.strided else 0
                if size <= room:
                    room -= size
                    self._clones[key] = tensor.detach().clone()


def _version(tensor: Tensor) -> int | None:
    """None where torch keeps no count (inference tensors)."""
    with torch._C.DisableTorchFunction():
        return None if tensor.is_inference() else tensor._version


def _inference_safe_copy(tensor: Tensor, clone: Tensor) -> None:
    if tensor.is_inference():
        with torch.inference_mode():
            if not torch.equal(tensor, clone):
                tensor.copy_(clone)
    else:
        tensor.copy_(clone)


def _restore_container(live: Any, saved: Any) -> None:
    if isinstance(live, dict):
        same = len(live) == len(saved) and all(
            a is b and live[a] is saved[b] for a, b in zip(live, saved, strict=True)
        )
    elif isinstance(live, set):
        same = live == saved
    else:
        same = len(live) == len(saved) and all(a is b for a, b in zip(live, saved, strict=True))
    if same:
        return
    live.clear()
    if isinstance(live, (dict, set)):
        live.update(saved)
    else:
        live.extend(saved)

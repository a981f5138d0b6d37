"""What a module is, in few words: class, parameters, and the settings that a reader asks for first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedParameter

from ..running import children, own_parameters


class Describer:
    """(class name, parameter count with everything inside, detail such as `"3×3 /2"`) for the modules of a model."""

    def __init__(self, modules: Sequence[tuple[str, nn.Module]]) -> None:
        self._counts = _counts([module for _, module in modules])
        self._known: dict[str, tuple[str, int, str]] = {}

    def __call__(self, path: str, module: nn.Module) -> tuple[str, int, str]:
        known = self._known.get(path)
        if known is None:
            count = self._counts.get(id(module))
            count = parameter_count(module) if count is None else count
            known = self._known[path] = (type_name(module), count, _detail(module))
        return known


def type_name(module: nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return str(getattr(module, "original_name", "ScriptModule"))
    return type(module).__name__


def parameter_count(module: nn.Module) -> int:
    """Elements of all parameters, each counted once; packed (quantised) weights where they can be unpacked."""
    count = sum(p.numel() for p in module.parameters() if not isinstance(p, UninitializedParameter))
    return count + sum(_packed(part) for part in module.modules())


def _counts(modules: Sequence[nn.Module]) -> dict[int, int]:
    """Parameter counts of all modules by their `id`, added up from the leaves. What several modules hold is counted
    once in each module around it. Empty where a module is inside itself."""
    links = Counter([id(child) for module in modules for _, child in children(module)])
    links += Counter([id(p) for module in modules for _, p in own_parameters(module)])
    links[id(modules[0])] += 1  # so that a link to it from inside counts as a second one
    # Of each module and parameter: what it alone holds, and the shared ones inside.
    alone: dict[int, int] = {}
    shared: dict[int, set[int]] = {}
    for module in reversed(modules):
        count, inside = _packed(module), set[int]()
        for _, parameter in own_parameters(module):
            key, size = id(parameter), 0 if isinstance(parameter, UninitializedParameter) else parameter.numel()
            if links[key] == 1:
                count += size
            else:
                alone[key] = size
                inside.add(key)
        for _, child in children(module):
            key = id(child)
            if links[key] == 1:
                count += alone.get(key, 0)
                inside |= shared.get(key, set())
            else:
                inside.add(key)
        alone[id(module)] = count
        if inside:
            shared[id(module)] = inside
    if any(key in inside for key, inside in shared.items()):
        return {}
    return {id(module): _with_shared(id(module), alone, shared) for module in modules}


def _with_shared(key: int, alone: dict[int, int], shared: dict[int, set[int]]) -> int:
    if key not in shared:
        return alone[key]
    found, left = {key}, [key]
    while left:
        new = shared.get(left.pop(), set()) - found
        found |= new
        left += new
    return sum(alone.get(each, 0) for each in found)


def _packed(module: nn.Module) -> int:
    kind: Any = type(module)
    unpack = _unpacking(kind)
    unpacked: Any = None if unpack is None else unpack(module)
    return unpacked.numel() if isinstance(unpacked, Tensor) else 0


@cache
def _unpacking(kind: Any) -> Any:
    """The method that gives a packed weight, where modules of this class have one."""
    method = getattr(kind, "weight", None)
    return method if callable(method) else None


def _detail(module: nn.Module) -> str:
    # Asking a module for what it lacks takes long.
    own = vars(module)
    kernel = own.get("kernel_size")
    if kernel is not None:
        return _join("×".join(map(str, _pair(kernel))), _stride(own.get("stride")))
    given, made = own.get("in_features"), own.get("out_features")
    if isinstance(given, int) and isinstance(made, int):
        return f"{given} → {made}"
    heads = own.get("num_heads")
    return f"{heads} heads" if isinstance(heads, int) else ""


def _stride(stride: Any) -> str:
    if stride is None:
        return ""
    steps = set(_pair(stride))
    return "" if steps == {1} else "/" + "×".join(map(str, _pair(stride) if len(steps) > 1 else steps))


def _pair(value: Any) -> tuple[Any, ...]:
    if isinstance(value, (tuple, list)):
        return tuple(value)
    return (value, value)


def _join(*parts: str) -> str:
    return " ".join(part for part in parts if part)

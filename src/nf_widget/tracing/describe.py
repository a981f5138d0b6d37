"""What a module is, in few words: class, parameters, and the settings that a reader asks for first."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.parameter import UninitializedTensorMixin


def describe(module: nn.Module) -> tuple[str, int, str]:
    """(class name, parameter count with everything inside, detail such as `"3×3 /2"`)."""
    return type_name(module), parameter_count(module), _detail(module)


def type_name(module: nn.Module) -> str:
    if isinstance(module, torch.jit.ScriptModule):
        return str(getattr(module, "original_name", "ScriptModule"))
    return type(module).__name__


def parameter_count(module: nn.Module) -> int:
    """Elements of all parameters; packed (quantised) weights are counted where they can be unpacked."""
    count = sum(p.numel() for p in module.parameters() if not isinstance(p, UninitializedTensorMixin))
    for part in module.modules():
        weight = getattr(part, "weight", None)
        if callable(weight) and not isinstance(weight, nn.Module):
            packed: Any = weight()
            count += packed.numel() if isinstance(packed, Tensor) else 0
    return count


def _detail(module: nn.Module) -> str:
    kernel = getattr(module, "kernel_size", None)
    if kernel is not None:
        return _join("×".join(map(str, _pair(kernel))), _stride(module))
    features = (getattr(module, "in_features", None), getattr(module, "out_features", None))
    if all(isinstance(n, int) for n in features):
        return f"{features[0]} → {features[1]}"
    heads = getattr(module, "num_heads", None)
    return f"{heads} heads" if isinstance(heads, int) else ""


def _stride(module: nn.Module) -> str:
    stride = getattr(module, "stride", None)
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

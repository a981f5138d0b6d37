"""`untouched`: everything that a pass must leave as it was, written down before and compared after."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.modules import module as global_hooks
from torch.nn.parameter import UninitializedTensorMixin
from torch.utils import _python_dispatch

_GLOBAL_HOOKS = [name for name in vars(global_hooks) if name.startswith("_global_") and "hook" in name]

Facts = dict[str, Any]


@pytest.fixture
def untouched() -> Callable[..., AbstractContextManager[None]]:
    """`with untouched(model, args, kwargs): ...` fails if anything is not as before, also when the body raises.

    Compared: parameters, buffers, attributes (with the containers that they hold), flags and hooks of every module,
    global hooks and modes, random generators, grad mode and kin, and the arguments down to their tensors.
    """

    @contextmanager
    def compare(
        model: nn.Module, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Iterator[None]:
        kept = [model, args, kwargs]  # ids below stay taken
        before = _facts(model, args, kwargs or {})
        try:
            yield
        finally:
            after = _facts(model, args, kwargs or {})
            changed = [name for name in before | after if not _equal(before.get(name), after.get(name))]
            assert not changed, f"not as before: {', '.join(sorted(changed))} (of {type(kept[0]).__name__})"

    return compare


def _facts(model: nn.Module, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Facts:
    facts: Facts = {}
    for name, module in model.named_modules(remove_duplicate=False):
        facts[f"training of {name!r}"] = module.training
        if not isinstance(module, torch.jit.ScriptModule):
            facts |= {f"{name!r}.{key}": _deep(value) for key, value in module.__dict__.items()}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        facts[f"parameter {name}"] = _tensor(parameter)
    for name, buffer in model.named_buffers(remove_duplicate=False):
        facts[f"buffer {name}"] = _tensor(buffer)
    facts |= {f"args.{i}": _deep(arg, versions=True) for i, arg in enumerate(args)}
    facts |= {f"kwargs.{key}": _deep(value, versions=True) for key, value in kwargs.items()}
    facts["keywords"] = list(kwargs)
    return facts | _process()


def _process() -> Facts:
    facts: Facts = {name: list(getattr(global_hooks, name).items()) for name in _GLOBAL_HOOKS if _is_dict(name)}
    facts |= {
        "torch generator": torch.get_rng_state(),
        "python generator": random.getstate(),
        "numpy generator": np.random.get_state(),
        "function modes": torch._C._len_torch_function_stack(),
        "dispatch modes": len(_python_dispatch._get_current_dispatch_mode_stack()),
        "grad mode": torch.is_grad_enabled(),
        "inference mode": torch.is_inference_mode_enabled(),
        "autocast": (
            torch.is_autocast_enabled("cpu"),
            torch.get_autocast_dtype("cpu"),
            torch.is_autocast_cache_enabled(),
        ),
        "default dtype": torch.get_default_dtype(),
        "default device": torch.get_default_device(),
        "deterministic": (
            torch.are_deterministic_algorithms_enabled(),
            torch.is_deterministic_algorithms_warn_only_enabled(),
        ),
        "recursion limit": sys.getrecursionlimit(),
        "threads": torch.get_num_threads(),
    }
    return facts


def _is_dict(name: str) -> bool:
    return isinstance(getattr(global_hooks, name), dict)


def _deep(value: Any, *, versions: bool = False, above: tuple[int, ...] = ()) -> Any:
    """Identity of the object, and for containers and tensors what is in them."""
    if isinstance(value, Tensor):
        return _tensor(value, versions=versions)
    if id(value) in above or isinstance(value, nn.Module):
        return id(value)
    above = (*above, id(value))
    if isinstance(value, Mapping):
        return id(value), [(_key(key), _deep(item, versions=versions, above=above)) for key, item in value.items()]
    if isinstance(value, (list, tuple)):
        return id(value), [_deep(item, versions=versions, above=above) for item in value]
    if isinstance(value, (set, frozenset)):
        return id(value), sorted(map(repr, value))
    if isinstance(value, (bool, int, float, str, bytes, type(None))):
        return value
    inner = getattr(value, "__dict__", None)
    if type(inner) is dict and not isinstance(value, type) and not callable(value) and len(above) < 8:
        return id(value), {key: _deep(item, versions=versions, above=above) for key, item in inner.items()}
    return id(value)


def _key(key: Any) -> Any:
    return key if isinstance(key, (str, int)) else id(key)


def _tensor(tensor: Tensor, *, versions: bool = False) -> Any:
    with torch._C.DisableTorchFunction(), torch.no_grad():
        grad = tensor.grad if tensor.is_leaf else None
        return (
            id(tensor),
            type(tensor),
            tensor.requires_grad,
            None if grad is None else (id(grad), grad.clone()),
            dict(tensor.__dict__) if type(tensor) is not Tensor else sorted(tensor.__dict__),
            len(tensor._backward_hooks or {}),
            tensor._version if versions and not tensor.is_inference() else None,
            _values(tensor),
        )


def _values(tensor: Tensor) -> Any:
    if isinstance(tensor, UninitializedTensorMixin):
        return "not initialised"
    if tensor.is_meta:
        return tuple(tensor.shape)
    if tensor.is_nested:
        return [part.clone() for part in tensor.unbind()]
    if tensor.layout != torch.strided:
        return tensor.to_dense()
    if tensor.is_quantized:
        return tensor.int_repr()
    return tensor.detach().clone()


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, Tensor) and isinstance(b, Tensor):
        if a.dtype != b.dtype or a.shape != b.shape:
            return False
        with torch._C.DisableTorchFunction():
            equal = a == b
            if a.is_floating_point() or a.is_complex():
                equal |= a.isnan() & b.isnan()
            return bool(equal.all())
    if isinstance(a, np.ndarray):
        return isinstance(b, np.ndarray) and np.array_equal(a, b)
    if isinstance(a, (list, tuple)):
        return type(a) is type(b) and len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, dict):
        return isinstance(b, dict) and list(a) == list(b) and all(_equal(a[key], b[key]) for key in a)
    return bool(a == b)

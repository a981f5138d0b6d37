"""Tensors in nested containers: find them, name their paths, put others in their place."""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Callable, Mapping
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, TypeAlias, TypeVar

import numpy as np
import torch
from torch import Tensor

# What a model takes and gives is anything at all; this name says so where it is meant.
Nested: TypeAlias = Any
_T = TypeVar("_T")
Kinds: TypeAlias = "type[_T] | tuple[type[_T], ...]"
Steps: TypeAlias = Callable[[Nested], "list[tuple[str, Nested]]"]

_ATOMS = (str, bytes, int, float, complex, bool, type(None), type, ModuleType, np.ndarray, torch.nn.Module)
# Known at a glance; `isinstance` with a tensor's class is slow to say no.
_PLAIN = frozenset(
    (str, bytes, int, float, complex, bool, type(None), np.ndarray, torch.dtype, torch.device, torch.Size)
)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, MethodType, functools.partial)
_MAX_DEPTH = 64


def leaves(value: Nested) -> list[tuple[str, Tensor]]:
    """(path, tensor) for every tensor in containers: sequences, mappings, sets, dataclasses.

    Paths join keys, field names and indices with dots; the path of a bare tensor is `""`.
    """
    return leaves_of(Tensor, value)


def reachable(value: Nested) -> list[tuple[str, Tensor]]:
    """Like `leaves`, and through the attributes of other Python objects too (caches, graph batches)."""
    return reachable_of(Tensor, value)


def leaves_of(kinds: Kinds[_T], value: Nested) -> list[tuple[str, _T]]:
    """`leaves`, for anything that is one of `kinds`, such as what stands for a tensor."""
    found: list[tuple[str, _T]] = []
    _collect(kinds, value, "", steps=_container_steps, above=(), found=found)
    return found


def reachable_of(kinds: Kinds[_T], value: Nested) -> list[tuple[str, _T]]:
    """`reachable`, for anything that is one of `kinds`."""
    found: list[tuple[str, _T]] = []
    _collect(kinds, value, "", steps=_object_steps, above=(), found=found)
    return found


def containers_and_rest(value: Nested) -> tuple[list[tuple[str, Tensor]], list[Nested]]:
    """`leaves(value)`, and the objects that are no containers, whose attributes may hold tensors."""
    found: list[tuple[str, Tensor]] = []
    rest: list[Nested] = []
    _collect(Tensor, value, "", steps=_container_steps, above=(), found=found, rest=rest)
    return found, rest


def given(args: tuple[Nested, ...], kwargs: Mapping[str, Nested]) -> Nested:
    """The arguments of one call as one container whose paths read well: a single argument stands for itself."""
    if len(args) == 1 and not kwargs:
        return args[0]
    return {**{str(i): arg for i, arg in enumerate(args)}, **kwargs}


def replace(value: Nested, swap: Callable[[Tensor], Tensor]) -> Nested:
    """`value` with each tensor `t` in a container replaced by `swap(t)`; containers are rebuilt, not changed.

    A container in which nothing changes is returned as it is.
    """
    return replace_of(Tensor, value, swap)


def replace_of(kinds: Kinds[_T], value: Nested, swap: Callable[[_T], Any]) -> Nested:
    """`replace`, for anything that is one of `kinds`."""
    kind = type(value)
    if kind in _PLAIN:
        return value
    if isinstance(value, kinds):
        return swap(value)
    items = list(value) if kind is tuple or kind is list else [item for _, item in _container_steps(value)]
    if not items:
        return value
    swapped = [replace_of(kinds, item, swap) for item in items]
    if all(new is old for new, old in zip(swapped, items, strict=True)):
        return value
    return _rebuilt(value, swapped)


def working_copy(value: Nested, memo: dict[int, Nested]) -> Nested:
    """A copy that a forward may write to: new containers, and for tensors what `memo` holds under their `id`.

    Objects that are no containers are deep-copied with the same memo; what cannot be copied is passed on.
    """
    if id(value) in memo:
        return memo[id(value)]
    if isinstance(value, _ATOMS) or (callable(value) and not _holds(value, memo)):
        return value
    steps = _container_steps(value)
    if steps or isinstance(value, (list, tuple, dict, set, frozenset)):
        return _rebuilt(value, [working_copy(item, memo) for _, item in steps])
    try:
        return copy.deepcopy(value, memo)
    except Exception:  # noqa: BLE001 - an object of any class may refuse, each with an error of its own
        return value


def attributes(value: Nested) -> dict[str, Nested]:
    """Those of an object that is no container and no function, class or module."""
    if isinstance(value, (*_ATOMS, *_FUNCTIONS, Tensor)):
        return {}
    return dict(getattr(value, "__dict__", None) or {})


def _holds(value: Nested, memo: dict[int, Nested]) -> bool:
    """Whether an attribute of a callable object holds one of these: graph batches can be called, as functions can."""
    return any(id(tensor) in memo for _, tensor in reachable(attributes(value)))


def _collect(
    kinds: Kinds[_T],
    value: Nested,
    path: str,
    *,
    steps: Steps,
    above: tuple[int, ...],
    found: list[tuple[str, _T]],
    rest: list[Nested] | None = None,
) -> None:
    kind = type(value)
    if kind in _PLAIN:
        return
    if isinstance(value, kinds):
        found.append((path, value))
        return
    if isinstance(value, _ATOMS) or id(value) in above or len(above) > _MAX_DEPTH:
        return
    above = (*above, id(value))
    prefix = f"{path}." if path else ""
    items = enumerate(value) if kind is tuple or kind is list else steps(value)
    if not items and rest is not None and getattr(value, "__dict__", None):
        rest.append(value)
    for name, item in items:
        if type(item) in _PLAIN:
            continue
        if isinstance(item, kinds):
            found.append((f"{prefix}{name}", item))
        else:
            _collect(kinds, item, f"{prefix}{name}", steps=steps, above=above, found=found, rest=rest)


def _container_steps(value: Nested) -> list[tuple[str, Nested]]:
    if isinstance(value, Mapping):
        return [(str(key), value[key]) for key in value]
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return list(zip(value._fields, value, strict=True))
    if isinstance(value, (list, tuple)):
        return [(str(index), item) for index, item in enumerate(value)]
    if isinstance(value, (set, frozenset)):
        return [(str(index), item) for index, item in enumerate(value)]
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    return []


def _fields(value: Nested) -> list[tuple[str, Nested]]:
    """Those that can be read: a class may compute one when it is asked for, and raise anything."""
    found: list[tuple[str, Nested]] = []
    for field in dataclasses.fields(value):
        try:
            found.append((field.name, getattr(value, field.name)))
        except Exception:  # noqa: BLE001, S112 - what cannot be read holds no tensor that anybody could see
            continue
    return found


def _object_steps(value: Nested) -> list[tuple[str, Nested]]:
    steps = _container_steps(value)
    if steps or callable(value):
        return steps
    return [(str(key), item) for key, item in getattr(value, "__dict__", {}).items()]


def _rebuilt(value: Nested, items: list[Nested]) -> Nested:
    if isinstance(value, Mapping):
        return _rebuilt_mapping(value, items)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*items)
    if isinstance(value, list):
        new = copy.copy(value)
        new[:] = items
        return new
    if isinstance(value, (tuple, set, frozenset)):
        return type(value)(items)
    new = copy.copy(value)
    for (name, _), item in zip(_fields(value), items, strict=True):
        object.__setattr__(new, name, item)
    return new


def _rebuilt_mapping(value: Mapping[Any, Nested], items: list[Nested]) -> Nested:
    keys = list(value)
    new = copy.copy(value)
    if new is value or not hasattr(new, "__setitem__"):
        return dict(zip(keys, items, strict=True))
    if getattr(new, "data", None) is getattr(value, "data", new) and hasattr(value, "data"):
        # UserDict's kin (BatchEncoding): a shallow copy still shares the dictionary inside.
        object.__setattr__(new, "data", dict(value.data))
    for key, item in zip(keys, items, strict=True):
        new[key] = item
    return new

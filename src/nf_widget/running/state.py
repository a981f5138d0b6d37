"""What a forward may change in a model, and how it is put back.

Parameters are not copied: they are watched through their version counters, and a pass that sees a write to one
coming asks for a copy first (`ModelState.keep`). Buffers and plain tensor attributes are cloned, up to a bound.
Attributes and the containers that they hold are copied shallowly.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Iterable
from itertools import islice
from operator import is_
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any
from weakref import ProxyTypes

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.lazy import LazyModuleMixin
from torch.nn.parameter import UninitializedBuffer, UninitializedParameter

from .copies import Copies, is_equal, is_in
from .outside import Undo, undo_of

LAZY = (UninitializedParameter, UninitializedBuffer)
_READY: frozenset[type] = frozenset((Tensor, nn.Parameter))
_CONTAINERS: frozenset[type] = frozenset((list, dict, set, OrderedDict, defaultdict, deque))
_PLAIN: frozenset[type] = frozenset(
    (bool, int, float, complex, str, bytes, type(None), type, FunctionType, MethodType, torch.dtype)
)
_OPAQUE: tuple[type, ...] = (
    *_PLAIN, ModuleType, BuiltinFunctionType, Tensor, nn.Module, torch.device, torch.Size, np.ndarray, np.generic,
)  # fmt: skip
# What torch gives to every module, in this order: hooks and the like, mostly empty, and what it holds.
_FIRST = tuple(nn.Module().__dict__)
_HELD = ("_parameters", "_buffers", "_modules")
_TABLES = tuple(key for key in _FIRST if key not in _HELD and type(nn.Module().__dict__[key]) in _CONTAINERS)
_SCAN = 10_000
_OBJECTS = 20_000
_CLONE_BYTES = 256 * 2**20
# Objects inside objects are followed this deep: a cache and its layers, but not a whole trainer.
_DEPTH = 3


class ModelState:
    """A snapshot of `model`, taken when made. `restore()` puts everything back and names what it could not.

    `modules` are (path, module), each module once, as in `named_modules()`. With `grads`, gradients are cloned too,
    since a forward that runs a backward adds to them in place.
    """

    def __init__(self, model: nn.Module, *, grads: bool = False) -> None:
        self.modules = named_modules(model)
        self._seen: set[int] = set()
        self._undo: list[Undo] = []
        self._attributes: list[tuple[dict[str, Any], dict[str, Any]]] = []
        self._containers: list[tuple[Any, Any]] = []
        self._empty: list[Any] = []
        self._without_tables: list[dict[str, Any]] = []
        self._tensors: dict[int, tuple[str, Tensor]] = {}
        self._kept: dict[int, tuple[Tensor, Tensor, Tensor]] = {}
        self._parameters: dict[int, _Parameter] = {}
        with torch.no_grad(), torch._C.DisableTorchFunction():
            for name, module in self.modules:
                self._look_into_module(name, module, grads=grads)
            self._versions = {
                key: version_of(tensor) for key, (_, tensor) in self._tensors.items() if key not in self._parameters
            }
            copied = {key: self._tensors[key][1] for key in self._versions}
            self._copies = Copies({k: t for k, t in copied.items() if not t.is_meta and not _is_lazy(t)}, _CLONE_BYTES)

    def keep(self, tensor: Tensor) -> None:
        """Remember this tensor's memory and its values: they are about to be overwritten, or exchanged."""
        if id(tensor) in self._kept or id(tensor) in self._copies or tensor.is_meta or _is_lazy(tensor):
            return
        with torch.no_grad(), torch._C.DisableTorchFunction():
            self._kept[id(tensor)] = (tensor, tensor.detach(), tensor.detach().clone())

    def keep_named(self, names: Iterable[str]) -> None:
        """`keep`, for the parameters of these names."""
        wanted = set(names)
        for parameter in self._parameters.values() if wanted else ():
            if parameter.name in wanted:
                self.keep(parameter.tensor)

    def parameters(self) -> list[Tensor]:
        return [parameter.tensor for parameter in self._parameters.values()]

    def tensors(self) -> list[Tensor]:
        """Parameters, buffers, and the tensors held by attributes and their containers."""
        return self.parameters() + [tensor for _, tensor in self._tensors.values()]

    def written(self) -> tuple[str, ...]:
        """Names of the parameters that a pass wrote to."""
        with torch._C.DisableTorchFunction():
            return tuple(p.name for p in self._parameters.values() if p.is_written() or id(p.tensor) in self._kept)

    def restore(self) -> tuple[str, ...]:
        """Put everything back. Returns the names of what could not be."""
        with torch.no_grad(), torch._C.DisableTorchFunction():
            lost = [p.name for p in self._parameters.values() if p.is_written() and id(p.tensor) not in self._kept]
            lost += [
                self._tensors[key][0]
                for key, version in self._versions.items()
                if key not in self._copies and version_of(self._tensors[key][1]) != version
            ]
            self._restore_tensors()
        for live, saved in self._attributes:
            if not _holds_the_same(live, saved):
                live.clear()
                live.update(saved)
        for saved in self._without_tables:
            if any(map(saved.get, _TABLES)):
                self._empty += [saved[key] for key in _TABLES]
        for container in self._empty:
            if container:
                container.clear()
        for live, saved in self._containers:
            _restore_container(live, saved)
        for undo in self._undo:
            undo()
        for parameter in self._parameters.values():
            parameter.restore()
        return tuple(lost)

    def _restore_tensors(self) -> None:
        for tensor, memory, values in self._kept.values():
            memory.copy_(values)
            if not is_in(tensor, memory):
                tensor.data = memory
        for key, (memory, values) in self._copies.suspects():
            tensor, version = self._tensors[key][1], self._versions[key]
            if tensor.layout == torch.strided and tensor.data_ptr() != memory.data_ptr():  # `.data` was exchanged
                _put_back(memory, values)
                tensor.data = memory
            elif tensor.shape != values.shape:
                tensor.resize_(values.shape)
                _put_back(tensor, values)
            elif version is None or version_of(tensor) != version or _differs(tensor, values):
                _put_back(tensor, values)

    def _look_into_module(self, name: str, module: nn.Module, *, grads: bool) -> None:
        prefix = f"{name}." if name else ""
        for key, parameter in module._parameters.items():  # noqa: SLF001
            if parameter is not None and id(parameter) not in self._parameters:
                self._parameters[id(parameter)] = _Parameter(prefix + key, parameter, grads=grads)
        if isinstance(module, torch.jit.ScriptModule):
            for key, buffer in module.named_buffers(recurse=False):
                self._tensors[id(buffer)] = (prefix + key, buffer)
            return
        if isinstance(module, LazyModuleMixin) and module.has_uninitialized_params():
            return  # what it learns from its first input is kept
        attributes = module.__dict__
        saved = attributes.copy()
        self._attributes.append((attributes, saved))
        own: Iterable[tuple[str, Any]] = saved.items()
        if tuple(islice(saved, len(_FIRST))) == _FIRST and not any(map(saved.get, _TABLES)):
            self._without_tables.append(saved)
            own = islice(own, len(_FIRST), None)
            own = (*((key, saved[key]) for key in _HELD), *own)
        for key, value in own:
            kind = type(value)
            if kind in _PLAIN or (kind is tuple and _PLAIN.issuperset(map(type, value))):
                continue
            if kind in _CONTAINERS and not value:
                self._empty.append(value)
            elif key in ("_parameters", "_modules"):
                self._containers.append((value, value.copy()))
            else:
                self._look_at(value, prefix + key.removeprefix("_"))

    def _look_at(self, value: Any, name: str, depth: int = 0) -> None:
        kind = type(value)
        if kind in _PLAIN:
            return
        if kind in _CONTAINERS:
            self._look_into_container(value, name, depth)
        elif kind in _READY or isinstance(value, Tensor):
            self._tensors.setdefault(id(value), (name, value))
        elif kind is tuple:
            for index, item in enumerate(value[:_SCAN]):
                self._look_at(item, f"{name}.{index}", depth)
        elif (undo := undo_of(value)) is not None:
            self._undo.append(undo)
        elif depth < _DEPTH and not isinstance(value, _OPAQUE) and self._is_new(value):
            attributes = getattr(value, "__dict__", None)
            if type(attributes) is dict:
                self._attributes.append((attributes, attributes.copy()))
                for key, item in attributes.items():
                    self._look_at(item, f"{name}.{key}", depth + 1)

    def _look_into_container(self, value: Any, name: str, depth: int) -> None:
        if not self._is_new(value):
            return
        if not value:
            self._empty.append(value)
            return
        self._containers.append((value, value.copy()))
        if len(value) > _SCAN:
            return
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            if type(item) not in _PLAIN:
                self._look_at(item, f"{name}.{key}", depth)

    def _is_new(self, value: Any) -> bool:
        if id(value) in self._seen or len(self._seen) > _OBJECTS:
            return False
        self._seen.add(id(value))
        return True


class _Parameter:
    """A parameter as it was. Its values are not copied."""

    __slots__ = ("_grad", "_grad_values", "_lazy", "_requires_grad", "_version", "name", "tensor")

    def __init__(self, name: str, tensor: Tensor, *, grads: bool) -> None:
        self.name = name
        self.tensor = tensor
        self._lazy = _is_lazy(tensor)
        self._version = version_of(tensor)
        self._requires_grad = tensor.requires_grad
        self._grad = tensor.grad
        self._grad_values = self._grad.clone() if grads and self._grad is not None else None

    def is_written(self) -> bool:
        return not self._lazy and version_of(self.tensor) != self._version

    def restore(self) -> None:
        if self.tensor.requires_grad != self._requires_grad:
            self.tensor.requires_grad_(self._requires_grad)
        if self.tensor.grad is not self._grad:
            self.tensor.grad = self._grad
        if self._grad is not None and self._grad_values is not None:
            with torch.no_grad():
                self._grad.copy_(self._grad_values)


def named_modules(model: nn.Module) -> list[tuple[str, nn.Module]]:
    """As `model.named_modules()`, which takes time that grows with the square of the depth."""
    found: list[tuple[str, nn.Module]] = []
    seen: set[int] = set()
    stack: list[tuple[str, nn.Module]] = [("", model)]
    while stack:
        path, module = stack.pop()
        if type(module) in ProxyTypes:  # a link back to what owns it, say: the bound method knows the module itself
            module = module.modules.__self__  # type: ignore[attr-defined]
        if id(module) in seen:
            continue
        seen.add(id(module))
        found.append((path, module))
        prefix = f"{path}." if path else ""
        if module._modules:  # noqa: SLF001
            stack.extend(reversed([(prefix + name, child) for name, child in children(module)]))
    return found


def along(model: nn.Module, path: str) -> list[tuple[str, nn.Module]]:
    """The modules on the way to `path`, with theirs: first the model itself, last the one that is there."""
    way, prefix = [("", model)], ""
    for name in path.split(".") if path else ():
        prefix = f"{prefix}.{name}" if prefix else name
        way.append((prefix, way[-1][1]._modules[name]))  # type: ignore[arg-type]  # noqa: SLF001
    return way


def children(module: nn.Module) -> list[tuple[str, nn.Module]]:
    """Like `module.named_children()`, which leaves out the second name of a module that has two."""
    return [(name, child) for name, child in module._modules.items() if child is not None]  # noqa: SLF001


def own_parameters(module: nn.Module) -> list[tuple[str, nn.Parameter]]:
    """Its own, not those of the modules inside."""
    return [(name, p) for name, p in module._parameters.items() if p is not None]  # noqa: SLF001


def _is_lazy(tensor: Tensor) -> bool:
    # Their classes are slow to say no.
    return type(tensor) not in _READY and isinstance(tensor, LAZY)


def version_of(tensor: Tensor) -> int | None:
    """None where torch keeps no count (inference tensors)."""
    try:
        return tensor._version
    except RuntimeError:
        return None


def _differs(tensor: Tensor, values: Tensor) -> bool:
    """Kernels and writes through `.data` or NumPy leave no new version. Of what has no strides, only that is known."""
    return tensor.layout == torch.strided and not is_equal(tensor, values)


def _put_back(tensor: Tensor, clone: Tensor) -> None:
    """Copy the values. What a forward of the user's has saved of the tensor stays valid if it was so before."""
    if not tensor.is_inference():
        tensor.data.copy_(clone)
    elif not is_equal(tensor, clone):
        with torch.inference_mode():
            tensor.copy_(clone)


def _holds_the_same(live: dict[Any, Any], saved: dict[Any, Any]) -> bool:
    return len(live) == len(saved) and all(map(is_, live.values(), saved.values())) and all(map(is_, live, saved))


def _restore_container(live: Any, saved: Any) -> None:
    if isinstance(live, dict):
        same = _holds_the_same(live, saved)
    elif isinstance(live, set):
        same = live == saved
    else:
        same = len(live) == len(saved) and all(map(is_, live, saved))
    if same:
        return
    live.clear()
    if isinstance(live, (dict, set)):
        live.update(saved)
    else:
        live.extend(saved)

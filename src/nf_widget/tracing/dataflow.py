"""`DataflowTracer`: sees each torch function as it runs and records which ops its result came from."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from ..functions import (
    EXITS,
    FIRST_ONLY,
    LIKE,
    METADATA,
    OVERWRITE,
    PAIRWISE,
    PROPERTIES,
    RETURNS,
    detail_of,
    name_of,
    written_name,
)
from ..nested import reachable
from ..records import OpId
from .book import Book


class DataflowTracer(TorchFunctionMode):
    """Records into `book`. `on_write(tensor)` is told before an op that may write to a tensor from outside the pass."""

    def __init__(self, book: Book, on_write: Callable[[Tensor], None]) -> None:
        super().__init__()
        self._book = book
        self._on_write = on_write

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name: str = getattr(func, "__name__", "")
        if name in METADATA or (name == "__get__" and name_of(func) in PROPERTIES):
            return func(*args, **kwargs)
        if types:
            return self._guarded(func, name, args, kwargs)
        operands = _tensors(args, kwargs)
        versions = self._before(func, name, operands, kwargs)
        result = func(*args, **kwargs)
        self._after(func, name, args, kwargs, operands, versions, result)
        return result

    def _guarded(self, func: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """For tensor subclasses: their own handler sees the call, and none of our bookkeeping."""
        with torch._C.DisableTorchFunctionSubclass():
            operands = _tensors(args, kwargs)
            versions = self._before(func, name, operands, kwargs)
        result = func(*args, **kwargs)
        with torch._C.DisableTorchFunctionSubclass():
            self._after(func, name, args, kwargs, operands, versions, result)
        return result

    def _before(self, func: Any, name: str, operands: list[Tensor], kwargs: dict[str, Any]) -> list[int]:
        may_write = name[-1:] == "_" and (name[-2:] != "__" or name == "__setitem__" or name_of(func) == "data")
        if operands and (may_write or "out" in kwargs or kwargs.get("inplace")):
            for tensor in operands if "out" in kwargs or name.startswith("_foreach") else operands[:1]:
                self._on_write(tensor)
        return [-1 if t.is_inference() else t._version for t in operands]

    def _after(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[Tensor],
        versions: list[int],
        result: Any,
    ) -> None:
        written = [t for t, v in zip(operands, versions, strict=True) if (-1 if t.is_inference() else t._version) != v]
        if operands and not name.startswith("_foreach_"):
            named = _written_by_name(name, operands, kwargs)
            if not written and operands[0].is_inference():
                written = named
            elif len(written) > 1 and named:
                written = _without_neighbours(written, named)
        if name == "__set__" and name_of(func) == "data" and len(args) == 2:
            self._book.provenance.tag(args[0], self._record(func, name, args, kwargs, operands[1:], (args[0],)))
        elif written:
            self._wrote(func, name, args, kwargs, operands, written, result)
        elif isinstance(result, Tensor):
            if not any(result is t for t in operands):
                op = self._record(func, name, args, kwargs, _read(name, operands), (result,))
                self._book.provenance.tag(result, op)
        elif name in EXITS:
            self._book.exit(operands)
        elif isinstance(result, (tuple, list, dict)):
            self._results(func, name, args, kwargs, operands, result)

    def _results(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[Tensor],
        result: Any,
    ) -> None:
        """Several results. A result that is an operand passed on keeps its own history."""
        made = [t for _, t in reachable(result) if not any(t is operand for operand in operands)]
        if not made:
            return
        if (name in PAIRWISE or name.startswith("_foreach_")) and len(operands) % len(made) == 0:
            for index, tensor in enumerate(made):
                read = operands[index :: len(made)]
                self._book.provenance.tag(tensor, self._record(func, name, args, kwargs, read, (tensor,)))
        elif name == "multi_head_attention_forward" and len(made) == 2:
            # The weights come from query and key; only the first result reads the value.
            value = operands[2]
            weights = [t for i, t in enumerate(operands) if i != 2 or any(t is o for o in operands[:2])]
            self._book.provenance.tag(made[0], self._record(func, name, args, kwargs, operands, (made[0],)))
            read = weights if value is not operands[0] else operands
            self._book.provenance.tag(made[1], self._record(func, name, args, kwargs, read, (made[1],)))
        else:
            op = self._record(func, name, args, kwargs, _read(name, operands), tuple(made))
            for tensor in made:
                self._book.provenance.tag(tensor, op)

    def _wrote(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[Tensor],
        written: list[Tensor],
        result: Any,
    ) -> None:
        """In-place ops, `out=`, item assignment, and functions with side effects on an operand."""
        if name.startswith("_foreach_"):
            count = len(written)
            for index, tensor in enumerate(written):
                op = self._record(func, name, args, kwargs, operands[index::count], (tensor,), kind="write")
                self._book.provenance.write(tensor, op, None)
            return
        target = _item(args) if name == "__setitem__" else None
        if "out" in kwargs:
            read = _tensors(args, {key: value for key, value in kwargs.items() if key != "out"})
        elif name in OVERWRITE or target is not None:
            read = operands[1:]
        else:
            read = operands
        op = self._record(func, name, args, kwargs, read, tuple(written), kind="write")
        for tensor in written:
            self._book.provenance.write(tensor, op, target)
        for _, tensor in reachable(result):
            if not any(tensor is w for w in written):
                self._book.provenance.tag(tensor, op)

    def _record(
        self,
        func: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        read: list[Tensor],
        made: tuple[Tensor, ...],
        kind: Any = "call",
    ) -> OpId:
        book = self._book
        parents = book.sources(read)
        if not parents and name in RETURNS:
            parents = book.exits()
            if parents:
                return book.op(written_name(name), kind, parents, made, evidence="inferred")
        shown = name_of(func) if name in ("__get__", "__set__") else written_name(name)
        return book.op(shown, kind, parents, made, detail=detail_of(name, args, kwargs))


def _read(name: str, operands: list[Tensor]) -> list[Tensor]:
    """The operands whose values count."""
    if name in LIKE:
        return operands[1:]
    if name in FIRST_ONLY:
        return operands[:1]
    return operands


def _item(args: tuple[Any, ...]) -> Tensor | None:
    """The part of `args[0]` that `args[0][args[1]] = ...` writes to, where basic indexing says it; else None."""
    index = args[1] if isinstance(args[1], tuple) else (args[1],)
    if not all(i is None or i is Ellipsis or type(i) in (int, slice) for i in index):
        return None
    if any(isinstance(part, Tensor) for i in index if isinstance(i, slice) for part in (i.start, i.stop, i.step)):
        return None
    with torch.no_grad():
        part: Tensor = args[0][args[1]]
    return part


def _written_by_name(name: str, operands: list[Tensor], kwargs: dict[str, Any]) -> list[Tensor]:
    """Inference tensors keep no version: believe the name."""
    if "out" in kwargs:
        out = kwargs["out"]
        return [out] if isinstance(out, Tensor) else list(out)
    in_place = name == "__setitem__" or (name.endswith("_") and not name.endswith("__")) or kwargs.get("inplace") is True
    return operands[:1] if in_place else []


def _without_neighbours(written: list[Tensor], named: list[Tensor]) -> list[Tensor]:
    """Views of one tensor count their versions together: of those, only the named ones were written to."""
    memory = {_storage(t) for t in named}
    return [t for t in written if any(t is n for n in named) or _storage(t) not in memory]


def _storage(tensor: Tensor) -> int:
    try:
        return int(tensor.untyped_storage()._cdata)
    except (RuntimeError, NotImplementedError):
        return id(tensor)


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in args:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)):
            found += _inner(value)
    for value in kwargs.values():
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, (list, tuple, dict)):
            found += _inner(value)
    return found


def _inner(value: Any) -> Iterator[Tensor]:
    for item in value.values() if isinstance(value, dict) else value:
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (list, tuple, dict)):
            yield from _inner(item)

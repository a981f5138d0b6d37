"""`DataflowTracer`: sees each torch function as it runs and records which ops its result came from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from ..functions import DIVIDES, EXITS, OVERWRITE, PAIRWISE, RETURNS, SHARES
from ..nested import reachable
from ..records import OpId, OpKind
from ..running import PassMode
from .book import Book
from .rules import Rule, detail_by, read_by, rule_of
from .storage import address

_CONTAINERS = (list, tuple, dict)
# What functions written in Python say of operands of no subclass; those written in C++ say nothing.
_ONLY_TENSORS = (Tensor,)


class DataflowTracer(PassMode):
    """Records into `book`. `on_write(tensor)` is told before an op that may write to a tensor from outside the pass."""

    def __init__(self, book: Book, on_write: Callable[[Tensor], None]) -> None:
        super().__init__()
        self._book = book
        self._on_write = on_write
        self._rules: dict[Any, Rule] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        rule = self._rules.get(func)
        if rule is None:
            rule = self._rules[func] = rule_of(func)
        kwargs = kwargs or {}
        if rule.ignored:
            return func(*args, **kwargs)
        if types and types != _ONLY_TENSORS:
            return self._guarded(rule, func, args, kwargs)
        return self._seen(rule, func, args, kwargs)

    def _seen(self, rule: Rule, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        operands = _tensors(args, kwargs)
        pure = rule.pure and "out" not in kwargs
        versions = None if pure else self._before(rule, operands, kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            self._book.raised(error, rule.shown, operands)
            raise
        if pure and type(result) is Tensor:
            self._one(rule, args, kwargs, operands, result)
            return result
        if rule.iterates:  # the pieces are seen before they are handed out
            result = list(result)
        self._after(rule, args, kwargs, operands, versions=versions, result=result)
        return iter(result) if rule.iterates else result

    def _guarded(self, rule: Rule, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """For tensor subclasses: their own handler sees the call, and none of our bookkeeping."""
        with torch._C.DisableTorchFunctionSubclass():
            operands = _tensors(args, kwargs)
            versions = self._before(rule, operands, kwargs)
        try:
            result = func(*args, **kwargs)
        except Exception as error:
            with torch._C.DisableTorchFunctionSubclass():
                self._book.raised(error, rule.shown, operands)
            raise
        with torch._C.DisableTorchFunctionSubclass():
            if rule.iterates:
                result = list(result)
            self._after(rule, args, kwargs, operands, versions=versions, result=result)
        return iter(result) if rule.iterates else result

    def _before(self, rule: Rule, operands: list[Tensor], kwargs: dict[str, Any]) -> list[int]:
        if operands and (rule.may_write or (kwargs and ("out" in kwargs or kwargs.get("inplace")))):
            for tensor in operands if rule.foreach or "out" in kwargs else operands[:1]:
                self._on_write(tensor)
        try:
            return [t._version for t in operands]
        except RuntimeError:  # inference tensors keep none
            return [-1 if t.is_inference() else t._version for t in operands]

    def _after(
        self,
        rule: Rule,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[Tensor],
        *,
        versions: list[int] | None,
        result: Any,
    ) -> None:
        written = None if versions is None else _written(rule, args, kwargs, operands, versions)
        if written:
            self._wrote(rule, args, kwargs, operands, written=written, result=result)
        elif rule.sets_data:
            self._book.provenance.tag(args[0], self._record(rule, args, kwargs, operands[1:], made=(args[0],)))
        elif isinstance(result, Tensor):
            self._one(rule, args, kwargs, operands, result)
        elif rule.name == "backward":
            self._book.differentiated(operands)
        elif rule.name in EXITS:
            self._book.exit(operands)
            if rule.name in SHARES:
                self._book.provenance.expose(operands)
        elif isinstance(result, _CONTAINERS):
            self._results(rule, args, kwargs, operands, result)

    def _one(
        self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], operands: list[Tensor], result: Tensor
    ) -> None:
        for tensor in operands:
            if tensor is result and not rule.may_write:  # passed on as it is
                return
        book = self._book
        if rule.shown == "grad":
            self._gradient_of(operands, result)
            return
        if rule.name == "empty" and not operands and result.numel() == 0:
            book.provenance.hollow(result, self._record(rule, args, kwargs, [], made=(result,)))
            return
        if rule.simple and book.made(rule.shown, detail_by(rule, args, kwargs), operands, result):
            return
        op = self._record(rule, args, kwargs, read_by(rule.name, operands), made=(result,))
        book.provenance.tag(result, op)

    def _results(
        self, rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], operands: list[Tensor], result: Any
    ) -> None:
        """Several results. A result that is an operand passed on keeps its own history."""
        made = [t for _, t in reachable(result) if not any(t is operand for operand in operands)]
        if not made:
            return
        name = rule.name
        if (name in PAIRWISE or rule.foreach) and len(operands) % len(made) == 0:
            for index, tensor in enumerate(made):
                self._made(rule, args, kwargs, operands[index :: len(made)], made=(tensor,))
        elif name == "multi_head_attention_forward" and len(made) == 2:
            # The weights come from query and key; only the first result reads the value.
            self._made(rule, args, kwargs, operands, made=made[:1])
            weights = [t for i, t in enumerate(operands) if i != 2 or any(t is o for o in operands[:2])]
            self._made(rule, args, kwargs, weights, made=made[1:])
        elif name == "grad":
            self._gradients(rule, args, made)
        elif (name in DIVIDES or rule.iterates) and self._book.provenance.any_write:
            for tensor in made:  # each shows its own part of memory, which others may have written to
                self._made(rule, args, kwargs, operands, made=(tensor,))
        else:
            self._made(rule, args, kwargs, read_by(name, operands), made=made)

    def _gradient_of(self, operands: list[Tensor], result: Tensor) -> None:
        """What a tensor has as its gradient: what was assigned, or what the last backward pass made."""
        book = self._book
        if book.provenance.op_of(result) is not None:
            return
        parents = book.sources(operands) if book.backward is None else (book.backward,)
        book.provenance.tag(result, book.op("grad", "call", parents, (result,), evidence="inferred"))

    def _gradients(self, rule: Rule, args: tuple[Any, ...], made: list[Tensor]) -> None:
        """Gradients read what the ops between have saved: what these read, and gave. Which of them did is not seen."""
        book = self._book
        into, of = (book.sources(t for _, t in reachable(each)) for each in args[:2])
        parents = tuple(sorted({*book.saved_between(of, into), *of, *into}))
        op = book.op(rule.shown, "call", parents, made, evidence="inferred")
        for tensor in made:
            book.provenance.tag(tensor, op)

    def _made(
        self,
        rule: Rule,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        read: list[Tensor],
        *,
        made: Sequence[Tensor],
    ) -> None:
        op = self._record(rule, args, kwargs, read, made=made)
        for tensor in made:
            self._book.provenance.tag(tensor, op)

    def _wrote(
        self,
        rule: Rule,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        operands: list[Tensor],
        *,
        written: list[Tensor],
        result: Any,
    ) -> None:
        """In-place ops, `out=`, item assignment, and functions with side effects on an operand."""
        provenance = self._book.provenance
        if rule.foreach:
            for index, tensor in enumerate(written):
                op = self._record(rule, args, kwargs, operands[index :: len(written)], made=(tensor,), kind="write")
                provenance.write(tensor, op, None)
            return
        target = _item(args) if rule.name == "__setitem__" else None
        read = operands
        if "out" in kwargs:
            read = _tensors(args, {key: value for key, value in kwargs.items() if key != "out"})
        elif rule.name in OVERWRITE or target is not None:
            read = operands[1:]
        op = self._record(rule, args, kwargs, read, made=written, kind="write")
        for tensor in written:
            provenance.write(tensor, op, target)
        for _, tensor in reachable(result):
            if not any(tensor is w for w in written):
                provenance.tag(tensor, op)

    def _record(
        self,
        rule: Rule,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        read: list[Tensor],
        *,
        made: Sequence[Tensor],
        kind: OpKind = "call",
    ) -> OpId:
        book = self._book
        if kind == "call" and len(made) == 1 and read and book.provenance.any_write:
            shown = book.provenance.view_parents(made[0], read[0])
            if shown is not None:  # a view of memory that was written to reads only the part that it shows
                parents = tuple(sorted({*shown, *book.sources(read[1:])}))
                op = book.op(rule.shown, kind, parents, made, detail=detail_by(rule, args, kwargs))
                book.provenance.show(op, made[0], read[0], book.here())
                return op
        parents = book.sources(read)
        if not parents and rule.name in RETURNS:
            parents = book.exits()
            if parents:
                return book.op(rule.shown, kind, parents, made, evidence="inferred")
        return book.op(rule.shown, kind, parents, made, detail=detail_by(rule, args, kwargs))


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


def _written(
    rule: Rule, args: tuple[Any, ...], kwargs: dict[str, Any], operands: list[Tensor], versions: list[int]
) -> list[Tensor]:
    """The operands that were written to: their version says so."""
    if len(operands) == 1 and versions[0] >= 0:
        return operands if operands[0]._version != versions[0] else []
    if rule.foreach:
        return operands[: len(args[0])] if rule.may_write and args else []
    try:
        changed = [t for t, version in zip(operands, versions, strict=True) if t._version != version]
    except RuntimeError:
        changed = [t for t, v in zip(operands, versions, strict=True) if not t.is_inference() and t._version != v]
        if not changed and operands[0].is_inference():  # no versions there: the function's name is believed
            return _named_written(rule, operands, kwargs)
    if len(changed) > 1:
        named = _named_written(rule, operands, kwargs)
        if named:  # views of one tensor count their versions together: only the named ones were written to
            memory = {address(t) for t in named}
            return [t for t in changed if any(t is n for n in named) or address(t) not in memory]
    return changed


def _named_written(rule: Rule, operands: list[Tensor], kwargs: dict[str, Any]) -> list[Tensor]:
    if "out" in kwargs:
        out = kwargs["out"]
        return [out] if isinstance(out, Tensor) else list(out)
    return operands[:1] if rule.may_write or kwargs.get("inplace") is True else []


def _tensors(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    found: list[Tensor] = []
    for value in (*args, *kwargs.values()) if kwargs else args:
        kind = type(value)
        # `isinstance` is slow to say no: torch has its own for tensors.
        if kind is Tensor or kind is nn.Parameter:
            found.append(value)
        elif kind in _PLAIN:
            continue
        elif isinstance(value, Tensor):
            found.append(value)
        elif kind is slice or isinstance(value, _CONTAINERS):
            found += _inner(value)
    return found


_PLAIN = frozenset((int, float, bool, str, type(None), type(Ellipsis), torch.dtype, torch.device, torch.Size))


def _inner(value: Any) -> Iterator[Tensor]:
    if type(value) is slice:  # its bounds are read, too
        items: Iterable[Any] = (value.start, value.stop, value.step)
    else:
        items = value.values() if isinstance(value, dict) else value
    for item in items:
        if type(item) is slice or isinstance(item, _CONTAINERS):
            yield from _inner(item)
        elif isinstance(item, Tensor):
            yield item

"""What one torch function does to symbols: which op it is, what it reads, what it writes, whose memory it shows."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterator
from types import FunctionType
from typing import Any

from torch.fx import Node

from nf_widget.errors import TopologyError
from nf_widget.functions import (
    DIVIDES,
    EXITS,
    FIRST_ONLY,
    LIKE,
    MAY_COPY,
    MAY_DO_NOTHING,
    METADATA,
    OVERWRITE,
    PAIRWISE,
    PARTS,
    PERMUTES,
    PROPERTIES,
    RESHAPES,
    SEVERAL,
    SHOWS,
    written_name,
)
from nf_widget.records import CallId, OpId, OpKind

from .aliases import Value, View, item
from .ledger import Heard, Ledger, operator_name, sources
from .shelf import Held, Several, Shelf, method, part, pick, values
from .symbol import IN_PLACE
from .tracer import piece_count

# They give places beside values when they go along an axis.
_WITH_PLACES = frozenset(("max", "min", "median", "nanmedian"))


class Functions:
    """`held` says what each node stands for, `heard` what the real forward did."""

    def __init__(self, ledger: Ledger, held: dict[Node, Held], heard: Heard) -> None:
        self._ledger = ledger
        self._held = held
        self._heard = heard
        self._special: dict[Any, Callable[[Node, CallId | None], Held]] = {
            getattr: self._attribute,
            setattr: self._new_data,
            operator.getitem: self._item,
            "__getitem__": self._item,
            operator.setitem: self._set_item,
            "__setitem__": self._set_item,
        }

    def apply(self, node: Node, call: CallId | None) -> Held:
        """What the node's function gives, with its ops written down as of `call`."""
        target = node.target
        if target in self._special:
            return self._special[target](node, call)
        if isinstance(target, type):
            return self._structure(node, target)
        if node.op == "call_method":
            return self._method(node, call)
        operands = self._operands((node.args, node.kwargs))
        origin = getattr(target, "__module__", "")
        if not operands and origin in ("_operator", "math", "builtins"):
            return {}
        if origin == "_operator":
            return self._operator(node, call, operands)
        return self._function(node, str(getattr(target, "__name__", target)), call)

    def _method(self, node: Node, call: CallId | None) -> Held:
        held = self._of(node.args[0])
        name = str(node.target)
        if _is_container(held):
            return method(held, name, node.args[1:])
        return self._function(node, name, call) if held else {}

    def _function(self, node: Node, name: str, call: CallId | None) -> Held:
        operands = self._operands((node.args, node.kwargs))
        if name in METADATA or name in EXITS:
            return {}
        if name.startswith("_foreach_"):
            return self._for_each(node, name, call, operands)
        if operands and self._does_nothing(name, call):
            return {"": operands[0]}
        if operands and "out" in node.kwargs:
            read = self._operands((node.args, {key: arg for key, arg in node.kwargs.items() if key != "out"}))
            return self._write(name, call, read, self._operands(node.kwargs["out"]))
        if operands and (_in_place_name(name) or _told_in_place(node)):
            return self._write(name, call, operands[1:] if name in OVERWRITE else operands, operands[:1])
        return self._make(node, name, call, operands)

    def _make(self, node: Node, name: str, call: CallId | None, operands: list[Value]) -> Held:
        """A function that writes nothing."""
        if name in PAIRWISE and len(operands) > 1:
            return {str(i): Value(self._op(name, call, [value])) for i, value in enumerate(operands)}
        if name == "multi_head_attention_forward" and len(operands) > 2:
            # The weights come from query and key; only the first result reads the value.
            keys = operands if operands[2] in operands[:2] else [*operands[:2], *operands[3:]]
            return {"0": Value(self._op(name, call, operands)), "1": Value(self._op(name, call, keys))}
        read = operands[1:] if name in LIKE else operands[:1] if name in FIRST_ONLY else operands
        if name in DIVIDES and operands:
            return self._divided(node, name, call, operands)
        if name in SEVERAL or (name in _WITH_PLACES and _along_axis(node)):
            return Several(Value(self._op(name, call, read)), name)
        steps = _view(node, name, operands[0]) if operands else None
        return {"": Value(self._op(name, call, read)) if steps is None else self._seen(name, call, read, steps)}

    def _seen(self, name: str, call: CallId | None, read: list[Value], steps: tuple[View, ...]) -> Value:
        """A view of the first operand: it reads only the part that it shows."""
        base, others = read[0], read[1:]
        op = self._op(name, call, [base.shown(*steps), *others])
        return base.seen_as(op, *steps)

    def _divided(self, node: Node, name: str, call: CallId | None, operands: list[Value]) -> Held:
        base, division = operands[0], (name, *_arguments(node))
        first = self._heard.next(name, call)
        count = self._heard.pieces(first, name, call, piece_count(node, name))
        outputs = first.outputs if first else ()
        if count is None:
            whole = self._ledger.op(name, call, sources(operands), outputs=outputs)
            return Several(base.seen_as(whole), division)
        ops = [self._ledger.op(name, call, sources([base.shown(part(division, 0))]), outputs=outputs)]
        ops += [self._op(name, call, [base.shown(part(division, i))]) for i in range(1, count)]
        return Several(base.seen_as(ops[0]), division, tuple(ops))

    def _for_each(self, node: Node, name: str, call: CallId | None, operands: list[Value]) -> Held:
        """One op for each place in the lists of operands."""
        count = len(self._operands(node.args[0]))
        made: Shelf = {}
        for i in range(count):
            read = operands[i::count]
            if _in_place_name(name):
                made[str(i)] = self._write(name, call, read, read[:1])[""]
            else:
                made[str(i)] = Value(self._op(name, call, read))
        return made

    def _write(self, name: str, call: CallId | None, read: list[Value], written: list[Value]) -> Shelf:
        op = self._op(name, call, read, "write")
        for value in written:
            value.write(op)
        shown = [value.seen_as(op) for value in written]
        return {"": shown[0]} if len(shown) == 1 else {str(i): value for i, value in enumerate(shown)}

    def _operator(self, node: Node, call: CallId | None, operands: list[Value]) -> Held:
        target: Any = node.target
        if any(_is_container(self._of(argument)) for argument in node.args):
            raise TopologyError(f"it uses {target.__name__} on several results at once")
        name = operator_name(target, tuple(bool(self._operands(arg)) for arg in node.args))
        if target.__name__ in IN_PLACE and (_in_place_name(name) or name.startswith("__i")):
            return self._write(name, call, operands, operands[:1])
        return {"": Value(self._op(name, call, operands))}

    def _item(self, node: Node, call: CallId | None) -> Held:
        held, key = self._of(node.args[0]), node.args[1]
        if isinstance(held, Several) or "" not in held:
            return pick(held, key)
        read = self._operands(node.args)
        if self._is_basic(key):
            return {"": self._seen("getitem", call, read, item(key))}
        return {"": Value(self._op("getitem", call, read))}

    def _set_item(self, node: Node, call: CallId | None) -> Held:
        held, key, value = self._of(node.args[0]), node.args[1], node.args[2]
        if isinstance(held, dict) and "" in held:
            basic = self._is_basic(key)
            op = self._op("setitem", call, self._operands(value if basic else node.args), "write")
            held[""].write(op, *(item(key) if basic else ()))
        return {}

    def _attribute(self, node: Node, call: CallId | None) -> Held:
        held, name = self._of(node.args[0]), str(node.args[1])
        if isinstance(held, Several) or "" not in held:
            return pick(held, name)
        if name in PROPERTIES:
            return {}
        return held if self._does_nothing(name, call) else self._make(node, name, call, values(held))

    def _new_data(self, node: Node, call: CallId | None) -> Held:
        """`tensor.data = other`: the same object from now on shows the other's memory."""
        tensor, new = node.args[0], self._operands(node.args[2])
        op = self._op("data", call, new)
        if isinstance(tensor, Node):
            self._held[tensor] = {"": new[0].seen_as(op) if new else Value(op)}
        return {}

    def _structure(self, node: Node, kind: type) -> Held:
        """A named tuple or dataclass, made as an argument of something else."""
        fields = [*zip(getattr(kind, "_fields", ()), node.args, strict=False), *node.kwargs.items()]
        shelf: Shelf = {}
        for name, argument in fields:
            found = self._operands(argument)
            places = [name] if len(found) == 1 else [f"{name}.{i}" for i in range(len(found))]
            shelf.update(zip(places, found, strict=True))
        return shelf

    def _op(self, name: str, call: CallId | None, read: list[Value], kind: OpKind = "call") -> OpId:
        written = written_name(name)
        real = self._heard.next(written, call)
        return self._ledger.op(written, call, sources(read), kind=kind, outputs=real.outputs if real else ())

    def _does_nothing(self, name: str, call: CallId | None) -> bool:
        return name in MAY_DO_NOTHING and self._heard.silent(written_name(name), call)

    def _is_basic(self, key: Any) -> bool:
        """Whether indexing gives a view: integers, slices, None and Ellipsis, also where they are symbols."""
        return all(
            part is None
            or part is Ellipsis
            or type(part) in (int, slice)
            or (isinstance(part, Node) and not values(self._held[part]))
            for part in (key if isinstance(key, tuple) else (key,))
        )

    def _of(self, argument: Any) -> Held:
        return self._held[argument] if isinstance(argument, Node) else {}

    def _operands(self, argument: Any) -> list[Value]:
        return [value for node in _nodes(argument) for value in values(self._held[node])]


def _is_container(held: Held) -> bool:
    return isinstance(held, Several) or (bool(held) and "" not in held)


def _view(node: Node, name: str, base: Value) -> tuple[View, ...] | None:
    """The steps from `base` to the view of it that a function gives; None where the result has memory of its own."""
    if name in SHOWS:
        return ()
    if name in MAY_COPY and any(step.part or step.permutes for step in base.region):
        return None
    if name == "select" and len(node.args) == 3:
        return (View("number", node.args[1:], part=True),)
    if name in RESHAPES | PERMUTES | PARTS | MAY_COPY:
        return (View(name, _arguments(node), part=name in PARTS, permutes=name in PERMUTES),)
    return None


def _arguments(node: Node) -> tuple[Any, ...]:
    """All but the first, to tell whether two calls give the same."""
    return (tuple(node.args[1:]), tuple(sorted(node.kwargs.items(), key=operator.itemgetter(0))))


def _nodes(argument: Any) -> Iterator[Node]:
    if isinstance(argument, Node):
        yield argument
    elif isinstance(argument, (list, tuple)):
        for part in argument:
            yield from _nodes(part)
    elif isinstance(argument, dict):
        for part in argument.values():
            yield from _nodes(part)


def _along_axis(node: Node) -> bool:
    return "dim" in node.kwargs or (len(node.args) > 1 and type(node.args[1]) is int)


def _in_place_name(name: str) -> bool:
    return name.endswith("_") and not name.endswith("__")


def _told_in_place(node: Node) -> bool:
    """Whether the function was told to work in place, by keyword or by position."""
    if node.kwargs.get("inplace") is True:
        return True
    if not isinstance(node.target, FunctionType):
        return False
    names = list(inspect.signature(node.target).parameters)
    return "inplace" in names and node.args[names.index("inplace") :][:1] == (True,)

"""One symbolic forward with `torch.fx`: which functions and modules run on what, without any values.

Calls that are stages are leaves, and so are torch's own modules with no stage inside. Beyond what `torch.fx` records,
in-place operators and item assignment are seen, hooks of leaves run, and arguments and results may be any container.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import groupby, zip_longest
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.fx import Node, Proxy, Tracer

from nf_widget.errors import TopologyError
from nf_widget.functions import DIVIDES, METADATA, PROPERTIES, name_of
from nf_widget.inputs import Inputs
from nf_widget.nested import given, leaves_of, reachable_of, replace, replace_of, working_copy
from nf_widget.records import CallId, Trace
from nf_widget.running import PassMode

from .cut import Cut
from .symbol import Symbol

_ABSENT = object()
_NOWHERE = CallId(-1)

# Leaves of arguments or of a result: what stands for a tensor, or a tensor that was there before.
Given = tuple[tuple[str, Node | Tensor], ...]


@dataclass(frozen=True, slots=True)
class Step:
    """Where a node of the graph came from. `call` is the call that it ran in.

    `leaf`: it stands for the whole of call `of`, which got `received`. `enter`, `leave`: call `of` starts with
    `received`, ends and gives `received`. `hand-out`: call `of` gives its argument out.
    """

    call: CallId | None
    role: Literal["function", "leaf", "enter", "leave", "hand-out"] = "function"
    of: CallId = _NOWHERE
    received: Given = ()
    constant: Tensor | None = None


@dataclass(slots=True)
class SymbolicForward:
    """`nodes` in order of execution; `entries[i]` stands for the i-th input leaf; `results` are the output's leaves."""

    nodes: tuple[Node, ...] = ()
    steps: dict[Node, Step] = field(default_factory=dict)
    entries: tuple[Node, ...] = ()
    results: Given = ()


def trace_symbolically(model: nn.Module, trace: Trace, cut: Cut, inputs: Inputs) -> SymbolicForward:
    """Raises whatever the model raises when it is run on symbols, and `TopologyError` where it calls other modules."""
    tracer = _Tracer(trace, cut, inputs)
    with _Constants(tracer):
        tracer.trace(model)
    for wanted, called in zip_longest(cut.order(), tracer.called):
        if wanted != called:
            raise TopologyError(f"the symbolic forward did not call {trace.calls[wanted].path} when the real one did")
    tracer.forward_.nodes = tuple(tracer.graph.nodes)
    return tracer.forward_


class _Tracer(Tracer):
    def __init__(self, trace: Trace, cut: Cut, inputs: Inputs) -> None:
        super().__init__(param_shapes_constant=True)
        self.called: list[CallId] = []
        self.forward_ = SymbolicForward()
        self._trace = trace
        self._cut = cut
        self._inputs = inputs
        self._reached: dict[str, int] = defaultdict(int)
        self._stack: list[CallId] = []

    def create_args_for_root(self, *_wanted: Any, **_options: Any) -> tuple[Any, list[Any]]:
        """One placeholder for each tensor among the inputs; everything else is what the model really got."""
        memo: dict[int, Any] = {}
        for _, tensor in self._inputs.leaves:
            if id(tensor) not in memo:
                memo[id(tensor)] = symbol = self.create_proxy("placeholder", f"input_{len(memo)}", (), {})
                symbol.__dict__.update(tensor.__dict__)
        self.forward_.entries = tuple(memo[id(tensor)].node for _, tensor in self._inputs.leaves)
        args = tuple(working_copy(arg, memo) for arg in self._inputs.args)
        kwargs = {name: working_copy(arg, memo) for name, arg in self._inputs.kwargs.items()}

        def forward(root: nn.Module) -> None:
            self.forward_.results = _nodes(leaves_of((Proxy, Tensor), root(*args, **kwargs)))

        return forward, [self.root]

    def call_module(
        self, m: nn.Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        path = (self.submodule_paths or {}).get(m)
        if path is None:
            return forward(*args, **kwargs)
        call = self._next_call(path)
        if call in self._cut.leaves:
            return self._leaf(m, call, forward, args, kwargs)
        if call in self._cut.opened:
            return self._open(m, call, forward, args, kwargs)
        with self._inside(call):
            return forward(*args, **kwargs)

    def create_node(self, *args: Any, **kwargs: Any) -> Node:
        node = super().create_node(*args, **kwargs)
        constant = _attribute(self.root, str(node.target)) if node.op == "get_attr" else None
        self.forward_.steps[node] = Step(self._here(), constant=constant)
        return node

    def proxy(self, node: Node) -> Proxy:
        return Symbol(node, self)

    def iter(self, obj: Proxy) -> Iterator[Any]:
        count = self.count(obj.node)
        return super().iter(obj) if count is None else iter([self._item(obj, i) for i in range(count)])

    def count(self, node: Node) -> int | None:
        """How many results there are in a tuple, where the real forward tells."""
        step = self.forward_.steps[node]
        if step.role == "leaf":
            heads = dict.fromkeys(leaf.path.split(".")[0] for leaf in self._trace.calls[step.of].outputs)
            return len(heads) if list(heads) == [str(i) for i in range(len(heads))] else None
        first = node.args[0] if node.args else None
        if node.target is operator.getitem and isinstance(first, Node) and isinstance(node.args[1], slice):
            whole = self.count(first)
            return None if whole is None else len(range(whole)[node.args[1]])
        name = node.target if isinstance(node.target, str) else getattr(node.target, "__name__", "")
        here = (op for op in self._trace.ops if op.call == step.call and op.kind != "identity")
        ops = [op for op in here if op.name == name and name in DIVIDES]
        counts = {len(op.outputs) for op in ops if len(op.outputs) != 1}
        # Where each piece has an op, those of one division follow each other.
        singles = [op for op in ops if len(op.outputs) == 1]
        wanted = piece_count(node, name)
        for _, run in groupby(enumerate(singles), lambda entry: entry[1].id - entry[0]):
            length = len(list(run))
            counts.add(wanted if wanted and length % wanted == 0 else length)
        return counts.pop() if len(counts) == 1 else None

    def constant(self, tensor: Tensor) -> Proxy:
        """A symbol for a tensor that was there before."""
        node: Any = self.create_arg(tensor)
        return self.proxy(node)

    def _item(self, symbol: Proxy, index: int) -> Proxy:
        made: Proxy = self.create_proxy("call_function", operator.getitem, (symbol, index), {})
        return made

    def _next_call(self, path: str) -> CallId:
        calls = self._cut.visible.get(path, ())
        index = self._reached[path]
        if index >= len(calls):
            times = f"only {len(calls)} times" if calls else "not"
            raise TopologyError(f"the symbolic forward called {path}, which the real one called {times}")
        self._reached[path] = index + 1
        self.called.append(calls[index])
        return calls[index]

    def _leaf(
        self, module: nn.Module, call: CallId, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """The module's hooks run around a stand-in for its forward. What hooks do belongs to the call."""
        if isinstance(module, torch.jit.ScriptModule):
            return self._place(call, args, kwargs)
        placed: Any = None

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            nonlocal placed
            placed = self._place(call, args, kwargs)
            self._stack.append(call)
            return placed

        with self._instead(module, stand_in):
            forward(*args, **kwargs)
        return placed

    def _open(
        self, module: nn.Module, call: CallId, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: Any
    ) -> Any:
        """A stage that is looked into: its ops belong to it, and what it gives out is told from what it was given."""
        real = module.forward

        def stand_in(*args: Any, **kwargs: Any) -> Any:
            self._mark("enter", call, given(args, kwargs))
            self._stack.append(call)
            return real(*args, **kwargs)

        with self._instead(module, stand_in):
            result = replace_of(Proxy, forward(*args, **kwargs), partial(self._hand_out, call))
        self._mark("leave", call, result)
        return result

    def _place(self, call: CallId, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Proxy:
        found = reachable_of((Proxy, Tensor), given(args, kwargs))
        proxies = tuple(value for _, value in found if isinstance(value, Proxy))
        made = self._trace.calls[call]
        proxy = self.create_proxy("call_module", made.path or made.type_name, proxies, {})
        self.forward_.steps[proxy.node] = Step(self._here(), "leaf", call, _nodes(found))
        return proxy

    def _mark(self, role: Literal["enter", "leave"], call: CallId, value: Any) -> None:
        found = _nodes(reachable_of((Proxy, Tensor), value))
        node = self.create_node("call_function", _mark, (), {})
        self.forward_.steps[node] = Step(self._here(), role, call, found)

    def _hand_out(self, call: CallId, symbol: Proxy) -> Proxy:
        proxy = self.create_proxy("call_function", _mark, (symbol,), {})
        self.forward_.steps[proxy.node] = Step(self._here(), "hand-out", call)
        return proxy

    def _here(self) -> CallId | None:
        return self._stack[-1] if self._stack else None

    @contextmanager
    def _instead(self, module: nn.Module, stand_in: Callable[..., Any]) -> Iterator[None]:
        """`stand_in` is the module's forward for the length of the body; calls that it opens are closed after it."""
        depth = len(self._stack)
        own = module.__dict__.get("forward", _ABSENT)
        module.__dict__["forward"] = stand_in
        try:
            yield
        finally:
            del self._stack[depth:]
            if own is _ABSENT:
                del module.__dict__["forward"]
            else:
                module.__dict__["forward"] = own

    @contextmanager
    def _inside(self, call: CallId) -> Iterator[None]:
        self._stack.append(call)
        try:
            yield
        finally:
            self._stack.pop()


def _mark() -> None:
    """What nodes that mark the start and end of a call seem to run."""


class _Constants(PassMode):
    """Tensors that are no symbols, until something symbolic is written to them: from then on they are."""

    def __init__(self, tracer: _Tracer) -> None:
        super().__init__()
        self._tracer = tracer
        self._written: dict[int, tuple[Tensor, Proxy]] = {}

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name: str = getattr(func, "__name__", "")
        if name in METADATA or (name == "__get__" and name_of(func) in PROPERTIES):
            return func(*args, **kwargs)
        if self._written:
            swapped, options = replace(args, self._symbol), replace(kwargs, self._symbol)
            if swapped is not args or options is not kwargs:
                if name == "__get__":
                    return getattr(swapped[0], name_of(func))
                return Symbol.__torch_function__(func, (), swapped, options)
        if _writes(name, kwargs) and leaves_of(Proxy, (args, kwargs)):
            for _, tensor in leaves_of(Tensor, kwargs["out"] if "out" in kwargs else args[:1]):
                self._written[id(tensor)] = (tensor, self._tracer.constant(tensor))
        return func(*args, **kwargs)

    def _symbol(self, tensor: Tensor) -> Any:
        return self._written.get(id(tensor), (tensor, tensor))[1]


def piece_count(node: Node, name: str) -> int | None:
    """How many pieces a division makes at most, where its arguments tell."""
    wanted = node.args[1] if len(node.args) > 1 else None
    if name in ("chunk", "unsafe_chunk") and type(wanted) is int:
        return wanted
    if name.startswith(("split", "unsafe_split")) and isinstance(wanted, (list, tuple)):
        return len(wanted)
    return None


def _writes(name: str, kwargs: dict[str, Any]) -> bool:
    in_place = name.endswith("_") and not name.endswith("__")
    return in_place or name == "__setitem__" or "out" in kwargs or kwargs.get("inplace") is True


def _nodes(found: list[tuple[str, Any]]) -> Given:
    return tuple((path, value.node if isinstance(value, Proxy) else value) for path, value in found)


def _attribute(root: nn.Module, path: str) -> Tensor | None:
    """The tensor of this name. Looked up past `Module.__getattr__`, which makes symbols during the forward."""
    *owners, name = path.split(".")
    fields: dict[str, Any] = root.__dict__
    for owner in owners:
        fields = fields["_modules"][owner].__dict__
    found = {**fields, **fields["_buffers"], **fields["_parameters"]}.get(name)
    return found if isinstance(found, Tensor) else None

"""Reads a symbolic forward from top to bottom and writes down the calls and ops that a real one would have made."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

from torch import Tensor, nn
from torch.fx import Node

from nf_widget.errors import TopologyError
from nf_widget.records import CallId, Leaf, ModuleCall, Op, OpId, Selection, Trace
from nf_widget.running import named_modules

from .aliases import Value
from .applying import Functions
from .cut import Cut, is_torchs
from .ledger import Heard, Ledger, sources
from .shelf import Held, Several, Shelf, spread
from .tracer import Given, Step, SymbolicForward


def read(model: nn.Module, trace: Trace, selection: Selection, cut: Cut, forward: SymbolicForward) -> Trace:
    """`trace` with the ops of the symbolic forward in place of its own, and the leaves of inputs, outputs and stages
    in terms of those. Calls that are no stages keep leaves that mean nothing here.

    Raises `TopologyError` where calls got, or the model gave, other tensors than in the real forward.
    """
    reader = _Reader(model, trace, selection, cut, forward)
    inputs = reader.enter()
    for node in forward.nodes:
        reader.step(node, forward.steps[node])
    outputs = reader.leaves("the model's result", trace.outputs, forward.results)
    other = reader.heard.other_way(set(cut.order()) - cut.leaves)
    if other is not None:
        name, call = other
        path = (trace.calls[call].path if call is not None else "") or trace.model_name
        raise TopologyError(f"the symbolic forward went another way than the real one: only one has {name} in {path}")
    ops = tuple(reader.ledger.ops)
    return replace(trace, calls=tuple(reader.calls), ops=ops, inputs=inputs, outputs=outputs, notes=())


class _Reader:
    def __init__(
        self, model: nn.Module, trace: Trace, selection: Selection, cut: Cut, forward: SymbolicForward
    ) -> None:
        self.ledger = Ledger()
        self.heard = Heard(trace)
        self.calls = list(trace.calls)
        self._modules = dict(named_modules(model))
        self._trace = trace
        self._stages = frozenset(selection.stages)
        self._forward = forward
        self._held: dict[Node, Held] = {}
        self._constants: dict[int, tuple[Tensor, Value]] = {}
        self._first_ops: dict[CallId, int] = {}
        self._ops_inside = _ops_inside(trace, cut)
        self._functions = Functions(self.ledger, self._held, self.heard)

    def enter(self) -> tuple[Leaf, ...]:
        """One op per input leaf. Leaves that are one tensor all count as its sources."""
        found: list[Leaf] = []
        ops: dict[Node, list[OpId]] = defaultdict(list)
        for leaf, node in zip(self._trace.inputs, self._forward.entries, strict=True):
            op = self.ledger.op("input", None, (), kind="input", outputs=(leaf.spec,))
            found.append(replace(leaf, ops=(op,)))
            ops[node].append(op)
        for node, together in ops.items():
            self._held[node] = {"": Value(self._joined(None, tuple(together)))}
        return tuple(found)

    def step(self, node: Node, step: Step) -> None:
        if node.op == "get_attr":
            self._held[node] = {} if step.constant is None else {"": self._constant(step.constant)}
        elif step.role == "leaf":
            call = self._trace.calls[step.of]
            received = self._received(call.path or call.type_name, call.inputs, step.received)
            make = self._stage if call.id in self._stages else self._between
            self._held[node] = make(call, received)
        elif step.role == "enter":
            self._first_ops[step.of] = len(self.ledger.ops)
            self._enter(self._trace.calls[step.of], step.received)
        elif step.role == "hand-out":
            self._held[node] = self._handed_out(step.of, self._held[node.all_input_nodes[0]])
        elif step.role == "leave":
            self._leave(self._trace.calls[step.of], step.received)
        elif node.op in ("call_function", "call_method"):
            self._held[node] = self._functions.apply(node, step.call)

    def leaves(self, place: str, wanted: tuple[Leaf, ...], given: Given) -> tuple[Leaf, ...]:
        """The leaves `wanted`, with the ops that the symbols at their paths come from."""
        found = self._received(place, wanted, given)
        return tuple(replace(leaf, ops=found[leaf.path].sources()) for leaf in wanted)

    def _received(self, place: str, wanted: tuple[Leaf, ...], given: Given) -> Shelf:
        """What was given, by path. Raises `TopologyError` unless it is what the real forward gave."""
        paths = {leaf.path for leaf in wanted}
        found: Shelf = {}
        for path, what in given:
            held = {"": self._constant(what)} if isinstance(what, Tensor) else self._held[what]
            found.update(spread(held, path, paths))
        missing = paths - found.keys()
        extra = {path for path in found.keys() - paths if found[path].sources()}
        if missing or extra:
            names = ", ".join(sorted(path or "a tensor" for path in missing or extra))
            verb = "lacks" if missing else "holds more than in the real forward:"
            raise TopologyError(f"what reaches {place} {verb} {names}")
        return found

    def _constant(self, tensor: Tensor) -> Value:
        return self._constants.setdefault(id(tensor), (tensor, Value(None)))[1]

    def _stage(self, call: ModuleCall, received: Shelf) -> Held:
        """A stage reads all that it receives; leaves that came from one op in the real forward do so here."""
        written = self._written_parameters(call)
        if written:
            self.ledger.op("parameter", call.id, written)
        made: dict[tuple[OpId, ...], Value] = {}
        for ops in sorted({leaf.ops for leaf in call.outputs}):
            op = self.ledger.op(call.type_name, call.id, ())
            shown = self._passed_on(call, ops, received)
            made[ops] = Value(op) if shown is None else shown.seen_as(op)
        outputs = tuple(replace(leaf, ops=made[leaf.ops].sources()) for leaf in call.outputs)
        inputs = tuple(replace(leaf, ops=received[leaf.path].sources()) for leaf in call.inputs)
        self.calls[call.id] = replace(call, inputs=inputs, outputs=outputs)
        return {leaf.path: made[leaf.ops] for leaf in call.outputs}

    def _written_parameters(self, call: ModuleCall) -> tuple[OpId, ...]:
        """Ops that wrote to the parameters and buffers of the stage before it ran."""
        module = self._modules[call.path]
        own = (self._constants.get(id(tensor)) for tensor in (*module.parameters(), *module.buffers()))
        return sources(constant[1] for constant in own if constant is not None)

    def _enter(self, call: ModuleCall, given: Given) -> None:
        inputs = self.leaves(call.path or call.type_name, call.inputs, given)
        self.calls[call.id] = replace(call, inputs=inputs)

    def _handed_out(self, call: CallId, held: Held) -> Held:
        """What an opened stage did not make but gives out is told from what it was: readers of it read the stage."""
        first = self._first_ops[call]

        def own(value: Value) -> Value:
            ops = value.sources()
            if ops and ops[0] >= first:
                return value
            return value.seen_as(self.ledger.op("identity", call, ops, kind="identity"))

        if isinstance(held, Several):
            if held.pieces:
                return {str(i): own(value) for i, value in enumerate(held.all())}
            return replace(held, whole=own(held.whole))
        return {path: own(value) for path, value in held.items()}

    def _leave(self, call: ModuleCall, given: Given) -> None:
        outputs = self.leaves(f"the result of {call.path or call.type_name}", call.outputs, given)
        self.calls[call.id] = replace(self.calls[call.id], outputs=outputs)

    def _between(self, call: ModuleCall, received: Shelf) -> Held:
        """One of torch's own modules that is no stage: what it did inside is taken from the real forward."""
        known = {op: received[leaf.path] for leaf in call.inputs for op in leaf.ops}
        here: dict[OpId, OpId] = {}

        def parents(ops: tuple[OpId, ...]) -> tuple[OpId, ...]:
            inside = [here[op] for op in ops if op in here]
            outside = [op for op in ops if op not in here]
            read = [known[op] for op in outside if op in known]
            # What is written to has other ops inside than outside: any argument may be meant.
            return tuple(sorted({*inside, *sources(received.values() if len(read) < len(outside) else read)}))

        for op in self._ops_inside[call.id]:
            here[op.id] = self.ledger.op(
                op.name, call.id, parents(op.parents), kind=op.kind, outputs=op.outputs, evidence=op.evidence
            )
        shelf: Shelf = {}
        for leaf in call.outputs:
            shown = self._passed_on(call, leaf.ops, received)
            ops = parents(leaf.ops)
            one = self._joined(call.id, ops)
            shelf[leaf.path] = Value(one) if shown is None else shown.seen_as(one)
            if shown is not None and self._works_in_place(call, leaf.ops):
                shown.write(one)
        return shelf

    def _joined(self, call: CallId | None, ops: tuple[OpId, ...]) -> OpId:
        """One op that stands for several."""
        return ops[0] if len(ops) == 1 else self.ledger.op("identity", call, ops, kind="identity")

    def _passed_on(self, call: ModuleCall, ops: tuple[OpId, ...], received: Shelf) -> Value | None:
        """The argument that the call gave out again: as it was, or rewritten in place."""
        if self._works_in_place(call, ops):
            return next(iter(received.values()), None)
        made = self._trace.ops[ops[0]] if len(ops) == 1 and ops[0] < len(self._trace.ops) else None
        if made is None or made.kind != "identity":
            return None
        same = [received[leaf.path] for leaf in call.inputs if leaf.ops == made.parents]
        return next(iter(same or received.values()), None)

    def _works_in_place(self, call: ModuleCall, ops: tuple[OpId, ...]) -> bool:
        module = self._modules[call.path]
        if not (is_torchs(module) and getattr(module, "inplace", False)):
            return False
        return any(op < len(self._trace.ops) and self._trace.ops[op].kind == "write" for op in ops)


def _ops_inside(trace: Trace, cut: Cut) -> defaultdict[CallId, list[Op]]:
    """The ops of the real forward in each leaf call, in order."""
    leaf_of: dict[CallId, CallId] = {}
    for call in trace.calls:
        if call.id in cut.leaves:
            leaf_of[call.id] = call.id
        elif call.parent in leaf_of:
            leaf_of[call.id] = leaf_of[call.parent]
    found: defaultdict[CallId, list[Op]] = defaultdict(list)
    for op in trace.ops:
        if op.call in leaf_of:
            found[leaf_of[op.call]].append(op)
    return found

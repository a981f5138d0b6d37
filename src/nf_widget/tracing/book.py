"""The book that the metadata pass writes: calls, ops, and where each tensor came from."""

from __future__ import annotations

import itertools
import threading
import weakref
from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from torch import Tensor, nn

from ..nested import containers_and_rest, leaves, reachable
from ..records import CallId, Evidence, Leaf, ModuleCall, Op, OpId, OpKind, TensorSpec
from ..running import is_wrapped
from .storage import Provenance

# (class name, parameter count, detail) of a module
Facts: TypeAlias = "Callable[[str, nn.Module], tuple[str, int, str]]"
# The leaves that a call was given, and the ops of what it was given aside
Received: TypeAlias = "tuple[tuple[Leaf, ...], tuple[OpId, ...]]"
_Entry: TypeAlias = "tuple[str, OpKind, CallId | None, tuple[OpId, ...], tuple[TensorSpec, ...], str, Evidence]"


@dataclass(slots=True)
class OpenCall:
    """A call under way. `first_op` is the id that the next op had when it started; `handled` the exception that was
    being handled then. `aside`: ops of tensors on attributes of objects that it was given, which count as received only
    where they are read: a cache of all layers is given to each. `left` is when it ended, in seconds."""

    id: CallId
    path: str
    index: int
    module: nn.Module
    parent: CallId | None
    first_op: int
    inputs: tuple[Leaf, ...]
    aside: tuple[OpId, ...]
    handled: BaseException | None
    outputs: tuple[Leaf, ...] = ()
    finished: bool = False
    left: float = 0.0


class Book:
    """Several threads may write at once: ids come from counters, entries go to dictionaries by id."""

    def __init__(self) -> None:
        self.provenance = Provenance(self._rest_of)
        self._ops: dict[OpId, _Entry] = {}
        self._calls: dict[CallId, OpenCall] = {}
        self._op_ids, self._call_ids = itertools.count(), itertools.count()
        # Open calls, innermost last, of the thread of the forward, and of the threads that it starts.
        self.home: list[OpenCall] = []
        self._stacks: dict[int, list[OpenCall]] = {threading.get_ident(): self.home}
        self._specs: dict[tuple[Any, ...], tuple[TensorSpec]] = {}
        self._bare: dict[OpId, Leaf] = {}
        # Ops whose results stand for others inside of `torch.func.vmap`, `grad` or `jvp`, and end with these.
        self._wrapped: set[OpId] = set()
        self._exits: dict[CallId | None, list[OpId]] = defaultdict(list)
        self._suspects: list[tuple[weakref.ref[Tensor], OpId]] = []
        # Held no longer than to the next call that goes well: an exception holds all the frames that it went through.
        self._failed: tuple[BaseException, OpenCall] | None = None
        self._raised: tuple[Exception, str, tuple[Leaf, ...]] | None = None
        # The last op that made gradients where they were not asked for by name.
        self.backward: OpId | None = None

    @property
    def stack(self) -> list[OpenCall]:
        """Open calls of this thread."""
        stack = self._stacks.get(threading.get_ident())
        return self._stacks.setdefault(threading.get_ident(), []) if stack is None else stack

    @property
    def innermost(self) -> OpenCall | None:
        """A thread that the forward started works for the call that is open in the thread of the forward."""
        stack = self._stacks.get(threading.get_ident()) or self.home
        return stack[-1] if stack else None

    def here(self) -> CallId | None:
        stack = self._stacks.get(threading.get_ident()) or self.home
        return stack[-1].id if stack else None

    def open(
        self,
        stack: list[OpenCall],
        path: str,
        index: int,
        module: nn.Module,
        *,
        received: Received,
        handled: BaseException | None,
    ) -> None:
        """A call starts in the thread of this stack."""
        above = stack or self.home
        parent = above[-1].id if above else None
        call_id = CallId(next(self._call_ids))
        inputs, aside = received
        call = OpenCall(call_id, path, index, module, parent, len(self._ops), inputs, aside, handled)
        self._calls[call_id] = call
        stack.append(call)

    def op(
        self,
        name: str,
        kind: OpKind,
        parents: tuple[OpId, ...],
        made: Sequence[Tensor],
        *,
        detail: str = "",
        evidence: Evidence = "traced",
    ) -> OpId:
        """Write one op down, as of the innermost open call. Returns its id."""
        specs = self._alone(made[0]) if len(made) == 1 else tuple([self.spec(t) for t in made])
        op = OpId(next(self._op_ids))
        self._ops[op] = (name, kind, self.here(), parents, specs, detail, evidence)
        if kind == "call" and any(map(is_wrapped, made)):
            self._wrapped.add(op)
        return op

    def made(self, name: str, detail: str, read: list[Tensor], result: Tensor) -> bool:
        """The short way for an op with one new result, where all is known of its operands. Whether it was taken."""
        parents = self.provenance.ops_of(read)
        if not parents or self.provenance.has_history(result):
            return False
        op = OpId(next(self._op_ids))
        ordered = tuple(parents) if len(parents) == 1 else tuple(sorted(set(parents)))
        self._ops[op] = (name, "call", self.here(), ordered, self._alone(result), detail, "traced")
        self.provenance.tag(result, op)
        if is_wrapped(result):
            self._wrapped.add(op)
        return True

    def sources(self, tensors: Iterable[Tensor]) -> tuple[OpId, ...]:
        """Ops that the values of `tensors` come from, without repetition, oldest first."""
        found: list[OpId] = []
        for tensor in self.provenance.parents(tensors, found):
            if self.provenance.adopt(tensor):
                self.provenance.parents((tensor,), found)
            else:
                found.append(self._appeared(tensor))
        return tuple(found) if len(found) < 2 else tuple(sorted(set(found)))

    def known_leaf(self, tensor: Tensor) -> Leaf | None:
        """The leaf of a bare tensor that is the only result of an op; else None."""
        op = self.provenance.op_of(tensor)
        if op is None:
            return None
        leaf = self._bare.get(op)
        if leaf is None:
            specs = self._ops[op][4]
            if len(specs) == 1:
                leaf = self._bare[op] = Leaf("", specs[0], (op,))
        return leaf

    def leaves(self, value: Any) -> tuple[Leaf, ...]:
        """Every tensor in `value`, also in the attributes of objects, with its spec and sources."""
        return tuple([self._leaf(path, tensor) for path, tensor in reachable(value)])

    def _leaf(self, path: str, tensor: Tensor) -> Leaf:
        known = self.known_leaf(tensor)
        if known is None:
            return Leaf(path, self.spec(tensor), self.sources((tensor,)))
        return known if not path else Leaf(path, known.spec, known.ops)

    def received(self, arguments: Any) -> Received:
        """The tensors in containers of `arguments`, and the ops of those on attributes of other objects in them."""
        found, rest = containers_and_rest(arguments)
        inputs = tuple([self._leaf(path, tensor) for path, tensor in found])
        return inputs, self.sources(tensor for _, tensor in reachable(rest)) if rest else ()

    def result(self, value: Any) -> tuple[Leaf, ...]:
        """The tensors in containers of what the root's call gave out."""
        return tuple(self._leaf(path, tensor) for path, tensor in leaves(value))

    def progress(self, start: float) -> array[float]:
        """By call: how much of the forward's time, from `start` on, had passed when it ended; 1 where nobody knows."""
        calls = [self._calls[CallId(index)] for index in range(len(self._calls))]
        end = calls[0].left if calls else start
        return array("d", ((c.left - start) / (end - start) if start < c.left < end else 1.0 for c in calls))

    def saved_between(self, first: Sequence[OpId], last: Sequence[OpId]) -> tuple[OpId, ...]:
        """The ops through which values flow from `first` to `last`, with both, and what they read; all before `last`
        without `first`."""
        start = min(first, default=OpId(0))
        reached = set(first)
        for index in range(start, max(last, default=start) + 1):
            op = OpId(index)
            if not first or not reached.isdisjoint(self._ops[op][3]):
                reached.add(op)
        found: set[OpId] = set()
        stack = [op for op in last if op in reached]
        while stack:
            op = stack.pop()
            if op not in found:
                found.add(op)
                stack += [parent for parent in self._ops[op][3] if parent in reached]
        return tuple(sorted(found.union(*(self._ops[op][3] for op in found))))

    def differentiated(self, loss: Sequence[Tensor]) -> None:
        """Gradients of `loss` were added to what it was computed from."""
        self.backward = self.op("backward", "call", self.saved_between((), self.sources(loss)), (), evidence="inferred")

    def exit(self, operands: Iterable[Tensor]) -> None:
        """Values of `operands` became Python or NumPy values in the innermost call."""
        self._exits[self.here()] += self.sources(operands)

    def exits(self) -> tuple[OpId, ...]:
        """What left tensor-land in the innermost call so far."""
        return tuple(sorted(set(self._exits.get(self.here(), ()))))

    def spec(self, tensor: Tensor) -> TensorSpec:
        return self._alone(tensor)[0]

    def _alone(self, tensor: Tensor) -> tuple[TensorSpec]:
        """The spec as the only one of an op: like ops share the tuple."""
        try:
            key: tuple[Any, ...] = (tensor.shape, tensor.dtype, tensor.device)
        except RuntimeError:  # nested tensors have no shape
            key = ((int(tensor.size(0)),), tensor.dtype, tensor.device)
        found = self._specs.get(key)
        if found is None:
            # Ragged ones have a shape, in which one size is no number.
            shape = (int(tensor.size(0)),) if tensor.is_nested else tuple([int(n) for n in key[0]])
            found = (TensorSpec(shape, str(key[1]).removeprefix("torch."), str(key[2])),)
            self._specs[key] = found
        return found

    def forget_errors(self) -> None:
        """Let go of exceptions, and with them of what their frames hold."""
        self._failed = self._raised = None

    def suspects(self) -> bool:
        """Whether a tensor that appeared from nowhere is still alive."""
        return any(tensor() is not None for tensor, _ in self._suspects)

    def settle(self) -> None:
        """Call when every tensor of the pass has been let go: a suspect that still lives was there before the pass."""
        for tensor, op in self._suspects:
            if tensor() is not None:
                _, _, call, _, outputs, detail, _ = self._ops[op]
                self._ops[op] = ("constant", "constant", call, (), outputs, detail, "traced")
        self._suspects.clear()
        self.provenance.close()

    def ops(self) -> tuple[Op, ...]:
        return tuple([Op(op, *self._ops[op]) for op in sorted(self._ops)])

    def calls(self, facts: Facts) -> tuple[ModuleCall, ...]:
        found: list[ModuleCall] = []
        for index in range(len(self._calls)):
            call = self._calls[CallId(index)]
            type_name, count, detail = facts(call.path, call.module)
            found.append(
                ModuleCall(
                    call.id,
                    call.path,
                    call.index,
                    type_name,
                    call.parent,
                    call.inputs,
                    call.outputs,
                    count,
                    call.finished,
                    detail,
                )
            )
        return tuple(found)

    def _rest_of(self, op: OpId, parents: tuple[OpId, ...]) -> OpId:
        """What is left of `op`: no op of its own, but it keeps the name."""
        name, _, call, _, specs, detail, evidence = self._ops[op]
        rest = OpId(next(self._op_ids))
        self._ops[rest] = (name, "identity", call, parents, specs, detail, evidence)
        return rest

    def ended(self, call: OpenCall, error: BaseException | None) -> None:
        """`call`, or a call inside it, was ended by `error`: the innermost one is remembered."""
        if error is not None and (self._failed is None or self._failed[0] is not error):
            self._failed = (error, call)

    def raised(self, error: Exception, name: str, operands: Sequence[Tensor]) -> None:
        """The op `name` raised `error`."""
        self._raised = (error, name, tuple(Leaf("", self.spec(t), self.sources((t,))) for t in operands))

    def ended_by(self, error: Exception) -> OpenCall | None:
        if self._failed is not None and self._failed[0] is error:
            return self._failed[1]
        return self._calls.get(CallId(0))

    def raised_by(self, error: Exception) -> tuple[str, tuple[Leaf, ...]] | None:
        return self._raised[1:] if self._raised is not None and self._raised[0] is error else None

    def _appeared(self, tensor: Tensor) -> OpId:
        """A tensor that no op was seen to make: the innermost call made it, out of what it was given and what it had
        computed and not used yet.

        Memory that torch does not own (NumPy's) came through Python, so only what left for Python counts.
        """
        parents = set(self.exits())
        foreign = _is_foreign(tensor)
        if not foreign:
            parents |= self._at_hand()
        op = self.op(
            "from_numpy" if foreign else "opaque", "opaque", tuple(sorted(parents)), (tensor,), evidence="inferred"
        )
        self.provenance.tag(tensor, op)
        self._suspects.append((weakref.ref(tensor), op))
        return op

    def _at_hand(self) -> set[OpId]:
        call = self.innermost
        if call is None:
            return set()
        used: set[OpId] = set()
        made: list[OpId] = []
        for index in range(call.first_op, len(self._ops)):
            entry = self._ops[OpId(index)]
            used.update(entry[3])
            if entry[1] != "constant":
                made.append(OpId(index))
        unused = {op for op in made if op not in used}
        # What `vmap` gives out is what was last computed inside of it.
        return unused & self._wrapped or {*call.aside, *(op for leaf in call.inputs for op in leaf.ops)} | unused


def _is_foreign(tensor: Tensor) -> bool:
    try:
        return tensor.device.type == "cpu" and not tensor.untyped_storage().resizable()
    except (RuntimeError, NotImplementedError):
        return False

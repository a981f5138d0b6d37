"""Where a forward computes attention, from its trace alone, and which stage each place belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..naming import call_ids
from ..records import CallId, Stage, Trace


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUSED = frozenset({"scaled_dot_product_attention", "multi_head_attention_forward", "flex_attention"})
SOFTMAX = frozenset({"softmax", "special_softmax"})
PRODUCTS = frozenset({"matmul", "bmm", "baddbmm", "einsum"})
# What may lie between a softmax and the product with the values, without making other weights of them.
BETWEEN = _words(
    "dropout dropout_ alpha_dropout feature_dropout to type type_as float half bfloat16 double contiguous clone detach "
    "masked_fill masked_fill_ nan_to_num where mul view reshape flatten unflatten squeeze unsqueeze expand getitem "
    "transpose permute swapaxes swapdims movedim mT T"
)
# The leaf that a stage's attention weights are.
_LEAF = "attention"
# A stage with more of them shows the first ones; expanding it shows all.
MOST = 8


@dataclass(frozen=True, slots=True)
class Site:
    """A module call that computes attention itself; `leaf` names its weights among the leaves of the stage."""

    path: str
    index: int
    leaf: str

    def leaf_of(self, number: int) -> str:
        """Where a call computes attention several times, all but the first are numbered."""
        return f"{self.leaf}#{number}" if number else self.leaf

    def has(self, leaf: str) -> bool:
        return leaf == self.leaf or leaf.startswith(f"{self.leaf}#")


def attention_calls(trace: Trace) -> tuple[CallId, ...]:
    """The innermost calls that computed attention: fused, or as a softmax whose result goes into a product."""
    weights: set[int] = set()
    found: list[CallId] = []
    for op in trace.ops:
        from_weights = not weights.isdisjoint(op.parents)
        if op.name in SOFTMAX:
            weights.add(op.id)
        elif op.name in FUSED or (op.name in PRODUCTS and from_weights):
            if op.call is not None:
                found.append(op.call)
        elif from_weights and (op.name in BETWEEN or op.kind == "identity"):
            weights.add(op.id)
    return tuple(dict.fromkeys(found))


def sites_of(trace: Trace, calls: Sequence[CallId], stages: Sequence[Stage]) -> dict[str, tuple[Site, ...]]:
    """By stage id, the places within the stage where attention is computed, in the order of the calls."""
    owners = {stage.call: stage for stage in stages if stage.call is not None}
    inside: dict[CallId, list[CallId]] = {}
    for call in sorted(calls):
        owner = _enclosing(trace, call, owners)
        if owner is not None:
            inside.setdefault(owner, []).append(call)
    ids = call_ids(trace) if inside else {}
    return {
        str(owners[owner].id): _named(trace, owners[owner], [(call, str(ids[call])) for call in found])
        for owner, found in inside.items()
    }


def _enclosing(trace: Trace, call: CallId, owners: dict[CallId, Stage]) -> CallId | None:
    at: CallId | None = call
    while at is not None and at not in owners:
        at = trace.calls[at].parent
    return at


def _named(trace: Trace, stage: Stage, calls: Sequence[tuple[CallId, str]]) -> tuple[Site, ...]:
    """`attention`, or `attention.<path within the stage>` for each of several."""
    outputs = () if stage.call is None else trace.calls[stage.call].outputs
    taken = {leaf.path.split(".")[0] for leaf in outputs}
    word = f"{_LEAF} weights" if _LEAF in taken else _LEAF
    sites = []
    for call, name in calls[:MOST]:
        inner = name.removeprefix(stage.path).lstrip(".") if stage.path else name
        leaf = word if len(calls) == 1 or not inner else f"{word}.{inner}"
        sites.append(Site(trace.calls[call].path, trace.calls[call].index, leaf))
    return tuple(sites)

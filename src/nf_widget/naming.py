"""Ids of stages, from the trace alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .records import CallId, Leaf, StageId, Trace


def call_ids(trace: Trace) -> Mapping[CallId, StageId]:
    """Id of every call: its path, with `#k` where the module is called more than once; the root's is its class.

    A module that has the name of the model's input or output gets its `#0` too.
    """
    times = Counter(call.path for call in trace.calls)
    taken = {"input", "output"}
    ids: dict[CallId, StageId] = {}
    for call in trace.calls:
        name = call.path
        if not name:
            name = call.type_name if call.type_name not in {*times, *taken} else f"{call.type_name} (model)"
        ids[call.id] = StageId(f"{name}#{call.index}" if times[call.path] > 1 or name in taken else name)
    return ids


def leaf_ids(kind: str, leaves: tuple[Leaf, ...]) -> tuple[StageId, ...]:
    """`input`, or `input:<path>` for each of several leaves; likewise for `output`."""
    if len(leaves) == 1:
        return (StageId(kind),)
    return tuple(StageId(f"{kind}:{leaf.path}" if leaf.path else kind) for leaf in leaves)

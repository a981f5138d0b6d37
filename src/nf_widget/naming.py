"""Ids of stages, from the trace alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from .records import CallId, Leaf, StageId, Trace


def call_ids(trace: Trace) -> Mapping[CallId, StageId]:
    """Id of every call: its path, with `#k` where the module is called more than once; the root's is its class."""
    times = Counter(call.path for call in trace.calls)
    return {
        call.id: StageId((call.path or call.type_name) + (f"#{call.index}" if times[call.path] > 1 else ""))
        for call in trace.calls
    }


def leaf_ids(kind: str, leaves: tuple[Leaf, ...]) -> tuple[StageId, ...]:
    """`input`, or `input:<path>` for each of several leaves; likewise for `output`."""
    if len(leaves) == 1:
        return (StageId(kind),)
    return tuple(StageId(f"{kind}:{leaf.path}" if leaf.path else kind) for leaf in leaves)

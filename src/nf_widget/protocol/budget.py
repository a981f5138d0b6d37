"""How many bytes of pictures an overview holds, and what is left out where they are too many."""

from __future__ import annotations

from collections.abc import Mapping

from ..records import Nothing
from . import Message
from .pictures import picture_message


def buffer_bytes(value: object) -> int:
    """Bytes of all buffers in nested dictionaries and lists."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return len(value)
    if isinstance(value, Mapping):
        return sum(map(buffer_bytes, value.values()))
    if isinstance(value, (list, tuple)):
        return sum(map(buffer_bytes, value))
    return 0


def fitted(overview: Message, budget: int) -> Message:
    """The overview with at most `budget` bytes of pictures: the largest are left out, of equal ones the later."""
    stages = overview.get("stages", {})
    sizes = [(buffer_bytes(leaf["picture"]), stage, i) for stage, all_ in stages.items() for i, leaf in enumerate(all_)]
    over = sum(size for size, _, _ in sizes) - budget
    if over <= 0:
        return overview
    left_out: set[tuple[str, int]] = set()
    for _, (size, stage, i) in sorted(enumerate(sizes), key=lambda each: (each[1][0], each[0]), reverse=True):
        if over <= 0:
            break
        left_out.add((stage, i))
        over -= size
    reason = f"left out: state_budget keeps the state within {budget:,} bytes"
    kept = {
        stage: [
            {**leaf, "picture": picture_message(Nothing(reason), (0.0, 0.0))} if (stage, i) in left_out else leaf
            for i, leaf in enumerate(leaves)
        ]
        for stage, leaves in stages.items()
    }
    return {**overview, "stages": kept}

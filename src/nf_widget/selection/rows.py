"""Rows of siblings that are one thing repeated, and even choices from them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise

from ..records import CallId
from .anatomy import Anatomy

_ROW_LENGTH = 3


def row_of(anatomy: Anatomy, candidates: Sequence[CallId]) -> tuple[object, ...]:
    """For each candidate the row that it is in, or None.

    A row is three or more calls of one parent whose names differ in numbers alone (`blocks.0`, `blocks.1`), calls of
    one module, or composite modules of one class.
    """
    names = [row_name(anatomy, call) for call in candidates]
    classes = [_class_key(anatomy, call) for call in candidates]
    by_name, by_class = Counter(names), Counter(classes)
    found: list[object] = []
    for name, kind in zip(names, classes, strict=True):
        if by_name[name] >= _ROW_LENGTH:
            found.append(name)
        else:
            found.append(kind if kind is not None and by_class[kind] >= _ROW_LENGTH else None)
    return tuple(found)


def row_name(anatomy: Anatomy, call: CallId) -> tuple[object, ...]:
    """Equal for calls of one parent whose names differ in numbers alone."""
    record = anatomy.trace.calls[call]
    return (record.parent, re.sub(r"\d+", "#", record.path))


def _class_key(anatomy: Anatomy, call: CallId) -> tuple[object, ...] | None:
    record = anatomy.trace.calls[call]
    return (record.parent, record.type_name, "class") if anatomy.inner[call] else None


def fill(length: int, fixed: Sequence[int], extra: int) -> list[int]:
    """`extra` more places out of `length`, evenly between those of `fixed`; the first of all comes before others."""
    places = sorted(fixed)
    if extra > 0 and 0 not in places:
        places.insert(0, 0)
        extra -= 1
    if extra > 0 and length - 1 not in places:
        places.append(length - 1)
        extra -= 1
    gaps = list(pairwise(places))
    picks = [0] * len(gaps)
    for _ in range(extra):
        widest = max(
            (i for i in range(len(gaps)) if picks[i] + 1 < gaps[i][1] - gaps[i][0]),
            key=lambda i: ((gaps[i][1] - gaps[i][0]) / (picks[i] + 1), -i),
        )
        picks[widest] += 1
    for (start, end), count in zip(gaps, picks, strict=True):
        places += [start + int((end - start) * (k + 1) / (count + 1) + 0.5) for k in range(count)]
    return sorted(places)


def thinned(members: Sequence[int], count: int) -> list[int]:
    """`count` of `members`, evenly, with the first and the last."""
    if count < 2:
        return list(members[:count])
    last = len(members) - 1
    return [members[int(last * k / (count - 1) + 0.5)] for k in range(count)]

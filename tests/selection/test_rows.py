"""Even choices from rows."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from nf_widget.selection.rows import fill, thinned


def test_places_are_spread_evenly_between_first_and_last() -> None:
    assert fill(12, [11], 5) == [0, 2, 4, 7, 9, 11]
    assert fill(12, [11], 1) == [0, 11]
    assert fill(16, [15], 5) == [0, 3, 6, 9, 12, 15]
    assert fill(5, [4], 4) == [0, 1, 2, 3, 4]


def test_what_is_fixed_stays_and_the_widest_gap_is_filled_first() -> None:
    assert fill(12, [3, 6, 9, 11], 0) == [3, 6, 9, 11]
    assert fill(12, [3, 6, 9, 11], 1) == [0, 3, 6, 9, 11]
    assert fill(20, [2, 19], 2) == [0, 2, 11, 19]


@given(st.data())
def test_any_number_of_places_can_be_filled(data: st.DataObject) -> None:
    length = data.draw(st.integers(1, 60))
    fixed = sorted(data.draw(st.sets(st.integers(0, length - 1))))
    extra = data.draw(st.integers(0, length - len(fixed)))
    places = fill(length, fixed, extra)
    assert places == sorted(set(places))
    assert len(places) == len(fixed) + extra
    assert set(fixed) <= set(places)
    assert all(0 <= place < length for place in places)


@given(st.integers(1, 60), st.integers(0, 60))
def test_members_are_thinned_evenly_with_both_ends(length: int, count: int) -> None:
    members = list(range(100, 100 + length))
    count = min(count, length)
    kept = thinned(members, count)
    assert len(kept) == count
    assert kept == sorted(set(kept))
    if count > 1:
        steps = [b - a for a, b in pairwise(kept)]
        assert (kept[0], kept[-1]) == (members[0], members[-1])
        assert max(steps) - min(steps) <= 1

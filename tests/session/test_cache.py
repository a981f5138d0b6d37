from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from nf_widget.session.cache import ByteCache


def test_the_least_recently_used_goes_first() -> None:
    cache: ByteCache[str] = ByteCache(10)
    cache.put("a", "A", 4)
    cache.put("b", "B", 4)
    assert cache.get("a") == "A"
    cache.put("c", "C", 4)
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == ("A", None, "C")


def test_what_is_larger_than_the_limit_is_not_kept_and_replaces_nothing_else() -> None:
    cache: ByteCache[str] = ByteCache(10)
    cache.put("a", "A", 4)
    cache.put("b", "B", 11)
    assert (cache.get("a"), cache.get("b"), cache.bytes) == ("A", None, 4)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 12))))
def test_never_more_bytes_than_the_limit(puts: list[tuple[int, int]]) -> None:
    cache: ByteCache[int] = ByteCache(10)
    for key, size in puts:
        cache.put(key, size, size)
        kept = [size for key in range(6) if (size := cache.get(key)) is not None]
        assert sum(kept) == cache.bytes <= 10

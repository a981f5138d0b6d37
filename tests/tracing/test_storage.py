"""Histories of memory: which ops does a view show?"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from nf_widget.records import OpId
from nf_widget.tracing import storage, writes
from nf_widget.tracing.storage import Provenance


def no_rest(op: OpId, parents: tuple[OpId, ...]) -> OpId:
    raise AssertionError(f"a rest of {op}, from {parents}")


@pytest.fixture
def provenance() -> Iterator[Provenance]:
    found = Provenance(no_rest)
    yield found
    found.close()


def sources(provenance: Provenance, tensor: Tensor) -> list[int]:
    found: list[OpId] = []
    unknown = provenance.parents((tensor,), found)
    assert not unknown
    return sorted(found)


def views(base: Tensor) -> dict[str, Tensor]:
    return {
        "all": base,
        "left": base[:, :3],
        "right": base[:, 3:],
        "middle": base[:, 1:5],
        "even": base[:, ::2],
        "odd": base[:, 1::2],
        "row": base[1],
        "rows": base[1:],
        "transposed": base.T,
        "part transposed": base.T[2:4],
        "flat": base.view(-1),
        "flat part": base.view(-1)[5:9],
        "scalar": base[2, 2],
        "repeated": base[:1].expand(3, 6),
    }


NAMES = sorted(views(torch.zeros(4, 6)))
WRITABLE = [name for name in NAMES if name != "repeated"]


@settings(derandomize=True)
@given(st.lists(st.sampled_from(WRITABLE), max_size=6), st.sampled_from(NAMES))
def test_a_view_shows_what_was_last_written_to_its_cells(written: list[str], read: str) -> None:
    base, last = torch.zeros(4, 6), torch.zeros(4, 6, dtype=torch.int64)
    provenance = Provenance(no_rest)
    provenance.tag(base, OpId(0))
    parts, cells = views(base), views(last)
    for op, name in enumerate(written, start=1):
        provenance.write(parts[name], OpId(op), None)
        cells[name].fill_(op)
    provenance.tag(shown := parts[read][...], OpId(0))
    assert sources(provenance, shown) == sorted(set(cells[read].flatten().tolist()))
    provenance.close()


def test_large_memory_is_not_gone_through_byte_by_byte(provenance: Provenance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writes, "_SEEN_BYTES", 16)
    base = torch.zeros(4, 6)
    provenance.tag(base, OpId(0))
    provenance.write(base[:, :3], OpId(1), None)
    provenance.write(base[:, 3:], OpId(2), None)
    assert sources(provenance, base) == [0, 1, 2]  # one too many, and none too few
    provenance.write(base, OpId(3), None)
    assert sources(provenance, base) == [3]


def test_every_other_column_is_apart_from_the_others(provenance: Provenance) -> None:
    base = torch.zeros(4, 6)
    provenance.tag(base, OpId(0))
    provenance.write(base[:, ::2], OpId(1), None)
    odd = base[:, 1::2]
    assert provenance.adopt(odd)
    assert sources(provenance, odd) == [0]
    assert sources(provenance, base) == [0, 1]


def test_ids_of_freed_tensors_come_back(provenance: Provenance) -> None:
    for number in range(200):
        tensor = torch.zeros(3)
        found: list[OpId] = []
        assert provenance.parents((tensor,), found) == [tensor]
        provenance.tag(tensor, OpId(number))
        del tensor, found


def test_memory_that_comes_back_has_no_history(provenance: Provenance) -> None:
    for number in range(200):
        tensor = torch.zeros(3)
        provenance.tag(tensor, OpId(2 * number))
        assert sources(provenance, tensor) == [2 * number]
        provenance.write(tensor, OpId(2 * number + 1), None)
        assert sources(provenance, tensor) == [2 * number + 1]


def test_constants_come_from_nothing_until_they_are_written_to(provenance: Provenance) -> None:
    constant = torch.zeros(3)
    provenance.constants([constant])
    assert sources(provenance, constant) == []
    alias = constant.detach()
    assert provenance.adopt(alias)
    provenance.write(alias, OpId(4), None)
    assert sources(provenance, constant) == [4]


def test_tables_do_not_grow_with_the_dead(provenance: Provenance, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provenance, "_next_prune", 50)
    monkeypatch.setattr(storage, "_PRUNE_EVERY", 50)
    for number in range(400):
        tensor = torch.zeros(3)
        provenance.tag(tensor, OpId(number))
        provenance.write(tensor, OpId(number), None)
    assert len(provenance._tags) <= 51
    assert len(provenance._histories) <= 51


def test_tensors_without_memory_of_their_own(provenance: Provenance) -> None:
    sparse = torch.eye(3).to_sparse()
    provenance.tag(sparse, OpId(1))
    provenance.write(sparse, OpId(2), None)
    assert sources(provenance, sparse) == [2]
    assert not provenance.adopt(torch.eye(3).to_sparse())

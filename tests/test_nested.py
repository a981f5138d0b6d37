"""Tensors in nested containers."""

from __future__ import annotations

from collections import OrderedDict, UserDict
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor

from models import Box, Holder, Pair, Result
from nf_widget.nested import leaves, reachable, replace, working_copy

A, B = torch.zeros(1), torch.ones(2)


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (A, [""]),
        ((A, B), ["0", "1"]),
        ([A, [B, None], "text", 3], ["0", "1.0"]),
        ({"x": A, 5: {"y": B}}, ["x", "5.y"]),
        (Pair(A, B), ["value", "other"]),
        (Box(A), ["value"]),
        (Result(logits=A), ["logits"]),
        (UserDict(x=A), ["x"]),
        (None, []),
        ("text", []),
        (torch.Size([1, 2]), []),
        (Box, []),
        ((), []),
    ],
    ids=lambda v: type(v).__name__,
)
def test_leaves_join_keys_and_indices(value: Any, paths: list[str]) -> None:
    assert [path for path, _ in leaves(value)] == paths


def test_attributes_of_other_objects_are_reached_only_when_asked_for() -> None:
    value = [Holder(x=A, inner=Holder(y=B, n=1))]
    assert leaves(value) == []
    assert [path for path, _ in reachable(value)] == ["0.x", "0.inner.y"]


def test_cycles_end() -> None:
    value: list[Any] = [A]
    value.append(value)
    holder = Holder(x=B)
    holder.me = holder
    assert [path for path, _ in leaves(value)] == ["0"]
    assert [path for path, _ in reachable(holder)] == ["x"]


def test_a_tensor_in_two_places_is_named_twice() -> None:
    assert [path for path, _ in leaves({"x": A, "y": [A]})] == ["x", "y.0"]


@pytest.mark.parametrize(
    "value",
    [
        (A, [B]),
        [A, B],
        {"x": A, "more": (B,)},
        Pair(A, None),
        Box(A),
        Result(logits=A, n=3),
        OrderedDict(x=A),
        UserDict(x=A),
        A,
    ],
    ids=lambda v: type(v).__name__,
)
def test_replace_rebuilds_and_leaves_the_old_alone(value: Any) -> None:
    before = leaves(value)
    new = replace(value, lambda t: t + 1)
    assert type(new) is type(value)
    assert [(path, t.tolist()) for path, t in leaves(new)] == [(path, (t + 1).tolist()) for path, t in before]
    assert all(a is b for (_, a), (_, b) in zip(leaves(value), before, strict=True))


def test_replace_gives_back_what_does_not_change() -> None:
    value = {"x": A, "more": [B, (None, "text")]}
    assert replace(value, lambda t: t) is value
    part = replace(value, lambda t: t * 2 if t is A else t)
    assert part is not value
    assert part["more"] is value["more"]


def _memo(*tensors: Tensor) -> dict[int, Any]:
    return {id(t): t.clone() for t in tensors}


def test_a_working_copy_shares_no_container() -> None:
    value = {"x": A, "list": [B, B, {"n": [1]}], "text": "same"}
    memo = _memo(A, B)
    copy = working_copy(value, memo)
    assert copy["list"][0] is copy["list"][1] is memo[id(B)]
    copy["list"][2]["n"].append(2)
    del copy["x"]
    assert value["list"][2] == {"n": [1]}
    assert value["x"] is A


def test_a_working_copy_of_an_object_goes_through_its_attributes() -> None:
    holder = Holder(x=A, seen=[])
    memo = _memo(A)
    copy = working_copy(holder, memo)
    assert copy is not holder
    assert copy.x is memo[id(A)]
    copy.seen.append(1)
    assert holder.seen == []


def test_what_cannot_be_copied_is_passed_on() -> None:
    class Stubborn:
        def __deepcopy__(self, memo: Any) -> Any:
            raise TypeError("no")

    stubborn = Stubborn()
    assert working_copy([stubborn], {})[0] is stubborn


@dataclass
class Asks:
    """One field can be read, the other raises what it likes."""

    good: Tensor
    bad: int = 1

    def __getattribute__(self, name: str) -> Any:
        if name == "bad":
            raise ValueError("which one?")
        return super().__getattribute__(name)


def test_a_field_that_cannot_be_read_is_left_out() -> None:
    value = Asks(A)
    assert [path for path, _ in leaves(value)] == ["good"]
    changed = replace(value, lambda _: B)
    assert changed.good is B
    assert value.good is A

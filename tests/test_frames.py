"""What the slider scrubs through: every kind of source, and random numbers that are nobody else's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, IterableDataset, TensorDataset

from nf_widget import InputError, trace
from nf_widget.frames import frames_of, without_targets


class Digits(Dataset[tuple[torch.Tensor, int]]):
    """Samples `(image, target)` without a batch axis."""

    def __len__(self) -> int:
        return 5

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.full((1, 4, 4), float(index)), index


def test_a_tensor_is_split_along_its_first_axis_and_keeps_the_batch_axis() -> None:
    batch = torch.arange(6.0).reshape(3, 2)
    frames = frames_of(batch)
    assert frames.count == 3
    assert torch.equal(frames.get(1), batch[1:2])


def test_a_list_and_a_callable() -> None:
    assert frames_of(["a", "b"]).get(1) == "b"
    assert frames_of(lambda i: i * 10, count=3).get(2) == 20


def test_a_count_takes_the_first_frames_of_a_long_sequence() -> None:
    assert frames_of(list(range(100)), count=7).count == 7
    with pytest.raises(InputError, match="only 3"):
        frames_of([1, 2, 3], count=4)


def test_samples_of_a_dataset_get_a_batch_axis_and_lose_their_target() -> None:
    flow = trace(nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU()), frames=Digits())
    assert flow.frame_count == 5
    assert flow.activation("input", frame=3).shape == (1, 1, 4, 4)
    assert flow.activation("input", frame=3).unique().tolist() == [3.0]


def test_batches_of_a_loader_keep_their_shape_and_lose_their_targets() -> None:
    loader = DataLoader(TensorDataset(torch.arange(12.0).reshape(6, 2), torch.zeros(6)), batch_size=2)
    flow = trace(nn.Linear(2, 3), frames=loader)
    assert flow.frame_count == 3
    assert flow.activation("input", frame=2).tolist() == [[8.0, 9.0], [10.0, 11.0]]


def test_a_shuffled_loader_is_gone_through_once() -> None:
    frames = frames_of(DataLoader(TensorDataset(torch.arange(50.0)), batch_size=1, shuffle=True))
    first = [frames.get(i)[0].item() for i in range(50)]
    assert [frames.get(i)[0].item() for i in reversed(range(50))] == first[::-1]
    assert sorted(first) == list(range(50))


def test_a_generator_is_taken_as_far_as_it_is_looked_at_and_remembered() -> None:
    taken: list[int] = []

    def items() -> Iterator[int]:
        for i in range(30):
            taken.append(i)
            yield i

    frames = frames_of(items())
    assert taken == [0]
    assert [frames.get(i) for i in (2, 0, 2)] == [2, 0, 2]
    assert len(taken) == frames.count < 30
    while frames.get(frames.count - 1) < 29:
        pass
    assert frames.count == 30
    with pytest.raises(InputError, match="ended after 30"):
        frames.get(30)


def test_a_promised_count_of_a_generator_holds_until_it_ends_early() -> None:
    frames = frames_of((i for i in range(4)), count=10)
    assert frames.count == 10
    assert frames.get(3) == 3
    with pytest.raises(InputError, match="ended after 4"):
        frames.get(8)
    assert frames.count == 4


def test_labels_of_a_generator_say_how_many_there_are() -> None:
    frames = frames_of(iter("abcdef"), labels=["one", "two"])
    assert frames.count == 2


class Streamed(IterableDataset[Any]):
    """The third of its five samples cannot be read."""

    def __iter__(self) -> Iterator[Any]:
        return self

    def __init__(self) -> None:
        self.next = -1

    def __next__(self) -> Any:
        self.next += 1
        if self.next == 2:
            raise OSError("this file is broken")
        if self.next == 5:
            raise StopIteration
        return torch.full((3,), float(self.next)), "name"


def test_an_item_that_cannot_be_read_is_told_at_its_own_frame() -> None:
    frames = frames_of(Streamed())
    assert frames.get(1)[0].tolist() == [[1.0, 1.0, 1.0]]
    with pytest.raises(OSError, match="broken"):
        frames.get(2)
    assert frames.get(4)[0].tolist() == [[4.0, 4.0, 4.0]]
    assert frames.count == 5


def test_a_frame_with_random_numbers_is_the_same_each_time_and_leaves_the_users_alone() -> None:
    torch.manual_seed(1)
    before = torch.get_rng_state()
    frames = frames_of(lambda _i: torch.rand(2), count=3)
    first = frames.get(0)
    assert not torch.equal(frames.get(1), first)
    assert torch.equal(frames.get(0), first)
    stream = frames_of(torch.rand(2) for _ in range(5))
    assert not torch.equal(stream.get(0), stream.get(1))
    loader = frames_of(DataLoader(TensorDataset(torch.arange(4.0)), shuffle=True))
    loader.get(3)
    assert torch.equal(torch.get_rng_state(), before)


class Takes(nn.Module):
    def forward(self, x: Any, mask: Any, scale: float = 1.0) -> Any:
        return x


class Images(nn.Module):
    def forward(self, image: Any, *, size: int = 0) -> Any:
        return image


@pytest.mark.parametrize(
    ("model", "item", "kwargs", "taken"),
    [
        (Images(), ("x", "target"), {}, "x"),
        (Images(), ["x", "target"], {}, "x"),
        (Images(), "x", {}, "x"),
        (Takes(), ("x", "mask", "target"), {}, ("x", "mask")),
        (Takes(), ("x", "target"), {"mask": "m"}, "x"),
        (Images(), {"image": "x", "label": 3}, {}, {"image": "x"}),
        (Images(), {"pixels": "x", "label": 3}, {}, {"pixels": "x", "label": 3}),
    ],
)
def test_what_the_model_takes_of_an_item(model: nn.Module, item: Any, kwargs: dict[str, Any], taken: Any) -> None:
    assert without_targets(model, item, kwargs) == taken


def test_a_tuple_in_a_list_stays_several_arguments() -> None:
    class Adds(nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
            return x + y

    flow = trace(Adds(), frames=[(torch.ones(1, 2), torch.ones(1, 2))])
    assert flow.activation("output").tolist() == [[2.0, 2.0]]


@pytest.mark.parametrize(
    ("source", "count", "labels", "words"),
    [
        ({"a": 1}, None, None, "pass a list"),
        (lambda i: i, None, None, "frame_count="),
        (lambda i: i, 0, None, "at least 1"),
        ([], None, None, "at least one"),
        (iter([]), None, None, "at least one"),
        (torch.tensor(1.0), None, None, "first axis"),
        ([1, 2], None, ["only one"], "give one for each"),
    ],
)
def test_bad_frames_say_what_to_do(source: object, count: int | None, labels: list[str] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        frames_of(source, count, labels)

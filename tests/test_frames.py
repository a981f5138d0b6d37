from __future__ import annotations

import pytest
import torch

from nf_widget import InputError
from nf_widget.frames import frames_of


def test_a_tensor_is_split_along_its_first_axis_and_keeps_the_batch_axis() -> None:
    batch = torch.arange(6.0).reshape(3, 2)
    frames = frames_of(batch)
    assert frames.count == 3
    assert torch.equal(frames.get(1), batch[1:2])


def test_a_list_a_dataset_and_a_callable() -> None:
    assert frames_of(["a", "b"]).get(1) == "b"
    dataset = torch.utils.data.TensorDataset(torch.arange(4.0))
    assert frames_of(dataset).count == 4
    assert frames_of(lambda i: i * 10, count=3).get(2) == 20


@pytest.mark.parametrize(
    ("source", "count", "labels", "words"),
    [
        (iter([1, 2]), None, None, "frames=list"),
        (lambda i: i, None, None, "frame_count="),
        ([], None, None, "at least one"),
        (torch.tensor(1.0), None, None, "first axis"),
        ([1, 2], None, ["only one"], "give one for each"),
    ],
)
def test_bad_frames_say_what_to_do(source: object, count: int | None, labels: list[str] | None, words: str) -> None:
    with pytest.raises(InputError, match=words):
        frames_of(source, count, labels)

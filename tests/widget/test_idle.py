"""What a widget does while nothing is wanted: neighbours, and small pictures of inputs, without asking too much."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch import nn

from nf_widget import FlowWidget, trace
from nf_widget.widget.idle import MOST, Idle, spaced

# Forwards are counted outside of the model: a pass leaves no trace in it.
RAN: list[int] = []


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        RAN.append(1)
        return self.stem(x).mean((2, 3))


def image(index: int) -> torch.Tensor:
    return torch.full((1, 3, 8, 8), index / 300)


def settled(make: Callable[[], FlowWidget], seconds: float = 0.5) -> FlowWidget:
    """Made within a running event loop, which then idles."""

    async def run() -> FlowWidget:
        widget = make()
        await asyncio.sleep(seconds)
        return widget

    return asyncio.run(run())


def test_inputs_are_looked_at_without_running_the_model() -> None:
    RAN.clear()
    widget = settled(lambda: FlowWidget(Net(), frames=image, frame_count=200))
    before = len(RAN)
    shown = widget.thumbnails
    assert [int(frame) for frame in shown["frames"]] == spaced(200)
    assert len(shown["frames"]) == MOST
    assert all(picture["kind"] == "photo" for picture in shown["frames"].values())
    # As many as for the first frame alone.
    trace(Net(), image(0))
    assert before == len(RAN) - before
    widget.close()


def test_an_iterator_is_not_read_further_for_them() -> None:
    taken: list[int] = []

    def items() -> Iterator[torch.Tensor]:
        for i in range(50):
            taken.append(i)
            yield image(i)

    widget = settled(lambda: FlowWidget(Net(), frames=items(), frame_count=50))
    assert taken == [0]
    assert set(widget.thumbnails["frames"]) <= {"0"}
    widget.close()


def test_a_frame_that_cannot_be_read_is_left_out_and_told_only_when_looked_at(caplog: pytest.LogCaptureFixture) -> None:
    def frame(index: int) -> torch.Tensor:
        if index == 2:
            raise ValueError("no such file")
        return image(index)

    widget = settled(lambda: FlowWidget(Net(), frames=frame, frame_count=5))
    assert sorted(widget.thumbnails["frames"]) == ["0", "1", "3", "4"]
    assert widget.status["state"] == "idle"
    assert not [record for record in caplog.records if record.levelname == "ERROR"]
    widget.close()


def test_inputs_that_are_no_photographs_are_given_up_at_the_first() -> None:
    looked: list[int] = []

    def frame(index: int) -> torch.Tensor:
        looked.append(index)
        return torch.randn(1, 4)

    widget = settled(lambda: FlowWidget(nn.Sequential(nn.Linear(4, 4), nn.ReLU()), frames=frame, frame_count=40))
    assert widget.thumbnails["frames"] == {}
    assert set(looked) <= {0, spaced(40)[0]}
    widget.close()


def test_a_neighbour_that_raised_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    flow = trace(Net(), frames=[image(0), torch.randn(1, 7, 8, 8), image(2)])
    idle = Idle(flow)
    asked: list[int] = []
    prefetch = flow.prefetch

    def noted(frame: int, sample: int) -> Any:
        asked.append(frame)
        return prefetch(frame, sample)

    monkeypatch.setattr(flow, "prefetch", noted)
    while idle.fetch_neighbour(0, 0, 1):
        pass
    assert asked == [1, 2]
    assert idle.unfit == {1}


@pytest.mark.parametrize("count", [1, 5, MOST, MOST + 1, 1000])
def test_pictures_are_evenly_spaced_and_bounded(count: int) -> None:
    frames = spaced(count)
    assert frames == sorted(set(frames))
    assert len(frames) == min(count, MOST)
    assert frames[0] >= 0
    assert frames[-1] < count
    steps = {b - a for a, b in itertools.pairwise(frames)}
    assert len(steps) <= 2

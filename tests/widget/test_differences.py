"""Differences to a reference frame: of pictures and tiles, in the kernel, never of frames of other shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from nf_widget import FlowWidget, trace
from nf_widget.records import (
    FeatureMaps,
    Nothing,
    Photo,
    Request,
    Scalar,
    StageId,
    TokenStrip,
    VectorStrip,
    VolumeSlices,
)
from nf_widget.widget.differences import cached_tiles, subtracted, tiles


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(2, 6, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(6, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.pool(self.stem(x)).flatten(1))


@pytest.fixture
def model() -> Net:
    torch.manual_seed(0)
    return Net().eval()


@pytest.fixture
def frames() -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(2, 2, 12, 12, generator=generator) * 5 for _ in range(3)]


@pytest.fixture
def widget(model: Net, frames: list[torch.Tensor]) -> Iterator[FlowWidget]:
    widget = FlowWidget(model, frames=frames)
    yield widget
    widget.close()


def request(frame: int, reference: int | None, **fields: Any) -> Request:
    return Request("k", frame, 0, StageId("stem"), "", 1, reference=reference, **fields)


def values(picture: dict[str, Any]) -> np.ndarray[Any, Any]:
    codes = np.frombuffer(picture["codes"], np.uint8).astype(float)
    return picture["low"] + codes / 254 * (picture["high"] - picture["low"])


def test_pictures_become_differences_of_the_same_channels_about_zero(
    widget: FlowWidget, model: Net, frames: list[torch.Tensor]
) -> None:
    before = widget.overview["stages"]["stem"][0]
    widget.reference, widget.frame = 0, 2
    shown = widget.overview["stages"]["stem"][0]
    assert (widget.overview["frame"], shown["reference"]) == (2, 0)
    assert shown["scale"] == [-before["scale"][1], before["scale"][1]] == [shown["picture"]["low"], shown["scale"][1]]
    assert shown["picture"]["channels"] == before["picture"]["channels"]
    with torch.no_grad():
        expected = (model.stem(frames[2]) - model.stem(frames[0]))[0, shown["picture"]["channels"]].flatten().numpy()
    limit = shown["scale"][1]
    assert np.abs(values(shown["picture"]) - expected.clip(-limit, limit)).max() <= limit / 127
    # What the model was given and its statistics are those of the frame itself.
    plain = trace(model, frames[2]).summary("stem").statistics
    assert plain is not None
    assert shown["statistics"]["mean"] == pytest.approx(plain.mean)
    widget.reference = None
    assert widget.overview["stages"]["stem"][0]["reference"] is None
    assert widget.overview["stages"]["stem"][0]["scale"] == before["scale"]


def test_the_reference_itself_differs_by_nothing(widget: FlowWidget) -> None:
    widget.reference = 0
    picture = widget.overview["stages"]["stem"][0]["picture"]
    assert set(values(picture)) == {0.0}


def test_channels_are_held_while_differences_are_shown(widget: FlowWidget) -> None:
    widget.options = {**widget.options, "hold_channels": False}
    widget.frame = 1
    free = widget.overview["stages"]["stem"][0]["picture"]["channels"]
    widget.reference = 0
    first = trace(widget.flow.model, widget.flow._frames.get(0)).summary("stem").picture
    assert isinstance(first, FeatureMaps)
    assert tuple(widget.overview["stages"]["stem"][0]["picture"]["channels"]) == first.channels
    widget.reference = None
    assert widget.overview["stages"]["stem"][0]["picture"]["channels"] == free


def test_tiles_are_exact_differences_and_the_reference_is_read_once(
    model: Net, frames: list[torch.Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = trace(model, frames=frames)
    with torch.no_grad():
        outputs = [model.stem(x)[0, 1].numpy() for x in frames]
    ran: list[int] = []
    forward = Net.forward
    monkeypatch.setattr(Net, "forward", lambda self, x: ran.append(int(x.shape[0])) or forward(self, x))
    found, missing = cached_tiles(flow, [request(1, 0)])
    assert (found, missing) == ([], [request(1, 0)])
    (one,) = tiles(flow, [request(1, 0)])
    assert (one.key, one.exact, one.error) == ("k", True, "")
    assert np.array_equal(one.data, outputs[1] - outputs[0])
    assert one.mean == pytest.approx(float(one.data.mean()))
    count = len(ran)
    tiles(flow, [request(2, 0), request(2, None), request(1, 0)])
    assert len(ran) == count + 1
    found, missing = cached_tiles(flow, [request(1, 0), request(2, 0, region=(0, 0, 2, 2))])
    assert np.array_equal(found[0].data, one.data)
    assert missing == [request(2, 0, region=(0, 0, 2, 2))]


def test_frames_of_other_shapes_are_not_mixed(model: Net, frames: list[torch.Tensor]) -> None:
    flow = trace(model, frames=[frames[0], frames[1][:, :, :8, :8]])
    shown = subtracted(flow.overview(1), flow.overview(0), 0)
    picture = shown[StageId("stem")][0].picture
    assert picture == Nothing("2×6×8×8 here, 2×6×12×12 in frame 1")
    assert isinstance(shown[StageId("pool")][0].picture, VectorStrip)
    (tile,) = tiles(flow, [request(1, 0)])
    assert "another shape" in tile.error
    (tile,) = tiles(flow, [replace(request(1, 0), channel=99)])
    assert "no channel 99" in tile.error


def test_a_leaf_that_the_reference_has_not_says_so(model: Net, frames: list[torch.Tensor]) -> None:
    shown = trace(model, frames[0]).overview()
    without = {name: leaves for name, leaves in shown.items() if name != "stem"}
    assert subtracted(shown, without, 4)[StageId("stem")][0].picture == Nothing("not there in frame 5")


def test_every_picture_of_numbers_has_a_difference() -> None:
    import messages

    for summaries in (messages.enc(), messages.block(), messages.volume()):
        for summary in summaries:
            (found,) = subtracted({StageId("s"): [summary]}, {StageId("s"): [summary]}, 3)[StageId("s")]
            if isinstance(summary.picture, Nothing):
                assert found == summary
                continue
            assert found.reference == 3
            match found.picture:
                case FeatureMaps(values=held) | VectorStrip(values=held) | TokenStrip(values=held):
                    assert set(held[np.isfinite(held)]) == {0}
                case VolumeSlices(planes=planes):
                    assert all(set(plane.values.flat) == {0} for plane in planes)
                case other:
                    pytest.fail(f"{other} is no difference")
    one = messages.volume()[0]
    number = replace(one, picture=Scalar(2.5, "2.5"))
    (found,) = subtracted({StageId("s"): [number]}, {StageId("s"): [replace(number, picture=Scalar(4.0, "4"))]}, 0)[
        StageId("s")
    ]
    assert found.picture == Scalar(-1.5, "-1.5")


def test_a_reference_that_raises_leaves_the_last_good_picture(model: Net, frames: list[torch.Tensor]) -> None:
    widget = FlowWidget(model, frames=[frames[0], torch.randn(1, 5, 4, 4)])
    good = widget.overview
    widget.reference = 1
    assert (widget.status["state"], widget.overview) == ("stale", good)
    widget.reference = None
    assert widget.status["state"] == "idle"
    widget.close()


def test_a_reference_that_is_not_there_is_refused(widget: FlowWidget) -> None:
    with pytest.raises(ValueError, match="reference is 7"):
        widget.reference = 7


def test_photos_keep_the_brightness_of_the_first_frame() -> None:
    torch.manual_seed(0)
    net = nn.Sequential(nn.Conv2d(1, 2, 3))
    slices = [torch.rand(1, 1, 8, 8) * 900 + 100, torch.rand(1, 1, 8, 8) * 450 + 100]
    flow = trace(net, frames=slices)
    first, later = (flow.overview(frame)[StageId("input")][0].picture for frame in (0, 1))
    assert isinstance(first, Photo)
    assert isinstance(later, Photo)
    assert later.slopes == first.slopes
    assert later.values.max() < 160

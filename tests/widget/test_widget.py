"""`FlowWidget` from the kernel's side: what is wanted comes, mistakes are answered in words, nothing is disturbed."""

from __future__ import annotations

import asyncio
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from nf_widget import FlowWidget, OptionError, trace


class Branching(nn.Module):
    """Raises for inputs whose first value is above 100."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(1, 4, 3, padding=1)
        self.body = nn.Sequential(nn.Conv2d(4, 4, 3, padding=1), nn.ReLU())
        self.head = nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if x.flatten()[0] > 100:
            raise ValueError("this input is bad")
        y = self.stem(x)
        return self.head((y + self.body(y)).mean((2, 3)))


@pytest.fixture
def model() -> Branching:
    torch.manual_seed(0)
    return Branching().eval()


@pytest.fixture
def x() -> torch.Tensor:
    return torch.randn(2, 1, 8, 8, generator=torch.Generator().manual_seed(1))


@pytest.fixture
def widget(model: Branching, x: torch.Tensor) -> Iterator[FlowWidget]:
    widget = FlowWidget(model, x)
    yield widget
    widget.close()


def ask(stage: str, channel: int | None, key: str = "k", **fields: Any) -> dict[str, Any]:
    request = {
        "key": key, "frame": 0, "sample": 0, "stage": stage, "leaf": "", "channel": channel, "slice": None,
        "region": None, "size": None, "reference": None,
    }  # fmt: skip
    return request | fields


def test_it_shows_what_trace_gives(widget: FlowWidget, model: Branching, x: torch.Tensor) -> None:
    flow = trace(model, x)
    assert [s["id"] for s in widget.graph["stages"]] == [s.id for s in flow.graph.stages]
    assert set(widget.overview["stages"]) == {s.id for s in flow.graph.stages}
    assert widget.status["state"] == "idle"


def test_a_flow_is_shown_without_running_the_model_again(model: Branching, x: torch.Tensor) -> None:
    flow = trace(model, x)
    model.forward = None  # type: ignore[assignment]
    widget = FlowWidget.from_flow(flow)
    assert widget.flow is flow
    assert widget.graph["stages"]


def test_a_wanted_tile_holds_the_exact_values(widget: FlowWidget, model: Branching, x: torch.Tensor) -> None:
    widget.wanted = {"seq": 1, "tiles": [ask("stem", 2)]}
    answer = widget.tiles
    assert answer["seq"] == 1
    (tile,) = answer["tiles"]
    assert (tile["key"], tile["exact"], tile["error"]) == ("k", True, "")
    got = np.frombuffer(tile["data"], dtype=tile["dtype"]).reshape(tile["rows"], tile["columns"])
    with torch.no_grad():
        assert np.array_equal(got, model.stem(x)[0, 2].numpy())


def test_the_newest_interest_alone_is_answered_after_a_cell(model: Branching, x: torch.Tensor) -> None:
    async def cell() -> FlowWidget:
        widget = FlowWidget(model, x)
        handler = threading.Thread(target=lambda: [want(widget, seq) for seq in range(1, 21)])
        handler.start()
        handler.join()  # as while a cell runs: the handlers came in another thread, the loop is blocked
        assert widget.tiles["seq"] == 0
        await asyncio.sleep(0.05)
        return widget

    def want(widget: FlowWidget, seq: int) -> None:
        widget.wanted = {"seq": seq, "tiles": [ask("stem", seq % 4, key=f"k{seq}")]}

    widget = asyncio.run(cell())
    assert widget.tiles["seq"] == 20
    assert [t["key"] for t in widget.tiles["tiles"]] == ["k20"]
    widget.close()


def test_mistakes_in_what_is_wanted_are_answered_in_words(widget: FlowWidget) -> None:
    widget.wanted = {"seq": 1, "tiles": [ask("nowhere", 0, key="a"), ask("stem", 99, key="b"), ask("stem", 0, key="c")]}
    by_key = {tile["key"]: tile for tile in widget.tiles["tiles"]}
    assert by_key["a"]["error"]
    assert by_key["b"]["error"]
    assert by_key["c"]["error"] == ""
    widget.wanted = {"seq": "x", "tiles": 3}
    assert widget.status["state"] == "error"
    widget.wanted = {"seq": 2, "tiles": [ask("stem", 1, key="d")]}
    assert [t["key"] for t in widget.tiles["tiles"]] == ["d"]


def test_a_bad_frame_leaves_the_last_good_picture_marked_stale(model: Branching, x: torch.Tensor) -> None:
    widget = FlowWidget(model, frames=[x, x + 1000, x * 2])
    good = widget.overview
    widget.frame = 1
    assert widget.status["state"] == "stale"
    assert "this input is bad" in widget.status["text"]
    assert widget.overview == good
    widget.frame = 0
    assert widget.status["state"] == "idle"
    widget.frame = 1
    assert widget.status["state"] == "stale"
    widget.frame = 2
    assert widget.status["state"] == "idle"
    assert widget.overview["frame"] == 2
    widget.close()


def test_neighbours_are_prefetched_when_nothing_else_is_wanted(model: Branching, x: torch.Tensor) -> None:
    async def cell() -> FlowWidget:
        widget = FlowWidget(model, frames=[x * k for k in range(1, 8)])
        widget.frame = 3
        await asyncio.sleep(0.2)
        return widget

    widget = asyncio.run(cell())
    known = [frame for frame in range(7) if widget.flow.has_overview(frame, 0)]
    assert known == [0, 2, 3, 4, 5]
    assert widget.overview["frame"] == 3
    widget.close()


def test_a_frame_or_sample_that_is_not_there_is_refused(widget: FlowWidget) -> None:
    with pytest.raises(OptionError, match="frame is 7"):
        widget.frame = 7
    with pytest.raises(OptionError, match="sample is 2"):
        widget.sample = 2


def test_the_sample_changes_the_picture_without_another_trace(widget: FlowWidget) -> None:
    before = widget.overview
    widget.sample = 1
    assert widget.overview["sample"] == 1
    assert widget.overview["stages"]["stem"] != before["stages"]["stem"]


def test_expanding_changes_the_graph_and_collapsing_gives_it_back(widget: FlowWidget) -> None:
    before = widget.graph
    widget.expanded = ["body"]
    assert "body.0" in {s["id"] for s in widget.graph["stages"]}
    assert "body.0" in widget.overview["stages"]
    assert [g["id"] for g in widget.graph["groups"]] == ["body"]
    widget.expanded = []
    assert widget.graph["stages"] == before["stages"]


def test_the_text_that_remains_without_a_front_end_is_the_table(widget: FlowWidget) -> None:
    bundle = widget._repr_mimebundle_()
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    assert "stem" in data["text/plain"]


def test_closing_frees_the_widget(model: Branching, x: torch.Tensor) -> None:
    import gc
    import weakref

    widget = FlowWidget(model, x)
    dead = weakref.ref(widget)
    widget.close()
    del widget
    gc.collect()
    assert dead() is None


def test_a_saved_page_holds_the_frames_and_details_asked_for_and_nothing_that_can_run(
    model: Branching, x: torch.Tensor, tmp_path: Path
) -> None:
    widget = FlowWidget(model, frames=[x, x * 2], labels={"stem": "</script><script>alert(1)</script>"})
    text = widget.save_html(tmp_path / "net.html", frames="all", detail=["stem"]).read_text()
    content = json.loads(re.search(r'id="nf-page">(.*?)</script>', text, re.DOTALL)[1])  # type: ignore[index]
    assert [saved["frame"] for saved in content["overviews"]] == [0, 1]
    assert len(content["state"]["tiles"]["tiles"]) == 8
    assert "<script>alert(1)" not in text
    assert "</script><script>alert(1)</script>" in {s["label"] for s in content["state"]["graph"]["stages"]}
    with pytest.raises(OptionError, match="limit"):
        widget.save_html(tmp_path / "large.html", limit=1000)
    assert not (tmp_path / "large.html").exists()
    with pytest.raises(OptionError, match="frames holds 9"):
        widget.save_html(tmp_path / "net.html", frames=[9])
    widget.close()


def test_options_let_go_of_channels_and_colours(model: Branching, x: torch.Tensor) -> None:
    widget = FlowWidget(model, frames=[x, x.flip(-1) * 3])
    widget.frame = 1
    held = widget.overview["stages"]["stem"][0]["picture"]
    widget.options = {**widget.options, "hold_colours": False}
    free = widget.overview["stages"]["stem"][0]["picture"]
    assert free["channels"] == held["channels"]
    assert free["high"] > held["high"]
    widget.options = {**widget.options, "theme": "dark", "hold_channels": False, "hold_colours": True}
    alone = FlowWidget(model, x.flip(-1) * 3)
    own = alone.overview["stages"]["stem"][0]["picture"]["channels"]
    assert widget.overview["stages"]["stem"][0]["picture"]["channels"] == own
    assert widget.overview["stages"]["stem"][0]["picture"]["high"] == held["high"]
    widget.close()
    alone.close()


def test_the_slider_grows_with_a_generator_and_ends_with_it(model: Branching, x: torch.Tensor) -> None:
    widget = FlowWidget(model, frames=(x * k for k in range(1, 13)))
    first = widget.frame_count
    assert 1 < first < 12
    widget.frame = first - 1
    assert widget.frame_count == 12
    widget.frame = 11
    assert (widget.overview["frame"], widget.frame_count) == (11, 12)
    widget.close()
    promised = FlowWidget(model, frames=(x * k for k in range(1, 5)), frame_count=100)
    promised.frame = 60
    assert (promised.frame_count, promised.frame, promised.overview["frame"]) == (4, 3, 3)
    promised.close()


def test_other_options_do_not_try_a_frame_again_that_raised(model: Branching, x: torch.Tensor) -> None:
    widget = FlowWidget(model, frames=[x, x + 1000])
    widget.frame = 1
    beat = widget.status["beat"]
    widget.options = {**widget.options, "theme": "dark"}
    assert (widget.status["state"], widget.status["beat"]) == ("stale", beat)
    widget.close()

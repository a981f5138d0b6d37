"""What a saved notebook keeps of the widget, and what is let go."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from ipywidgets.embed import embed_data
from torch import nn

from nf_widget import FlowWidget
from nf_widget.protocol.budget import buffer_bytes, fitted


@pytest.fixture
def widget() -> Iterator[FlowWidget]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.Conv2d(16, 4, 3, padding=1)).eval()
    widget = FlowWidget(model, torch.rand(1, 3, 48, 48), layers="leaves")
    yield widget
    widget.close()


def sent_tiles(widget: FlowWidget) -> list[int]:
    """Of each message with tiles that goes to the front end from now on, how many bytes it brings."""
    sent: list[int] = []
    send = widget.send_state

    def send_state(key: Any = None) -> None:
        if key == "tiles":
            sent.append(buffer_bytes(widget.tiles))
        send(key)

    widget.send_state = send_state  # type: ignore[method-assign]
    return sent


def ask(widget: FlowWidget, stage: str, channels: int) -> None:
    fixed: dict[str, Any] = {"frame": 0, "sample": 0, "leaf": "", "slice": None, "region": None, "size": None}
    fixed["reference"] = None
    tiles = [{"key": str(i), "stage": stage, "channel": i, **fixed} for i in range(channels)]
    widget.wanted = {"seq": widget.wanted["seq"] + 1, "tiles": tiles}


def test_values_that_fit_stay(widget: FlowWidget) -> None:
    ask(widget, "0", 16)
    assert len(widget.tiles["tiles"]) == 16


def test_values_beyond_the_budget_are_sent_and_let_go(widget: FlowWidget) -> None:
    widget.state_budget = buffer_bytes(widget.overview) + 16 * 48 * 48 * 4 - 1
    sent = sent_tiles(widget)
    ask(widget, "0", 16)
    assert sent == [16 * 48 * 48 * 4, 0]
    assert widget.tiles == {"seq": 1, "tiles": []}


def test_pictures_beyond_the_budget_are_left_out_largest_first(widget: FlowWidget) -> None:
    whole = widget.overview
    sizes = {stage: buffer_bytes([leaf["picture"] for leaf in leaves]) for stage, leaves in whole["stages"].items()}
    largest = max(sizes, key=lambda stage: sizes[stage])
    rest = sum(sizes.values()) - sizes[largest]
    kept = fitted(whole, rest)["stages"]
    assert kept[largest][0]["picture"]["kind"] == "nothing"
    assert "state_budget" in kept[largest][0]["picture"]["reason"]
    assert kept[largest][0]["statistics"] == whole["stages"][largest][0]["statistics"]
    assert all(kept[stage] == whole["stages"][stage] for stage in sizes if stage != largest)
    assert fitted(whole, sum(sizes.values())) is whole


def test_a_smaller_budget_holds_at_once(widget: FlowWidget) -> None:
    whole = widget.overview
    widget.state_budget = 0
    kinds = {leaf["picture"]["kind"] for leaves in widget.overview["stages"].values() for leaf in leaves}
    assert kinds == {"nothing"}
    widget.state_budget = 4 * 2**20
    assert widget.overview == whole


def test_an_embedded_page_gets_the_whole_state(widget: FlowWidget) -> None:
    state = embed_data(views=[widget])["manager_state"]["state"][widget.model_id]["state"]
    assert {"_view_name", "frame", "graph", "selected"} <= set(state)

"""How a widget is made: the page loads the front end while the model runs, and hears of no mistake."""

from __future__ import annotations

import warnings
from typing import Any

import comm
import pytest
import torch
from comm.base_comm import BaseComm
from ipywidgets.widgets import widget as ipywidgets_widget
from torch import nn

from nf_widget import FlowWidget, InputError, LayerError, ModelError, NotRunWarning, trace

X = torch.randn(2, 4, generator=torch.Generator().manual_seed(0))


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """What the page hears, and when the model runs."""
    found: list[tuple[str, Any]] = []

    class Heard(BaseComm):
        def publish_msg(self, msg_type: str, data: Any = None, **_: Any) -> None:
            found.append((msg_type, data))

    monkeypatch.setattr(comm, "create_comm", Heard)
    return found


def _model(heard: list[tuple[str, Any]]) -> nn.Module:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    model.register_forward_pre_hook(lambda *_: heard.append(("forward", None)))
    return model


def _layout(message: Any) -> bool:
    return bool(message) and str(message.get("state", {}).get("_model_name", "")).startswith("Layout")


def test_the_front_end_is_sent_before_the_model_runs(heard: list[tuple[str, Any]]) -> None:
    widget = FlowWidget(_model(heard), X)
    kinds = [kind for kind, data in heard if not _layout(data)]
    assert kinds[:2] == ["comm_open", "forward"]
    opened = next(data for kind, data in heard if kind == "comm_open" and not _layout(data))
    assert opened["state"]["_esm"]
    assert opened["state"]["graph"] == {}
    # All that was found comes at once.
    assert kinds[-1] == "comm_msg"
    assert kinds.count("comm_msg") == 1
    sent = heard[-1][1]["state"]
    assert {"graph", "overview", "status"} <= set(sent)
    assert "_esm" not in sent
    assert sent["status"]["state"] == "idle"
    widget.close()
    assert [kind for kind, _ in heard[-2:]] == ["comm_close"] * 2


def test_a_model_that_raises_leaves_nothing_in_the_page(heard: list[tuple[str, Any]]) -> None:
    before = len(ipywidgets_widget._instances)
    with pytest.raises(RuntimeError, match="shapes"):
        FlowWidget(_model(heard), torch.randn(2, 5))
    with pytest.raises(LayerError):
        FlowWidget(_model(heard), X, layers=["nowhere"])
    kinds = [kind for kind, _ in heard]
    assert kinds.count("comm_open") == kinds.count("comm_close") > 0
    assert "comm_msg" not in kinds
    assert len(ipywidgets_widget._instances) == before


def test_what_is_wrong_from_the_start_is_never_heard_of(heard: list[tuple[str, Any]]) -> None:
    with pytest.raises(ModelError):
        FlowWidget("no model", X)  # type: ignore[arg-type]
    with pytest.raises(InputError):
        FlowWidget(_model(heard))
    assert heard == []


class Skipping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.unused = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.used(x)


@pytest.mark.parametrize("make", [trace, FlowWidget])
def test_a_warning_names_the_line_that_asked(make: Any) -> None:
    lazy = nn.Sequential(nn.LazyLinear(3), nn.ReLU())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        make(Skipping(), X, layers=["used", "unused"])
        make(lazy, X)
        make(nn.Linear(4, 2, device="meta"), X)
    assert len(caught) == 3
    assert caught[0].category is NotRunWarning
    assert {warning.filename for warning in caught} == {__file__}

"""A model and an input -> its trace; a selection -> its ids."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch
from torch import Tensor, nn

from nf_widget.inputs import model_device, normalise
from nf_widget.records import CallId, Selection, Trace
from nf_widget.running import record_conditions
from nf_widget.selection import select, stage_id
from nf_widget.tracing.record import record, record_calls


def traced(model: nn.Module, x: Any, *, may_fail: bool = False, blind: bool = False) -> Trace:
    """`blind`: the calls alone, as where the dataflow tracer disturbs the forward."""
    conditions = record_conditions(model, model_device(model), "eval", False)
    recording = (record_calls if blind else record)(model, normalise(model, x, None), conditions)
    if recording.error is not None and not may_fail:
        raise recording.error
    return recording.trace


def ids(trace: Trace, calls: Iterable[CallId]) -> list[str]:
    return [str(stage_id(trace, call)) for call in calls]


def cut(model: nn.Module, x: Any, max_stages: int = 12) -> list[str]:
    """Ids of the stages that the automatic cut of the model shows."""
    trace = traced(model, x)
    return ids(trace, select(trace, max_stages=max_stages).stages)


def image(channels: int, *size: int, batch: int = 1) -> Tensor:
    return torch.rand(batch, channels, *size, generator=torch.Generator().manual_seed(0))


def tokens(length: int = 9, batch: int = 1) -> Tensor:
    return torch.arange(length).expand(batch, -1) % 50


def check(trace: Trace, selection: Selection) -> None:
    """What holds for every selection."""
    calls = trace.calls
    assert list(selection.stages) == sorted(set(selection.stages))
    assert list(selection.groups) == sorted(set(selection.groups))
    shown = set(selection.stages)
    for call in calls:
        chain = [call.id]
        while (parent := calls[chain[-1]].parent) is not None:
            chain.append(parent)
        owner = next((c for c in chain if c in shown), None)
        assert selection.owner.get(call.id) == owner
        assert sum(c in shown for c in chain) <= 1, "stages lie inside each other"
    for group in selection.groups:
        assert group not in shown
        assert calls[group].parent is not None
    assert selection.expandable <= shown

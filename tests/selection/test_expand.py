"""Expanding in place: a stage becomes its children in a group, down to leaves and back."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import models_zoo as zoo
from nf_widget.records import CallId, Selection, Trace
from nf_widget.selection import children, expand, select, stage_id
from selection.traces import check, ids, image, tokens, traced


@pytest.fixture(scope="module")
def trace() -> Trace:
    return traced(zoo.ResNet(zoo.BasicBlock, (2, 1, 1, 1)).eval(), image(3, 64, 64))


def shown(trace: Trace, selection: Selection) -> tuple[list[str], list[str]]:
    check(trace, selection)
    return ids(trace, selection.stages), ids(trace, selection.groups)


def test_a_stage_becomes_its_children_in_place(trace: Trace) -> None:
    base = select(trace)
    stages, groups = shown(trace, expand(trace, base, ["layer1"]))
    assert stages == ["conv1", "maxpool", "layer1.0", "layer1.1", "layer2", "layer3", "layer4", "avgpool", "fc"]
    assert groups == ["layer1"]


def test_a_container_of_one_is_looked_through(trace: Trace) -> None:
    stages, groups = shown(trace, expand(trace, select(trace), ["layer2"]))
    assert stages[3:6] == ["layer2.0.conv1", "layer2.0.conv2", "layer2.0.downsample"]
    assert groups == ["layer2"]


def test_children_are_expanded_too_whatever_the_order(trace: Trace) -> None:
    base = select(trace)
    wanted = ["layer1.1", "layer1", "layer3"]
    expanded = expand(trace, base, wanted)
    stages, groups = shown(trace, expanded)
    assert stages[2:5] == ["layer1.0", "layer1.1.conv1", "layer1.1.conv2"]
    assert groups == ["layer1", "layer1.1", "layer3"]
    assert expand(trace, base, wanted[::-1]) == expanded
    assert expand(trace, expand(trace, expand(trace, base, ["layer1"]), ["layer1.1"]), ["layer3"]) == expanded


def test_nothing_else_changes_anything(trace: Trace) -> None:
    base = select(trace)
    for name in ("unknown", "conv1", "input", "layer1.0", "relu", "", "ResNet"):
        assert expand(trace, base, [name]) == base
    assert expand(trace, base, []) == base


def test_every_combination_is_reached_down_to_leaves() -> None:
    trace = traced(zoo.BERT(3).eval(), tokens())
    base = select(trace)
    whole = [str(stage_id(trace, call.id)) for call in trace.calls]
    deepest = expand(trace, base, whole)
    stages, _ = shown(trace, deepest)
    assert not deepest.expandable
    assert set(stages) == set(ids(trace, select(trace, layers="leaves").stages))


def test_expandable_is_what_has_children(trace: Trace) -> None:
    base = select(trace)
    assert ids(trace, sorted(base.expandable)) == ["layer1", "layer2", "layer3", "layer4"]
    for call in base.stages:
        assert (call in base.expandable) == bool(children(trace, call))


def test_labels_notes_and_groups_are_kept(trace: Trace) -> None:
    base = select(trace, layers=["layer1", "layer1.1", "layer2"], labels={"layer2.0.conv1": "first"})
    expanded = expand(trace, base, ["layer2"])
    _, groups = shown(trace, expanded)
    assert groups == ["layer1", "layer2"]
    assert expanded.labels == base.labels
    assert "first" in expanded.labels.values()


def test_each_call_of_a_module_expands_by_itself() -> None:
    trace = traced(zoo.Siamese(), (image(1, 16, 16), image(1, 16, 16)))
    base = select(trace, layers=["encoder", "head"])
    stages, groups = shown(trace, expand(trace, base, ["encoder#1"]))
    assert stages == ["encoder#0", "encoder.0#1", "encoder.2#1", "encoder.4#1", "head"]
    assert groups == ["encoder#1"]


def test_the_root_expands_into_its_children_without_a_group() -> None:
    trace = traced(zoo.MLP().eval(), torch.ones(1, 8))
    base = select(trace, layers="MLP")
    assert shown(trace, expand(trace, base, ["MLP"])) == (["0", "2", "4"], [])


def test_children_of_hundreds_of_nested_containers() -> None:
    inner: nn.Module = nn.Linear(4, 4)
    for _ in range(120):
        inner = nn.Sequential(inner)
    trace = traced(nn.Sequential(inner, nn.Linear(4, 2)), torch.ones(1, 4))
    first = children(trace, CallId(0))[0]
    assert ids(trace, children(trace, first)) == [".".join(["0"] * 121)]


def test_ids_are_numbered_only_where_a_module_is_called_several_times() -> None:
    trace = traced(zoo.Unrolled(), torch.ones(1, 3, 4))
    assert ids(trace, [call.id for call in trace.calls]) == [
        "Unrolled", "encode", "cell#0", "cell#1", "cell#2", "decode",
    ]  # fmt: skip


class Shared(nn.Module):
    """Two traces of one model: the second must not see what was kept of the first."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

    def forward(self, x: Tensor, both: Tensor) -> Tensor:
        return self.b(self.a(x)) if both.numel() > 1 else self.a(x)


def test_traces_are_not_mixed_up() -> None:
    model = Shared()
    one = traced(model, (torch.ones(1, 4), torch.ones(1)))
    two = traced(model, (torch.ones(1, 4), torch.ones(2)))
    for _ in range(2):
        assert ids(one, select(one).stages) == ["a"]
        assert ids(two, select(two).stages) == ["a", "b"]

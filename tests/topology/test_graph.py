"""Stage graphs beyond their edges: ids, kinds, `via`, what is attached, what is said."""

from __future__ import annotations

import warnings
from dataclasses import replace

import pytest
import torch
from torch import nn

from graphs import chain, cut, traced
from models import Do, InPlaceReLU, Residual, linear
from nf_widget.errors import TopologyWarning
from nf_widget.records import Note, StageGraph
from nf_widget.topology import build


def kinds(graph: StageGraph) -> dict[tuple[str, str], str]:
    return {(edge.source, edge.target): edge.kind for edge in graph.edges}


def test_main_comes_from_the_deepest_source_and_a_skip_goes_around_it() -> None:
    assert kinds(traced(Residual(), torch.randn(3, 4)).graph(["a", "b"])) == {
        ("input", "a"): "main",
        ("a", "b"): "main",
        ("b", "output"): "main",
        ("a", "output"): "skip",
    }


def test_a_branch_merges() -> None:
    model = Do(lambda m, x: m.a(x) + m.b(x), a=linear(), b=linear())
    found = kinds(traced(model, torch.randn(3, 4)).graph(["a", "b"]))
    # Equally deep: the one that ran last is main.
    assert (found["a", "output"], found["b", "output"]) == ("merge", "main")


def test_via_says_how_the_value_came() -> None:
    model = Do(lambda m, x: m.b(torch.cat([m.a(x).relu(), x[:, :2]], 1)), a=linear(), b=linear(6, 2))
    edges = {(e.source, e.target): e for e in traced(model, torch.randn(3, 4)).graph(["a", "b"]).edges}
    assert edges["a", "b"].via == ("relu", "cat")
    assert edges["input", "b"].via == ("getitem", "cat")
    assert edges["b", "output"].via == ()
    assert edges["a", "b"].spec is not None
    assert edges["a", "b"].spec.shape == (3, 4)


def test_a_rewritten_value_has_no_op_in_between() -> None:
    edges = {(e.source, e.target): e for e in traced(InPlaceReLU(), torch.randn(3, 4)).graph(["a", "act", "b"]).edges}
    assert edges["act", "output"].via == ("add",)


def test_modules_named_like_the_ends_keep_ids_of_their_own() -> None:
    model = Do(lambda m, x: m.output(m.input(x)), input=linear(), output=linear())
    graph = traced(model, torch.randn(3, 4)).graph(["input", "output"])
    assert [stage.id for stage in graph.stages] == ["input", "input#0", "output#0", "output"]
    assert set(kinds(graph)) == chain("input", "input#0", "output#0", "output")


def test_a_child_named_like_the_models_class() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.Net = linear()

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.Net(x)

    trace = traced(Net(), torch.randn(3, 4)).trace
    assert [stage.id for stage in build(Net(), trace, cut(trace, [""])).stages] == ["input", "Net (model)", "output"]


def test_a_stage_without_a_source_is_attached_and_says_so() -> None:
    model = Do(lambda m, x: m.a(x) + m.table(), a=linear(), table=Do(lambda m: m.weight * 2))
    model.table.weight = nn.Parameter(torch.ones(4))
    graph = traced(model, torch.randn(3, 4)).graph(["a", "table"])
    attached = [edge for edge in graph.edges if edge.evidence == "inferred"]
    assert [(edge.source, edge.target) for edge in attached] == [("a", "table")]
    assert [(note.kind, note.stage) for note in graph.notes] == [("source", "table")]


def test_a_stage_that_feeds_nothing_says_so() -> None:
    model = Do(lambda m, x: (m.aux(h := m.a(x)), h)[1], a=linear(), aux=linear())
    graph = traced(model, torch.randn(3, 4)).graph(["a", "aux"])
    assert [(note.kind, note.stage) for note in graph.notes] == [("dead-end", "aux")]


def test_an_output_that_depends_on_nothing_is_attached() -> None:
    model = Do(lambda m, x: (m.a(x), torch.ones(2)), a=linear())
    graph = traced(model, torch.randn(3, 4)).graph(["a"])
    assert ("a", "output:1") in {(e.source, e.target) for e in graph.edges if e.evidence == "inferred"}
    assert [note.stage for note in graph.notes] == ["output:1"]


def test_a_forward_that_was_not_traced_is_chained_with_a_warning() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    untraced = replace(run.trace, notes=(Note("untraced", "could not be traced"),))
    with pytest.warns(TopologyWarning, match="chained in execution order"):
        graph = build(run.model, untraced, cut(untraced, ["a", "b"]))
    assert graph.topology == "sequential"
    assert set(kinds(graph)) == chain("input", "a", "b", "output")
    assert "topology" in [note.kind for note in graph.notes]


def test_sequential_by_wish_warns_of_nothing() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        graph = build(run.model, run.trace, cut(run.trace, ["a", "b"]), topology="sequential")
    assert {edge.evidence for edge in graph.edges} == {"inferred"}
    assert set(kinds(graph)) == chain("input", "a", "b", "output")


def test_the_root_alone() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    assert run.edges([""]) == chain("input", "Residual", "output")


def test_an_inner_cut_of_the_same_trace() -> None:
    model = nn.Sequential(Residual(), Residual())
    run = traced(model, torch.randn(3, 4))
    assert run.edges(["0", "1"]) == chain("input", "0", "1", "output")
    assert run.edges(["0", "1.a", "1.b"]) == {*chain("input", "0", "1.a", "1.b", "output"), ("1.a", "output")}
    assert run.edges(["0.a", "0.b", "1"]) == {*chain("input", "0.a", "0.b", "1", "output"), ("0.a", "1")}

"""The oracle itself: it confirms true graphs, and finds what is wrong with false ones."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import nn

from graphs import chain, traced
from models import Do, Forces, InPlaceReLU, Remembers, Residual, WritesParameter, linear
from nf_widget.records import Edge, StageGraph, StageId


def without(graph: StageGraph, source: str, target: str) -> StageGraph:
    return replace(graph, edges=tuple(e for e in graph.edges if (e.source, e.target) != (source, target)))


def with_edge(graph: StageGraph, source: str, target: str, evidence: Any = "traced") -> StageGraph:
    edge = Edge(StageId(source), StageId(target), "merge", (), None, evidence)
    return replace(graph, edges=(*graph.edges, edge))


def test_a_true_graph_is_confirmed(untouched: Callable[..., Any]) -> None:
    model, x = Residual(), torch.randn(3, 4)
    with untouched(model, (x,)):
        found = traced(model, x).verified(["a", "b"])
    assert found.ok
    assert (found.edges, found.confirmed) == (4, 4)
    assert str(found) == "4 of 4 edges carried influence in 3 trials each."


def test_stages_inside_of_a_fused_layer(untouched: Callable[..., Any]) -> None:
    """In runs without a mode torch 2.4 would not call them."""
    layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
    model, x = nn.TransformerEncoder(layer, 2).eval(), torch.randn(2, 3, 8)
    assert torch.backends.mha.get_fastpath_enabled()
    with untouched(model, (x,)):
        found = traced(model, x).verified([f"layers.{i}.{name}" for i in (0, 1) for name in ("self_attn", "linear1")])
    assert found.ok
    assert not found.undecided
    assert found.confirmed == found.edges
    assert torch.backends.mha.get_fastpath_enabled()


def test_a_missing_edge_is_an_unexplained_influence() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    found = run.verified(["a", "b"], without(run.graph(["a", "b"]), "a", "output"))
    assert found.unexplained == (("a", "output"),)
    assert not found.ok
    assert "Influences that no edge explains: a -> output." in str(found)


def test_an_edge_too_many_carries_no_influence() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    found = run.verified(["a", "b"], with_edge(run.graph(["a", "b"]), "input", "b"))
    assert found.without_influence == (("input", "b"),)
    assert not found.ok


def test_an_inferred_edge_without_influence_is_no_fault() -> None:
    run = traced(Residual(), torch.randn(3, 4))
    found = run.verified(["a", "b"], with_edge(run.graph(["a", "b"]), "input", "b", "inferred"))
    assert found.unconfirmed == (("input", "b"),)
    assert found.ok


def test_the_rewriter_of_a_tensor_is_told_from_its_maker() -> None:
    run = traced(InPlaceReLU(), torch.randn(3, 4))
    wrong = with_edge(without(run.graph(["a", "act", "b"]), "act", "output"), "a", "output")
    found = run.verified(["a", "act", "b"], wrong)
    assert found.without_influence == (("a", "output"),)
    assert found.unexplained == (("act", "output"),)


@pytest.mark.parametrize(
    "pick",
    [
        pytest.param(lambda _, p, q: p + 1, id="never looked at"),
        pytest.param(lambda m, p, q: p + m.table[: q.shape[0]], id="only its shape is read"),
        pytest.param(lambda _, p, q: p + torch.zeros_like(q), id="a like"),
        pytest.param(lambda _, p, q: p + 0 * q, id="to no effect"),
    ],
)
def test_an_argument_that_is_not_read_is_received(pick: Callable[..., torch.Tensor]) -> None:
    part = Do(pick)
    part.register_buffer("table", torch.ones(3, 4))
    model = Do(lambda m, x: m.pick(m.a(x), m.b(x)), a=linear(), b=linear(), pick=part)
    found = traced(model, torch.randn(3, 4)).verified(["a", "b", "pick"])
    assert found.unread == (("b", "pick"),)
    assert found.without_influence == ()
    assert found.ok
    assert "Received, and not read but for its shape, or to no effect: b -> pick." in str(found)


def test_what_is_given_because_of_a_number_is_not_received() -> None:
    """`a` only chooses which table `pick` is given, so an edge from it is false."""
    model = Do(
        lambda m, x: m.pick(m.tables[int(m.a(x).sum() * 1e3) % 7]),
        a=linear(),
        pick=Do(lambda _, table: torch.ones(table.shape)),
    )
    model.tables = [torch.full((3,), float(i)) for i in range(7)]
    run = traced(model, torch.randn(3, 4))
    found = run.verified(["a", "pick"], with_edge(run.graph(["a", "pick"]), "a", "pick"))
    assert found.without_influence == (("a", "pick"),)
    assert not found.unread


def test_python_values_are_no_unexplained_influence() -> None:
    model = Do(lambda m, x: m.b(x) * float(m.a(x).sum()), a=linear(), b=linear())
    found = traced(model, torch.randn(3, 4)).verified(["a", "b"])
    assert found.ok
    assert found.by_value == (("a", "output"),)


def test_a_branch_is_no_unexplained_influence() -> None:
    model = Do(lambda m, x: m.b(x) * (2 if bool((h := m.a(x)).sum() > h.mean()) else 3), a=linear(), b=linear())
    found = traced(model, torch.randn(3, 4)).verified(["a", "b"])
    assert found.ok, found


def test_a_value_used_by_number_and_as_a_tensor_is_explained_by_the_tensor() -> None:
    model = Do(lambda m, x: (h := m.a(x)) * float(h.sum()), a=linear())
    found = traced(model, torch.randn(3, 4)).verified(["a"])
    assert found.ok
    assert found.by_value == ()


def test_what_draws_by_chance_cannot_be_tested() -> None:
    model = Do(lambda m, x: m.noise(m.a(x)), a=linear(), noise=Do(lambda _, h: h + _by_chance(h.shape)))
    found = traced(model, torch.randn(3, 4)).verified(["a", "noise"])
    assert found.undecided == (("a", "noise"),)
    assert found.ok


def _by_chance(shape: torch.Size) -> torch.Tensor:
    generator = torch.Generator()
    generator.seed()
    return torch.rand(shape, generator=generator)


def test_dropout_draws_the_same_each_time() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(linear(64), nn.Dropout(0.5), linear(64)).train()
    run = traced(model, torch.randn(3, 64), training="keep")
    assert run.verified(["0", "1", "2"]).ok
    assert run.verified(["0", "1", "2"]).undecided == ()


def test_a_forward_that_raises_under_every_perturbation_is_undecided() -> None:
    def strict(_: nn.Module, h: torch.Tensor) -> torch.Tensor:
        if not (h.numpy() == 1).all():
            raise ValueError("not all ones")
        return h * 2

    model = Do(lambda m, x: m.strict(m.ones(x)), ones=Do(lambda _, x: x / x), strict=Do(strict))
    found = traced(model, torch.rand(3, 4) + 1).verified(["ones", "strict"])
    assert ("input", "ones") in found.unread  # x / x is 1 whatever x is
    assert found.undecided == (("ones", "strict"),)


def test_meta_tensors_have_no_values_to_perturb() -> None:
    model = nn.Linear(4, 4, device="meta")
    found = traced(model, torch.empty(3, 4, device="meta")).verified([""])
    assert found.undecided == (("Linear", "output"), ("input", "Linear"))


def test_state_that_the_forward_changes_is_put_back_between_runs(untouched: Callable[..., Any]) -> None:
    model, x = Remembers(), torch.randn(3, 4)
    with untouched(model, (x,)):
        found = traced(model, x).verified(["a"])
    assert found.ok
    assert found.undecided == ()


def test_parameters_that_the_forward_writes_to_are_put_back(untouched: Callable[..., Any]) -> None:
    model, x = WritesParameter(), torch.randn(3, 4)
    with untouched(model, (x,)):
        assert traced(model, x).verified(["a"]).ok


def test_gradients_inside_the_forward() -> None:
    run = traced(Forces(), torch.randn(3, 3), grad=True)
    assert run.edges(["embed", "energy"]) == {
        *chain("input", "embed", "energy", "output:energy"),
        *((stage, "output:forces") for stage in ("input", "embed", "energy")),
    }
    found = run.verified(["embed", "energy"])
    assert found.ok
    # Of the three, the gradient needs only what the tanh was given.
    assert found.unconfirmed == (("energy", "output:forces"), ("input", "output:forces"))


def quantised() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # quantised tensors are on their way out of torch
        return torch.quantize_per_tensor(torch.randn(3, 4), 0.1, 10, torch.quint8)


def nested() -> torch.Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a prototype, torch says
        return torch.nested.nested_tensor([torch.randn(2), torch.randn(3)], layout=torch.strided)


@pytest.mark.parametrize(
    "tensor",
    [
        torch.arange(6).view(2, 3),
        torch.tensor(7),
        torch.zeros(2, 3, dtype=torch.bool),
        torch.tensor([1 + 2j, 3j]),
        torch.zeros(2, 3),
        torch.full((2,), float("nan")),
        torch.ones(2, 3, dtype=torch.float16),
        torch.ones(2, 3, dtype=torch.uint8),
        torch.randn(3, 1).expand(3, 4),
        torch.eye(3).to_sparse(),
        quantised(),
        torch.randn(2).to(torch.float8_e4m3fn),
        nested(),
    ],
    ids=lambda t: f"{t.dtype} {t.layout} {'nested' if t.is_nested else tuple(t.shape)}",
)
def test_tensors_of_every_kind_are_copied_compared_and_perturbed(tensor: torch.Tensor) -> None:
    from nf_widget.topology.perturb import duplicate, perturb, same

    copy, changed = duplicate(tensor, {}), duplicate(tensor, {})
    assert same(copy, tensor)
    assert perturb([changed], 0, [None])
    assert not same(changed, tensor)
    assert same(copy, tensor)
    again = duplicate(tensor, {})
    perturb([again], 0, [None])
    assert same(again, changed)


def test_views_of_one_memory_are_copied_together() -> None:
    from nf_widget.topology.perturb import duplicate

    base, memo = torch.randn(3, 4), {}
    whole, part = duplicate(base, memo), duplicate(base[:, 1], memo)
    whole[:, 1] = 5
    assert part.eq(5).all()
    assert not base.eq(5).any()


def test_indices_stay_among_those_that_occur() -> None:
    from nf_widget.topology.perturb import duplicate, perturb

    ids = torch.tensor([[3, 17], [3, 20]])
    changed = duplicate(ids, {})
    perturb([changed], 1, [None])
    assert set(changed.flatten().tolist()) <= {3, 17, 20}
    assert (changed != ids).all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_a_branch_that_rounding_all_but_hides_is_heard(dtype: torch.dtype) -> None:
    def forward(self: Do, x: torch.Tensor) -> torch.Tensor:
        x = self.a(x)
        return self.c(x + 1e-4 * self.b(x))

    model = Do(forward, a=linear(), b=linear(), c=linear()).to(dtype)
    assert traced(model, torch.randn(3, 4, dtype=dtype)).verified(["a", "b", "c"]).ok


def test_padding_that_the_input_lacks_is_tried() -> None:
    def forward(self: Do, ids: torch.Tensor) -> torch.Tensor:
        last = (ids != 0).int().cumsum(1).argmax(1)
        return self.head(self.embed(ids))[torch.arange(len(ids)), last]

    model = Do(forward, embed=nn.Embedding(50, 4), head=linear())
    ids = torch.randint(5, 50, (2, 7), generator=torch.Generator().manual_seed(0))
    assert traced(model, ids).verified(["embed", "head"]).ok

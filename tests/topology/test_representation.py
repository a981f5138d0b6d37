"""The vector that a head reads, as a stage of its own."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from nf_widget import trace
from nf_widget.records import Request, StageId


class Tokens(nn.Module):
    """Blocks over tokens, and a head that reads what `take` makes of the last."""

    def __init__(self, take, heads=1):
        super().__init__()
        torch.manual_seed(0)
        self.take = take
        self.embed, self.mix = nn.Linear(6, 8), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.heads = nn.ModuleList(nn.Linear(8, 3) for _ in range(heads))

    def forward(self, x):
        tokens = self.norm(self.mix(self.embed(x).relu()))
        taken = self.take(tokens)
        each = taken if isinstance(taken, list) else [taken] * len(self.heads)
        return [head(vector) for head, vector in zip(self.heads, each, strict=True)]


X = torch.randn(2, 5, 6, generator=torch.Generator().manual_seed(1))


def around(flow, name):
    into = {(edge.source, edge.via) for edge in flow.graph.edges if edge.target == name}
    return into, {(edge.target, edge.via) for edge in flow.graph.edges if edge.source == name}


@pytest.mark.parametrize(
    ("take", "via"),
    [
        (lambda t: t[:, 0], ("layer_norm", "getitem")),
        (lambda t: t.mean(1), ("layer_norm", "mean")),
        (lambda t: t.amax(1), ("layer_norm", "amax")),
    ],
)
@pytest.mark.parametrize("topology", ["runtime", "fx"])
def test_a_vector_taken_out_of_tokens_is_shown(take, via, topology, untouched):
    model = Tokens(take)
    with untouched(model, (X,)):
        flow = trace(model, X, topology=topology)
        vector = flow.activation("representation")
    with torch.no_grad():
        assert torch.equal(model.heads[0](vector), model(X)[0])
    assert around(flow, "representation") == ({("mix", via)}, {("heads.0", ())})
    assert [stage.id for stage in flow.graph.stages][-3:-1] == ["representation", "heads.0"]
    assert [stage.order for stage in flow.graph.stages] == list(range(len(flow.graph.stages)))
    assert flow.summary("representation").spec.shape == (2, 8)


def test_heads_that_read_the_same_vector_share_it():
    flow = trace(Tokens(lambda t: t.mean(1), heads=2), X)
    assert around(flow, "representation")[1] == {("heads.0", ()), ("heads.1", ())}


def test_heads_that_read_different_vectors_have_their_own():
    flow = trace(Tokens(lambda t: [t.mean(1), t[:, 0]], heads=2), X)
    names = [stage.id for stage in flow.graph.stages if stage.kind == "representation"]
    assert names == ["representation:heads.0", "representation:heads.1"]
    assert not torch.equal(*map(flow.activation, names))


def test_a_vector_of_several_stages_keeps_their_edges():
    class Both(nn.Module):
        def __init__(self):
            super().__init__()
            self.stem, self.body, self.head = nn.Conv2d(3, 8, 3), nn.Conv2d(8, 8, 3), nn.Linear(16, 4)

        def forward(self, x):
            y = self.stem(x)
            return self.head(torch.cat([y.mean((2, 3)), self.body(y).amax((2, 3))], 1))

    flow = trace(Both(), torch.rand(1, 3, 16, 16))
    kinds = {edge.source: edge.kind for edge in flow.graph.edges if edge.target == "representation"}
    assert kinds == {"stem": "skip", "body": "main"}


@pytest.mark.parametrize(
    "take",
    [
        pytest.param(lambda t: t, id="tokens"),
        pytest.param(lambda t: t.reshape(-1, 8), id="all tokens"),
    ],
)
def test_what_is_no_vector_of_a_sample_is_not_shown(take):
    flow = trace(Tokens(take), X)
    assert not [stage for stage in flow.graph.stages if stage.kind == "representation"]


def test_stages_named_by_hand_are_shown_as_named():
    flow = trace(Tokens(lambda t: t[:, 0]), X, layers=["mix", "heads.0"])
    assert [stage.id for stage in flow.graph.stages] == ["input", "mix", "heads.0", "output"]


def test_it_counts_among_the_stages_that_there_may_be():
    flow = trace(Tokens(lambda t: t[:, 0]), X, max_stages=3)
    assert not [stage for stage in flow.graph.stages if stage.kind == "representation"]


def test_its_values_are_had_one_by_one_and_its_edges_stand_for_those_that_are_verified():
    flow = trace(Tokens(lambda t: t[:, 0]), X)
    (tile,) = flow.tiles([Request("key", 0, 1, StageId("representation"), "", None)])
    assert tile.exact
    assert tile.data.ravel().tolist() == flow.activation("representation")[1].tolist()
    assert flow.verify().ok


def test_it_stays_while_a_stage_before_it_is_opened():
    class Deep(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
            self.blocks = nn.ModuleList(nn.TransformerEncoderLayer(8, 2, 8, batch_first=True) for _ in range(3))

        def forward(self, x):
            x = self.embed(x)
            for block in self.blocks:
                x = block(x)
            return self.head(x[:, 0])

    flow = trace(Deep(), X)
    before = flow.graph
    opened = flow.expand(["blocks.2"])
    assert "blocks.2" not in {stage.id for stage in opened.stages}
    assert {edge.target for edge in opened.edges if edge.source == "representation"} == {"head"}
    assert flow.expand(()).edges == before.edges


def test_what_is_opened_takes_no_room_from_it():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.parts = nn.Sequential(*(nn.Linear(8, 8) for _ in range(6)))

        def forward(self, x):
            return x + self.parts(x)

    class Blocks(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed, self.head = nn.Linear(6, 8), nn.Linear(8, 3)
            self.blocks = nn.Sequential(*(Block() for _ in range(4)))

        def forward(self, x):
            return self.head(self.blocks(self.embed(x)).mean(1))

    flow = trace(Blocks(), X)
    for opened in (flow.graph, flow.expand(["blocks.0", "blocks.1"])):
        assert "representation" in [stage.id for stage in opened.stages]
    assert sum(stage.kind == "call" for stage in opened.stages) == 16


def test_another_frame_has_its_own():
    flow = trace(Tokens(lambda t: t[:, 0]), frames=[X, 2 * X])
    first, second = (flow.activation("representation", frame=frame) for frame in range(2))
    assert not torch.equal(first, second)
    assert flow.overview(1, 0)[StageId("representation")][0].spec.shape == (2, 8)

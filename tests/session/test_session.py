"""`trace` and `Flow` through their public face."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch
from torch import nn

import nf_widget
from nf_widget import InputError, LayerError, ModelError, NotRunWarning, OptionError, StageError, ValuesWarning, trace


class UNet(nn.Module):
    """Two levels: `enc1 -> enc2 -> dec1`, with a skip from enc1 by `cat`."""

    def __init__(self) -> None:
        super().__init__()
        self.enc1 = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU())
        self.enc2 = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1, stride=2), nn.ReLU())
        self.dec1 = nn.Sequential(nn.Conv2d(12, 4, 3, padding=1), nn.ReLU())
        self.head = nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        skip = self.enc1(x)
        low = nn.functional.interpolate(self.enc2(skip), scale_factor=2)
        return self.head(self.dec1(torch.cat([low, skip], dim=1)))


@pytest.fixture
def unet() -> UNet:
    torch.manual_seed(0)
    return UNet().eval()


@pytest.fixture
def image() -> torch.Tensor:
    return torch.randn(2, 1, 16, 16, generator=torch.Generator().manual_seed(1))


def test_edges_of_a_unet_are_its_trunk_and_its_skip(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, image)
    edges = {(e.source, e.target, e.kind) for e in flow.graph.edges}
    assert edges == {
        ("input", "enc1", "main"),
        ("enc1", "enc2", "main"),
        ("enc1", "dec1", "skip"),
        ("enc2", "dec1", "main"),
        ("dec1", "head", "main"),
        ("head", "output", "main"),
    }
    skip = flow.edge("enc1", "dec1")
    assert skip.via == ("cat",)
    assert skip.spec is not None
    assert skip.spec.shape == (2, 4, 16, 16)
    assert flow.edge("enc2", "dec1").via == ("interpolate", "cat")


def test_activations_are_the_models_own_and_independent_of_it(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, image)
    with torch.no_grad():
        expected = unet.enc1(image)
    got = flow.activation("enc1")
    assert torch.equal(got, expected)
    got.zero_()
    assert torch.equal(flow.activation("enc1"), expected)


def test_every_pass_sees_the_random_numbers_of_the_first(image: torch.Tensor) -> None:
    model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.Dropout(0.5), nn.Conv2d(4, 2, 3)).train()
    flow = trace(model, image, training="keep", layers=["0", "1"])
    first = flow.activation("1")
    torch.rand(7)
    assert torch.equal(first, flow.activation("1"))
    assert flow.summary("1", sample=0).statistics is not None
    zeros = (first[0] == 0).float().mean().item()
    assert flow.summary("1", sample=0).statistics.zeros == pytest.approx(zeros)  # type: ignore[union-attr]


def test_the_table_names_stages_shapes_and_how_skips_join(unet: UNet, image: torch.Tensor) -> None:
    text = str(trace(unet, image))
    assert "enc1 (skip, cat)" in text
    assert "2×4×16×16" in text


def test_a_dict_output_has_one_stage_a_leaf() -> None:
    class Heads(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 3), nn.Linear(4, 2)

        def forward(self, x: torch.Tensor) -> dict[str, Any]:
            return {"a": self.a(x), "b": self.b(x), "none": None}

    flow = trace(Heads(), torch.randn(2, 4))
    assert [s.id for s in flow.graph.stages if s.kind == "output"] == ["output:a", "output:b"]


@pytest.mark.parametrize(
    ("model", "x", "error", "words"),
    [
        (42, torch.randn(1), ModelError, "torch.nn.Module"),
        (nn.Linear, torch.randn(1), ModelError, "pass an instance"),
        (nn.Linear(2, 2), 3, InputError, "No tensor among the inputs"),
        (nn.Linear(2, 2), None, InputError, "No input"),
    ],
)
def test_bad_subjects_have_a_clear_answer(model: Any, x: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        trace(model, x)


def test_an_input_that_the_model_rejects_gives_the_models_own_exception(unet: UNet) -> None:
    with pytest.raises(RuntimeError, match="expected input") as caught:
        trace(unet, torch.randn(1, 3, 16, 16))
    if hasattr(caught.value, "__notes__"):
        assert "enc1" in caught.value.__notes__[0]


def test_a_failing_forward_can_be_shown_up_to_its_failure(unet: UNet) -> None:
    flow = trace(unet, torch.randn(1, 1, 15, 15), errors="show")
    assert isinstance(flow.error, RuntimeError)
    assert {"enc1", "enc2"} <= {s.id for s in flow.graph.stages}
    assert flow.activation("enc2").shape == (1, 8, 8, 8)
    failed = flow.stage("raised:cat")
    assert (failed.status, failed.type_name) == ("raised", "raised in UNet")
    assert {(e.source, e.kind, e.via) for e in flow.graph.edges if e.target == failed.id} == {
        ("enc1", "skip", ()),
        ("enc2", "main", ("interpolate",)),
    }
    assert [s.id for s in flow.graph.stages if s.status == "not-run"] == ["dec1", "head"]
    assert flow.overview()[failed.id] == ()


def test_an_unknown_layer_lists_the_nearest(unet: UNet, image: torch.Tensor) -> None:
    with pytest.raises(LayerError, match="enc1"):
        trace(unet, image, layers=["enc_1"])


def test_unknown_stages_edges_leaves_and_options_name_the_nearest(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, image)
    with pytest.raises(StageError, match="dec1"):
        flow.summary("dec")
    with pytest.raises(StageError, match="dec1"):
        flow.edge("enc1", "head")
    with pytest.raises(StageError, match="leaf"):
        flow.activation("enc1", "hidden")
    with pytest.raises(OptionError, match="max_stages"):
        trace(unet, image, max_stage=3)  # type: ignore[call-arg]
    with pytest.raises(OptionError, match="sequential"):
        trace(unet, image, topology="magic")  # type: ignore[arg-type]


def test_a_model_without_submodules_is_one_stage() -> None:
    class Plain(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x.relu() + 1

    flow = trace(Plain(), torch.randn(2, 3))
    assert [(e.source, e.target) for e in flow.graph.edges] == [("input", "Plain"), ("Plain", "output")]


def test_an_empty_batch_and_nan_outputs_are_shown_as_such() -> None:
    model = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))
    flow = trace(model, torch.randn(0, 4))
    assert flow.activation("0").shape == (0, 3)
    with torch.no_grad():
        model[2].weight.fill_(float("nan"))
    statistics = trace(model, torch.randn(1, 4)).summary("2").statistics
    assert statistics is not None
    assert statistics.nan == 2


def test_a_stage_that_did_not_run_is_named() -> None:
    class Skipping(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b = nn.Linear(4, 4), nn.Linear(4, 4)

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return self.a(x)

    with pytest.warns(NotRunWarning, match="b"):
        trace(Skipping(), torch.randn(1, 4), layers=["a", "b"])


def test_meta_tensors_have_structure_and_a_warning() -> None:
    with pytest.warns(ValuesWarning, match="meta"):
        flow = trace(nn.Sequential(nn.Linear(4, 3, device="meta")), torch.randn(1, 4))
    assert flow.summary("0").picture.kind == "nothing"


def test_gradients_inside_the_forward_work() -> None:
    class Forces(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.energy = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            x = x.requires_grad_(True)
            return -torch.autograd.grad(self.energy(x).sum(), x)[0]

    model, x = Forces(), torch.randn(5, 3)
    flow = trace(model, x, layers=["energy"])
    assert {(e.source, e.target) for e in flow.graph.edges} >= {("input", "energy"), ("energy", "output")}
    assert not x.requires_grad
    assert all(p.grad is None for p in model.parameters())


def test_frames_run_only_when_looked_at(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, frames=[image, image * 2])
    with torch.no_grad():
        assert torch.equal(flow.activation("enc1", frame=1), unet.enc1(image * 2))
    assert flow.frame_count == 2


def test_channels_order_and_colours_stay_as_they_are_while_scrubbing(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, frames=[image, image.flip(-1) * 3])
    first, second = flow.summary("enc2"), flow.summary("enc2", frame=1)
    assert first.picture.channels == second.picture.channels  # type: ignore[union-attr]
    assert first.scale == second.scale
    assert (first.ranking.order == second.ranking.order).all()  # type: ignore[union-attr]
    assert first.statistics != second.statistics


class Gate(nn.Module):
    """Which of its two branches runs depends on the sign of the input."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.left, self.right, self.head = (nn.Linear(3, 3) for _ in range(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        branch = self.left if x.sum() > 0 else self.right
        return self.head(branch(self.stem(x)))


def test_a_frame_that_takes_another_path_has_its_own_graph() -> None:
    up, down = torch.ones(1, 3), -torch.ones(1, 3)
    flow = trace(Gate(), frames=[up, down, up * 2])
    first, name = flow.graph, flow.id
    assert "left" in {s.id for s in first.stages}
    flow.overview(1)
    assert {(e.source, e.target) for e in flow.graph.edges} >= {("stem", "right"), ("right", "head")}
    assert any(note.kind == "path" for note in flow.graph.notes)
    assert flow.id != name
    flow.overview(2)
    assert (flow.graph, flow.id) == (first, name)
    flow.prefetch(1, 0)
    assert flow.graph == first


def test_expanding_a_stage_shows_its_children_and_collapsing_undoes_it(unet: UNet, image: torch.Tensor) -> None:
    flow = trace(unet, image)
    before = flow.graph
    opened = flow.expand(["enc1"])
    assert {"enc1.0"} <= {s.id for s in opened.stages}
    assert [g.id for g in opened.groups] == ["enc1"]
    assert flow.overview()[next(s.id for s in opened.stages if s.id == "enc1.0")]
    assert flow.expand([]) == before


def test_nothing_is_printed_and_no_warning_comes_from_a_plain_trace(
    unet: UNet, image: torch.Tensor, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(unet, image)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_the_version_is_public() -> None:
    assert nf_widget.__version__.count(".") == 2


class Counted(nn.Module):
    """Counts its forwards in a list, which is no state of the model."""

    def __init__(self, runs: list[int]) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Conv2d(4, 2, 3))
        self.note = lambda: runs.append(1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.note()
        return self.net(x)


def test_other_samples_are_cut_from_what_one_forward_gave() -> None:
    torch.manual_seed(0)
    runs: list[int] = []
    batch = torch.randn(3, 1, 8, 8)
    model = Counted(runs)
    flow = trace(model, frames=[batch, batch * 2])
    flow.overview(1, 0)
    before = len(runs)
    moved = flow.overview(1, 2)
    assert len(runs) == before
    with torch.no_grad():
        assert torch.equal(flow.activation("net.2", frame=1), model.net(batch * 2))
    small = trace(model, batch * 2, capture_budget=100)
    before = len(runs)
    again = small.overview(0, 2)
    assert len(runs) == before + 1
    stage = small.stage("net.2").id
    assert moved[stage][0].statistics == again[stage][0].statistics


def test_channels_and_colours_can_be_let_go(unet: UNet, image: torch.Tensor) -> None:
    frames = [image, image.flip(-1) * 3]
    flow, alone = trace(unet, frames=frames), trace(unet, frames[1]).summary("enc2")
    first = flow.summary("enc2")
    flow.hold(channels=True, colours=False)
    coloured = flow.summary("enc2", frame=1)
    assert coloured.picture.channels == first.picture.channels  # type: ignore[union-attr]
    assert coloured.scale == alone.scale != first.scale
    flow.hold(channels=False, colours=True)
    free = flow.summary("enc2", frame=1)
    assert free.picture.channels == alone.picture.channels  # type: ignore[union-attr]
    assert free.scale == first.scale
    flow.hold(channels=True, colours=True)
    assert flow.summary("enc2", frame=1).picture.channels == first.picture.channels  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("model", "x", "count"),
    [
        (nn.Conv2d(3, 4, 3), torch.rand(3, 9, 9), 1),
        (nn.Conv2d(3, 4, 3), torch.rand(2, 3, 9, 9), 2),
        (nn.Linear(8, 2), torch.rand(8), 1),
        (nn.Linear(8, 2), torch.rand(5, 8), 5),
        (nn.Embedding(9, 4), torch.arange(7), 1),
    ],
)
def test_samples_are_counted_where_there_is_a_batch(model: nn.Module, x: torch.Tensor, count: int) -> None:
    assert trace(model, x).sample_count == count


def test_later_frames_are_read_as_the_first_is() -> None:
    """An image without a batch axis stays an image, whatever the first picture was worded as."""
    model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).eval()
    flow = trace(model, frames=[torch.rand(3, 16, 16, generator=torch.Generator().manual_seed(i)) for i in range(3)])
    for stage in ("input", "0", "output"):
        kinds = {flow.summary(stage, frame=frame).axes for frame in range(3)}
        assert len(kinds) == 1, stage
    assert flow.summary("input", frame=2).axes.kind == "image"

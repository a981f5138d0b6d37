"""The first picture: what is left of the metadata pass is not made again, and is what a whole pass would show."""

from __future__ import annotations

import gc
import itertools
import threading
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nf_widget import Flow, trace
from nf_widget.tracing.book import Book


class Counted(nn.Module):
    """Two linear layers, of which the second notes each of its runs; `end` makes the result of what it gives out."""

    def __init__(self, end: Callable[[nn.Module, Tensor], Any] = lambda _, y: y) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8)
        self.last = nn.Linear(8, 4)
        self.register_buffer("held", torch.zeros(4))
        self.end = end
        runs: list[int] = []
        self.runs = lambda: runs
        self.last.register_forward_hook(lambda *_: runs.append(1))

    def forward(self, x: Tensor) -> Any:
        return self.end(self, self.last(self.first(x).relu()))


def _buffer(model: nn.Module, y: Tensor) -> Tensor:
    held: Tensor = model.held  # type: ignore[assignment]
    return held.copy_(y[0])


def _seen_through_data(model: nn.Module, y: Tensor) -> Tensor:
    return _buffer(model, y).data[:2]


def _through_dlpack(_: nn.Module, y: Tensor) -> Tensor:
    shared = torch.from_dlpack(y.detach())
    shared.numpy().__imul__(2)
    return y


# What the model gives out, and how often its last layer runs for the first picture.
ENDS: dict[str, tuple[Callable[[nn.Module, Tensor], Any], int]] = {
    "as it is": (lambda _, y: y, 1),
    "written to after the last stage": (lambda _, y: y.relu_(), 1),
    "written to by hand": (lambda _, y: y.mul_(2) + 0, 1),
    "written to by NumPy": (lambda _, y: (y.detach().numpy().__imul__(2), y)[1], 2),
    "written to by NumPy, through DLPack": (_through_dlpack, 2),
    "a part of it": (lambda _, y: y[:, :2], 1),
    "one of two that one op made": (lambda _, y: y.split(2, dim=1), 1),
    "in containers": (lambda _, y: {"logits": y, "more": [y * 2, None]}, 1),
    "a buffer, put back later": (_buffer, 2),
    "memory of a buffer, put back later": (_seen_through_data, 2),
    "sparse": (lambda _, y: y.relu().to_sparse(), 2),
}


def _statistics(flow: Flow) -> dict[str, Any]:
    return {f"{name} {s.leaf}": s.statistics for name, all_of in flow.overview().items() for s in all_of}


@pytest.mark.parametrize("end", ENDS)
def test_the_first_picture_is_that_of_a_whole_pass(end: str) -> None:
    torch.manual_seed(0)
    make, runs = ENDS[end]
    model, x = Counted(make).eval(), torch.randn(3, 8)
    flow = trace(model, x)
    assert len(model.runs()) == runs
    # A frame looked at later has no metadata pass of its own.
    again = trace(model, frames=[torch.zeros(3, 8), x])
    later = {f"{name} {s.leaf}": s.statistics for name, all_of in again.overview(1).items() for s in all_of}
    assert repr(_statistics(flow)) == repr(later)
    assert model.held.eq(0).all()  # type: ignore[operator]


def test_the_first_picture_belongs_to_its_own_frame() -> None:
    torch.manual_seed(0)
    model = Counted().eval()
    frames = [torch.randn(2, 8) for _ in range(3)]
    flow = trace(model, frames=frames)
    for index in (1, 0, 2):
        shown = flow.summary("output", frame=index).statistics
        assert shown is not None
        assert shown.mean == pytest.approx(model(frames[index])[0].mean().item(), abs=1e-6)


def test_the_time_of_the_forward_is_told_although_it_ended_early() -> None:
    model = nn.Sequential(*(nn.Linear(64, 64) for _ in range(8)))
    flow = trace(model, torch.randn(2, 64))
    assert flow.forward_ms is not None
    first = flow.forward_ms
    assert 0 < first < 10_000


def test_every_stage_at_hand_runs_the_model_once() -> None:
    model = Counted().eval()
    flow = trace(model, torch.randn(2, 8), layers=["last"])
    assert len(model.runs()) == 1
    assert flow.summary("last").statistics == flow.summary("output").statistics


def test_a_fused_encoder_is_shown_as_it_runs_without_hooks() -> None:
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(64, 4, 128, batch_first=True)
    x = torch.randn(1, 50, 64)
    flow = trace(nn.TransformerEncoder(layer, 2).eval(), frames=[x, x], layers=["layers.0", "layers.1"])
    assert flow.summary("output", frame=0).statistics == flow.summary("output", frame=1).statistics


def test_gradients_of_the_forward_do_not_keep_the_first_picture_from_being_made() -> None:
    model = Counted(lambda _, y: torch.autograd.grad(y.sum(), y, create_graph=True)[0] * y).eval()
    flow = trace(model, torch.randn(2, 8))
    assert flow.summary("output").statistics == flow.summary("last").statistics


class Narrowing(nn.Module):
    """Children whose outputs become small: the last ones are held. `between(name, y)` comes after each."""

    def __init__(self, between: Callable[[str, Tensor], Tensor] = lambda _, y: y) -> None:
        super().__init__()
        widths = (64, 512, 512, 64, 16, 16, 4)
        for i, (a, b) in enumerate(itertools.pairwise(widths)):
            self.add_module(f"part{i}", nn.Sequential(nn.Linear(a, b), nn.ReLU()))
        self.between = between
        runs: list[str] = []
        self.runs = lambda: runs

    def forward(self, x: Tensor) -> Tensor:
        for name, child in list(self.named_children()):
            self.runs().append(name)
            x = self.between(name, child(x))
        return x.sigmoid()


class Wrapper(nn.Module):
    def __init__(self, net: nn.Module) -> None:
        super().__init__()
        self.net = net

    def forward(self, x: Tensor) -> Any:
        return self.net(x)


def _by_hand(name: str, y: Tensor) -> Tensor:
    return y.mul_(2) if name == "part4" else y


def _unseen(name: str, y: Tensor) -> Tensor:
    if name == "part4":
        y.data.mul_(2)
    return y


def _by_numpy(name: str, y: Tensor) -> Tensor:
    if name == "part4":
        array = y.detach().numpy()
        array *= 2
    return y


# What happens between the children.
BETWEEN: dict[str, Callable[[str, Tensor], Tensor]] = {
    "nothing": lambda _, y: y,
    "the fifth is written to": _by_hand,
    "the fifth is written to through data": _unseen,
    "the fifth is written to by NumPy": _by_numpy,
}


@pytest.mark.parametrize("wrapped", [0, 1, 2])
@pytest.mark.parametrize("between", BETWEEN)
def test_the_last_children_need_no_second_run(between: str, wrapped: int) -> None:
    torch.manual_seed(0)
    net = Narrowing(BETWEEN[between]).eval()
    model: nn.Module = net
    for _ in range(wrapped):
        model = Wrapper(model)
    names = [f"{'net.' * wrapped}part{i}" for i in range(6)]
    x = torch.randn(1, 64)
    flow = trace(model, x, layers=names)
    # The second time it ends with the third.
    assert len(net.runs()) == 6 + 3
    later = trace(model, frames=[torch.zeros(1, 64), x], layers=names).overview(1)
    assert repr(_statistics(flow)) == repr(
        {f"{n} {s.leaf}": s.statistics for n, all_of in later.items() for s in all_of}
    )


class Threaded(nn.Module):
    """Its first layers run in threads that it starts."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.last = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        found: dict[str, Tensor] = {}
        parts = [threading.Thread(target=lambda n=n: found.update({n: getattr(self, n)(x)})) for n in ("left", "right")]
        for part in parts:
            part.start()
            part.join()
        return self.last(found["left"] + found["right"])


class CatchesAll(nn.Module):
    """Makes an error of its own of whatever ends its layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Linear(8, 64), nn.Linear(64, 4)

    def forward(self, x: Tensor) -> Tensor:
        try:
            y = self.first(x)
        except BaseException as error:
            raise ValueError("the first layer failed") from error
        return self.last(y)


@pytest.mark.parametrize("make", [Threaded, CatchesAll])
def test_an_early_end_is_no_failure_of_the_model(make: type[nn.Module], capfd: pytest.CaptureFixture[str]) -> None:
    torch.manual_seed(0)
    model, x = make().eval(), torch.randn(1, 8)
    flow = trace(model, x)
    with torch.no_grad():
        assert torch.equal(flow.activation("output"), model(x))
    first = next(stage.id for stage in flow.graph.stages if stage.kind == "call")
    assert flow.activation(first).shape[0] == 1
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("fused", [False, True])
def test_nothing_is_held_afterwards(fused: bool) -> None:
    layer = nn.TransformerEncoderLayer(16, 2, 32, batch_first=True) if fused else nn.Linear(16, 16)
    model = nn.Sequential(nn.Linear(16, 16), layer, nn.Linear(16, 5077)).eval()
    gc.collect()
    # Held by exceptions that other tests keep.
    before = [each for each in gc.get_objects() if type(each) is Book]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        flow = trace(model, torch.randn(1, 3, 16))
    gc.collect()
    alive = [each for each in gc.get_objects() if type(each) in {Book, Tensor}]
    assert sum(isinstance(each, Book) for each in alive) == len(before)
    assert not any(each.ndim == 3 and each.shape[-1] == 5077 for each in alive if isinstance(each, Tensor))
    assert flow.summary("output").spec.shape == (1, 3, 5077)

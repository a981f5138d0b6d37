"""What the last stage gives out and the model hands on is reduced once, and only where it is the same."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from nf_widget import trace
from nf_widget.session import repeats

ENDS: dict[str, tuple[Callable[[Tensor], Any], int]] = {
    "as it is": (lambda y: y, 1),
    "in a tuple": (lambda y: (y, y * 2), 2),
    "written to": (lambda y: y.mul_(2), 2),
    "written to through data": (lambda y: (y.data.mul_(2), y)[1], 2),
    "written to by NumPy": (lambda y: (y.detach().numpy().__imul__(2), y)[1], 2),
    "a view": (lambda y: y.view(y.shape), 2),
    "a part": (lambda y: y[:, :30], 2),
}


class Net(nn.Module):
    def __init__(self, end: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.stem, self.last = nn.Conv2d(1, 4, 3, padding=1), nn.Conv2d(4, 64, 3, padding=1)
        self.end = end

    def forward(self, x: Tensor) -> Any:
        return self.end(self.last(self.stem(x)))


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("index", [0, 1])
def test_the_model_gives_out_what_its_last_stage_does(end: str, index: int, monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    make, times = ENDS[end]
    model = Net(make).eval()
    frames = [torch.randn(1, 1, 24, 24) for _ in range(2)]
    flow = trace(model, frames=frames)
    read: list[Tensor] = []
    reduce = repeats.reduce
    monkeypatch.setattr(repeats, "reduce", lambda tensor, *a, **k: (read.append(tensor), reduce(tensor, *a, **k))[1])
    if index == 0:
        flow = trace(model, frames=frames)
    found = flow.overview(index)
    large = [tensor for tensor in read if tensor.shape[1] >= 30]
    assert len(large) == times
    with torch.no_grad():
        last = model.last(model.stem(frames[index]))
        given = make(last.clone())
    for name, tensor in (("last", last), ("output", given[0] if isinstance(given, tuple) else given)):
        (summary,) = found[next(each for each in found if each.startswith(name))]
        assert summary.statistics is not None
        assert summary.statistics.mean == pytest.approx(tensor.mean().item(), abs=1e-6)
        assert summary.statistics.maximum == pytest.approx(tensor.max().item(), abs=1e-6)

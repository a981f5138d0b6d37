"""What each tool is asked to do, with settings that ask each for a like job."""

from __future__ import annotations

import contextlib
import io
import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .models import Case

Job = Callable[[], object]
"""One run, warm; what it returns may be dropped."""


@dataclass(frozen=True, slots=True)
class Tool:
    """`packages` whose versions are written down. `jobs` makes the jobs of a case, by the name of the figure."""

    packages: tuple[str, ...]
    settings: str
    jobs: Callable[[Case], dict[str, Job]]


def _ours(case: Case) -> dict[str, Job]:
    from nf_widget import trace
    from nf_widget.inputs import normalise
    from nf_widget.running import borrowed, record_conditions
    from nf_widget.session.cuts import first_cut
    from nf_widget.session.options import Options
    from nf_widget.session.recording import record_model

    inputs = normalise(case.model, case.args, None)
    options = Options.of({})
    # A new number each time, so that nothing is answered from the cache.
    numbers = itertools.count(1)
    frames = trace(case.model, frames=lambda _: case.args, frame_count=1_000_000)
    conditions = record_conditions(case.model, torch.device("cpu"), "eval", grad=False)

    def lent() -> object:
        with borrowed(case.model, conditions):
            return case.model(*case.args)

    return {
        "dispatch": lambda: _watched_by_nothing(case),
        "lent": lent,
        "graph": lambda: first_cut(case.model, inputs, record_model(case.model, inputs, options), options),
        "trace": lambda: trace(case.model, case.args),
        "metadata": lambda: record_model(case.model, inputs, options),
        "capture": lambda: frames.overview(next(numbers)),
    }


class _Idle(TorchFunctionMode):
    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return func(*args, **(kwargs or {}))


def _watched_by_nothing(case: Case) -> object:
    """A forward with the hooks and the mode that a recorded one needs, none of which does a thing."""
    with contextlib.ExitStack() as stack:
        for module in case.model.modules():
            before = module.register_forward_pre_hook(lambda *_: None, with_kwargs=True)
            after = module.register_forward_hook(lambda *_: None, with_kwargs=True, always_call=True)
            stack.callback(before.remove)
            stack.callback(after.remove)
        stack.enter_context(_Idle())
        return case.model(*case.args)


def _torchlens(case: Case) -> dict[str, Job]:
    import torchlens
    from torchlens.options import CaptureOptions

    nothing = CaptureOptions(layers_to_save="none")
    return {
        "trace": lambda: torchlens.trace(case.model, list(case.args)),
        "graph": lambda: torchlens.trace(case.model, list(case.args), capture=nothing),
    }


def _torchvista(case: Case) -> dict[str, Job]:
    from torchvista import trace_model

    def job() -> None:
        # Outside a notebook the HTML is printed by its name.
        with contextlib.redirect_stdout(io.StringIO()):
            trace_model(case.model, case.args)

    return {"graph": job}


def _torchview(case: Case) -> dict[str, Job]:
    from torchview import draw_graph

    return {"graph": lambda: draw_graph(case.model, input_data=list(case.args), device="cpu", mode="eval")}


TOOLS: dict[str, Tool] = {
    "nf_widget": Tool(
        ("nf-widget",),
        "`trace(model, x)`: graph, and of each stage statistics, histogram, ranked channels and pictures; graph: its"
        " first half, the recorded forward, the choice of stages and the edges between them",
        _ours,
    ),
    "torchlens": Tool(
        ("torchlens",),
        '`trace(model, x)`: the graph, and every activation whole; graph: `layers_to_save="none"`',
        _torchlens,
    ),
    "torchvista": Tool(("torchvista",), "`trace_model(model, x)`: the graph, and the HTML of its cell", _torchvista),
    "torchview": Tool(
        ("torchview", "graphviz"),
        '`draw_graph(model, x, mode="eval")`: the graph as Graphviz source, not rendered',
        _torchview,
    ),
}

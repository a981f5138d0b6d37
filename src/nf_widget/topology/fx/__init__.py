"""Edges by symbolic tracing with `torch.fx`: what the real forward did to tensors, this one does to symbols.

The graph is read from top to bottom into the calls and ops of a trace, which the walk of the runtime strategy then
connects: two ways to find the ops, one meaning of an edge.
"""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from nf_widget.errors import TopologyError
from nf_widget.records import Edge, Selection, Trace
from nf_widget.running import borrowed, interruptible
from nf_widget.topology.runtime import runtime_edges
from nf_widget.topology.strategy import Setting

from .cut import Cut
from .reading import read
from .tracer import trace_symbolically


def symbolic_edges(
    model: nn.Module, trace: Trace, selection: Selection, setting: Setting | None = None
) -> tuple[Edge, ...]:
    """Raises `TopologyError` where the model cannot be run on symbols. The model is afterwards as it was."""
    if setting is None:
        raise _failed(trace, "the inputs of the recorded forward were not handed over")
    cut = Cut.of(model, trace, selection)
    try:
        with borrowed(model, setting.conditions) as state:
            state.keep_named(setting.written)
            with interruptible():
                forward = trace_symbolically(model, trace, cut, setting.inputs)
            symbolic = read(model, trace, selection, cut, forward)
    except Exception as error:
        raise _failed(trace, _reason(error)) from error
    return tuple(replace(edge, ops=()) for edge in runtime_edges(model, symbolic, selection))


def _failed(trace: Trace, reason: str) -> TopologyError:
    return TopologyError(f"{trace.model_name} could not be symbolically traced: {reason}")


def _reason(error: Exception) -> str:
    """The error's first sentence; the rest of what `torch.fx` says is for its own users."""
    name = type(error).__name__
    lines = str(error).strip().splitlines()
    if not lines:
        return f"{name}."
    text = lines[0].split(". ")[0].rstrip(".")
    return f"{text}." if isinstance(error, TopologyError) else f"{text} ({name})."

"""The metadata pass with its second chances: gradients inside, a tracer that disturbs, a model that fails."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

from torch import nn

from ..errors import TopologyWarning, ValuesWarning, warn
from ..inputs import Inputs, model_device
from ..records import CallId, Note, Trace
from ..running import Conditions, may_need_grad, record_conditions
from ..tracing.record import Recording, record, record_calls
from ..tracing.remains import Remains
from .options import Options
from .sites import attention_calls


@dataclass(frozen=True, slots=True)
class Recorded:
    """A trace, the conditions that it was made under, the parameters that the forward writes to, and the exception
    that ended it, which only `errors="show"` lets through. `remains` is what is left of it, `attention` are the calls
    that compute attention."""

    trace: Trace
    conditions: Conditions
    written: tuple[str, ...]
    error: BaseException | None
    remains: Remains
    attention: tuple[CallId, ...] = ()


def record_model(model: nn.Module, inputs: Inputs, options: Options) -> Recorded:
    """Raises the model's own exception, whole, with a note on how far the data came."""
    device = model_device(model)
    conditions = record_conditions(model, device, options.training, grad=False)
    recording = record(model, inputs, conditions)
    if recording.error is not None and may_need_grad(recording.error):
        with_grad = replace(conditions, grad=True)
        again = record(model, inputs, with_grad)
        if again.error is None or "grad" in str(recording.error):
            conditions, recording = with_grad, again
    if recording.error is not None:
        recording = _second_chance(model, inputs, conditions, options, recording)
    if device.type == "meta":
        warn(
            "The model is on the meta device: its structure is shown, but meta tensors have no values. "
            "Move it to a real device (to_empty, then load weights) to see activations.",
            ValuesWarning,
        )
    attention = attention_calls(recording.trace) if options.attention else ()
    made = recording
    return Recorded(made.trace, conditions, made.written, made.error, made.remains, attention)


def _second_chance(
    model: nn.Module, inputs: Inputs, conditions: Conditions, options: Options, first: Recording
) -> Recording:
    """The same forward without the tracer. If it fails too, the model itself is at fault."""
    again = record_calls(model, inputs, conditions)
    if again.error is None:
        text = (
            f"The forward failed under the dataflow tracer ({type(first.error).__name__}: {first.error}) but not "
            "without it. The stages are shown in execution order."
        )
        warn(text, TopologyWarning)
        note = Note("untraced", text)
        return replace(again, trace=replace(again.trace, notes=(*again.trace.notes, note)))
    if options.errors == "show":
        return first
    if sys.version_info >= (3, 11):
        again.error.add_note(_how_far(again.trace))
    raise again.error


def _how_far(trace: Trace) -> str:
    done = [call.path for call in trace.calls if call.finished and call.path]
    failed = [call.path or call.type_name for call in trace.calls if not call.finished]
    where = f"in {failed[-1]}" if failed else "in the model's forward"
    last = f"after {done[-1]}" if done else "before any module had finished"
    shapes = ""
    if trace.failure is not None and trace.failure.operands:
        given = ", ".join("×".join(map(str, leaf.spec.shape)) or "scalar" for leaf in trace.failure.operands[:4])
        shapes = f", which got {given}"
    return f'nf_widget: the forward raised {where}{shapes}, {last}. errors="show" draws what came before.'

"""One pass that looks at every attention up to a stage, and what tokens are made of after it."""

from __future__ import annotations

from torch import Tensor, nn

from ..capture.attention import Look, Looking
from ..capture.rollout import Rollout
from ..capture.run import Plan, capture
from ..errors import StageError
from ..inputs import Inputs
from ..records import CallId, Stage, Trace
from .recording import Recorded


def rolled_out(model: nn.Module, inputs: Inputs, recorded: Recorded, stage: Stage | None, sample: int) -> Tensor:
    """`[token, token]`, after the last attention within `stage`, or of all. Raises `StageError`."""
    trace, calls = recorded.trace, sorted(recorded.attention)
    if stage is not None:
        within = [call for call in calls if _is_within(trace, call, stage.call)]
        calls = [call for call in calls if within and call <= within[-1]]
    if not calls:
        raise StageError(f"{'The model' if stage is None else stage.id} computes no attention.")
    rollout = Rollout(sample)
    looks = tuple(Look(trace.calls[call].path, trace.calls[call].index, rollout.take) for call in calls)
    looking = Looking(looks, tuple(dict.fromkeys(look.path for look in looks)), trace.batch or None)
    done = capture(model, inputs, recorded.conditions, Plan(written=recorded.written, attention=looking))
    if done.error is not None and recorded.error is None:
        raise done.error
    if rollout.total is None:
        raise StageError(f"There is no attention of a sequence of tokens to itself, but {rollout.unlike or 'none'}.")
    return rollout.total.cpu()


def _is_within(trace: Trace, call: CallId, stage: CallId | None) -> bool:
    at: CallId | None = call
    while at is not None and at != stage:
        at = trace.calls[at].parent
    return at is not None

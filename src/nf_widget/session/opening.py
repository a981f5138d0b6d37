"""`trace`: from what the user passed to a Flow."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from torch import nn

from ..errors import InputError
from ..frames import Frames, frames_of, single
from ..inputs import check_model
from ..nested import Nested
from ..running import runnable
from .flow import Flow
from .meaning import configured
from .options import Options

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .options import OptionWords


def trace(
    model: nn.Module,
    x: Nested = None,
    *,
    kwargs: Mapping[str, Nested] | None = None,
    frames: Any = None,
    frame_count: int | None = None,
    frame_labels: Sequence[str] | None = None,
    **options: Unpack[OptionWords],
) -> Flow:
    """Run `model` on `x` and record what happens: stages, edges, activations.

    `x` is what the model's forward takes: a tensor, a tuple of positional arguments, or a mapping (keywords where the
    signature takes them). `kwargs` adds keywords. `frames` gives several inputs instead of `x`: a list,
    a sweep, a tensor (split along its first axis), a `Dataset` of samples (each gets a batch axis), a `DataLoader`
    (what the forward does not take of its items, such as targets, is left out), a generator, or a callable with
    `frame_count`.

    Options: `layers` (names, `"name#k"`, `"re:..."`, `"type:..."`, a predicate on `ModuleCall`, or `"leaves"`),
    `exclude`, `max_stages` (12), `labels`, `topology` (`"auto"`, `"runtime"`, `"fx"`, `"sequential"`), `sample` (0),
    `class_names` (a list, a mapping from index to name, or a tokenizer), `output_types` (`"logits"`, `"probabilities"`,
    `"log-probabilities"`, `"multilabel"`, `"mask"`, `"boxes"`, `"next-token"`, `"value"`, `"embedding"`, `"raw"`, for
    all outputs or as {output: type}), `axes` ({stage: `"bchw"`}), `capture_device` (`"cpu"`), `capture_budget`
    (bytes), `attention` (True), `token_labels` (the strings of the tokens, or a list of them for each sample),
    `training` (`"eval"`, `"keep"`), `errors` (`"raise"`, `"show"`).

    Parameters, buffers, flags, hooks, random generators and inputs are afterwards as they were.
    Raises `ModelError`, `InputError`, `LayerError`, `OptionError`, and whatever the model raises.
    """
    asked = prepared(
        model, x, kwargs=kwargs, frames=frames, frame_count=frame_count, frame_labels=frame_labels, **options
    )
    return Flow(*asked)


def prepared(
    model: nn.Module,
    x: Nested = None,
    *,
    kwargs: Mapping[str, Nested] | None = None,
    frames: Any = None,
    frame_count: int | None = None,
    frame_labels: Sequence[str] | None = None,
    **options: Unpack[OptionWords],
) -> tuple[nn.Module, Frames, dict[str, Nested], Options]:
    """What a Flow is made of, from the words of `trace`, before the model runs. Raises `ModelError`, `InputError` and
    `OptionError`."""
    settings = Options.of(options)
    check_model(model)
    if frames is not None and x is not None:
        raise InputError("x and frames were both given: pass one input as x, or several as frames.")
    if x is None and frames is None and not kwargs:
        raise InputError(
            "No input: pass what the model's forward takes as x, keywords as kwargs, or several as frames."
        )
    sequence = single(x) if frames is None else frames_of(frames, frame_count, frame_labels)
    return runnable(model), sequence, dict(kwargs or {}), configured(settings, model)

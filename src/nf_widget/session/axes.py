"""What the dimensions of a stage's leaves mean: inferred, or as the user said."""

from __future__ import annotations

from torch import Tensor

from ..capture.values import spec_of
from ..interpret.axes import infer, parse
from ..records import Axes, Stage, Summary, TensorSpec, Trace
from .options import Options

_IMAGE_DIMS, _FEW_CHANNELS, _COLOURS = 2, 16, (1, 3)
_VALUES = ("float32", "float16", "bfloat16", "float64", "uint8")


def axes_of(stage: Stage, tensor: Tensor, options: Options, trace: Trace) -> Axes:
    """What the dimensions mean, or what the user said that they mean."""
    spec = spec_of(tensor)
    size = _input_size(trace)
    image = (size[0], size[1]) if len(size) == _IMAGE_DIMS else None
    said = options.axes.get(str(stage.id))
    if said is not None:
        return parse(said, spec, image=image)
    volume = (size[0], size[1], size[2]) if len(size) == _IMAGE_DIMS + 1 else None
    # Inputs and outputs are worded by what their first pictures show, which later ones do not depend on.
    type_name = stage.kind if stage.kind in {"input", "output"} else stage.type_name
    return infer(spec, type_name=type_name, batch=trace.batch, detail=stage.detail, image=image, volume=volume)


def _input_size(trace: Trace) -> tuple[int, ...]:
    """(height, width) of the first input that is one or several images of few channels, or, with a depth or a time in
    front, of a volume or a video; () without one."""
    for leaf in trace.inputs:
        shape = leaf.spec.shape
        if (
            leaf.spec.dtype in _VALUES
            and len(shape) in {_IMAGE_DIMS + 2, _IMAGE_DIMS + 3}
            and shape[1] <= _FEW_CHANNELS
        ):
            frames_first = len(shape) == _IMAGE_DIMS + 3 and shape[2] in _COLOURS and shape[1] > shape[2]
            return (shape[1], *shape[3:]) if frames_first else shape[2:]
    return ()


def channels_of(summary: Summary) -> tuple[int | None, ...]:
    """What to ask for to have every value of a leaf: its channels, or None for the only plane."""
    names, shape = summary.axes.names, summary.spec.shape
    if summary.axes.kind in ("image", "attention") and "channel" in names:
        return tuple(range(shape[names.index("channel")]))
    return (None,)


def axes_of_input(path: str, spec: TensorSpec, options: Options, trace: Trace) -> Axes:
    """What the dimensions of an input mean, or what the user said that they mean."""
    said = options.axes.get(f"input:{path}", options.axes.get("input"))
    return infer(spec, type_name=path, batch=trace.batch) if said is None else parse(said, spec)

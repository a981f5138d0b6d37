"""What inputs and outputs mean: joins what is known of the model and its inputs with the reading of one output."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from torch import Tensor, nn

from ..inputs import Inputs
from ..interpret.config import names_in, type_in
from ..interpret.masks import class_map
from ..interpret.outputs import Around, meaning
from ..interpret.photo import photo
from ..interpret.tokens import labels_of, with_labels
from ..records import Axes, AxisName, Nothing, Photo, Picture, Stage, Summary, TensorSpec, Trace
from .axes import axes_of_input
from .options import Options

_COLOURS = 3
_FEW_CHANNELS = 16
_SPATIAL: tuple[AxisName, ...] = ("depth", "time", "height", "width")
_MASKS = ("[MASK]", "<mask>")
_NUMBERED = re.compile(r"(?:^|\.)(\d+)(?:\.|$)")


def configured(options: Options, model: nn.Module) -> Options:
    """With what the configuration of a Hugging Face model says, where the user says nothing."""
    names = names_in(model) if options.class_names is None else options.class_names
    said = options.output_types
    found = type_in(model)
    if said is None and found is not None:
        said = {"logits": found}
    return replace(options, class_names=names, output_types=said)


@dataclass(frozen=True, slots=True)
class _Input:
    path: str
    axes: Axes
    spec: TensorSpec

    @property
    def size(self) -> tuple[int, ...]:
        """In space (and time): (height, width) of an image."""
        sizes = dict(zip(self.axes.names, self.spec.shape, strict=True))
        return tuple(sizes[name] for name in _SPATIAL if name in sizes)

    @property
    def channels(self) -> int:
        return self.spec.shape[self.axes.names.index("channel")] if "channel" in self.axes.names else 1


@dataclass(slots=True)
class Reader:
    """Reads what one forward was given and gave out. `outputs`: all leaves that the model gave out, by path."""

    options: Options
    trace: Trace
    inputs: Inputs
    outputs: Mapping[str, Tensor] = field(default_factory=dict)

    def read(self, stage: Stage, tensor: Tensor, summary: Summary, sample: int, first: Summary | None) -> Summary:
        """The summary with the picture, the words and the names of tokens that fit what it is. A photo is as bright as
        that of the `first` frame."""
        held = first.picture if first is not None and isinstance(first.picture, Photo) else None
        if isinstance(summary.picture, Nothing):
            return summary
        picture: Picture | None = None
        words = ""
        if stage.kind == "input":
            picture = photo(tensor, summary.axes, sample=sample, held=held)
        elif stage.kind == "output":
            found = meaning(tensor, summary.axes, self._around(stage, sample), sample)
            picture, words = found.picture, found.words
            if picture is None and self._is_like_an_input(summary):
                picture = photo(tensor, summary.axes, sample=sample, held=held)
        else:
            picture = class_map(tensor, summary.axes, sample)
        if picture is None:
            labels = labels_of(self.options.token_labels, self.inputs.tokens(sample), sample)
            picture = with_labels(summary.picture, summary.axes, summary.statistics, labels) if labels else None
        if picture is None and not words:
            return summary
        return replace(summary, picture=picture or summary.picture, meaning=words)

    def _around(self, stage: Stage, sample: int) -> Around:
        picture = self._picture_for(stage.path)
        return Around(
            path=stage.path,
            model=self.trace.model_name,
            names=self.options.class_names,
            said=_output_type(self.options, stage),
            image=None if picture is None else picture.size,
            channels=None if picture is None else picture.channels,
            over="" if picture is None else picture.path,
            position=self._position(sample),
            leaves=self.outputs,
        )

    def _picture_for(self, path: str) -> _Input | None:
        """The input that is an image or a volume: of several the one with this output's number, else the first."""
        given = [
            _Input(leaf.path, axes_of_input(leaf.path, leaf.spec, self.options, self.trace), leaf.spec)
            for leaf in self.trace.inputs
        ]
        pictures = [each for each in given if each.axes.kind in {"image", "volume"} and each.channels <= _FEW_CHANNELS]
        number = _NUMBERED.search(path)
        same = [each for each in pictures if number and _NUMBERED.findall(each.path)[-1:] == [number[1]]]
        return next(iter(same or pictures), None)

    def _position(self, sample: int) -> int | None:
        """The token that is masked, for a model that fills masks; else the last one that is no padding, None where that
        is simply the last."""
        if "Masked" in self.trace.model_name:
            return next((i for i, token in enumerate(self.inputs.tokens(sample)) if token in _MASKS), None)
        given = dict(self.inputs.leaves).get("attention_mask")
        if given is None or given.ndim != 2 or given.is_meta or sample >= len(given):
            return None
        seen = given[sample].nonzero()
        last = int(seen[-1]) if len(seen) else given.shape[1] - 1
        return None if last == given.shape[1] - 1 else last

    def _is_like_an_input(self, summary: Summary) -> bool:
        """A colour image of an input's very shape: a picture was made of a picture."""
        shape, names = summary.spec.shape, summary.axes.names
        colours = "channel" in names and len(names) == len(shape) and shape[names.index("channel")] == _COLOURS
        return summary.axes.kind == "image" and colours and any(leaf.spec.shape == shape for leaf in self.trace.inputs)


def sample_count(trace: Trace, options: Options) -> int:
    """Entries along the batch axis of the first input; 1 where there is none, as for a single image."""
    path, spec = trace.inputs[0].path, trace.inputs[0].spec
    if len(spec.shape) < 2:
        return trace.batch or 1
    names = axes_of_input(path, spec, options, trace).names
    return spec.shape[names.index("batch")] if "batch" in names else 1


def _output_type(options: Options, stage: Stage) -> str | None:
    if options.output_types is None or isinstance(options.output_types, str):
        return options.output_types
    return options.output_types.get(stage.path, options.output_types.get(str(stage.id)))

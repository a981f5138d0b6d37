"""What a model's output means: classes, a mask, boxes, the next token, values, an embedding; else raw values.

Only what is known is said: values that sum to 1, names that are as many as the classes, a head's or an output's name,
the configuration of a Hugging Face model, a map of the input's size; or what the user says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..errors import OptionError
from ..records import Axes, Picture, Scalar
from . import boxes as detection
from .classes import SCALES, Names, classes, names_for, values_of
from .masks import Scores, few_classes, is_share, mask, scores_of
from .samples import of_sample, readable

OUTPUT_TYPES = (*SCALES, "mask", "boxes", "next-token", "value", "embedding", "raw")

_SEGMENTS = re.compile("Segment|DeepLab|^L?R?A?S?PP$|^FCN|U[nN][eE][tT]|SegFormer|Segformer|VNet|SegResNet")
_SEGMENTED = ("", "out", "aux", "logits", "0")
_PREDICTS = re.compile("ForCausalLM|LMHead|ForMaskedLM|ForConditionalGeneration")
# Of each token, or of two ends of a span: what the last one says is not what the output says.
_EACH_TOKEN = re.compile("ForTokenClassification|ForQuestionAnswering|ObjectDetection")
_EMBEDS = re.compile(r"embeds?\b|embeddings?\b|pooler_output|pooled_output")


@dataclass(frozen=True, slots=True)
class Around:
    """What is known around an output: its `path`, the `model`'s class, the names of classes, what the user `said`,
    the size of the `image` (or volume) that went in and the path of that input (`over`), the `position` of the token
    whose prediction counts, and all `leaves` that the model gave out."""

    path: str = ""
    model: str = ""
    names: Names | None = None
    said: str | None = None
    image: tuple[int, ...] | None = None
    channels: int | None = None
    over: str = ""
    position: int | None = None
    leaves: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Meaning:
    """In words, and as a picture, None where the values' own picture says it all."""

    words: str
    picture: Picture | None = None


Found = Meaning | None


def meaning(tensor: Tensor, axes: Axes, around: Around, sample: int = 0) -> Meaning:
    """What one sample of an output means. Raises `OptionError` for an unknown type of output."""
    said = around.said
    if said is not None and said not in OUTPUT_TYPES:
        raise OptionError(f"output type {said!r} is not known: use {', '.join(OUTPUT_TYPES)}, or None.")
    ways: tuple[Way, ...] = _ALL if said is None else _SAID.get(said, (_as_classes, _as_mask))
    with torch.no_grad(), torch._C.DisableTorchFunction():
        for way in ways:
            found = way(tensor.detach(), axes, around, sample)
            if found is not None:
                return found
    return Meaning("raw values")


Way = Callable[[Tensor, Axes, Around, int], Found]


def _as_boxes(_: Tensor, __: Axes, around: Around, sample: int) -> Found:
    key = around.path.rpartition(".")[2]
    if key not in detection.KEYS and around.said != "boxes":
        return None
    image = (around.image[0], around.image[1]) if around.image is not None and len(around.image) == 2 else None
    found = detection.boxes(
        around.path, around.leaves, image=image, names=around.names, sample=sample, over=around.over
    )
    return None if found is None else Meaning("boxes", found)


def _as_mask(tensor: Tensor, axes: Axes, around: Around, sample: int) -> Found:
    scores = scores_of(tensor, axes, sample)
    if scores is None or not (around.said in {"mask", *SCALES} or _is_mask(scores, around)):
        return None
    found = mask(scores, names=around.names, over=around.over)
    return None if found is None else Meaning("mask", found)


def _is_mask(scores: Scores, around: Around) -> bool:
    channels, whole = len(scores.values), not scores.values.is_floating_point()
    size = tuple(scores.values.shape[4 - len(around.image) :]) if around.image is not None else None
    if whole:
        return few_classes(scores)
    if names_for(around.names, max(2, channels)) is not None:
        return True
    if channels < 2:
        return False
    if is_share(scores):
        return True
    named = _SEGMENTS.search(around.model) is not None and around.path in _SEGMENTED
    return named and size == around.image and channels != around.channels


def _as_next_token(tensor: Tensor, axes: Axes, around: Around, sample: int) -> Found:
    told = around.said == "next-token"
    predicts = _PREDICTS.search(around.model) is not None and around.path in {"", "logits", "0"}
    masked = "Masked" in around.model
    if axes.kind != "tokens" or not (told or (predicts and not (masked and around.position is None))):
        return None
    found = classes(tensor, axes, class_names=around.names, scale="logits", sample=sample, position=around.position)
    return None if found is None else Meaning("masked token" if masked else "next token", found)


def _as_classes(tensor: Tensor, axes: Axes, around: Around, sample: int) -> Found:
    said = around.said if around.said in SCALES else None
    each_token = axes.kind == "tokens" and _EACH_TOKEN.search(around.model) is not None
    if said is None and (each_token or _beside_boxes(around)):
        return None
    found = classes(tensor, axes, class_names=around.names, scale=said, sample=sample, position=around.position)
    return None if found is None else Meaning(found.scale, found)


def _beside_boxes(around: Around) -> bool:
    """Scores and labels of boxes are no scores of classes."""
    prefix = around.path.rpartition(".")[0]
    return any((f"{prefix}.{key}" if prefix else key) in around.leaves for key in detection.KEYS)


def _as_values(tensor: Tensor, axes: Axes, around: Around, sample: int) -> Found:
    """A single number is one without being told."""
    single = axes.kind == "scalar" or (axes.kind == "vector" and _one(tensor, axes))
    if not single and around.said != "value":
        return None
    if single:
        return Meaning("value", _number(tensor, axes, sample))
    return Meaning("value", values_of(tensor, axes, class_names=around.names, sample=sample))


def _one(tensor: Tensor, axes: Axes) -> bool:
    # Asked first: a nested tensor has no shape.
    if not readable(tensor, axes) or not tensor.is_floating_point():
        return False
    return all(size == 1 for name, size in zip(axes.names, tensor.shape, strict=True) if name != "batch")


def _number(tensor: Tensor, axes: Axes, sample: int) -> Scalar | None:
    """None where the values' own picture is a number already."""
    one = of_sample(tensor, axes, sample) if axes.kind == "vector" else None
    if one is None:
        return None
    value = float(one)
    return Scalar(value, f"{value:.6g}")


def _as_embedding(_: Tensor, axes: Axes, around: Around, __: int) -> Found:
    named = axes.kind == "vector" and _EMBEDS.search(around.path) is not None
    return Meaning("embedding") if named or around.said == "embedding" else None


_ALL: tuple[Way, ...] = (_as_boxes, _as_mask, _as_next_token, _as_classes, _as_values, _as_embedding)
_SAID: dict[str, tuple[Way, ...]] = {
    "mask": (_as_mask,),
    "boxes": (_as_boxes,),
    "next-token": (_as_next_token,),
    "value": (_as_values,),
    "embedding": (_as_embedding,),
    "raw": (),
}

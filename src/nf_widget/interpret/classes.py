"""The likeliest classes of a classifier's output, and the values of a regression's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..errors import OptionError
from ..records import Axes, ClassEntry, Classes
from .samples import of_sample, readable

Doubles = npt.NDArray[np.float64]

SCALES = ("logits", "probabilities", "log-probabilities", "multilabel")

_ENTRIES = 8
# What float16 leaves of a sum of many probabilities.
SUM_TOLERANCE = 1e-2
# How tokenizers write a space and a line break inside a token.
_MARKS = str.maketrans({"Ġ": "␣", "▁": "␣", " ": "␣", "Ċ": "⏎", "\n": "⏎"})


class Tokenizer(Protocol):
    def decode(self, token_ids: Any, /) -> str: ...


Names: TypeAlias = Sequence[str] | Mapping[int, str] | Mapping[str, str] | Mapping[str, int] | Tokenizer
Named: TypeAlias = Callable[[int], str]


def classes(
    tensor: Tensor,
    axes: Axes,
    *,
    class_names: Names | None = None,
    scale: str | None = None,
    sample: int = 0,
    position: int | None = None,
) -> Classes | None:
    """The likeliest classes, when that is what the output means; else None: it is shown as raw values.

    It is when `scale` says so, when the values are probabilities or their logarithms, or when there are as many
    `class_names` as entries along the last dimension. Of a token sequence, those of the token at `position`, or of the
    last one.
    """
    scores = _scores(tensor, axes, sample, position)
    if scores is None or not np.isfinite(scores.max()):  # masked classes, at -Inf, are all right
        return None
    pair = names_for(class_names, 2) if len(scores) == 1 else None
    if pair is not None:
        return _binary(float(scores[0]), pair, scale)
    name = names_for(class_names, len(scores))
    scale = scale or _told_by(scores) or ("logits" if name is not None else None)
    if scale is None or len(scores) < 2:
        return None
    values, word = _probabilities(scores, scale)
    if axes.kind == "tokens":
        word = f"{word}, {'last token' if position is None else f'token {position}'}"
    best = _greatest(values, _ENTRIES)
    name = name or nameless
    entries = tuple(ClassEntry(int(i), name(int(i)), float(values[i])) for i in best)
    return Classes(entries, len(scores), word)


def values_of(tensor: Tensor, axes: Axes, *, class_names: Names | None = None, sample: int = 0) -> Classes | None:
    """The named values of a regression, in their own order; None without names for them."""
    scores = _scores(tensor, axes, sample, None) if axes.kind == "vector" else None
    name = None if scores is None else names_for(class_names, len(scores))
    if scores is None or name is None:
        return None
    entries = tuple(ClassEntry(i, name(i), float(value)) for i, value in enumerate(scores[:_ENTRIES]))
    return Classes(entries, len(scores), "value")


def _greatest(values: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.int64]:
    """Places of the greatest values, by value and then by place. A vocabulary is long, and most of it is not shown."""
    if len(values) <= count:
        return np.argsort(-values, kind="stable")
    least = np.partition(values, -count)[-count]
    places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][:count]


def nameless(index: int) -> str:
    return f"class {index}"


def names_for(names: Names | None, count: int) -> Named | None:
    """The name of each of `count` classes; None where the names do not fit.

    `names` is a list, a mapping from index to name (a Hugging Face `id2label`) or from token to index (`get_vocab()`),
    or a tokenizer, which fits any number.
    """
    if names is None or isinstance(names, str):
        return None
    if isinstance(names, Mapping):
        found = _by_index(names)
        # A vocabulary may be smaller than the rows of its embedding, which are rounded up.
        fits = set(found) == set(range(count)) or (0 < len(found) <= count and _is_vocabulary(names))
        return (lambda index: found.get(index, nameless(index))) if fits else None
    if isinstance(names, Sequence):
        words = [str(name) for name in names]
        return words.__getitem__ if len(words) == count else None
    decode = getattr(names, "decode", None)
    if decode is None:
        raise OptionError(
            f"class_names is of type {type(names).__name__}: give a list of names, a mapping from index to name, or a "
            "tokenizer."
        )
    return lambda index: str(decode([index])).translate(_MARKS)


def _is_vocabulary(names: Mapping[Any, Any]) -> bool:
    return all(isinstance(value, int) for value in names.values())


def _by_index(names: Mapping[Any, Any]) -> dict[int, str]:
    if _is_vocabulary(names):
        return {int(index): str(token).translate(_MARKS) for token, index in names.items()}
    return {int(index): str(name) for index, name in names.items()}


def _scores(tensor: Tensor, axes: Axes, sample: int, position: int | None) -> Doubles | None:
    """`[class]` of one sample, None where the output is no vector of real numbers."""
    if not readable(tensor, axes) or not tensor.is_floating_point() or axes.kind not in {"vector", "tokens"}:
        return None
    with torch.no_grad(), torch._C.DisableTorchFunction():
        one = of_sample(tensor.detach(), axes, sample)
        if one is None:
            return None
        if axes.kind == "tokens":
            if axes.names[-1] != "feature" or one.ndim != 2:
                return None
            at = len(one) - 1 if position is None else position
            if not 0 <= at < len(one):
                return None
            one = one[at]
        found: Doubles = one.flatten().double().cpu().numpy()
        return found


def _told_by(scores: Doubles) -> str | None:
    """What the values alone give away."""
    if scores.min() >= 0 and abs(scores.sum() - 1) <= SUM_TOLERANCE:
        return "probabilities"
    if scores.max() <= 0 and abs(np.exp(scores).sum() - 1) <= SUM_TOLERANCE:
        return "log-probabilities"
    return None


def _probabilities(scores: Doubles, scale: str) -> tuple[Doubles, str]:
    if scale == "probabilities":
        return scores, "probability"
    if scale == "log-probabilities":
        return np.exp(scores), "probability"
    if scale == "multilabel":
        return _sigmoid(scores), "sigmoid"
    weights = np.exp(scores - scores.max())
    return weights / weights.sum(), "softmax"


def _binary(score: float, name: Named, scale: str | None) -> Classes:
    """One output for two classes is the second one's."""
    second = score if scale == "probabilities" else float(_sigmoid(np.asarray(score)))
    pair = (ClassEntry(0, name(0), 1 - second), ClassEntry(1, name(1), second))
    word = "probability" if scale == "probabilities" else "sigmoid"
    return Classes(pair if pair[0].value >= pair[1].value else pair[::-1], 2, word)


def _sigmoid(scores: Doubles) -> Doubles:
    found: Doubles = torch.from_numpy(np.asarray(scores)).sigmoid().numpy()
    return found

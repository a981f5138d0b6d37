"""What an input or output is, in two words, for its card."""

from __future__ import annotations

import numpy as np

from ..records import Photo, Summary, TokenStrip

_KINDS = {
    "image": "image",
    "volume": "volume",
    "tokens": "tokens",
    "sequence": "sequence",
    "vector": "vector",
    "scalar": "number",
    "attention": "attention",
}
# What an output means when nothing is known of it.
_RAW = "raw values"
_WHOLE = ("int8", "int16", "int32", "int64", "uint8")


def in_words(summary: Summary, role: str) -> str:
    """`"RGB image"`, `"output · softmax"`; the bare `role` (`"input"`, `"output"`) where nothing is known."""
    picture = summary.picture
    if isinstance(picture, Photo):
        red, green, blue = (picture.values[..., i] for i in range(3))
        grey = np.array_equal(red, green) and np.array_equal(green, blue)
        return "grey image" if grey else "RGB image"
    if summary.meaning not in {"", _RAW}:
        return f"{role} · {summary.meaning}"
    if isinstance(picture, TokenStrip) and picture.labels and summary.spec.dtype in _WHOLE:
        return f"{role} · text"
    if summary.spec.dtype == "bool":
        return f"{role} · mask"
    if summary.spec.dtype in _WHOLE:
        return f"{role} · whole numbers"
    known = summary.meaning or _KINDS.get(summary.axes.kind)
    return f"{role} · {known}" if known else role

"""Axes for hand-made tensors, and plain NumPy definitions of what is measured."""

from __future__ import annotations

import numpy as np
from hypothesis import settings

from nf_widget.records import Axes

IMAGE = Axes(("batch", "channel", "height", "width"), "image", "test")
MAPS = Axes(("channel", "height", "width"), "image", "test")
VOLUME = Axes(("batch", "channel", "depth", "height", "width"), "volume", "test")
VECTOR = Axes(("batch", "feature"), "vector", "test")
TOKENS = Axes(("batch", "token", "feature"), "tokens", "test")
SEQUENCE = Axes(("batch", "channel", "time"), "sequence", "test")
ATTENTION = Axes(("batch", "head", "query", "key"), "attention", "test")
SCALAR = Axes((), "scalar", "test")

# The same examples each time, however long one takes.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=40)
settings.load_profile("repeatable")


def patch_tokens(rows, columns, special=0):
    return Axes(("batch", "token", "feature"), "tokens", "test", special=special, grid=(rows, columns))


def unnamed(dimensions):
    return Axes(("other",) * dimensions, "generic", "test")


def area_means(maps, rows, columns):
    """`[map, row, column]` -> `[map, rows, columns]`: means over windows that cover the cells they touch."""
    height, width = maps.shape[1:]
    top, left = (np.arange(cells) * length // cells for cells, length in ((rows, height), (columns, width)))
    bottom, right = (-(-np.arange(1, n + 1) * length // n) for n, length in ((rows, height), (columns, width)))
    # Sums of all that lies above and to the left of each place.
    corner = np.pad(maps.astype(np.float64), ((0, 0), (1, 0), (1, 0))).cumsum(1).cumsum(2)
    bands = corner[:, bottom] - corner[:, top]
    return (bands[:, :, right] - bands[:, :, left]) / np.outer(bottom - top, right - left)

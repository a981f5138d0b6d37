"""Tokens that are patches: how many stand in front of them, and how they lie over the image or the volume."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

# None, a class token, a class and a distillation token, and register tokens without and with a class token.
_SPECIAL = (0, 1, 2, 4, 5)
# Edges of patches, after all strides so far, where they do not divide the image.
_USUAL = (2, 4, 8, 14, 16, 32)
_LARGEST = 64
# Fewer patches than this are as likely something else.
_FEWEST = 9
# Frames in a patch of a video.
_FRAMES = (1, 2, 4)


def token_grid(tokens: int, image: tuple[int, int] | None, *, sure: bool) -> tuple[int, tuple[int, int] | None]:
    """(special tokens in front, rows and columns of the others). Without an image, or where it is `sure` that these are
    patches, any square will do; else the image must be cut into patches of a size that is in use."""
    for special in _SPECIAL:
        patches = tokens - special
        if patches < (4 if sure else _FEWEST):
            continue
        for grid in _grids(image) if image is not None else ():
            if grid[0] * grid[1] == patches and min(grid) > 1:
                return special, grid
        side = round(patches**0.5)
        if sure and side * side == patches and (image is None or _like((side, side), image)):
            return special, (side, side)
    return 0, None


def token_block(tokens: int, volume: tuple[int, int, int]) -> tuple[int, tuple[int, int, int] | None]:
    """(special tokens in front, depth, rows and columns of the others)."""
    for special in _SPECIAL:
        for block in _blocks(volume):
            if block[0] * block[1] * block[2] == tokens - special and min(block) > 1:
                return special, block
    return 0, None


def _grids(image: tuple[int, int]) -> Iterator[tuple[int, int]]:
    """The fitting patches first; else what does not fit is left out, or padded."""
    height, width = image
    for patch in range(1, min(height, width, _LARGEST) + 1):
        if height % patch == 0 == width % patch:
            yield height // patch, width // patch
    for patch in _USUAL:
        yield height // patch, width // patch
        yield -(-height // patch), -(-width // patch)


def _blocks(volume: tuple[int, int, int]) -> Iterator[tuple[int, int, int]]:
    deep, height, width = volume
    patches = [patch for patch in range(1, min(height, width, _LARGEST) + 1) if height % patch == 0 == width % patch]
    cubes = [(patch, patch) for patch in patches]
    tubes = list(product(_FRAMES, patches))
    # Frames are far fewer than rows.
    for frames, patch in [*tubes, *cubes] if 2 * deep < height else [*cubes, *tubes]:
        if deep % frames == 0:
            yield deep // frames, height // patch, width // patch


def _like(size: tuple[int, int], image: tuple[int, int]) -> bool:
    """Whether it has the image's aspect, to within a row or column."""
    return abs(size[0] * image[1] - size[1] * image[0]) <= max(image)

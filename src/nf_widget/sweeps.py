"""Inputs that change in one way: `FlowWidget(model, frames=sweeps.occlusion(x))`. Frames are made when asked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, overload

import torch
from torch import Tensor

from .errors import InputError

Size: TypeAlias = "int | tuple[int, int]"


@dataclass(frozen=True, slots=True)
class Sweep(Sequence[Tensor]):
    """A sequence of inputs, each with a label. The same index gives the same input each time."""

    labels: tuple[str, ...]
    make: Callable[[int], Tensor] = field(repr=False)

    def __len__(self) -> int:
        return len(self.labels)

    @overload
    def __getitem__(self, index: int) -> Tensor: ...

    @overload
    def __getitem__(self, index: slice) -> Sweep: ...

    def __getitem__(self, index: int | slice) -> Tensor | Sweep:
        if isinstance(index, slice):
            places = range(len(self.labels))[index]
            return Sweep(self.labels[index], lambda i: self.make(places[i]))
        return self.make(range(len(self.labels))[index])


def cross_fade(first: Tensor, last: Tensor, steps: int = 21) -> Sweep:
    """From one input to another of the same shape, in equal steps; the ends are the inputs themselves.

    Raises `InputError` where the shapes differ or `steps` is below 2.
    """
    if first.shape != last.shape:
        raise InputError(f"A fade needs two inputs of one shape: {_shape(first)} and {_shape(last)} were given.")
    _at_least("steps", steps, 2)

    def make(index: int) -> Tensor:
        if index in (0, steps - 1):
            return last if index else first
        return torch.lerp(first, last, index / (steps - 1))

    return Sweep(tuple(f"{round(100 * i / (steps - 1))} %" for i in range(steps)), make)


def occlusion(x: Tensor, size: Size | None = None, stride: Size | None = None, fill: float | None = None) -> Sweep:
    """A patch that moves over `x: [..., height, width]`, there and back, row by row; first `x` without it.

    `size` and `stride` in pixels, or (rows, columns): a quarter of the shorter side, and half of `size`. `fill` is the
    value of the patch, the mean of `x` unless given. Raises `InputError` for a patch that does not fit.
    """
    height, width = _sides(x)
    rows, columns = _pair(size, (max(1, min(height, width) // 4),) * 2)
    down, across = _pair(stride, (max(1, rows // 2), max(1, columns // 2)))
    _fits(rows, columns, x)
    _at_least("stride", min(down, across), 1)
    corners: list[tuple[int, int]] = []
    for number, top in enumerate(_positions(height, rows, down)):
        row = [(top, left) for left in _positions(width, columns, across)]
        corners += reversed(row) if number % 2 else row
    value = float(_doubles(x).mean()) if fill is None else fill

    def make(index: int) -> Tensor:
        if index == 0:
            return x
        top, left = corners[index - 1]
        hidden = x.clone()
        hidden[..., top : top + rows, left : left + columns] = value
        return hidden

    return Sweep(("nothing hidden", *map(_corner, corners)), make)


def noise(x: Tensor, levels: Sequence[float] | None = None, *, seed: int = 0) -> Sweep:
    """`x` with Gaussian noise of growing strength: the same noise, scaled, so that only its strength changes.

    `levels` are standard deviations in units of `x`; by default 11 from 0 to the standard deviation of `x` itself.
    Raises `InputError` for an input that is no floating point tensor.
    """
    if not x.is_floating_point():
        raise InputError(f"Noise needs a floating point input: this one is {x.dtype}.")
    if levels is None:
        spread = float(_doubles(x).std(correction=0))
        levels = [spread * i / 10 for i in range(11)]
    strengths = tuple(map(float, levels))
    # Drawn on the CPU in float32: the same numbers wherever `x` lives and whatever its precision.
    grain = torch.randn(x.shape, generator=torch.Generator().manual_seed(seed)).to(x.device, x.dtype)
    return Sweep(
        tuple(f"noise {level:.3g}" for level in strengths),
        lambda i: x + strengths[i] * grain if strengths[i] else x,
    )


def crop_pan(x: Tensor, size: Size, steps: int = 21) -> Sweep:
    """A window of `size` that moves over `x: [..., height, width]` from the upper left to the lower right corner.

    Raises `InputError` for a window that does not fit.
    """
    height, width = _sides(x)
    rows, columns = _pair(size, (0, 0))
    _fits(rows, columns, x)
    _at_least("steps", steps, 2)
    corners = [
        (round((height - rows) * i / (steps - 1)), round((width - columns) * i / (steps - 1))) for i in range(steps)
    ]

    def make(index: int) -> Tensor:
        top, left = corners[index]
        return x[..., top : top + rows, left : left + columns].contiguous()

    return Sweep(tuple(map(_corner, corners)), make)


def slices(volume: Tensor, axis: int = -3) -> Sweep:
    """The slices of `volume` along an axis, which each of them lacks: `[batch, channel, depth, height, width]` gives
    `depth` inputs `[batch, channel, height, width]`. Raises `InputError` where there is no such axis."""
    if not -volume.dim() <= axis < volume.dim():
        raise InputError(f"There is no axis {axis} in {_shape(volume)}: use {-volume.dim()} to {volume.dim() - 1}.")
    return Sweep(tuple(f"slice {i}" for i in range(volume.shape[axis])), lambda i: volume.select(axis, i).contiguous())


def _positions(length: int, size: int, stride: int) -> list[int]:
    """Starts of patches of `size`; the last one ends at the edge."""
    starts = list(range(0, length - size + 1, stride))
    return starts if starts[-1] == length - size else [*starts, length - size]


def _pair(size: Size | None, otherwise: tuple[int, int]) -> tuple[int, int]:
    if size is None:
        return otherwise
    return (size, size) if isinstance(size, int) else size


def _sides(x: Tensor) -> tuple[int, int]:
    if x.dim() < 2:
        raise InputError(f"The input needs a height and a width: this one is {_shape(x)}.")
    return x.shape[-2], x.shape[-1]


def _fits(rows: int, columns: int, x: Tensor) -> None:
    height, width = _sides(x)
    if not (0 < rows <= height and 0 < columns <= width):
        raise InputError(f"{rows}×{columns} does not fit into {height}×{width}: choose another size.")


def _at_least(name: str, value: int, bound: int) -> None:
    if value < bound:
        raise InputError(f"{name} is {value}: use at least {bound}.")


def _corner(corner: tuple[int, int]) -> str:
    """Short enough to stand beside a slider: row and column of the upper left corner."""
    return f"at {corner[0]}, {corner[1]}"


def _doubles(x: Tensor) -> Tensor:
    return x.detach().to("cpu", torch.float64)


def _shape(x: Tensor) -> str:
    return "×".join(map(str, x.shape)) or "a scalar"

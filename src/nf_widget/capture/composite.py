"""The three principal components of an activation's channels: what a picture in red, green and blue is made of."""

from __future__ import annotations

from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ..records import Axes, Request, StageId, Tile
from .channels import grid_of
from .detail import RefusedError, cut
from .moments import pool
from .values import real
from .views import View

WORD = "pca"
COMPONENTS = 3
# Elements at a time.
_LIMIT = 1 << 20


@dataclass(frozen=True, slots=True)
class Basis:
    """`mean: [channel]`, `directions: [channel, component]`, float64 on the CPU."""

    mean: Tensor
    directions: Tensor


# Of a stage's leaf.
Bases = MutableMapping[tuple[StageId, str], Basis]


def composed(leaf: str, leaves: Mapping[str, object]) -> str | None:
    """The leaf whose components a name stands for; None where it is no such name."""
    return next((path for path in leaves if leaf == f"{path} {WORD}".strip()), None)


def cut_component(tensor: Tensor, axes: Axes, request: Request, bases: Bases) -> Tile:
    """The component `request.channel` at each place of maps, or of a patch grid, in full resolution.

    Directions are those of the first activation that is asked for, kept in `bases`, so that colours keep their meaning
    from frame to frame. The largest weight of each direction is positive. Never raises for a request.
    """
    return cut(tensor, axes, request, plane=partial(_component, bases=bases))


def _component(view: View, request: Request, *, bases: Bases) -> Tensor:
    maps = _maps(view)
    number = request.channel or 0
    if not 0 <= number < COMPONENTS:
        raise RefusedError(f"There is no component {number}: there are {COMPONENTS}.")
    key = (request.stage, request.leaf)
    basis = bases.get(key)
    if basis is None or len(basis.mean) != len(maps):
        basis = bases[key] = basis_of(maps)
    weights = basis.directions[:, number]
    total = torch.full(maps.shape[1:], -float(weights @ basis.mean), dtype=torch.float32, device=maps.device)
    shares = weights.to(maps.device, torch.float32)
    step = max(1, _LIMIT // maps[0].numel())
    for first in range(0, len(maps), step):
        part = real(maps[first : first + step]).to(torch.float32)
        total += torch.einsum("c,chw->hw", shares[first : first + step], part)
    return total


def basis_of(maps: Tensor) -> Basis:
    """From `[channel, row, column]`, pooled to the size at which structure is measured."""
    found = pool(maps, *grid_of(maps), limit=_LIMIT).flatten(1).double().cpu().nan_to_num(0, 0, 0)
    mean = found.mean(1)
    centred = found - mean[:, None]
    channels, places = centred.shape
    if channels <= places:
        _, vectors = torch.linalg.eigh(centred @ centred.T)
        directions = vectors[:, -COMPONENTS:].flip(1)
    else:
        _, vectors = torch.linalg.eigh(centred.T @ centred)
        directions = torch.nn.functional.normalize(centred @ vectors[:, -COMPONENTS:].flip(1), dim=0)
    largest = directions.gather(0, directions.abs().argmax(0, keepdim=True))
    return Basis(mean, directions * torch.where(largest < 0, -1.0, 1.0))


def _maps(view: View) -> Tensor:
    if view.form == "maps" and view.axes.kind == "image":
        maps = view.values
    elif view.form == "tokens" and view.axes.grid is not None:
        maps = view.patches
    else:
        raise RefusedError(f"Components are those of maps, or of patches: this is a {view.form}.")
    if len(maps) < COMPONENTS or min(grid_of(maps)) < 2:
        raise RefusedError(f"{len(maps)} maps of {maps.shape[1]} by {maps.shape[2]} have no {COMPONENTS} components.")
    return maps

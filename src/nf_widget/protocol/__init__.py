"""The wire schema: mirror of `js/src/protocol.ts`. The only two places that know field names.

Records become dictionaries of JSON values and `bytes`; NaN and infinities, which JSON has not, become None. The other
way, what the front end sends is checked in `wire.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import numpy as np

from ..colours import colour_range
from ..errors import MessageError
from ..records import (
    Edge,
    Failure,
    Leaf,
    Photo,
    Stage,
    StageGraph,
    StageId,
    Statistics,
    Summary,
    TensorSpec,
    Tile,
    Trace,
)
from .pictures import Message, number, picture_message
from .wire import decode_wanted

__all__ = [
    "VERSION",
    "Message",
    "State",
    "decode_wanted",
    "default_options",
    "encode_graph",
    "encode_overview",
    "encode_status",
    "encode_thumbnails",
    "encode_tiles",
]

VERSION: Final = 1

State = Literal["idle", "busy", "waiting", "error", "stale"]

_RANKED = 4096
# Ops along an edge that are told of from either end, where there are more than both hold.
_OPS_AT_ENDS = 50
# Pixels along the longer edge of a picture of an input beside the slider.
_THUMBNAIL = 64
_TILE_DTYPES = ("float16", "float32", "float64", "int32", "uint8")


def encode_graph(graph: StageGraph, trace: Trace, *, trace_id: str, device: str, forward_ms: float | None) -> Message:
    """The `graph` trait."""
    return {
        "version": VERSION,
        "trace": trace_id,
        "model": {
            "name": trace.model_name,
            "parameters": trace.parameter_count,
            "device": device,
            "forward_ms": number(forward_ms),
        },
        "topology": graph.topology,
        "stages": [_stage(stage) for stage in graph.stages],
        "groups": [
            {"id": group.id, "label": group.label, "type_name": group.type_name, "parent": group.parent}
            for group in graph.groups
        ],
        "edges": [_edge(edge, trace) for edge in graph.edges],
        "notes": [{"kind": note.kind, "text": note.text, "stage": note.stage} for note in graph.notes],
        "failure": None if trace.failure is None else _failure(trace.failure, trace),
    }


def encode_overview(
    summaries: Mapping[StageId, Sequence[Summary]], frame: int, sample: int, reference: int | None = None
) -> Message:
    """The `overview` trait: of each stage, the summaries of its leaves; with `reference`, differences to that frame."""
    return {
        "version": VERSION,
        "frame": frame,
        "sample": sample,
        "reference": reference,
        "stages": {str(stage): [_summary(summary) for summary in leaves] for stage, leaves in summaries.items()},
    }


def encode_tiles(tiles: Iterable[Tile], seq: int) -> Message:
    """The `tiles` trait: answers, and the newest `wanted.seq` that was seen. Raises `MessageError` for other dtypes."""
    return {"seq": seq, "tiles": [_tile(tile) for tile in tiles]}


def encode_thumbnails(photos: Mapping[int, Photo], sample: int) -> Message:
    """The `thumbnails` trait: by frame, a small picture of what goes in."""
    shown = {str(frame): picture_message(_shrunk(photo), (0.0, 1.0)) for frame, photo in photos.items()}
    return {"sample": sample, "frames": shown}


def _shrunk(photo: Photo) -> Photo:
    """Means over squares of pixels, so that the longer edge has no more than `_THUMBNAIL`."""
    step = -(-max(photo.values.shape[:2]) // _THUMBNAIL)
    means = photo.values.astype(np.float64)
    for axis in (0, 1):
        starts = np.arange(0, means.shape[axis], step)
        counts = np.diff([*starts, means.shape[axis]]).reshape(-1, *(1,) * (2 - axis))
        means = np.add.reduceat(means, starts, axis) / counts
    return Photo(means.round().astype(np.uint8), photo.size, pooled=True)


def encode_status(
    state: State, *, text: str = "", done: int = 0, total: int = 0, error: BaseException | None = None, beat: int
) -> Message:
    """The `status` trait. `beat` changes each time."""
    told = None if error is None else {"type": type(error).__name__, "message": str(error)}
    return {"state": state, "text": text, "done": done, "total": total, "error": told, "beat": beat}


def default_options() -> Message:
    """The `options` trait as it starts."""
    return {
        "theme": "auto",
        "normalisation": "stage",
        "channel_order": "structure",
        "height": 0,
        "hold_channels": True,
        "hold_colours": True,
    }


def _leaf(leaf: Leaf) -> Message:
    return {"path": leaf.path, "shape": list(leaf.spec.shape), "dtype": leaf.spec.dtype}


def _stage(stage: Stage) -> Message:
    return {
        "id": stage.id,
        "kind": stage.kind,
        "path": stage.path,
        "label": stage.label,
        "type_name": stage.type_name,
        "detail": stage.detail,
        "leaves": [_leaf(leaf) for leaf in stage.leaves],
        "parameters": stage.parameter_count,
        "order": stage.order,
        "group": stage.group,
        "expandable": stage.expandable,
        "status": stage.status,
    }


def _edge(edge: Edge, trace: Trace) -> Message:
    spec: TensorSpec | None = edge.spec
    return {
        "id": f"{edge.source}->{edge.target}",
        "source": edge.source,
        "target": edge.target,
        "kind": edge.kind,
        "via": _via(edge, trace),
        "shape": None if spec is None else list(spec.shape),
        "dtype": "" if spec is None else spec.dtype,
        "evidence": edge.evidence,
    }


def _via(edge: Edge, trace: Trace) -> list[Message]:
    """Names with the details of their ops, where each name has an op of its own. Of very many, those at both ends."""
    ops = [trace.ops[op] for op in edge.ops]
    matched = tuple(op.name for op in ops) == edge.via
    details = [op.detail for op in ops] if matched else [""] * len(edge.via)
    steps = [{"name": name, "detail": detail} for name, detail in zip(edge.via, details, strict=True)]
    if len(steps) <= 2 * _OPS_AT_ENDS:
        return steps
    between = {"name": "…", "detail": f"{len(steps) - 2 * _OPS_AT_ENDS:,} more"}
    return [*steps[:_OPS_AT_ENDS], between, *steps[-_OPS_AT_ENDS:]]


def _failure(failure: Failure, trace: Trace) -> Message:
    return {
        "type": failure.error_type,
        "message": failure.message,
        "op": failure.op_name,
        "call": "" if failure.call is None else trace.calls[failure.call].path,
        "operands": [_leaf(leaf) for leaf in failure.operands],
        "location": failure.location,
    }


def _summary(summary: Summary) -> Message:
    statistics, histogram, ranking = summary.statistics, summary.histogram, summary.ranking
    scale = summary.scale or colour_range(statistics)
    return {
        "leaf": summary.leaf,
        "shape": list(summary.spec.shape),
        "dtype": summary.spec.dtype,
        "axes": list(summary.axes.names),
        "axes_kind": summary.axes.kind,
        "axes_reason": summary.axes.reason,
        "picture": picture_message(summary.picture, scale),
        "scale": list(scale),
        "reference": summary.reference,
        "statistics": None if statistics is None else _statistics(statistics),
        "histogram": None
        if histogram is None
        else {"low": histogram.low, "high": histogram.high, "counts": histogram.counts.astype("<i4").tobytes()},
        "ranking": None
        if ranking is None
        else {
            "measure": ranking.measure,
            "order": ranking.order[:_RANKED].astype("<i4").tobytes(),
            "count": len(ranking.order),
            "dead": ranking.dead,
            "saturated": ranking.saturated,
        },
    }


def _statistics(statistics: Statistics) -> Message:
    return {
        "count": statistics.count,
        "min": number(statistics.minimum),
        "max": number(statistics.maximum),
        "mean": number(statistics.mean),
        "std": number(statistics.std),
        "zeros": statistics.zeros,
        "negatives": statistics.negatives,
        "nan": statistics.nan,
        "inf": statistics.inf,
        "p1": number(statistics.low),
        "p99": number(statistics.high),
    }


def _tile(tile: Tile) -> Message:
    dtype = tile.data.dtype
    if dtype.name not in _TILE_DTYPES:
        raise MessageError(f"tile {tile.key}: {dtype.name} is not one of {', '.join(_TILE_DTYPES)}.")
    rows, columns = tile.data.shape
    return {
        "key": tile.key,
        "rows": rows,
        "columns": columns,
        "dtype": dtype.name,
        "low": number(tile.low),
        "high": number(tile.high),
        "mean": number(tile.mean),
        "exact": tile.exact,
        "error": tile.error,
        "data": tile.data.astype(dtype.newbyteorder("<"), copy=False).tobytes(),
    }

"""The messages of `tests/contract`, made from records. `python tests/messages.py` writes them anew.

Each file holds {"trait", "about", "message"}; bytes are {"base64": text} there, and nowhere else. The tests of the
front end read the same files.
"""

from __future__ import annotations

import base64
import json
import math
from pathlib import Path
from types import MappingProxyType

import numpy as np

from nf_widget import protocol
from nf_widget.records import (
    Axes,
    Box,
    Boxes,
    CallId,
    ClassEntry,
    Classes,
    Edge,
    Failure,
    FeatureMaps,
    Group,
    Histogram,
    Leaf,
    Mask,
    ModuleCall,
    Note,
    Nothing,
    Op,
    OpId,
    Photo,
    Plane,
    Ranking,
    Request,
    Scalar,
    Stage,
    StageGraph,
    StageId,
    Statistics,
    Summary,
    TensorSpec,
    Tile,
    TokenStrip,
    Trace,
    VectorStrip,
    VolumeSlices,
)

FOLDER = Path(__file__).parent / "contract"
NAN = math.nan


def spec(*shape, dtype="float32"):
    return TensorSpec(shape, dtype, "cpu")


def leaf(path, *shape, dtype="float32", ops=(0,)):
    return Leaf(path, spec(*shape, dtype=dtype), tuple(map(OpId, ops)))


def graph():
    calls = (
        ModuleCall(CallId(0), "", 0, "Net", None, (leaf("x", 1, 3, 8, 8),), (), 1240, finished=False),
        ModuleCall(CallId(1), "enc", 0, "Conv2d", CallId(0), (), (leaf("", 1, 4, 8, 8),), 112, detail="3×3"),
    )
    ops = (
        Op(OpId(0), "x", "input", None, (), (spec(1, 3, 8, 8),)),
        Op(OpId(1), "cat", "call", CallId(0), (OpId(0),), (spec(1, 8, 8, 8),), detail="dim=1"),
        Op(OpId(2), "getitem", "call", CallId(0), (OpId(1),), (spec(1, 4, 8, 8),)),
    )
    failure = Failure(
        "RuntimeError", "The size of tensor a (8) must match the size of tensor b (4)", CallId(1), "add",
        (leaf("0", 1, 4, 8, 8), leaf("1", 1, 4, 4, 4)), "net.py:12",
    )  # fmt: skip
    trace = Trace(
        "Net", calls, ops, (leaf("x", 1, 3, 8, 8),), (), (), MappingProxyType({}), ("head",), 1240, failure,
    )  # fmt: skip
    stages = (
        Stage(StageId("input"), "input", "x", "x", "x", None, (leaf("x", 1, 3, 8, 8),), 0, 0),
        Stage(
            StageId("enc"), "call", "enc", "Encoder <b>1</b>", "Conv2d", CallId(1),
            (leaf("0", 1, 4, 8, 8), leaf("state.h", 2, 1, 6, dtype="float16")), 112, 1, "body", "3×3", expandable=True,
        ),
        Stage(StageId("dec"), "call", "dec", "dec", "Block", None, (leaf("", 1, 4, 8, 8),), 1128, 2, status="raised"),
        Stage(StageId("output"), "output", "", "output", "", None, (), 0, 3, status="not-run"),
    )  # fmt: skip
    edges = (
        Edge(StageId("input"), StageId("enc"), "main", (), spec(1, 3, 8, 8), ops=()),
        Edge(StageId("enc"), StageId("dec"), "main", (), spec(1, 4, 8, 8)),
        Edge(StageId("input"), StageId("dec"), "skip", ("cat", "getitem"), spec(1, 8, 8, 8), ops=(OpId(1), OpId(2))),
        Edge(StageId("dec"), StageId("output"), "merge", ("numpy",), None, "inferred"),
    )
    groups = (Group(StageId("body"), "body", "Sequential", "", CallId(0)),)
    notes = (Note("opaque", "What happens inside dec cannot be seen.", "dec"),)
    return protocol.encode_graph(
        StageGraph(stages, edges, groups, "runtime", notes), trace, trace_id="1", device="cpu", forward_ms=1.5
    )


SIGNED = Statistics(8, -2.0, 3.0, 0.25, 1.5, 0.125, 0.375, 1, 1, -2.0, 2.5)
POSITIVE = Statistics(6, 0.0, 4.0, 1.0, 1.25, 0.5, 0.0, 0, 0, 0.0, 4.0)
NO_VALUES = Statistics(2, NAN, NAN, NAN, NAN, 0.0, 0.0, 2, 0, NAN, NAN)
COUNTS = np.zeros(64, np.int32)
COUNTS[[0, 40, 63]] = 1, 4, 1


VECTOR = Axes(("batch", "feature"), "vector", "known: made for this test")
IMAGE = Axes(("batch", "channel", "height", "width"), "image", "likely: made for this test")
TOKENS = Axes(("batch", "token", "feature"), "tokens", "guess: made for this test", 1, (2, 2))
VOLUME = Axes(("batch", "channel", "depth", "height", "width"), "volume", "known: made for this test")
SCALAR = Axes((), "scalar", "known: one number")


def floats(values, *shape):
    return np.asarray(values, np.float32).reshape(shape)


def enc():
    maps = FeatureMaps((2, 0), floats([-2.5, 0, 1.25, 9, NAN, math.inf, 2.5, -9], 2, 2, 2), (2, 2), pooled=False)
    histogram = Histogram(-2.0, 3.0, COUNTS)
    ranking = Ranking("structure", np.asarray([2, 0, 1], np.int32), floats([1, 0, 2], 3), dead=1, saturated=0)
    strip = VectorStrip(floats([0, 2, 4], 3), 3000, pooled=True)
    return [
        Summary("0", spec(1, 3, 2, 2), IMAGE, maps, SIGNED, histogram, ranking),
        Summary("1", spec(1, 3000), VECTOR, strip, POSITIVE, None, None),
        Summary("2", spec(1, 0), VECTOR, Nothing("empty: 1×0"), None, None, None),
        Summary("3", spec(1, 3000), VECTOR, strip, POSITIVE, None, None, scale=(-4.0, 4.0), reference=7),
    ]


def block():
    maps = FeatureMaps((1,), floats([0, 1, 2, 4], 1, 2, 2), (2, 2), pooled=False)
    values = floats([0, 4, 1, 3, 2, 0, 8, 1, 0, 2], 5, 2)
    strip = TokenStrip(values, (5, 2), pooled=False, grid=(2, 2), special=1, maps=maps, labels=("[CLS]",))
    return [Summary("", spec(1, 5, 2), TOKENS, strip, POSITIVE, None, None)]


def volume():
    six = floats(range(6), 2, 3)
    planes = (Plane(0, 1, six), Plane(1, 0, six), Plane(2, 2, floats(range(4), 2, 2)))
    slices = VolumeSlices(1, planes, (2, 2, 3), pooled=False)
    return [Summary("", spec(1, 2, 2, 2, 3), VOLUME, slices, POSITIVE, None, None)]


def overview():
    photo = Photo(np.arange(18, dtype=np.uint8).reshape(2, 3, 3), (4, 6), pooled=True)
    classes = Classes((ClassEntry(285, "Egyptian cat", 0.75), ClassEntry(281, "tabby", NAN)), 1000, "softmax")
    entries = (ClassEntry(2, "cat", 0.5), ClassEntry(0, "background", 0.25))
    codes = np.asarray([[0, 0, 1], [0, 255, 1]], np.uint8)
    mask = Mask(codes, entries, (4, 6), pooled=True, count=3, how="argmax of 3 channels", background=0, over="x")
    found = (Box(0.25, 0.0, 0.75, 0.5, "cat", 0.875), Box(0.0, 0.0, 1.0, 1.0, "", None))
    boxes = Boxes(found, 7, (4, 6), over="x")
    stages = {
        "input": [Summary("", spec(1, 3, 4, 6), IMAGE, photo, None, None, None)],
        "enc": enc(),
        "block": block(),
        "volume": volume(),
        "loss": [
            Summary("", spec(), SCALAR, Scalar(NAN, "nan"), NO_VALUES, None, None),
            Summary("1", spec(dtype="int64"), SCALAR, Scalar(7.0, "7"), POSITIVE, None, None),
        ],
        "output": [Summary("", spec(1, 1000), VECTOR, classes, SIGNED, None, None)],
        "mask": [Summary("", spec(1, 3, 4, 6), IMAGE, mask, SIGNED, None, None)],
        "boxes": [Summary("", spec(7, 4), TOKENS, boxes, SIGNED, None, None)],
        "idle": [],
    }
    return protocol.encode_overview({StageId(name): found for name, found in stages.items()}, frame=2, sample=1)


def tiles():
    values = [[1.5, -0.25, NAN], [65504.0, math.inf, 0.0]]
    found = [
        Tile(f"key-{name}", np.asarray(values).astype(name), -0.25, 65504.0, 13101.25, exact=name == "float64")
        for name in ("float16", "float32", "float64")
    ]
    found.append(Tile("key-int32", np.asarray([[-(2**31), 7]], np.int32), -(2.0**31), 7.0, -1073741820.5, exact=True))
    found.append(Tile("key-uint8", np.asarray([[0], [255]], np.uint8), 0.0, 255.0, 127.5, exact=True))
    found.append(
        Tile(
            "key-error",
            np.zeros((0, 0), np.float32),
            NAN,
            NAN,
            NAN,
            exact=False,
            error="There is no channel 5: there are 5.",
        )
    )
    return protocol.encode_tiles(found, seq=41)


REQUESTS = (
    Request("k0", 2, 1, StageId("enc"), "0", 2, None, (0, 8, 16, 24), (8, 8)),
    Request("k1", 0, 0, StageId("volume"), "", 1, (2, 5)),
    Request("k2", 0, 0, StageId("block"), ""),
    Request("k3", 3, 0, StageId("block"), "", reference=1),
)


def wanted():
    """What the front end writes for `REQUESTS`."""
    return {
        "seq": 42,
        "tiles": [
            {
                "key": r.key, "frame": r.frame, "sample": r.sample, "stage": r.stage, "leaf": r.leaf,
                "channel": r.channel,
                "slice": None if r.slice is None else list(r.slice),
                "region": None if r.region is None else list(r.region),
                "size": None if r.size is None else list(r.size),
                "reference": r.reference,
            }
            for r in REQUESTS
        ],
    }  # fmt: skip


def thumbnails():
    """Of 65 × 3 pixels, more than a thumbnail has: pairs are joined, and the last row stands alone."""
    photo = Photo(np.arange(65 * 3 * 3, dtype=np.uint16).reshape(65, 3, 3).astype(np.uint8), (65, 3), pooled=False)
    return protocol.encode_thumbnails({0: photo, 12: photo}, sample=1)


def status():
    return protocol.encode_status(
        "error", text="shape mismatch", done=3, total=8, error=RuntimeError("shape '[2]' is invalid"), beat=9
    )


MESSAGES = {
    "graph": (graph, "Every kind of stage, edge, group and note, and a forward that raised."),
    "overview": (overview, "Every kind of picture, signed and unsigned scales, and values that are not finite."),
    "tiles": (tiles, "Every dtype of a tile, and one that is not there."),
    "wanted": (wanted, "A channel's region made small, a slice of a volume, a whole plane, and a difference."),
    "thumbnails": (thumbnails, "Small pictures of the inputs of two frames."),
    "status": (status, "An error while something runs."),
    "options": (protocol.default_options, "The options as they start."),
}


def plain(value):
    """JSON for a message: bytes as {"base64": text}."""
    if isinstance(value, bytes):
        return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def contract(trait):
    make, about = MESSAGES[trait]
    return (
        json.dumps(
            {"trait": trait, "about": about, "message": plain(make())}, indent=1, ensure_ascii=False, allow_nan=False
        )
        + "\n"
    )


if __name__ == "__main__":
    for name in MESSAGES:
        (FOLDER / f"{name}.json").write_text(contract(name), "utf-8")

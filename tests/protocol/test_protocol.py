"""What travels: the same messages that the front end's tests read, and nothing that JSON cannot hold."""

from __future__ import annotations

import base64
import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import messages
from nf_widget import protocol, trace
from nf_widget.capture.reducers import reduce
from nf_widget.errors import MessageError
from nf_widget.records import FeatureMaps, Request, StageId, Statistics, Summary, Tile, VectorStrip
from tensors import IMAGE, TOKENS, VECTOR

PROTOCOL_TS = Path(__file__).parents[2] / "js" / "src" / "protocol.ts"


def decoded(value):
    """A contract file's bytes, again as bytes."""
    if isinstance(value, dict) and set(value) == {"base64"}:
        return base64.b64decode(value["base64"])
    if isinstance(value, dict):
        return {key: decoded(item) for key, item in value.items()}
    return [decoded(item) for item in value] if isinstance(value, list) else value


def contract(trait):
    return decoded(json.loads((messages.FOLDER / f"{trait}.json").read_text("utf-8"))["message"])


@pytest.mark.parametrize("trait", messages.MESSAGES)
def test_messages_are_those_of_the_contract(trait):
    written = (messages.FOLDER / f"{trait}.json").read_text("utf-8")
    assert messages.contract(trait) == written, "if this is meant, run python tests/messages.py"


def test_every_contract_is_read():
    assert {path.stem for path in messages.FOLDER.glob("*.json")} == set(messages.MESSAGES)


def test_wanted_is_decoded():
    assert protocol.decode_wanted(contract("wanted")) == (42, messages.REQUESTS)


def schema():
    """`protocol.ts` without comments."""
    text = re.sub(r"/\*.*?\*/", "", PROTOCOL_TS.read_text("utf-8"), flags=re.DOTALL)
    return re.sub(r"//.*", "", text)


def fields_of(text):
    """Names of the fields of the object types in `text`, without those of types inside them."""
    depth, outer = 0, ""
    for character in text:
        depth -= character == "}"
        outer += character if depth == 1 else ""
        depth += character == "{"
    return set(re.findall(r"(?:^|;)\s*(?:readonly )?(\w+)\??:", outer))


def interfaces():
    """Name -> fields of each interface."""
    parts = re.split(r"^export (?:interface|type) ", schema(), flags=re.MULTILINE)[1:]
    return {re.match(r"\w+", part)[0]: fields_of(part) for part in parts}


def variants():
    """Kind -> fields of each picture, with those of the types that it is joined with."""
    union = re.search(r"export type Picture =(.*?)export ", schema(), flags=re.DOTALL)[1]
    found, depth, part = {}, 0, ""
    for character in union + "|":
        depth += (character in "{(") - (character in "})")
        if character != "|" or depth:
            part += character
            continue
        kind = re.search(r'kind: "(\w+)"', part)
        if kind:
            joined = re.findall(r"&\s*(\w+)", part[part.rindex("}") :])
            found[kind[1]] = fields_of(part).union(*(interfaces()[name] for name in joined))
        part = ""
    return found


def test_the_two_schemas_have_the_same_fields():
    known, graph, overview = interfaces(), contract("graph"), contract("overview")
    summary = overview["stages"]["enc"][0]
    pairs = {
        "Graph": graph, "StageInfo": graph["stages"][0], "LeafInfo": graph["stages"][0]["leaves"][0],
        "GroupInfo": graph["groups"][0], "EdgeInfo": graph["edges"][0], "OpInfo": graph["edges"][2]["via"][0],
        "NoteInfo": graph["notes"][0], "FailureInfo": graph["failure"], "Overview": overview, "Summary": summary,
        "Statistics": summary["statistics"], "Histogram": summary["histogram"], "Ranking": summary["ranking"],
        "Wanted": contract("wanted"), "TileRequest": contract("wanted")["tiles"][0], "Tiles": contract("tiles"),
        "TileInfo": contract("tiles")["tiles"][0], "Status": contract("status"), "Options": contract("options"),
    }  # fmt: skip
    assert {name: known[name] for name in pairs} == {name: set(message) for name, message in pairs.items()}


def test_the_two_schemas_have_the_same_pictures():
    found = {
        s["picture"]["kind"]: set(s["picture"]) for leaves in contract("overview")["stages"].values() for s in leaves
    }
    assert variants() == found


def test_the_two_schemas_have_the_same_version():
    assert f"export const VERSION = {protocol.VERSION};" in PROTOCOL_TS.read_text("utf-8")


def with_picture(picture, statistics):
    return Summary("", messages.spec(1, 3), messages.VECTOR, picture, statistics, None, None)


def sent(summary):
    return protocol.encode_overview({StageId("s"): [summary]}, frame=0, sample=0)["stages"]["s"][0]


def values_of(codes):
    found = np.frombuffer(codes["codes"], np.uint8)
    numbers = codes["low"] + found / 254 * (codes["high"] - codes["low"])
    return np.where(found == 255, np.nan, numbers)


@given(
    arrays.arrays(np.float32, st.integers(1, 30), elements=st.floats(width=32)),
    st.floats(-100, 100),
    st.floats(0, 200),
    st.floats(0, 1),
)
def test_codes_give_values_back_to_within_half_a_step(values, low, width, negatives):
    stats = replace(
        messages.SIGNED, low=low, high=low + width, minimum=low - 1, maximum=low + width + 1, negatives=negatives
    )
    picture = sent(with_picture(VectorStrip(values, len(values), pooled=False), stats))["picture"]
    back, finite = values_of(picture), np.isfinite(values)
    assert picture["low"] < picture["high"]
    assert np.isnan(back[~finite]).all()
    step = (picture["high"] - picture["low"]) / 254
    clipped = np.clip(values[finite].astype(np.float64), picture["low"], picture["high"])
    assert np.allclose(back[finite], clipped, rtol=0, atol=0.5001 * step)


@pytest.mark.parametrize(
    ("fields", "scale"),
    [
        ({"low": -1, "high": 3, "negatives": 0.4}, (-3, 3)),
        ({"low": -5, "high": 3, "negatives": 0.4}, (-5, 5)),
        ({"low": 0, "high": 3, "negatives": 0.0}, (0, 3)),
        ({"low": 0, "high": 3, "negatives": 0.002}, (0, 3)),
        ({"low": 0, "high": 0, "negatives": 0.0, "maximum": 7}, (0, 7)),
        ({"low": 0, "high": 0, "negatives": 0.01, "minimum": -9, "maximum": 7}, (-9, 9)),
        ({"low": 0, "high": 0, "negatives": 0.0, "minimum": 0, "maximum": 0}, (0, 1)),
        ({"low": -2, "high": -1, "negatives": 1.0}, (-2, 2)),
        ({"low": math.nan, "high": math.nan, "minimum": math.nan, "maximum": math.nan, "negatives": 0.0}, (0, 1)),
        ({"low": -1.7e308, "high": 1.7e308, "negatives": 0.5}, (-8e307, 8e307)),
    ],
)
def test_zero_is_the_middle_or_the_start_of_the_scale(fields, scale):
    picture = sent(
        with_picture(VectorStrip(np.ones(3, np.float32), 3, pooled=False), replace(messages.SIGNED, **fields))
    )["picture"]
    assert (picture["low"], picture["high"]) == scale


numbers = st.one_of(st.floats(), st.sampled_from([0.0, math.nan, math.inf, 1e308, -1e308]))


@given(st.lists(numbers, min_size=6, max_size=6), st.floats(0, 1), st.floats(0, 1))
def test_nothing_that_json_lacks_is_sent(found, zeros, negatives):
    low, high, mean, std, p1, p99 = found
    stats = Statistics(3, low, high, mean, std, zeros, negatives, 1, 1, p1, p99)
    with np.errstate(over="ignore"):
        maps = FeatureMaps((0,), np.asarray(found, np.float32).reshape(1, 2, 3), (2, 3), pooled=False)
    tile = Tile("k", np.asarray([found]), low, high, mean, exact=True)
    for message in (sent(with_picture(maps, stats)), protocol.encode_tiles([tile], 0)):
        json.dumps(messages.plain(message), allow_nan=False)


def only_plain_types(value):
    if isinstance(value, dict):
        return all(isinstance(key, str) and only_plain_types(item) for key, item in value.items())
    if isinstance(value, list):
        return all(map(only_plain_types, value))
    return type(value) in {str, int, float, bool, bytes, type(None)}


@pytest.mark.parametrize("trait", messages.MESSAGES)
def test_messages_are_made_of_plain_types(trait):
    assert only_plain_types(messages.MESSAGES[trait][0]())


def test_summaries_of_real_tensors_are_made_of_plain_types():
    for axes, shape in ((IMAGE, (1, 20, 60, 60)), (TOKENS, (1, 9, 5)), (VECTOR, (1, 10))):
        summary = reduce(torch.randn(shape, generator=torch.Generator().manual_seed(0)), axes, leaf="")
        assert only_plain_types(sent(summary))


CLASSIFIER = [(16, 224), (32, 112), (16, 112), (24, 56), (40, 28), (80, 14), (112, 14), (192, 7), (320, 7), (1280, 7)]
U_NET = [(16, 256), (24, 128), (32, 64), (64, 32), (512, 16), (64, 32), (32, 64), (24, 128), (16, 256), (16, 256)]


@pytest.mark.parametrize("sizes", [CLASSIFIER, U_NET], ids=["classifier", "u-net"])
def test_a_dozen_stages_take_less_than_200_kilobytes(sizes):
    generator = torch.Generator().manual_seed(0)
    stages = [reduce(torch.randn(1, c, n, n, generator=generator), IMAGE, leaf="") for c, n in (*sizes, *sizes[:2])]
    message = protocol.encode_overview({StageId(str(i)): [s] for i, s in enumerate(stages)}, frame=0, sample=0)
    # As sent: buffers beside JSON. Base64 is a third more than the first.
    assert len(json.dumps(messages.plain(message))) < 200_000 * 4 / 3


def test_a_long_ranking_is_cut():
    ranking = replace(messages.enc()[0].ranking, order=np.arange(10_000, dtype=np.int32))
    found = sent(replace(messages.enc()[0], ranking=ranking))["ranking"]
    assert found["count"] == 10_000
    assert np.array_equal(np.frombuffer(found["order"], "<i4"), np.arange(4096))


def test_of_very_many_ops_along_an_edge_those_at_both_ends_are_sent():
    class Long(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.last = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)

        def forward(self, x):
            x = self.first(x).sin()
            for _ in range(1000):
                x = x + 1
            return self.last(x.cos())

    flow = trace(Long(), torch.ones(1, 2))
    assert len(flow.edge("first", "last").via) == 1002
    sent = protocol.encode_graph(flow.graph, flow.trace, trace_id="1", device="cpu", forward_ms=1.0)
    (via,) = (edge["via"] for edge in sent["edges"] if (edge["source"], edge["target"]) == ("first", "last"))
    assert (via[0]["name"], via[-1]["name"], len(via)) == ("sin", "cos", 101)
    assert via[50] == {"name": "…", "detail": "902 more"}


def test_tiles_are_little_endian_rows():
    data = np.asarray([[1, 2], [3, 4]], ">f4").T
    tile = protocol.encode_tiles([Tile("k", data, 1, 4, 2.5, exact=True)], 0)["tiles"][0]
    assert np.array_equal(np.frombuffer(tile["data"], "<f4"), [1, 3, 2, 4])
    assert (tile["dtype"], tile["rows"], tile["columns"]) == ("float32", 2, 2)


def test_tiles_of_other_dtypes_are_refused():
    with pytest.raises(MessageError, match="tile k: int64 is not one of"):
        protocol.encode_tiles([Tile("k", np.zeros((1, 1), np.int64), 0, 0, 0, exact=True)], 0)


def wanted(**changes):
    message = contract("wanted")
    message["tiles"][0].update(changes)
    return message


BAD = {
    "wanted: expected an object, got [].": [],
    "wanted: without tiles and with unknown tile.": {"seq": 1, "tile": []},
    "wanted.seq: expected a whole number from 0, got -1.": {"seq": -1, "tiles": []},
    "wanted.seq: expected a whole number from 0, got True.": {"seq": True, "tiles": []},
    "wanted.seq: expected a whole number from 0, got nan.": {"seq": math.nan, "tiles": []},
    "wanted.seq: expected a whole number from 0, got inf.": {"seq": math.inf, "tiles": []},
    "wanted.tiles: expected a list of at most 4096 requests, got 'all'.": {"seq": 1, "tiles": "all"},
    "wanted.tiles[0]: expected an object, got 3.": {"seq": 1, "tiles": [3]},
    "wanted.tiles[0]: with unknown colour.": wanted(colour="red"),
    "wanted.tiles[0].key: expected text, got 7.": wanted(key=7),
    "wanted.tiles[0].frame: expected a whole number from 0, got 1.5.": wanted(frame=1.5),
    "wanted.tiles[0].sample: expected a whole number from 0, got None.": wanted(sample=None),
    "wanted.tiles[0].channel: expected a whole number from 0, got '2'.": wanted(channel="2"),
    "wanted.tiles[0].slice: expected 2 numbers, got [1].": wanted(slice=[1]),
    "wanted.tiles[0].region[2]: expected a whole number from 0, got -8.": wanted(region=[0, 0, -8, 4]),
    "wanted.tiles[0].size: expected 2 numbers, got 'large'.": wanted(size="large"),
}


@pytest.mark.parametrize("words", BAD)
def test_what_does_not_fit_is_named(words):
    with pytest.raises(MessageError) as raised:
        protocol.decode_wanted(BAD[words])
    assert str(raised.value) == words


def test_a_message_does_not_quote_without_end():
    with pytest.raises(MessageError) as raised:
        protocol.decode_wanted({"seq": "x" * 10_000, "tiles": []})
    assert len(str(raised.value)) < 150


def test_whole_numbers_may_arrive_as_floats():
    seq, requests = protocol.decode_wanted({**wanted(frame=2.0, region=[0.0, 8, 16, 24]), "seq": 42.0})
    assert (seq, requests) == (42, messages.REQUESTS)
    assert type(requests[0].frame) is int


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
)


@given(st.dictionaries(st.sampled_from(sorted(contract("wanted")["tiles"][0])), json_values, max_size=4), json_values)
def test_any_message_is_decoded_or_refused(changes, anything):
    for message in (wanted(**changes), anything, {"seq": anything, "tiles": [anything]}):
        try:
            _, requests = protocol.decode_wanted(message)
        except MessageError:
            continue
        assert all(isinstance(request, Request) for request in requests)


def test_status_without_an_error():
    assert protocol.encode_status("busy", text="running", done=1, total=2, beat=3) == {
        "state": "busy", "text": "running", "done": 1, "total": 2, "error": None, "beat": 3
    }  # fmt: skip

"""Attention weights: equal to what torch or NumPy makes of them, per head, without disturbing the model."""

from __future__ import annotations

import math
import warnings
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn.attention.bias import causal_lower_right, causal_upper_left

from allocations import Allocations
from nf_widget import PathWarning, trace
from nf_widget.capture.heads import cut_weights, kept_copy, summarise, whole_weights
from nf_widget.capture.layout import laid_out
from nf_widget.capture.weights import SAFE, given_to_product, product
from nf_widget.records import FeatureMaps, Nothing, Request

B, H, Q, D = 2, 4, 6, 8


def randn(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def softmax(scores):
    with np.errstate(invalid="ignore"):
        shifted = np.exp(scores - scores.max(-1, keepdims=True))
        weights = shifted / shifted.sum(-1, keepdims=True)
    return np.nan_to_num(weights, nan=0.0) if SAFE else weights


def reference(query, key, mask=None, causal=None, scale=None, groups=1):
    """Textbook attention in float64: causal is the offset of the diagonal."""
    query, key = query.double().numpy(), np.repeat(key.double().numpy(), groups, axis=-3)
    scores = query @ key.swapaxes(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        mask = mask.numpy()
        scores = np.where(mask, scores, -np.inf) if mask.dtype == bool else scores + mask
    if causal is not None:
        rows, columns = np.indices(scores.shape[-2:])
        scores = np.where(columns <= rows + causal, scores, -np.inf)
    return softmax(scores)


class Attend(nn.Module):
    """`attend(q, k, v, **given)` inside a module of its own, so that it is a stage."""

    def __init__(self, attend, **given):
        super().__init__()
        self.core = Core(attend, given)

    def forward(self, q, k, v):
        return self.core(q, k, v) * 2


class Core(nn.Module):
    def __init__(self, attend, given):
        super().__init__()
        self.attend, self.given = attend, given

    def forward(self, q, k, v):
        return self.attend(q, k, v, **self.given)


def close(got, expected):
    np.testing.assert_allclose(got.double().numpy(), expected, atol=1e-5, rtol=0)


def half_blind():
    mask = torch.ones(Q, Q, dtype=torch.bool).tril()
    mask[3] = False
    return mask


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        ({}, {}),
        ({"scale": 0.3}, {"scale": 0.3}),
        ({"dropout_p": 0.5}, {}),
        ({"is_causal": True}, {"causal": 0}),
        ({"attn_mask": half_blind()}, {"mask": half_blind()}),
        ({"attn_mask": half_blind().expand(B, 1, Q, Q)}, {"mask": half_blind()}),
        ({"attn_mask": randn(Q, Q, seed=5)}, {"mask": randn(Q, Q, seed=5)}),
        ({"attn_mask": randn(B, H, Q, Q, seed=5)}, {"mask": randn(B, H, Q, Q, seed=5)}),
        ({"attn_mask": randn(B, 1, 1, Q, seed=5)}, {"mask": randn(B, 1, 1, Q, seed=5)}),
    ],
)
def test_sdpa_equals_numpy(keywords, expected):
    q, k, v = (randn(B, H, Q, D, seed=i) for i in range(3))
    flow = trace(Attend(F.scaled_dot_product_attention, **keywords), (q, k, v), layers=["core"])
    close(flow.activation("core", "attention"), reference(q, k, **expected))


@pytest.mark.parametrize(("make", "offset"), [(causal_lower_right, 3), (causal_upper_left, 0)])
def test_sdpa_with_a_causal_bias_that_is_no_mask(make, offset):
    q, k, v = randn(B, H, Q, D), randn(B, H, Q + 3, D, seed=1), randn(B, H, Q + 3, D, seed=2)
    flow = trace(Attend(F.scaled_dot_product_attention, attn_mask=make(Q, Q + 3)), (q, k, v), layers=["core"])
    close(flow.activation("core", "attention"), reference(q, k, causal=offset))


@pytest.mark.skipif(not hasattr(torch.ops.aten, "_safe_softmax"), reason="grouped queries came with torch 2.5")
def test_sdpa_with_grouped_queries():
    q, k, v = randn(B, H, Q, D), randn(B, 2, Q, D, seed=1), randn(B, 2, Q, D, seed=2)
    flow = trace(Attend(F.scaled_dot_product_attention, enable_gqa=True), (q, k, v), layers=["core"])
    close(flow.activation("core", "attention"), reference(q, k, groups=2))


def test_sdpa_of_nested_tensors_has_a_size_for_each_sample():
    lengths = (3, 5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parts = [[randn(n, H, D, seed=n + i) for n in lengths] for i in range(3)]
        q, k, v = (torch.nested.nested_tensor(part, layout=torch.jagged).transpose(1, 2) for part in parts)
        weights = given_to_product(q, k, v)
    for sample, n in enumerate(lengths):
        query, key = (parts[i][sample].transpose(0, 1) for i in range(2))
        expected = reference(query, key)
        tile = cut_weights(weights, Request("t", 0, sample, "s", "attention", channel=2))
        assert tile.exact
        close(torch.from_numpy(tile.data), expected[2])
        assert summarise(weights, leaf="attention", sample=sample).picture.size == (n, n)


@settings(max_examples=30, deadline=None)
@given(
    lead=st.lists(st.integers(1, 3), max_size=3),
    queries=st.integers(1, 9),
    keys=st.integers(1, 9),
    causal=st.booleans(),
    mask=st.sampled_from([None, "bool", "added"]),
    seed=st.integers(0, 99),
)
def test_sdpa_of_any_shape_equals_numpy(lead, queries, keys, causal, mask, seed):
    q, k = randn(*lead, queries, 4, seed=seed), randn(*lead, keys, 4, seed=seed + 1)
    added = None if mask is None else randn(queries, keys, seed=seed + 2)
    added = added > -0.5 if mask == "bool" else added
    weights = given_to_product(q, k, k, added if not causal else None, is_causal=causal, batch=None)
    expected = reference(q[None], k[None], added if not causal else None, causal=0 if causal else None)[0]
    got = whole_weights(weights, torch.device("cpu"))
    close(got.reshape(expected.shape), expected)


class Module(nn.Module):
    def __init__(self, **options):
        super().__init__()
        torch.manual_seed(0)
        self.attn = nn.MultiheadAttention(16, H, **options)
        nn.init.normal_(self.attn.in_proj_bias if self.attn.in_proj_bias is not None else torch.empty(1))

    def forward(self, query, key, **masks):
        return self.attn(query, key, key, **masks)[0]


PADDING = torch.tensor([[False] * 5, [False] * 3 + [True] * 2])


@pytest.mark.parametrize(
    ("options", "masks"),
    [
        ({}, {}),
        ({"batch_first": True}, {}),
        ({"bias": False}, {}),
        ({"kdim": 12, "vdim": 12}, {}),
        ({"add_bias_kv": True, "add_zero_attn": True}, {}),
        ({"add_bias_kv": True}, {"attn_mask": torch.ones(6, 5, dtype=torch.bool).triu(1)}),
        ({}, {"attn_mask": torch.ones(6, 5, dtype=torch.bool).triu(1)}),
        ({}, {"attn_mask": randn(6, 5)}),
        ({}, {"attn_mask": randn(2 * H, 6, 5)}),
        ({}, {"key_padding_mask": PADDING}),
        ({}, {"key_padding_mask": PADDING * 1.0, "attn_mask": randn(6, 5)}),
        ({"batch_first": True, "add_zero_attn": True}, {"key_padding_mask": PADDING}),
    ],
)
@pytest.mark.parametrize("asked", [True, False], ids=["need_weights", "output only"])
def test_multihead_attention_equals_the_weights_that_it_gives_out_itself(options, masks, asked):
    model = Module(**options).eval()
    width = options.get("kdim", 16)
    query, key = randn(2, 6, 16), randn(2, 5, width, seed=1)
    if not options.get("batch_first"):
        query, key = query.transpose(0, 1), key.transpose(0, 1)
    kwargs = {**masks, "need_weights": asked}
    flow = trace(model, (query, key), kwargs=kwargs, layers=["attn"])
    with torch.no_grad():
        _, expected = model.attn(query, key, key, need_weights=True, average_attn_weights=False, **masks)
    got = flow.activation("attn", "attention")
    assert got.shape == expected.shape
    close(got, expected.numpy())


def eager(q, k, v, drop=0.0):
    scores = q @ k.transpose(-2, -1) / math.sqrt(D)
    return F.dropout(scores.softmax(dim=-1), drop) @ v


def einsum(q, k, v):
    weights = torch.einsum("bhqd,bhkd->bhqk", q, k).mul(D**-0.5).softmax(-1)
    return torch.einsum("bhqk,bhkd->bhqd", weights, v)


def folded(q, k, v):
    q, k, v = (x.reshape(B * H, Q, D) for x in (q, k, v))
    weights = torch.baddbmm(torch.zeros(1), q, k.mT, alpha=D**-0.5).softmax(2)
    return torch.bmm(weights.to(v.dtype), v)


def turned(q, k, v):
    """Values in front, as in many attentions over images."""
    weights = F.softmax(q @ k.mT * D**-0.5, dim=-1)
    return torch.matmul(v.mT, weights.permute(0, 1, 3, 2))


@pytest.mark.parametrize("attend", [eager, partial(eager, drop=0.5), einsum, folded, turned])
def test_eager_attention_equals_numpy(attend):
    q, k, v = (randn(B, H, Q, D, seed=i) for i in range(3))
    flow = trace(Attend(attend), (q, k, v), layers=["core"])
    got = flow.activation("core", "attention")
    assert got.shape == (B, H, Q, Q)
    close(got, reference(q, k))


def test_a_softmax_that_weighs_nothing_is_no_attention():
    class Classifier(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = nn.Sequential(nn.Linear(4, 3), nn.Softmax(dim=-1))

        def forward(self, x):
            return self.net(x).sum(0) @ torch.ones(3)

    flow = trace(Classifier(), torch.ones(2, 4))
    assert not [leaf.path for stage in flow.graph.stages for leaf in stage.leaves if "attention" in leaf.path]
    assert not flow._cut.recorded.attention


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.second = Attention(), Attention()

    def forward(self, x):
        return self.second(x + self.first(x))


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(16, 48)

    def forward(self, x):
        q, k, v = (t.unflatten(-1, (2, 8)).transpose(1, 2) for t in self.qkv(x).chunk(3, -1))
        both = F.scaled_dot_product_attention(q, k, v) + F.scaled_dot_product_attention(k, q, v)
        return both.transpose(1, 2).flatten(2)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()

    def forward(self, x):
        return self.block(x) + 1


def test_weights_belong_to_the_stage_around_them_and_are_named_by_place():
    x = randn(2, 5, 16)
    flow = trace(Blocks(), x, layers=["block"])
    names = ["", "attention.first", "attention.first#1", "attention.second", "attention.second#1"]
    assert [leaf.path for leaf in flow.stage("block").leaves] == names
    assert [s.leaf for s in flow.overview()["block"]] == names
    flow.expand(["block"])
    flow.overview()
    assert [leaf.path for leaf in flow.stage("block.first").leaves] == ["", "attention", "attention#1"]
    close(flow.activation("block.first", "attention").sum(-1), np.ones((2, 2, 5)))


def test_weights_of_inner_calls_are_told_from_each_other():
    x = randn(2, 5, 16)
    model = Blocks()
    whole = trace(model, x, layers=["block"])
    split = trace(model, x, layers=["block.first", "block.second"])
    for name in ("first", "second"):
        for number in ("", "#1"):
            got = whole.activation("block", f"attention.{name}{number}")
            assert torch.equal(got, split.activation(f"block.{name}", f"attention{number}"))


@pytest.mark.parametrize("training", ["eval", "keep"])
def test_the_output_is_bit_for_bit_the_same_with_and_without(training, untouched):
    x = randn(3, 7, 16)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.3, batch_first=True)
    for model in (nn.Sequential(layer, nn.Linear(16, 2)), Blocks(), Module(batch_first=True, dropout=0.3)):
        args = (x, x) if isinstance(model, Module) else (x,)
        with untouched(model, args), warnings.catch_warnings():
            warnings.simplefilter("ignore", PathWarning)
            flows = [trace(model, args, attention=on, training=training) for on in (True, False)]
        for stage in flows[0].graph.stages:
            if stage.kind == "output":
                with_it, without = (flow.activation(stage.id) for flow in flows)
                assert torch.equal(with_it, without)
            elif stage.kind == "call":
                first, second = (flow.summary(stage.id) for flow in flows)
                assert first.statistics == second.statistics
        if training == "eval":
            with torch.no_grad():
                assert torch.equal(flows[0].activation("output"), model.eval()(*args))
                model.train()


@pytest.mark.parametrize(("training", "warned"), [("eval", True), ("keep", False)])
def test_looking_into_a_fused_layer_is_warned_of_by_the_flags_of_the_pass(training, warned):
    model = nn.Sequential(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), nn.Linear(16, 2)).train()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        trace(model, randn(2, 5, 16), layers=["0.linear1", "1"], training=training)
    assert any(issubclass(each.category, PathWarning) for each in told) == warned


def test_attention_can_be_switched_off():
    flow = trace(Blocks(), randn(2, 5, 16), layers=["block"], attention=False)
    assert [leaf.path for leaf in flow.stage("block").leaves] == [""]


def test_nothing_is_computed_for_stages_that_are_not_shown(monkeypatch):
    seen = []
    monkeypatch.setattr(
        "nf_widget.session.passes.summarise", lambda weights, **rest: seen.append(rest) or summarise(weights, **rest)
    )
    trace(Blocks(), randn(2, 5, 16), layers=["block.second"])
    assert [rest["leaf"] for rest in seen] == ["attention", "attention#1"]


def test_tiles_hold_the_exact_weights_of_a_head():
    q, k, v = (randn(B, H, Q, D, seed=i) for i in range(3))
    flow = trace(Attend(F.scaled_dot_product_attention), (q, k, v), layers=["core"])
    expected = reference(q, k)
    whole, part, small, wrong = flow.tiles(
        [
            Request("whole", 0, 1, "core", "attention", channel=3),
            Request("part", 0, 1, "core", "attention", channel=3, region=(2, 1, 4, 5)),
            Request("small", 0, 0, "core", "attention", channel=0, size=(4, 3)),
            Request("wrong", 0, 0, "core", "attention", channel=H),
        ]
    )
    assert whole.exact
    close(torch.from_numpy(whole.data), expected[1, 3])
    close(torch.from_numpy(part.data), expected[1, 3, 2:4, 1:5])
    assert not small.exact
    pooled = F.adaptive_avg_pool2d(torch.from_numpy(expected[0, :1]), (4, 3))
    close(torch.from_numpy(small.data), pooled[0].numpy())
    assert "no head 4" in wrong.error


def test_what_is_kept_for_tiles_is_not_overwritten():
    q, k = randn(1, 1, 4, 8), randn(1, 1, 4, 8, seed=1)
    expected = reference(q, k)
    kept = kept_copy(given_to_product(q, k, k), torch.device("cpu"))
    q.zero_()
    close(whole_weights(kept, torch.device("cpu")), expected)


@pytest.mark.parametrize("causal", [False, True])
def test_pooling_chunk_by_chunk_says_what_the_whole_says(causal):
    q, k = randn(1, 3, 130, 8) * 2, randn(1, 3, 97, 8, seed=1)
    weights = given_to_product(q, k, k, is_causal=causal, batch=1)
    swept, whole = (summarise(weights, leaf="attention", whole=n) for n in (0, 1 << 30))
    assert isinstance(swept.picture, FeatureMaps)
    assert swept.picture.size == (130, 97)
    assert swept.picture.pooled
    full = torch.from_numpy(reference(q, k, causal=0 if causal else None))[0]
    close(torch.from_numpy(swept.picture.values), F.adaptive_avg_pool2d(full, swept.picture.values.shape[1:]).numpy())
    for name in ("count", "minimum", "maximum", "mean", "std", "zeros", "negatives", "nan", "inf"):
        exact = getattr(whole.statistics, name)
        assert getattr(swept.statistics, name) == pytest.approx(exact, rel=3e-3, abs=1e-7), name
    robust = np.quantile(full.numpy(), [0.01, 0.99], method="inverted_cdf")
    assert (swept.statistics.low, swept.statistics.high) == pytest.approx(tuple(robust), rel=3e-3)
    assert swept.histogram.counts.sum() == pytest.approx(whole.histogram.counts.sum(), rel=1e-3)
    assert swept.scale == pytest.approx(whole.scale)


@pytest.mark.parametrize("causal", [False, True])
def test_of_very_many_weights_evenly_spaced_queries_are_looked_at(causal, monkeypatch):
    monkeypatch.setattr("nf_widget.capture.heads._LOOKED", 1 << 13)
    q, k = randn(1, 2, 400, 8) * 2, randn(1, 2, 96, 8, seed=1)
    summary = summarise(given_to_product(q, k, k, is_causal=causal, batch=1), leaf="attention", whole=0)
    assert "every 9th query" in summary.axes.reason
    seen = torch.from_numpy(reference(q, k, causal=0 if causal else None))[0, :, 4::9]
    shape = summary.picture.values.shape[1:]
    close(torch.from_numpy(summary.picture.values), F.adaptive_avg_pool2d(seen, shape).numpy())
    assert summary.statistics.count == 2 * 400 * 96
    assert summary.statistics.mean == pytest.approx(seen.mean().item(), rel=1e-4)
    assert summary.statistics.zeros == pytest.approx((seen == 0).double().mean().item(), abs=1e-3)
    assert summary.histogram.counts.sum() == pytest.approx(2 * 400 * 96, rel=1e-3)


@pytest.mark.parametrize("step", [1, 3, 7])
@pytest.mark.parametrize("causal", [None, 0, -3, 5])
def test_every_nth_query_has_the_weights_that_it_has_among_all(step, causal):
    q, k = randn(20, 8), randn(17, 8, seed=1)
    mask = torch.rand(20, 17, generator=torch.Generator().manual_seed(2)) < 0.8
    head = product(q, k, [mask], causal=causal, scale=0.3, safe=SAFE)
    assert torch.allclose(head.rows(2, 20, step), head.rows(0, 20)[2::step], atol=1e-6, equal_nan=True)


def test_rows_without_numbers_are_counted_and_left_out():
    q, k = randn(1, 1, 50, 8), randn(1, 1, 50, 8, seed=1)
    q[0, 0, 3] = math.nan
    stats = summarise(given_to_product(q, k, k), leaf="attention", whole=0).statistics
    assert stats.nan == 50
    assert stats.mean == pytest.approx(1 / 50)


def test_32k_tokens_cost_bounded_memory():
    tokens = 1 << 15
    q, k = randn(1, 2, tokens, 4), randn(1, 2, tokens, 4, seed=1)
    weights = given_to_product(q, k, k, is_causal=True, batch=1)
    region = (tokens - 1100, 0, tokens, tokens)
    with Allocations() as memory:
        tile = cut_weights(weights, Request("t", 0, 0, "s", "attention", channel=1, region=region, size=(64, 64)))
        row = cut_weights(weights, Request("r", 0, 0, "s", "attention", channel=1, region=(9, 0, 10, tokens)))
    assert memory.peak < 24 << 20  # one head alone would be 4 GiB
    assert tile.data.shape == (64, 64)
    assert row.exact
    assert row.data.sum() == pytest.approx(1, abs=1e-5)


def test_a_long_sequence_is_summarised_in_bounded_memory():
    tokens = 5000
    q, k = randn(1, 1, tokens, 4), randn(1, 1, tokens, 4, seed=1)
    with Allocations() as memory:
        summary = summarise(given_to_product(q, k, k, batch=1), leaf="attention")
    assert memory.peak < 12 << 20  # the weights would be 95 MiB
    assert summary.statistics.count == tokens**2


@pytest.mark.parametrize(
    ("lead", "batch", "names", "shape"),
    [
        ((2, 4), 2, ("batch", "head"), (2, 4)),
        ((8,), 2, ("batch", "head"), (2, 4)),
        ((8,), None, ("head",), (8,)),
        ((), 2, ("head",), (1,)),
        ((18, 3), 2, ("batch", "other", "head"), (2, 9, 3)),
        ((3, 4), 2, ("batch", "head"), (3, 4)),
        ((2, 9, 3), 2, ("batch", "other", "head"), (2, 9, 3)),
    ],
)
def test_leading_dimensions_are_samples_windows_and_heads(lead, batch, names, shape):
    layout = laid_out(lead, 5, 7, batch)
    assert layout.names == (*names, "query", "key")
    assert layout.shape == (*shape, 5, 7)


def test_weights_that_cannot_be_had_say_why():
    weights = given_to_product(randn(2, 3, 4, 8), randn(2, 3, 4, 5), randn(2, 3, 4, 5))
    summary = summarise(weights, leaf="attention")
    assert isinstance(summary.picture, Nothing)
    assert "cannot be had" in summary.picture.reason


@pytest.mark.parametrize(
    "settings", [{}, {"batch_first": True, "bias": False}, {"batch_first": True, "activation": "tanh"}]
)
def test_a_layer_that_torch_never_fuses_is_looked_into_without_a_word(settings):
    if settings.get("activation") == "tanh":
        settings = settings | {"activation": torch.tanh}
    layer = nn.TransformerEncoderLayer(16, 4, 32, **settings).eval()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        trace(nn.Sequential(layer), torch.randn(5, 3, 16), layers=["0.self_attn", "0.linear1"])


def test_attention_of_a_padded_encoder_that_torch_would_fuse():
    class Padded(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(10, 16, padding_idx=0)
            self.encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 2, 32, batch_first=True), 2)

        def forward(self, ids):
            return self.encoder(self.embed(ids), src_key_padding_mask=ids == 0)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that nested tensors are new
        warnings.simplefilter("error", PathWarning)
        flow = trace(Padded().eval(), torch.tensor([[1, 2, 3, 0], [4, 5, 0, 0]]))
        rollout = flow.rollout()
    assert flow.summary("encoder.layers.1", leaf="attention").statistics.count == 2 * 4 * 4
    assert torch.allclose(rollout.sum(1), torch.ones(4))

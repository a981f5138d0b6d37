"""torch's fused paths for transformers, which hooks and active modes switch off, and other values may then come out."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache

import torch
from torch import nn

from nf_widget.inputs import Inputs
from nf_widget.running import Conditions, along, named_modules, unfused

from ..errors import PathWarning, warn
from .run import Pass, Plan, Tap, capture

_FUSED = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.MultiheadAttention)


def capture_apart(model: nn.Module, inputs: Inputs, conditions: Conditions, plan: Plan) -> Pass:
    """`capture`, where looking at attention must not change what is shown: if it switches a fused path off, the
    attention is looked at in a pass of its own. An exception of that pass is no exception of the model."""
    with _unfused(model, conditions, plan.taps):
        if plan.attention is None or not has_fused_path(model):
            return capture(model, inputs, conditions, plan)
        done = capture(model, inputs, conditions, replace(plan, attention=None))
    looked = capture(model, inputs, conditions, Plan(written=plan.written, attention=plan.attention))
    if looked.error is not None and done.error is None:
        warn(
            "No attention is shown, since the model raises without its fused path: "
            f"{type(looked.error).__name__}: {looked.error}",
            PathWarning,
        )
    return done


def warn_of_unfused(model: nn.Module, conditions: Conditions, taps: Sequence[Tap]) -> None:
    """A hook inside of a fused layer makes torch take the unfused path there, in which padded places differ."""
    inside = _inside_fused(model, taps, conditions)
    if inside:
        warn(
            f"{inside[0]} lies inside nn.TransformerEncoderLayer: looking into it makes torch take the unfused path, "
            "so values may differ from a plain run by rounding, and at padded places.",
            PathWarning,
        )


def _inside_fused(model: nn.Module, taps: Sequence[Tap], conditions: Conditions) -> list[str]:
    """Paths of taps inside of layers that would take their fused path under these conditions."""
    if not taps or not torch.backends.mha.get_fastpath_enabled():
        return []
    layers = [
        (tap.path, module)
        for tap in taps
        for _, module in along(model, tap.path)[1:-1]
        if isinstance(module, nn.TransformerEncoderLayer)
    ]
    if not layers:  # the flags of all modules take longer
        return []
    training = dict(zip(model.modules(), conditions.flags, strict=True))
    return list(dict.fromkeys(path for path, layer in layers if not training[layer] and _can_be_fused(layer)))


def _can_be_fused(layer: nn.TransformerEncoderLayer) -> bool:
    """By what torch asks of the layer itself."""
    attention = layer.self_attn
    alike = attention._qkv_same_embed_dim and layer.norm1.eps == layer.norm2.eps  # noqa: SLF001
    biased = getattr(attention, "in_proj_bias", None) is not None  # typed as if it always had one
    fits = attention.batch_first and biased and attention.num_heads % 2 == 0
    return all((alike, fits, layer.activation_relu_or_gelu))


@contextmanager
def _unfused(model: nn.Module, conditions: Conditions, taps: Sequence[Tap]) -> Iterator[None]:
    """No fused paths, where a hook inside of one would never be reached: torch 2.4 does not look for hooks there."""
    unseen = bool(_inside_fused(model, taps, conditions)) and not _hooks_are_noticed()
    with unfused() if unseen else nullcontext():
        yield


@cache
def _hooks_are_noticed() -> bool:
    """Whether a fused layer of this torch takes the unfused path for hooks inside of it."""
    return "_forward_hooks" in inspect.getsource(nn.TransformerEncoderLayer.forward)


def has_fused_path(model: nn.Module) -> bool:
    """Whether hooks and modes may make it take another path than it takes alone."""
    return torch.backends.mha.get_fastpath_enabled() and any(isinstance(m, _FUSED) for _, m in named_modules(model))

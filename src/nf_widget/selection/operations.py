"""What torch functions do to a representation, by name, and which axis of their result holds the channels."""

from __future__ import annotations

import re
from functools import cache

# They mix values with weights or with each other: where a representation is made.
_MIXING = re.compile(
    r"(conv\d|conv_transpose|conv_tbc|linear|bilinear|matmul|mm|bmm|addmm|addmv|addbmm|baddbmm|mv|dot|einsum|tensordot"
    r"|chain_matmul|multi_dot|embedding|scaled_dot_product|multi_head_attention|lstm|gru|rnn_|_grouped_mm|_scaled_mm"
    r"|_int_mm|cdist|flex_attention|deform_conv)"
)
# They change how many positions there are, or pick some of them.
_RESAMPLING = re.compile(
    r"(\w*pool\w*|interpolate|upsample\w*|grid_sample|mean|sum|nansum|amax|amin|max|min|median|logsumexp|prod|norm"
    r"|var|std|gather|take\w*|index_select|masked_select|topk|sort|stft|istft|fold|unfold|scatter\w*|index_\w+"
    r"|segment_reduce|unique\w*|bincount)"
)
# They change where the axes are, and after them nothing is known about the place of the channels.
_REARRANGING = re.compile(
    r"(permute|transpose|t|T|mT|movedim|moveaxis|swap\w+|view|reshape|flatten|unflatten|squeeze|unsqueeze|getitem|select"
    r"|expand|repeat|unfold|fold|stack|unbind|as_strided)"
)
_SPATIAL = re.compile(r"(?:conv|conv_transpose|\w*pool|deform_conv)(\d)d")
_CHANNELS_LAST = re.compile(
    r"(linear|embedding|layer_norm|rms_norm|scaled_dot_product|multi_head_attention|lstm|gru|rnn_|addmm|_grouped_mm)"
)


@cache
def mixes(name: str) -> bool:
    return _MIXING.match(name) is not None


@cache
def resamples(name: str) -> bool:
    return _RESAMPLING.fullmatch(name) is not None


@cache
def channel_axis(name: str) -> int | None:
    """Axis of the channels in the result, counted from the end, where the function's name tells it."""
    spatial = _SPATIAL.match(name)
    if spatial is not None:
        return -1 - int(spatial.group(1))
    return -1 if _CHANNELS_LAST.match(name) else None


@cache
def keeps_axes(name: str) -> bool:
    """The result's axes mean what those of the first operand mean."""
    return _REARRANGING.fullmatch(name) is None and not mixes(name)

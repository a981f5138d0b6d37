"""One sample of a tensor of any kind, as something that arithmetic and slicing work on."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import torch
from torch import Tensor

from ..records import Axes, AxisName, Nothing, TensorSpec
from ..running import is_wrapped

# A sparse sample up to this size is shown like any other.
DENSE_LIMIT = 1 << 20


def _knows_autocast(device: str) -> bool:
    """Whether this torch has autocast for such a device: 2.4 has none for "mps"."""
    try:
        torch.is_autocast_enabled(device)
    except RuntimeError:
        return False
    return True


_AUTOCAST = tuple(filter(_knows_autocast, ("cpu", "cuda", "mps", "xpu")))
_MKLDNN: torch.layout = torch._mkldnn  # type: ignore[attr-defined]  # noqa: SLF001
_SINGLE = frozenset(
    {torch.float32, torch.float16, torch.bfloat16, torch.bool, torch.uint8, torch.int8, torch.int16}
    | {getattr(torch, name) for name in dir(torch) if name.startswith("float8_")}
    | {getattr(torch, name) for name in ("uint16",) if hasattr(torch, name)}
)


@dataclass(frozen=True, slots=True)
class Sample:
    """One sample. `values` has the dimensions that `axes` names without "batch"; `spec` is the whole leaf's."""

    values: Tensor
    axes: Axes
    spec: TensorSpec

    @property
    def names(self) -> tuple[AxisName, ...]:
        return tuple(name for name in self.axes.names if name != "batch")


@contextmanager
def plainly() -> Iterator[None]:
    """No gradient, no `__torch_function__` of a subclass or an active mode, no autocast: torch's own arithmetic.

    NumPy may overflow in silence: beyond 1e150 squares are infinite in float64 too.
    """
    quiet = np.errstate(over="ignore", invalid="ignore")
    with torch.no_grad(), torch._C.DisableTorchFunction(), quiet, without_autocast(_AUTOCAST):
        yield


@contextmanager
def without_autocast(devices: Iterable[str]) -> Iterator[None]:
    """Autocast is off on these kinds of devices."""
    with ExitStack() as stack:
        for device in devices:
            if torch.is_autocast_enabled(device):
                stack.enter_context(torch.autocast(device, enabled=False))
        yield


def physical(tensor: Tensor) -> Tensor:
    """What a tensor inside of `torch.func.vmap`, `grad` or `jvp` stands for, and what outlives it. All samples of a
    `vmap` lie along a leading axis."""
    functorch = torch._C._functorch
    while is_wrapped(tensor):
        axis = functorch.maybe_get_bdim(tensor)
        tensor = functorch.get_unwrapped(tensor)
        if axis >= 0:
            tensor = tensor.movedim(axis, 0)
    return tensor


def spec_of(tensor: Tensor) -> TensorSpec:
    """A nested tensor has the shape `(samples,)`: its other dimensions have no one size."""
    shape = (int(tensor.size(0)),) if tensor.is_nested else tuple(map(int, tensor.shape))
    return TensorSpec(shape, _dtype_name(tensor.dtype), _device_name(tensor.device))


@cache
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


@cache
def _device_name(device: torch.device) -> str:
    return str(device)


def pick(tensor: Tensor, axes: Axes, sample: int) -> Sample | Nothing:
    """The sample of a batch, without a copy; `Nothing` when there is none or it holds no values.

    A batch axis of size 1 is shared by all samples. Axes that do not fit the tensor give way to generic ones.
    """
    tensor, spec = tensor.detach(), spec_of(tensor)
    if tensor.is_meta:
        return Nothing("meta tensors have no values")
    if tensor.is_nested:
        return _pick_nested(tensor, sample, spec)
    if tensor.is_quantized:  # slices across a quantised axis are not defined
        tensor = tensor.dequantize()
    if tensor.numel() == 0:
        return Nothing(f"empty: {'×'.join(map(str, spec.shape))}")
    if len(axes.names) != tensor.ndim:
        reason = f"{len(axes.names)} axes do not fit {tensor.ndim} dimensions"
        axes = Axes(_unnamed(tensor.ndim), "generic", reason)
    if "batch" in axes.names:
        axis = axes.names.index("batch")
        size = spec.shape[axis]
        if size > 1 and not 0 <= sample < size:
            return Nothing(f"no sample {sample} in a batch of {size}")
        tensor = _slice(tensor, axis, sample if size > 1 else 0)
    return Sample(*_strided(tensor, axes), spec)


def real(tensor: Tensor, *, double: bool = False) -> Tensor:
    """float32, or float64 for what float32 would not hold: float64, 32-bit integers and wider. Complex: magnitude."""
    if tensor.is_complex():
        tensor = (tensor.to(torch.complex64) if tensor.dtype == torch.complex32 else tensor).abs()
    dtype = real_dtype(tensor, double=double)
    if dtype == torch.float64 and tensor.device.type == "mps":  # has no float64
        tensor = tensor.cpu()
    return tensor.to(dtype)


def real_dtype(tensor: Tensor, *, double: bool = False) -> torch.dtype:
    """What `real` makes of a tensor that is not complex."""
    return torch.float32 if not double and tensor.dtype in _SINGLE else torch.float64


def _pick_nested(tensor: Tensor, sample: int, spec: TensorSpec) -> Sample | Nothing:
    components = tensor.unbind()
    if not 0 <= sample < len(components):
        return Nothing(f"no sample {sample} in a batch of {len(components)}")
    values = components[sample]
    if values.numel() == 0:
        return Nothing(f"empty: {'×'.join(map(str, values.shape))}")
    reason = "nested: each sample has a shape of its own"
    axes = {
        1: Axes(("batch", "feature"), "vector", reason),
        2: Axes(("batch", "token", "feature"), "tokens", reason),
        3: Axes(("batch", "channel", "height", "width"), "image", reason),
    }.get(values.ndim, Axes(("batch", *_unnamed(values.ndim)), "generic", reason))
    return Sample(*_strided(values, axes), replace(spec, shape=(len(components), *values.shape)))


def _slice(tensor: Tensor, axis: int, index: int) -> Tensor:
    if tensor.layout == _MKLDNN:
        tensor = tensor.to_dense()
    elif tensor.layout not in {torch.strided, torch.sparse_coo}:
        tensor = tensor.to_sparse(layout=torch.sparse_coo)
    return tensor.select(axis, index)


def _strided(tensor: Tensor, axes: Axes) -> tuple[Tensor, Axes]:
    """A sparse sample becomes dense when it is small; of a large one only the layout is made uniform."""
    if tensor.layout == torch.strided:
        return tensor, _noted(axes, "complex: its magnitude is shown") if tensor.is_complex() else axes
    if tensor.layout == _MKLDNN or math.prod(tensor.shape) <= DENSE_LIMIT:
        return tensor.to_dense(), axes
    coo = tensor.to_sparse(layout=torch.sparse_coo).coalesce()
    stored = f"sparse: statistics over the {coo.values().numel():,} stored values of {math.prod(coo.shape):,}"
    return coo, _noted(axes, stored)


def _unnamed(dimensions: int) -> tuple[AxisName, ...]:
    other: AxisName = "other"
    return (other,) * dimensions


def _noted(axes: Axes, note: str) -> Axes:
    return replace(axes, reason=f"{axes.reason}; {note}" if axes.reason else note)

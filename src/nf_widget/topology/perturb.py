"""Copies of what a stage gave out, and seeded changes to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ..running import is_wrapped

Memory = torch.UntypedStorage
Numbers = Literal["all", "real"]
_SPARSE = (torch.sparse_coo, torch.sparse_csr, torch.sparse_csc, torch.sparse_bsr, torch.sparse_bsc)
_SCALES = (1.0, 4.0, 0.25, 1e4)
_LOUD = 3


def loud(number: int) -> int:
    """A trial of the last scale, for what is small beside that which it is added to, and else is rounded away; of whole
    numbers, one with padding."""
    return _LOUD + number * len(_SCALES)


# A view of memory that is larger by this factor is copied alone.
_WASTE = 16


def has_memory(tensor: Tensor) -> bool:
    """Whether the values lie in plain strided memory, of which there can be several views."""
    strided = tensor.layout == torch.strided and not tensor.is_nested and not tensor.is_meta
    return strided and not is_hidden(tensor)


def is_hidden(tensor: Tensor) -> bool:
    """Whether the values cannot be looked at: it stands for many tensors, or for a derivative, inside of a function
    that torch has transformed; or it is of a class that keeps them in other tensors (ragged ones can be taken apart).
    """
    if type(tensor) in (Tensor, torch.nn.Parameter) or tensor.is_nested:
        return is_wrapped(tensor)
    try:
        tensor.untyped_storage().data_ptr()
    except (RuntimeError, NotImplementedError):
        return tensor.layout not in _SPARSE
    return False


def address(tensor: Tensor) -> int:
    """Identity of the memory, while it lives; 0 for tensors that have none of their own."""
    return int(tensor.untyped_storage()._cdata) if has_memory(tensor) else 0


def duplicate(tensor: Tensor, memo: dict[int, Memory]) -> Tensor:
    """The same values with the same strides in memory of its own, shared with the others that `memo` has copied.

    Small views of large memory, sparse, nested and quantised tensors are cloned.
    """
    tensor = tensor.detach()
    if not has_memory(tensor) or tensor.is_quantized:
        return tensor.clone()
    if tensor.is_conj() or tensor.is_neg():
        return tensor.resolve_conj().resolve_neg().clone()
    memory = tensor.untyped_storage()
    if memory.nbytes() > _WASTE * tensor.numel() * tensor.element_size():
        return tensor.clone()
    key = memory._cdata
    if key not in memo:
        memo[key] = memory.clone()
    twin = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
    twin.set_(memo[key], tensor.storage_offset(), tensor.size(), tensor.stride())
    return twin


def same(a: Tensor, b: Tensor) -> bool:
    """Equal in kind, shape and every value; NaN equals NaN."""
    if _kind(a) != _kind(b):
        return False
    if a.is_nested:
        return len(a.unbind()) == len(b.unbind()) and all(map(same, a.unbind(), b.unbind()))
    if a.shape != b.shape or a.is_meta:
        return a.shape == b.shape
    if a.layout != torch.strided:
        return same(a.to_dense(), b.to_dense())
    if a.is_quantized:
        return torch.equal(a.int_repr(), b.int_repr())
    return bool(equal_entries(a, b).all())


def equal_entries(a: Tensor, b: Tensor) -> Tensor:
    """Where two tensors of one shape and dtype agree; NaN equals NaN."""
    if a.is_floating_point() and a.element_size() == 1:  # 8-bit floats do not compare
        return a.contiguous().view(torch.uint8) == b.contiguous().view(torch.uint8)
    equal = a == b
    return equal | (a.isnan() & b.isnan()) if a.is_floating_point() or a.is_complex() else equal


def _kind(tensor: Tensor) -> tuple[object, ...]:
    return tensor.dtype, tensor.layout, tensor.is_nested, tensor.is_quantized, tensor.is_meta


def perturb(tensors: Sequence[Tensor], trial: int, limits: Sequence[Tensor | None], numbers: Numbers = "all") -> bool:
    """Change the values in place, with noise seeded by `trial`. Whether anything could be changed.

    `numbers`: all of them, or only those that are no indices, sizes or masks. Tensors that share memory are changed
    once. A limit is a mask: only its true places change, else all the memory.
    """
    generator = torch.Generator().manual_seed(trial)
    scale = _SCALES[trial % len(_SCALES)]
    done: set[int] = set()
    changed = False
    # What is unlimited comes first: it changes its memory for all.
    for tensor, limit in sorted(zip(tensors, limits, strict=True), key=lambda pair: pair[1] is not None):
        memory = address(tensor)
        seen = not tensor.is_meta and not is_hidden(tensor)
        if seen and memory not in done and (numbers == "all" or _is_real(tensor)):
            changed |= _perturb_one(tensor, generator, scale, limit)
            if memory and limit is None:
                done.add(memory)
    return changed


def _is_real(tensor: Tensor) -> bool:
    return tensor.is_floating_point() or tensor.is_complex() or tensor.is_quantized


def shake(tensor: Tensor, trial: int) -> None:
    """Other values in place: in turns all far below the present ones, all far above, and here and there, so that what
    leaves a half of all numbers alone is seen to write."""
    limit = torch.ones(tensor.shape, dtype=torch.bool, device=tensor.device)
    before = tensor.clone()
    perturb([tensor], trial, [limit])
    if tensor.is_floating_point() and trial % 3 < 2:
        far = (tensor - before).abs() + 4 * before.abs().amax() if before.numel() else before
        tensor.copy_(before - far if trial % 3 == 0 else before + far)


def _perturb_one(tensor: Tensor, generator: torch.Generator, scale: float, where: Tensor | None) -> bool:
    if tensor.is_nested:
        parts = [_perturb_one(part, generator, scale, None) for part in tensor.unbind()]
        return any(parts)
    if tensor.layout in _SPARSE:
        # `values()` asks for a coalesced tensor.
        values = tensor._values() if tensor.layout == torch.sparse_coo else tensor.values()  # noqa: SLF001
        return _perturb_one(values, generator, scale, None)
    if tensor.is_quantized:
        spread = float(tensor.q_scale()) * 32 if tensor.qscheme() == torch.per_tensor_affine else 1.0
        noise = torch.randn(tensor.shape, generator=generator) * spread * scale
        tensor.copy_(tensor.dequantize() + noise.to(tensor.device))
        return tensor.numel() > 0
    if where is None:
        flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device)
        flat.set_(tensor.untyped_storage())
        new = _changed(flat, generator, scale)
        flat.copy_(new)
        return flat.numel() > 0
    tensor.copy_(torch.where(where, _changed(tensor, generator, scale), tensor))
    return bool(where.any())


def _changed(tensor: Tensor, generator: torch.Generator, scale: float) -> Tensor:
    """Other values of the same kind. Floats get noise of their own spread; integers and booleans stay in their set."""
    if tensor.numel() == 0:
        return tensor
    if tensor.is_complex():
        parts = torch.view_as_real(tensor)
        return torch.view_as_complex(_changed(parts.contiguous(), generator, scale))
    if tensor.is_floating_point():
        values = torch.nan_to_num(tensor.to(torch.float64) if tensor.device.type != "mps" else tensor.float(), 0, 0, 0)
        spread = values.std(correction=0).clamp(max=1e30)
        if float(spread) == 0:
            spread = values.abs().mean() + 1
        noise = torch.randn(tensor.shape, generator=generator, dtype=torch.float64).to(values)
        return (values + noise * spread * scale).to(tensor.dtype)
    if tensor.dtype == torch.bool:
        flips = torch.rand(tensor.shape, generator=generator) < 0.5
        flips.view(-1)[int(torch.randint(flips.numel(), (1,), generator=generator))] = True
        return tensor ^ flips.to(tensor.device)
    return _padded(tensor, generator) if scale == _SCALES[_LOUD] else _other_integers(tensor, generator)


def _padded(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """The last entries of each row become a small number that need not occur, as padding does: 0, 1 and 2 in turns."""
    padding = generator.initial_seed() // len(_SCALES) % 3
    values = tensor.to("cpu", torch.int64)
    start = int(torch.randint(values.shape[-1], (1,), generator=generator)) if values.ndim else 0
    values = values.clone() if values.ndim else values.reshape(1)
    values[..., start:] = min(padding, int(values.max()))
    return values.reshape(tensor.shape).to(tensor.device, tensor.dtype)


def _other_integers(tensor: Tensor, generator: torch.Generator) -> Tensor:
    """Each entry becomes another of the values that occur, so that indices stay valid; a lone value moves towards 0."""
    values = tensor.to("cpu", torch.int64)
    known, places = torch.unique(values, return_inverse=True)
    if known.numel() == 1:
        return (values + (-1 if int(known) > 0 else 1)).to(tensor.device, tensor.dtype)
    step = torch.randint(1, known.numel(), tensor.shape, generator=generator)
    others: Tensor = known[(places + step) % known.numel()]
    return others.to(tensor.device, tensor.dtype)

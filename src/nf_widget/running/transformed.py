"""Tensors inside of functions that torch has transformed: `torch.func.vmap`, `grad`, `jvp`."""

from __future__ import annotations

import torch
from torch import Tensor


def is_wrapped(tensor: Tensor) -> bool:
    """Whether it stands for another tensor inside of such a function."""
    return bool(torch._C._functorch.is_functorch_wrapped_tensor(tensor))

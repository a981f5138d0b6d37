"""torch's fused paths for transformers: one operation in place of the modules inside."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def unfused() -> Iterator[None]:
    """Every module is called, in every thread; afterwards torch chooses again as it did before."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)

"""How much memory torch takes at once."""

from __future__ import annotations

import torch
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode


def is_dense(value):
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


class Allocations(TorchDispatchMode):
    """The most bytes that results of torch operations took at once, tensors that share memory counted once."""

    def __init__(self):
        super().__init__()
        self.living = {}
        self.peak = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        inputs = {t.untyped_storage().data_ptr() for t in args if is_dense(t)}
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if is_dense(tensor) and tensor.untyped_storage().data_ptr() not in inputs:
                storage = tensor.untyped_storage()
                self.living[storage.data_ptr()] = StorageWeakRef(storage), storage.nbytes()
        self.living = {key: (ref, size) for key, (ref, size) in self.living.items() if not ref.expired()}
        self.peak = max(self.peak, sum(size for _, size in self.living.values()))
        return out

"""The capture pass beside a plain forward: `python benchmarks/capture.py [rounds]`.

Prints a table and JSON. One thread; runs take turns, so that a busy machine slows all sides alike, and the medians are
of processor time. Ratios of memory are of the most bytes that torch's results took at once
(parameters and inputs are not counted: both sides hold them). A detail is one exact channel, head or feature of the
first stage, which no cache holds: its pass ends as soon as that stage has returned.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import torch
from monai.networks.nets import UNet
from torch import nn
from torch.multiprocessing.reductions import StorageWeakRef
from torch.utils._python_dispatch import TorchDispatchMode
from transformers import GPT2Config, GPT2LMHeadModel, ResNetConfig, ResNetModel, ViTConfig, ViTForImageClassification

from nf_widget import trace
from nf_widget.records import Request
from nf_widget.session.flow import Flow


def resnet() -> tuple[nn.Module, Any]:
    return ResNetModel(ResNetConfig()), torch.randn(1, 3, 224, 224)


def vit() -> tuple[nn.Module, Any]:
    return ViTForImageClassification(
        ViTConfig(hidden_size=384, num_attention_heads=6, intermediate_size=1536, num_labels=1000)
    ), torch.randn(1, 3, 224, 224)


def gpt2() -> tuple[nn.Module, Any]:
    return GPT2LMHeadModel(GPT2Config(use_cache=False)), torch.randint(0, 50257, (1, 128))


def unet3d() -> tuple[nn.Module, Any]:
    net = UNet(3, 1, 14, channels=(16, 32, 64, 128), strides=(2, 2, 2), num_res_units=2)
    return net, torch.randn(1, 1, 64, 64, 64)


MODELS: dict[str, Callable[[], tuple[nn.Module, Any]]] = {
    "ResNet-50, 224²": resnet,
    "ViT-S/16, 224²": vit,
    "GPT-2, 128 tokens": gpt2,
    "3-D U-Net, 64³": unet3d,
}


class Peak(TorchDispatchMode):
    """The most bytes that results of torch operations took at once, memory that is shared counted once."""

    def __init__(self) -> None:
        super().__init__()
        self.bytes = 0
        self._living: dict[int, tuple[StorageWeakRef, int]] = {}
        self._given: set[int] = set()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        self._given |= {key(t) for t in args if is_dense(t) and key(t) not in self._living}
        for tensor in out if isinstance(out, (tuple, list)) else [out]:
            if is_dense(tensor) and key(tensor) not in self._given:
                storage = tensor.untyped_storage()
                self._living[key(tensor)] = StorageWeakRef(storage), storage.nbytes()
        self._living = {k: (ref, size) for k, (ref, size) in self._living.items() if not ref.expired()}
        self.bytes = max(self.bytes, sum(size for _, size in self._living.values()))
        return out


def is_dense(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.layout == torch.strided


def key(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def detail(flow: Flow) -> Callable[[], object]:
    """Asks for another plane of the first stage each time, without the cache of whole activations."""
    stage = next(stage for stage in flow.graph.stages if stage.kind == "call")
    summary = flow.summary(str(stage.id))
    cut = (0, 0) if summary.picture.kind == "volume" else None
    numbers = itertools.count()

    def ask() -> object:
        flow._activations.clear()  # noqa: SLF001 - what was kept for the tile before would answer this one
        number = next(numbers)
        (tile,) = flow.tiles([Request(str(number), 0, 0, stage.id, summary.leaf, number % 4, cut)])
        assert not tile.error, tile.error
        return tile

    return ask


def overview(flow: Flow) -> Callable[[], object]:
    def look() -> object:
        flow._summaries.clear()  # noqa: SLF001 - the same pass again
        return flow.overview()

    return look


def seconds(runs: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds + 1):
        for name, run in runs.items():
            start = time.process_time()
            run()
            times[name].append(time.process_time() - start)
    return {name: statistics.median(found[1:]) for name, found in times.items()}


def peaks(runs: dict[str, Callable[[], object]]) -> dict[str, int]:
    found = {}
    for name, run in runs.items():
        with Peak() as peak:
            run()
        found[name] = peak.bytes
    return found


def measure(make: Callable[[], tuple[nn.Module, Any]], rounds: int) -> dict[str, float]:
    torch.manual_seed(0)
    model, x = make()
    model.eval()
    flow = trace(model, x)
    plain_flow = trace(model, x, attention=False)
    runs: dict[str, Callable[[], object]] = {
        "plain": lambda: model(x),
        "capture": overview(flow),
        "capture without attention": overview(plain_flow),
        "detail": detail(flow),
    }
    times, memory = seconds(runs, rounds), peaks(runs)
    found = {f"{name} ms": value * 1e3 for name, value in times.items()}
    found |= {f"{name} MB": value / 2**20 for name, value in memory.items()}
    for name in ("capture", "capture without attention", "detail"):
        found[f"{name} : plain, time"] = times[name] / times["plain"]
        found[f"{name} : plain, memory"] = memory[name] / memory["plain"]
    return found | {"stages": len(flow.graph.stages)}


@torch.no_grad()
def main() -> None:
    torch.set_num_threads(1)
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found = {}
    columns = [
        f"{name}, {kind}" for name in ("capture", "capture without attention", "detail") for kind in ("time", "memory")
    ]
    print(f"{'':<20}{'plain':>12}{'':>12}" + "".join(f"{name:>34}" for name in columns))
    for name, make in MODELS.items():
        with contextlib.redirect_stderr(None):
            row = found[name] = measure(make, rounds)
        cells = (row[column.replace(",", " : plain,")] for column in columns)
        print(
            f"{name:<20}{row['plain ms']:>9.0f} ms{row['plain MB']:>9.1f} MB" + "".join(f"{c:>33.2f}×" for c in cells)
        )
    print(json.dumps({"threads": torch.get_num_threads(), "torch": torch.__version__, "models": found}))


if __name__ == "__main__":
    main()

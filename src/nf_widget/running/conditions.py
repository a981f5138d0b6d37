"""The conditions that a pass runs under: random generators, autocast, grad mode, defaults, train/eval flags."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .numpy_random import GlobalState, SeededState
from .state import named_modules

TrainingMode = Literal["eval", "keep"]
# Hooks add about three frames to each module call; a model nested to the limit must still run.
_FRAME_FACTOR = 4


@dataclass(frozen=True, slots=True)
class RandomState:
    """States of the generators that a forward may draw from: torch's per device, Python's, NumPy's."""

    devices: Mapping[str, Tensor]
    python: Any
    numpy: GlobalState | SeededState


@dataclass(frozen=True, slots=True)
class Autocast:
    device: str
    enabled: bool
    dtype: torch.dtype
    cache: bool


@dataclass(frozen=True, slots=True)
class Conditions:
    """What the first pass ran under, so that every later pass can run under the same.

    `flags[i]` is the `training` flag that module `i` (in the order of `modules()`) has during a pass.
    """

    device: torch.device
    random: RandomState
    autocast: tuple[Autocast, ...]
    grad: bool
    dtype: torch.dtype
    default_device: torch.device
    flags: tuple[bool, ...]


def record_conditions(
    model: nn.Module,
    device: torch.device,
    training: TrainingMode,
    grad: bool,  # noqa: FBT001
) -> Conditions:
    """The present conditions. In `"eval"` mode every flag is False, in `"keep"` as the user has it."""
    modules = [module for _, module in named_modules(model)]
    flags = tuple(m.training for m in modules) if training == "keep" else (False,) * len(modules)
    kinds = dict.fromkeys(("cpu", device.type))
    return Conditions(
        device=device,
        random=random_state(device),
        autocast=tuple(_autocast(kind) for kind in kinds if kind != "meta"),
        grad=grad,
        dtype=torch.get_default_dtype(),
        default_device=torch.get_default_device(),
        flags=flags,
    )


@contextmanager
def under(conditions: Conditions) -> Iterator[None]:
    """Run the body under `conditions`; put the present ones back afterwards, whatever happens."""
    with ExitStack() as stack:
        stack.callback(set_random_state, random_state(conditions.device, conditions.random.numpy))
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        stack.callback(sys.setrecursionlimit, sys.getrecursionlimit())
        stack.enter_context(_interpreter_state([autocast.device for autocast in conditions.autocast]))
        if torch.is_inference_mode_enabled():
            stack.enter_context(torch.inference_mode(mode=False))
        stack.enter_context(torch.set_grad_enabled(conditions.grad))
        for autocast in conditions.autocast:
            present = _autocast(autocast.device)
            if present != autocast:
                stack.enter_context(
                    torch.autocast(
                        autocast.device,
                        dtype=autocast.dtype,
                        enabled=autocast.enabled,
                        cache_enabled=autocast.cache,
                    )
                )
        if torch.get_default_device() != conditions.default_device:
            stack.enter_context(conditions.default_device)
        torch.set_default_dtype(conditions.dtype)
        sys.setrecursionlimit(sys.getrecursionlimit() * _FRAME_FACTOR)
        set_random_state(conditions.random)
        yield


@contextmanager
def training_flags(modules: Sequence[nn.Module], flags: tuple[bool, ...]) -> Iterator[None]:
    """Give each module its flag, and afterwards its own back. `train()` and `eval()` are never called: models override
    them."""
    before = [m.training for m in modules]
    changed = [(m, old) for m, old, new in zip(modules, before, flags, strict=True) if old != new]
    try:
        for module, old in changed:
            module.training = not old
        yield
    finally:
        for module, old in zip(modules, before, strict=True):
            if module.training != old:
                module.training = old


def random_state(device: torch.device, numpy: GlobalState | SeededState | None = None) -> RandomState:
    """The states now, of the CPU and of `device`'s kind (all of its devices, since a model may be spread). `numpy` may
    be one that holds still."""
    states = {"cpu": torch.get_rng_state()}
    for name, (read, _) in _accelerators(device).items():
        states[name] = read()
    held = numpy if numpy is not None and numpy.holds() else GlobalState()
    return RandomState(MappingProxyType(states), random.getstate(), held)


def set_random_state(state: RandomState) -> None:
    torch.set_rng_state(state.devices["cpu"])
    for name, tensor in state.devices.items():
        if name != "cpu":
            _accelerators(torch.device(name.split(":")[0]))[name][1](tensor)
    random.setstate(state.python)
    state.numpy.restore()


def _accelerators(device: torch.device) -> dict[str, tuple[Callable[[], Tensor], Callable[[Tensor], None]]]:
    """Reader and writer of each generator of the device's kind."""
    if device.type == "cuda":
        return {
            f"cuda:{i}": (partial(torch.cuda.get_rng_state, i), partial(torch.cuda.set_rng_state, device=i))
            for i in range(torch.cuda.device_count())
        }
    if device.type == "mps":
        return {"mps": (torch.mps.get_rng_state, torch.mps.set_rng_state)}
    return {}


def _autocast(kind: str) -> Autocast:
    return Autocast(
        kind,
        torch.is_autocast_enabled(kind),
        torch.get_autocast_dtype(kind),
        torch.is_autocast_cache_enabled(),
    )


@contextmanager
def _interpreter_state(kinds: Iterable[str]) -> Iterator[None]:
    """Settings of the process that a forward may leave changed, autocast for these `kinds` of devices among them."""
    deterministic = torch.are_deterministic_algorithms_enabled()
    warn_only = torch.is_deterministic_algorithms_warn_only_enabled()
    autocast = [_autocast(kind) for kind in kinds]
    try:
        yield
    finally:
        for before in autocast:
            if _autocast(before.device) != before:
                torch.set_autocast_enabled(before.device, before.enabled)
                torch.set_autocast_dtype(before.device, before.dtype)
                torch.set_autocast_cache_enabled(before.cache)
        if torch.are_deterministic_algorithms_enabled() != deterministic:
            torch.use_deterministic_algorithms(deterministic, warn_only=warn_only)

"""The capture pass: one forward with hooks on the wanted calls and on nothing else.

Where a forward takes a fused path that a hook would switch off (`nn.TransformerEncoderLayer`), the layer's `forward`
is wrapped instead, which that path does not look at.
"""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook

from nf_widget.inputs import Inputs
from nf_widget.running import Conditions, along, borrowed, run, without_stopping

from .attention import AttentionTracer, Looking
from .values import without_autocast


@dataclass(frozen=True, slots=True)
class Tap:
    """Wants what call `index` of the module at `path` gives out, or is given. `take` runs in the hook, and keeps
    nothing of that size: the next op may overwrite it."""

    path: str
    index: int
    take: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a pass is to take. `inputs` gets the input leaves before the forward, `output` the result after it.
    `entries` are taps of what calls are given, as `(args, kwargs)`.

    With `attention`, torch functions are watched too, which switches torch's fused paths off. Without `output`, the
    forward ends as soon as the last tap and the last look have been served.
    """

    taps: tuple[Tap, ...] = ()
    entries: tuple[Tap, ...] = ()
    inputs: Callable[[Sequence[Tensor]], None] | None = None
    output: Callable[[Any], None] | None = None
    written: tuple[str, ...] = ()
    attention: Looking | None = None


@dataclass(slots=True)
class Pass:
    """What came of a pass. `seconds` is the forward's own time, without ours; `missed` the taps never reached; `calls`
    how often each tapped module was called, where the forward ran to its end."""

    seconds: float = 0.0
    missed: list[Tap] = field(default_factory=list)
    calls: dict[str, int] | None = None
    error: Exception | None = None


def capture(model: nn.Module, inputs: Inputs, conditions: Conditions, plan: Plan) -> Pass:
    """One forward under `conditions`. An exception of the model is in the result; what came before it was taken."""
    done = Pass()
    with ExitStack() as stack:
        state = stack.enter_context(borrowed(model, conditions))
        state.keep_named(plan.written)
        args, kwargs, tensors = inputs.fresh()
        if plan.inputs is not None:
            with _aside(conditions):
                plan.inputs(tensors)
        if not plan.taps and not plan.entries and plan.output is None and plan.attention is None:
            return done
        watch = _Watch(plan, conditions)
        stack.enter_context(watch.on(model))
        start = _now(conditions)
        try:
            result = run(model, args, kwargs)
            done.seconds = _now(conditions) - start - watch.spent
            if plan.output is not None:
                with _aside(conditions):
                    plan.output(result)
                done.calls = watch.calls()
        except Exception as error:  # noqa: BLE001 - a model may raise anything; the caller decides
            # A model that catches everything may make an error of its own of the end that we asked for.
            done.error = None if watch.stopped else error
        done.missed = watch.missed()
    return done


class _Watch:
    def __init__(self, plan: Plan, conditions: Conditions) -> None:
        self._conditions = conditions
        self._open = {(tap.path, tap.index): tap for tap in plan.taps}
        self._awaited = {(tap.path, tap.index): tap for tap in plan.entries}
        self._entries = list(dict.fromkeys(tap.path for tap in plan.entries))
        self._begun: dict[str, int] = defaultdict(int)
        self._paths = list(dict.fromkeys(tap.path for tap in plan.taps))
        self._stops = plan.output is None
        self._home = threading.get_ident()
        self.stopped = False
        self._counts: dict[str, int] = defaultdict(int)
        self._spent = 0.0
        self._tracer: AttentionTracer | None = None
        if plan.attention is not None:
            self._tracer = AttentionTracer(plan.attention, lambda: _aside(conditions), self._stop_if_done)

    @property
    def spent(self) -> float:
        """Seconds that were ours."""
        return self._spent + (0.0 if self._tracer is None else self._tracer.spent)

    def missed(self) -> list[Tap]:
        return [*self._open.values(), *self._awaited.values()]

    def calls(self) -> dict[str, int]:
        return {path: self._counts[path] for path in self._paths}

    @contextmanager
    def on(self, model: nn.Module) -> Iterator[None]:
        scripted: dict[nn.Module, str] = {}
        with ExitStack() as stack:
            for path in self._entries:
                module = along(model, path)[-1][1]
                stack.callback(module.register_forward_pre_hook(self._entry_hook(path), with_kwargs=True).remove)
            for path in self._paths:
                module = along(model, path)[-1][1]
                if isinstance(module, torch.jit.ScriptModule):
                    scripted[module] = path
                elif isinstance(module, nn.TransformerEncoderLayer) and not _hooked(module):
                    stack.enter_context(self._wrapped(module, path))
                else:
                    handle = module.register_forward_hook(self._hook(path))
                    stack.callback(handle.remove)
            if scripted:
                handle = register_module_forward_hook(self._scripted_hook(scripted))
                stack.callback(handle.remove)
            if self._tracer is not None:
                stack.enter_context(self._tracer.on(model))
            yield

    def _hook(self, path: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, _args: Any, output: Any) -> None:
            self._serve(path, output)

        return hook

    def _entry_hook(self, path: str) -> Callable[[nn.Module, Any, Any], None]:
        def hook(_module: nn.Module, args: Any, kwargs: Any) -> None:
            index = self._begun[path]
            self._begun[path] = index + 1
            self._take(self._awaited.pop((path, index), None), (args, kwargs))

        return hook

    def _scripted_hook(self, scripted: dict[nn.Module, str]) -> Callable[[nn.Module, Any, Any], None]:
        def hook(module: nn.Module, _args: Any, output: Any) -> None:
            if module in scripted:
                self._serve(scripted[module], output)

        return hook

    @contextmanager
    def _wrapped(self, module: nn.Module, path: str) -> Iterator[None]:
        forward = module.forward
        own = module.__dict__.get("forward")

        def wrapper(*args: Any, **kwargs: Any) -> Any:
            output = forward(*args, **kwargs)
            self._serve(path, output)
            return output

        module.__dict__["forward"] = wrapper
        try:
            yield
        finally:
            if own is None:
                module.__dict__.pop("forward", None)
            else:
                module.__dict__["forward"] = own

    def _serve(self, path: str, output: Any) -> None:
        index = self._counts[path]
        self._counts[path] = index + 1
        self._take(self._open.pop((path, index), None), output)

    def _take(self, tap: Tap | None, found: Any) -> None:
        if tap is None:
            return
        start = _now(self._conditions)
        with _aside(self._conditions):
            tap.take(found)
        self._spent += _now(self._conditions) - start
        self._stop_if_done()

    def _stop_if_done(self) -> None:
        looked = self._tracer is None or self._tracer.done
        done = self._stops and not self._open and not self._awaited and looked
        # A thread that the forward started can end itself only.
        self.stopped = done and threading.get_ident() == self._home
        without_stopping(lambda: self.stopped)


def _hooked(module: nn.Module) -> bool:
    """Whether the user has hooks of their own in it, which switch the fused path off anyway and must run before us."""
    return any(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in module.modules())


@contextmanager
def _aside(conditions: Conditions) -> Iterator[None]:
    """Our own arithmetic in the middle of a forward: no gradients, no autocast, default dtype float32."""
    with torch.no_grad(), without_autocast(each.device for each in conditions.autocast):
        yield


def _now(conditions: Conditions) -> float:
    if conditions.device.type == "cuda":
        torch.cuda.synchronize(conditions.device)
    return time.perf_counter()

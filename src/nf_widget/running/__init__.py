"""The only code that touches the user's model: borrow it, run it, give it back as it was."""

from __future__ import annotations

import copy
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, cast

import torch
from torch import nn
from torch.nn.parameter import UninitializedBuffer

from ..errors import StateWarning, warn
from .conditions import Conditions, TrainingMode, record_conditions, training_flags, under
from .fused import unfused
from .hooks import hooked
from .interrupts import interruptible, interrupts_held
from .modes import PassMode, close_what_waits, function_modes_kept
from .state import LAZY, ModelState, along, children, named_modules, own_parameters, version_of
from .transformed import is_wrapped

__all__ = [
    "Conditions",
    "ModelState",
    "PassMode",
    "TrainingMode",
    "along",
    "borrowed",
    "children",
    "hooked",
    "interruptible",
    "is_wrapped",
    "may_need_grad",
    "named_modules",
    "own_parameters",
    "record_conditions",
    "run",
    "runnable",
    "unfused",
    "version_of",
    "without_stopping",
]

# Where code comes from that is compiled; the second compiles itself as it runs.
_COMPILERS = frozenset({"torch._dynamo", "torch.nn.attention.flex_attention"})
_LOCKS: weakref.WeakKeyDictionary[nn.Module, threading.RLock] = weakref.WeakKeyDictionary()
# How a forward that takes gradients fails without them: by torch's words, by its own check, or on a `.grad` of None.
_GRAD_COMPLAINTS = ("grad", "not have been used in the graph", "'NoneType' object", "not 'NoneType'")


class StopForward(BaseException):
    """Ends a forward early, from a hook. Not an `Exception`, so that a model's own `except` does not catch it."""


@contextmanager
def borrowed(model: nn.Module, conditions: Conditions) -> Iterator[ModelState]:
    """The model under `conditions`; afterwards everything is as before, also when the body raises.

    One borrower at a time per model: others wait. Ctrl-C ends what is `interruptible`, such as `run`, and waits else.
    Warns with `StateWarning` about what could not be put back.
    """
    with _LOCKS.setdefault(model, threading.RLock()), interrupts_held(), ExitStack() as stack:
        state = ModelState(model, grads=conditions.grad)
        stack.callback(_give_back, state)
        stack.enter_context(_eager_compilation())
        stack.enter_context(under(conditions))
        stack.enter_context(training_flags([module for _, module in state.modules], conditions.flags))
        stack.enter_context(function_modes_kept())
        stack.push(close_what_waits)
        yield state


def run(model: nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One forward. Returns the model's output, or None where a hook ended the forward (`without_stopping`)."""
    try:
        with interruptible():
            return model(*args, **kwargs)
    except StopForward:
        return None


def without_stopping(hook: Callable[[], bool]) -> None:
    """Call `hook`; when it says that nothing more is wanted, end the forward here."""
    if hook():
        raise StopForward


def may_need_grad(error: BaseException) -> bool:
    """Whether a forward may have failed because it takes gradients inside, which `no_grad` forbids."""
    return isinstance(error, AssertionError) or any(words in str(error) for words in _GRAD_COMPLAINTS)


def runnable(model: nn.Module) -> nn.Module:
    """The model to run: itself, or, when it has lazy parameters, a copy, so that the user's stays lazy."""
    if any(isinstance(t, LAZY) for t in (*model.parameters(), *model.buffers())):
        warn(
            "The model has lazy modules that have not seen an input: a copy was initialised and is shown. "
            "Run the model once to initialise your own, then look again.",
            StateWarning,
        )
        # torch copies lazy parameters, and refuses to copy lazy buffers.
        empty = {id(b): _like(b) for b in model.buffers() if isinstance(b, UninitializedBuffer)}
        return copy.deepcopy(model, empty)
    return model


def _like(buffer: UninitializedBuffer) -> UninitializedBuffer:
    kind: Any = UninitializedBuffer
    return cast(
        "UninitializedBuffer", kind(requires_grad=buffer.requires_grad, device=buffer.device, dtype=buffer.dtype)
    )


def _give_back(state: ModelState) -> None:
    lost = state.restore()
    if lost:
        shown = ", ".join(lost[:5]) + (f" and {len(lost) - 5} more" if len(lost) > 5 else "")
        warn(
            f"The forward wrote to {shown}; it could not be put back, since no copy of it was kept.",
            StateWarning,
        )


@contextmanager
def _eager_compilation() -> Iterator[None]:
    """Run `torch.compile`d code as it was written: compiled graphs ignore hooks, or are built anew for them."""
    if _COMPILERS.isdisjoint(sys.modules):  # nothing is compiled; importing the first would take seconds
        yield
        return
    set_stance = getattr(torch.compiler, "set_stance", None)
    if set_stance is not None:
        with set_stance("force_eager"):
            yield
        return
    config: Any = sys.modules["torch._dynamo"].config  # torch < 2.6
    before, config.disable = config.disable, True
    try:
        yield
    finally:
        config.disable = before

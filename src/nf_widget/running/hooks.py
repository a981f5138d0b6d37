"""Hooks on some modules for the length of a body, scripted modules included."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook

Enter = Callable[[str, nn.Module, tuple[Any, ...], dict[str, Any]], None]
Leave = Callable[[str, nn.Module, tuple[Any, ...], dict[str, Any], Any], Any]


@contextmanager
def hooked(modules: Iterable[tuple[str, nn.Module]], enter: Enter, leave: Leave) -> Iterator[None]:
    """Each call of these (path, module) runs `enter(path, module, args, kwargs)` before it and
    `leave(path, module, args, kwargs, output)` after it, also when it raised (the output is None then).

    What `leave` returns, unless None, takes the place of the output. Both come after the user's own hooks. Scripted
    modules refuse hooks of their own, so that global ones serve them, and `enter` does not get their keywords.
    """
    scripted: dict[nn.Module, str] = {}
    with ExitStack() as stack:
        for path, module in modules:
            if isinstance(module, torch.jit.ScriptModule):
                scripted[module] = path
                continue
            before = module.register_forward_pre_hook(partial(enter, path), with_kwargs=True)
            stack.callback(before.remove)
            after = module.register_forward_hook(partial(leave, path), with_kwargs=True, always_call=True)
            stack.callback(after.remove)
        if scripted:
            before = register_module_forward_pre_hook(partial(_enter_scripted, scripted, enter))
            stack.callback(before.remove)
            after = register_module_forward_hook(
                partial(_leave_scripted, scripted, leave), with_kwargs=True, always_call=True
            )
            stack.callback(after.remove)
        yield


def _enter_scripted(scripted: dict[nn.Module, str], enter: Enter, module: nn.Module, args: tuple[Any, ...]) -> None:
    if module in scripted:
        enter(scripted[module], module, args, {})


def _leave_scripted(
    scripted: dict[nn.Module, str], leave: Leave, module: nn.Module, args: tuple[Any, ...], *rest: Any
) -> Any:
    # torch leaves the keywords out where it calls a global hook because of an exception.
    kwargs, output = rest if len(rest) == 2 else ({}, rest[0])
    return leave(scripted[module], module, args, kwargs, output) if module in scripted else None

"""Hooks on some modules for the length of a body, scripted modules included."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils.hooks import RemovableHandle

Enter = Callable[[str, nn.Module, tuple[Any, ...], dict[str, Any]], None]
Leave = Callable[[str, nn.Module, tuple[Any, ...], dict[str, Any], Any], Any]

# Which global hooks are given keywords: none before torch 2.6.
_GIVEN_KEYWORDS: dict[int, bool] | None = getattr(torch_module, "_global_forward_hooks_with_kwargs", None)
_TABLES = (
    "_forward_pre_hooks",
    "_forward_pre_hooks_with_kwargs",
    "_forward_hooks",
    "_forward_hooks_with_kwargs",
    "_forward_hooks_always_called",
)


@contextmanager
def hooked(modules: Iterable[tuple[str, nn.Module]], enter: Enter, leave: Leave) -> Iterator[None]:
    """Each call of these (path, module) runs `enter(path, module, args, kwargs)` before it and
    `leave(path, module, args, kwargs, output)` after it, also when it raised.

    What `leave` returns, unless None, takes the place of the output. Both come after the user's own hooks. Scripted
    modules refuse hooks of their own, so that global ones serve them, and `enter` does not get their keywords.
    """
    scripted: dict[nn.Module, str] = {}
    hung: list[dict[str, Any]] = []
    # Two handles a module would take longer than a small module runs: one key from torch's own counter serves them all.
    key = RemovableHandle(OrderedDict()).id
    with ExitStack() as stack:
        stack.callback(_unhang, hung, key)
        for path, module in modules:
            if isinstance(module, torch.jit.ScriptModule):
                scripted[module] = path
                continue
            tables = module.__dict__
            hung.append(tables)
            tables["_forward_pre_hooks"][key] = partial(enter, path)
            tables["_forward_pre_hooks_with_kwargs"][key] = True
            tables["_forward_hooks"][key] = partial(leave, path)
            tables["_forward_hooks_with_kwargs"][key] = True
            tables["_forward_hooks_always_called"][key] = True
        if scripted:
            before = register_module_forward_pre_hook(partial(_enter_scripted, scripted, enter))
            stack.callback(before.remove)
            after = register_module_forward_hook(partial(_leave_scripted, scripted, leave), always_call=True)
            stack.callback(after.remove)
            if _GIVEN_KEYWORDS is not None:
                _GIVEN_KEYWORDS[after.id] = True
                # The handle would leave this entry behind.
                stack.callback(_GIVEN_KEYWORDS.pop, after.id, None)
        yield


def _unhang(hung: list[dict[str, Any]], key: int) -> None:
    for tables in hung:
        for name in _TABLES:
            tables[name].pop(key, None)


def _enter_scripted(scripted: dict[nn.Module, str], enter: Enter, module: nn.Module, args: tuple[Any, ...]) -> None:
    if module in scripted:
        enter(scripted[module], module, args, {})


def _leave_scripted(
    scripted: dict[nn.Module, str], leave: Leave, module: nn.Module, args: tuple[Any, ...], *rest: Any
) -> Any:
    # torch leaves the keywords out before 2.6, and where it calls a global hook because of an exception.
    kwargs, output = rest if len(rest) == 2 else ({}, rest[0])
    return leave(scripted[module], module, args, kwargs, output) if module in scripted else None

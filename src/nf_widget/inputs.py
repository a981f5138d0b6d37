"""What the user passed -> positional and keyword arguments, with every tensor leaf named."""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from .errors import InputError, ModelError
from .nested import Nested, attributes, leaves, reachable, replace, working_copy


@dataclass(frozen=True, slots=True)
class Inputs:
    """Arguments on the model's device. `leaves` are (path, tensor); a path starts with the argument's name.

    `encodings`: what a tokenizer says about each sample, where the input came from one.
    """

    args: tuple[Nested, ...]
    kwargs: dict[str, Nested]
    leaves: tuple[tuple[str, Tensor], ...]
    encodings: tuple[Any, ...] = ()

    def tokens(self, sample: int) -> tuple[str, ...]:
        """The tokenizer's strings for one sample; empty without a tokenizer."""
        return tuple(map(str, self.encodings[sample].tokens)) if sample < len(self.encodings) else ()

    def fresh(self) -> tuple[tuple[Nested, ...], dict[str, Nested], tuple[Tensor, ...]]:
        """Arguments that a forward may write to, and their tensor leaves in the order of `leaves`.

        Values, types, attributes, flags and which leaves are one tensor are kept; memory is shared with nothing.
        """
        memo: dict[int, Any] = {}
        for _, tensor in self.leaves:
            if id(tensor) not in memo:
                memo[id(tensor)] = _clone(tensor)
        copies = tuple(memo[id(tensor)] for _, tensor in self.leaves)
        args = tuple(working_copy(arg, memo) for arg in self.args)
        return args, {name: working_copy(arg, memo) for name, arg in self.kwargs.items()}, copies


def check_model(model: object) -> nn.Module:
    """`model`, if it is a module. Raises `ModelError`."""
    if isinstance(model, nn.Module):
        return model
    if isinstance(model, type) and issubclass(model, nn.Module):
        raise ModelError(f"model is the class {model.__name__}: pass an instance, {model.__name__}(...).")
    kind = type(model).__name__
    raise ModelError(f"model must be a torch.nn.Module, but it is {_article(kind)} {kind}: {str(model)[:80]!r}.")


def model_device(model: nn.Module) -> torch.device:
    """Device of the first parameter or buffer, else the CPU."""
    for tensor in itertools.chain(model.parameters(), model.buffers()):
        return tensor.device
    return torch.device("cpu")


def normalise(model: nn.Module, x: Nested, kwargs: Mapping[str, Nested] | None) -> Inputs:
    """Name the arguments and move their tensors to the model's device.

    A tuple holds several positional arguments; a mapping holds keywords where the signature takes them, else it is
    one argument; anything else is one argument; None with `kwargs` is no positional argument.
    Raises `InputError` when there is no tensor, or a keyword is given twice.
    """
    args, keywords = _arguments(model, x, dict(kwargs or {}))
    device = model_device(model)
    args = tuple(replace(arg, lambda t: _moved(t, device)) for arg in args)
    keywords = {name: replace(arg, lambda t: _moved(t, device)) for name, arg in keywords.items()}
    arguments = _names(model, args, keywords)
    named = tuple((_join(name, path), tensor) for name, arg in arguments for path, tensor in leaves(arg))
    if not named:
        named = tuple((_join(name, path), tensor) for name, arg in arguments for path, tensor in _held(arg))
    if not named:
        given = ", ".join(type(v).__name__ for v in (*args, *keywords.values())) or "nothing"
        raise InputError(
            f"No tensor among the inputs ({given}): pass what the model's forward takes, e.g. a tensor, "
            "a tuple of positional arguments, or a dict of keywords."
        )
    # A fast tokenizer of Hugging Face returns a mapping that knows its tokens.
    encodings = (getattr(x, "encodings", None) if isinstance(x, Mapping) else None) or ()
    return Inputs(args, keywords, named, tuple(encodings) if isinstance(encodings, (list, tuple)) else ())


def _arguments(model: nn.Module, x: Nested, kwargs: dict[str, Nested]) -> tuple[tuple[Nested, ...], dict[str, Nested]]:
    if x is None and kwargs:
        return (), kwargs
    if isinstance(x, tuple) and not hasattr(x, "_fields"):
        return x, kwargs
    if isinstance(x, Mapping) and _takes_keywords(model, x):
        twice = sorted(set(map(str, x)) & set(kwargs))
        if twice:
            raise InputError(f"x and kwargs both give {', '.join(twice)}: give each once.")
        return (), {**{str(key): value for key, value in x.items()}, **kwargs}
    return (x,), kwargs


def _takes_keywords(model: nn.Module, x: Mapping[Any, Nested]) -> bool:
    try:
        inspect.signature(model.forward).bind_partial(**{str(key): value for key, value in x.items()})
    except (TypeError, ValueError):
        return False
    return bool(x)


def _names(model: nn.Module, args: tuple[Nested, ...], kwargs: dict[str, Nested]) -> list[tuple[str, Nested]]:
    """(name, value) for each argument; `*args` are numbered, `**kwargs` go by their keys."""
    try:
        signature = inspect.signature(model.forward)
        bound = signature.bind_partial(*args, **kwargs)
    except (TypeError, ValueError):
        return [*((f"arg{i}", arg) for i, arg in enumerate(args)), *kwargs.items()]
    named: list[tuple[str, Nested]] = []
    for name, value in bound.arguments.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_KEYWORD:
            named += value.items()
        elif kind is inspect.Parameter.VAR_POSITIONAL and len(value) == 1:
            named.append((name, value[0]))
        else:
            named.append((name, value))
    return named


def _held(value: Nested) -> list[tuple[str, Tensor]]:
    """The tensors on the attributes of an object, such as a graph with its nodes and edges; what is private in a path
    is left out of it, where the rest tells."""
    found = reachable(attributes(value))
    public = [".".join(part for part in path.split(".") if not part.startswith("_")) for path, _ in found]
    told = len(set(public)) == len(public) and all(public)
    return [(name if told else path, tensor) for name, (path, tensor) in zip(public, found, strict=True)]


def _moved(tensor: Tensor, device: torch.device) -> Tensor:
    return tensor if tensor.device == device else tensor.to(device)


def _clone(tensor: Tensor) -> Tensor:
    with torch.no_grad(), torch._C.DisableTorchFunctionSubclass():
        copy = tensor.detach().clone()
        if isinstance(tensor, nn.Parameter):
            copy = nn.Parameter(copy, tensor.requires_grad)
        elif type(tensor) is not Tensor:
            copy = copy.as_subclass(type(tensor))
        if tensor.__dict__:
            copy.__dict__.update(tensor.__dict__)
        if tensor.requires_grad and not copy.requires_grad and not tensor.is_inference():
            copy.requires_grad_()
    return copy


def _join(name: str, path: str) -> str:
    return f"{name}.{path}" if path else name


def _article(noun: str) -> str:
    return "an" if noun[:1].lower() in "aeiou" else "a"

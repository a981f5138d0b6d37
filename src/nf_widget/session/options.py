"""The options of `trace` and `FlowWidget`, checked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal, TypedDict, get_args

import torch

from ..errors import OptionError
from ..interpret.classes import Names
from ..records import ModuleCall
from ..running import TrainingMode
from ..topology import TopologyOption

Selector = str | Callable[[ModuleCall], bool]
ErrorsOption = Literal["raise", "show"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """`capture_budget`: bytes that all kept activations may take together. See `trace` for the others."""

    layers: Selector | Sequence[Selector] | None = None
    exclude: Selector | Sequence[Selector] = ()
    max_stages: int = 12
    labels: Mapping[str, str] = field(default_factory=dict)
    topology: TopologyOption = "auto"
    sample: int = 0
    class_names: Names | None = None
    output_types: str | Mapping[str, str] | None = None
    axes: Mapping[str, str] = field(default_factory=dict)
    capture_device: str | torch.device = "cpu"
    capture_budget: int = 256 * 2**20
    attention: bool = True
    token_labels: Sequence[str] | Sequence[Sequence[str]] | None = None
    training: TrainingMode = "eval"
    errors: ErrorsOption = "raise"

    @classmethod
    def of(cls, words: Mapping[str, Any]) -> Options:
        """Raises `OptionError` for an unknown name, with the nearest."""
        known = [f.name for f in fields(cls)]
        for word in words:
            if word not in known:
                near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"options are {', '.join(known)}."
                raise OptionError(f"There is no option {word!r}: {hint}")
        return cls(**words)

    def __post_init__(self) -> None:
        _one_of("topology", self.topology, get_args(TopologyOption))
        _one_of("training", self.training, get_args(TrainingMode))
        _one_of("errors", self.errors, get_args(ErrorsOption))
        _at_least("max_stages", self.max_stages, 1)
        _at_least("sample", self.sample, 0)
        _at_least("capture_budget", self.capture_budget, 0)


class OptionWords(TypedDict, total=False):
    """The same as keywords, for type checkers."""

    layers: Selector | Sequence[Selector] | None
    exclude: Selector | Sequence[Selector]
    max_stages: int
    labels: Mapping[str, str]
    topology: TopologyOption
    sample: int
    class_names: Names | None
    output_types: str | Mapping[str, str] | None
    axes: Mapping[str, str]
    capture_device: str | torch.device
    capture_budget: int
    attention: bool
    token_labels: Sequence[str] | Sequence[Sequence[str]] | None
    training: TrainingMode
    errors: ErrorsOption


def _one_of(name: str, value: Any, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise OptionError(f"{name} is {value!r}: use one of {', '.join(map(repr, allowed))}.")


def _at_least(name: str, value: Any, bound: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < bound:
        raise OptionError(f"{name} is {value!r}: use a whole number of at least {bound}.")

"""What a strategy is given, and what it gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from torch import nn

from nf_widget.inputs import Inputs
from nf_widget.records import Edge, Selection, Trace
from nf_widget.running import Conditions


@dataclass(frozen=True, slots=True)
class Setting:
    """What the recorded forward was given, what it ran under, and the parameters that it wrote to: for strategies that
    run the model again."""

    inputs: Inputs
    conditions: Conditions
    written: tuple[str, ...] = ()


Strategy = Callable[[nn.Module, Trace, Selection, Setting | None], tuple[Edge, ...]]

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
    """What the recorded forward was given, and what it ran under: for strategies that run the model again."""

    inputs: Inputs
    conditions: Conditions


Strategy = Callable[[nn.Module, Trace, Selection, Setting | None], tuple[Edge, ...]]

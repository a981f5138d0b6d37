"""What a builder of the zoo gives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from torch import nn


@dataclass(frozen=True, slots=True)
class Built:
    """A model with random weights in eval mode, and what its forward takes."""

    model: nn.Module
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)


Builder: TypeAlias = Callable[[], Built]

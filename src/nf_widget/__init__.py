"""See what a PyTorch network does to a real input.

`FlowWidget(model, x)` in a notebook; `trace(model, x)` without one.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ._version import __version__
from .errors import (
    AxesError,
    BundleError,
    BusyError,
    InputError,
    LayerError,
    ModelError,
    NfWidgetError,
    NfWidgetWarning,
    NotRunWarning,
    OptionError,
    PathWarning,
    StageError,
    StateWarning,
    TopologyError,
    TopologyWarning,
    ValuesWarning,
)
from .records import Edge, ModuleCall, Stage, StageGraph, Summary, TensorSpec, Trace
from .session import Flow, trace

if TYPE_CHECKING:
    from .widget import FlowWidget

__all__ = [
    "AxesError",
    "BundleError",
    "BusyError",
    "Edge",
    "Flow",
    "FlowWidget",
    "InputError",
    "LayerError",
    "ModelError",
    "ModuleCall",
    "NfWidgetError",
    "NfWidgetWarning",
    "NotRunWarning",
    "OptionError",
    "PathWarning",
    "Stage",
    "StageError",
    "StageGraph",
    "StateWarning",
    "Summary",
    "TensorSpec",
    "TopologyError",
    "TopologyWarning",
    "Trace",
    "ValuesWarning",
    "__version__",
    "trace",
]


def __getattr__(name: str) -> Any:
    # Importing what widgets need takes as long as all the rest, and `trace` needs none of it.
    if name != "FlowWidget":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return import_module(".widget", __name__).FlowWidget

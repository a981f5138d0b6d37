"""See what a PyTorch network does to a real input.

`FlowWidget(model, x)` in a notebook; `trace(model, x)` without one.
"""

from __future__ import annotations

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
from .flow import Flow
from .records import Edge, ModuleCall, Stage, StageGraph, Summary, TensorSpec, Trace
from .session import trace
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

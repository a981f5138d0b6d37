"""Errors and warnings.

NfWidgetError
├── InputError          the input holds no tensor, or cannot be used
├── ModelError          what was passed is not a module
├── LayerError          a selector matches nothing
├── AxesError           an override of the axes does not fit
├── OptionError         an option has a value that it cannot have
├── TopologyError       a strategy cannot find the edges
├── StageError          no such stage, edge or leaf
├── MessageError        the front end and the kernel do not understand each other
├── BundleError         the browser bundle is missing or stale
└── BusyError           the model cannot run now

NfWidgetWarning (UserWarning)
├── TopologyWarning     edges were found in another way than asked for
├── NotRunWarning       a selected stage did not run
├── StateWarning        something that the forward changed could not be put back
├── PathWarning         the values come from another path than a plain run takes
└── ValuesWarning       there are no values to show (meta tensors)
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

_PACKAGE = str(Path(__file__).parent)


class NfWidgetError(Exception):
    """Base of all errors of this package."""


class InputError(NfWidgetError, ValueError):
    """The input holds no tensor, or cannot be used."""


class ModelError(NfWidgetError, TypeError):
    """What was passed as the model is not a `torch.nn.Module`."""


class LayerError(NfWidgetError, ValueError):
    """A layer selector matches nothing."""


class AxesError(NfWidgetError, ValueError):
    """An override of the axes does not fit the tensor."""


class OptionError(NfWidgetError, ValueError):
    """An option has a value that it cannot have."""


class TopologyError(NfWidgetError, RuntimeError):
    """A strategy cannot find the edges of this model."""


class StageError(NfWidgetError, KeyError):
    """There is no such stage, edge or leaf."""

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class MessageError(NfWidgetError, ValueError):
    """A message between front end and kernel does not fit the schema."""


class BundleError(NfWidgetError, RuntimeError):
    """The browser bundle is missing or does not belong to this version."""


class BusyError(NfWidgetError, RuntimeError):
    """The model cannot run now."""


class NfWidgetWarning(UserWarning):
    """Base of all warnings of this package."""


class TopologyWarning(NfWidgetWarning):
    """Edges were found in another way than asked for."""


class NotRunWarning(NfWidgetWarning):
    """A selected stage did not run."""


class StateWarning(NfWidgetWarning):
    """Something that the forward changed could not be put back."""


class PathWarning(NfWidgetWarning):
    """The values come from another path than a plain run takes."""


class ValuesWarning(NfWidgetWarning):
    """There are no values to show."""


def warn(text: str, category: type[NfWidgetWarning]) -> None:
    """Warn, of the line that called this package, however deep in it the cause was found."""
    level, last, frame = 1, 1, sys._getframe()  # noqa: SLF001 - `warnings` knows no such option before Python 3.12
    while frame.f_back is not None:
        level, frame = level + 1, frame.f_back
        if frame.f_code.co_filename.startswith(_PACKAGE):
            last = level
    warnings.warn(text, category, stacklevel=last + 1)

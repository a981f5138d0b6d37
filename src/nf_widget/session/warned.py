"""Notes of a selection or trace that the user should also hear as warnings."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import NfWidgetWarning, NotRunWarning, warn
from ..records import Note

_CATEGORIES: dict[str, type[NfWidgetWarning]] = {"not-run": NotRunWarning}


def warn_about(notes: Iterable[Note]) -> None:
    """One warning for each note whose kind has a category."""
    for note in notes:
        category = _CATEGORIES.get(note.kind)
        if category is not None:
            warn(note.text, category)

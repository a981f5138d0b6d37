"""What the configuration of a Hugging Face model says about its outputs."""

from __future__ import annotations

import re

_NAMED = re.compile("For.*(Classification|Segmentation|Detection)")
_PROBLEMS = {
    "multi_label_classification": "multilabel",
    "regression": "value",
    "single_label_classification": "logits",
}


def names_in(model: object) -> dict[int, str] | None:
    """The names of a head's classes, by index; None where the model has no such head."""
    config = getattr(model, "config", None)
    found = getattr(config, "id2label", None)
    if not isinstance(found, dict) or _NAMED.search(type(model).__name__) is None:
        return None
    return {int(index): str(name) for index, name in found.items()}


def type_in(model: object) -> str | None:
    """The type of the logits, where the configuration says what problem the head was trained for."""
    problem = getattr(getattr(model, "config", None), "problem_type", None)
    return _PROBLEMS.get(problem) if isinstance(problem, str) else None

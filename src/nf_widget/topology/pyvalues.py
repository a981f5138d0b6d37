"""Python values that a forward takes out of tensors: seen in one run, held in others."""

from __future__ import annotations

from typing import Any

from ..running import PassMode

_TAKEN_OUT = frozenset((
    "item", "tolist", "__bool__", "__float__", "__int__", "__complex__", "__index__", "is_nonzero", "equal", "allclose",
))  # fmt: skip


class DivergedError(RuntimeError):
    """A forward takes other Python values out than it did before."""


class SeenValues(PassMode):
    """Writes down every Python value that is taken out of a tensor, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.values: list[tuple[str, Any]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        name = getattr(func, "__name__", "")
        if name in _TAKEN_OUT:
            self.values.append((name, result))
        return result


class HeldValues(PassMode):
    """Gives out those values again, whatever tensors hold now. Raises `DivergedError` where others are asked for."""

    def __init__(self, values: list[tuple[str, Any]]) -> None:
        super().__init__()
        self._values = iter(values)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name not in _TAKEN_OUT:
            return func(*args, **(kwargs or {}))
        recorded, value = next(self._values, ("", None))
        if recorded != name:
            raise DivergedError(f"{name} instead of {recorded or 'the end'}")
        return value

"""What the front end sends, checked field by field; what does not fit is named in a `MessageError`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from ..errors import MessageError
from ..records import Request, StageId

T = TypeVar("T")

# Requests per message: more than fit a screen.
_MOST_REQUESTS = 4096


def decode_wanted(message: object) -> tuple[int, tuple[Request, ...]]:
    """The `wanted` trait: (seq, what the views lack, most wanted first). Raises `MessageError`."""
    fields = _fields(message, "wanted", {"seq", "tiles"})
    tiles = fields["tiles"]
    if not isinstance(tiles, (list, tuple)) or len(tiles) > _MOST_REQUESTS:
        raise MessageError(f"wanted.tiles: expected a list of at most {_MOST_REQUESTS} requests, got {_shown(tiles)}.")
    seq = _natural(fields["seq"], "wanted.seq")
    return seq, tuple(_request(tile, f"wanted.tiles[{index}]") for index, tile in enumerate(tiles))


def _request(message: object, where: str) -> Request:
    names = {"key", "frame", "sample", "stage", "leaf", "channel", "slice", "region", "size", "reference"}
    fields = _fields(message, where, names)
    return Request(
        key=_text(fields["key"], f"{where}.key"),
        frame=_natural(fields["frame"], f"{where}.frame"),
        sample=_natural(fields["sample"], f"{where}.sample"),
        stage=StageId(_text(fields["stage"], f"{where}.stage")),
        leaf=_text(fields["leaf"], f"{where}.leaf"),
        channel=_optional(fields["channel"], f"{where}.channel", _natural),
        slice=_optional(fields["slice"], f"{where}.slice", _pair),
        region=_optional(fields["region"], f"{where}.region", _four),
        size=_optional(fields["size"], f"{where}.size", _pair),
        reference=_optional(fields["reference"], f"{where}.reference", _natural),
    )


def _fields(message: object, where: str, names: set[str]) -> Mapping[str, Any]:
    if not isinstance(message, Mapping):
        raise MessageError(f"{where}: expected an object, got {_shown(message)}.")
    if set(message) != names:
        missing, unknown = sorted(names - set(message)), sorted(map(str, set(message) - names))
        said = [
            f"{word} {', '.join(found)}" for word, found in (("without", missing), ("with unknown", unknown)) if found
        ]
        raise MessageError(f"{where}: {' and '.join(said)}.")
    return message


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise MessageError(f"{where}: expected text, got {_shown(value)}.")
    return value


def _natural(value: object, where: str) -> int:
    # JavaScript has one kind of number: a whole one may arrive as a float. A bool is an int to Python.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value < 2**53 and value == int(value):
        return int(value)
    raise MessageError(f"{where}: expected a whole number from 0, got {_shown(value)}.")


def _pair(value: object, where: str) -> tuple[int, int]:
    first, second = _naturals(value, where, 2)
    return first, second


def _four(value: object, where: str) -> tuple[int, int, int, int]:
    top, left, bottom, right = _naturals(value, where, 4)
    return top, left, bottom, right


def _naturals(value: object, where: str, count: int) -> list[int]:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        raise MessageError(f"{where}: expected {count} numbers, got {_shown(value)}.")
    return [_natural(number, f"{where}[{index}]") for index, number in enumerate(value)]


def _optional(value: object, where: str, decode: Callable[[object, str], T]) -> T | None:
    return None if value is None else decode(value, where)


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."

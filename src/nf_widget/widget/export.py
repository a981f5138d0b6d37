"""One self-contained HTML file: the bundle, what was captured, and a stand-in for the host. It fetches nothing."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..errors import OptionError
from ..protocol import Message

_STAND_IN = Path(__file__).parent / "page.js"
# What the page may do: run what is in it, and show pictures that it makes.
_POLICY = "default-src 'none'; script-src 'unsafe-inline' data: blob:; style-src 'unsafe-inline'; img-src data: blob:"
_STYLE = (
    "body { margin: 0; padding: 16px; font: 13px/1.4 system-ui, sans-serif; } "
    "@media (prefers-color-scheme: dark) { body { background: #14161a; } }\n"
)


def page(state: Mapping[str, Any], overviews: Sequence[Message], *, script: str, styles: str, title: str) -> str:
    """The page's text. `state` holds the widget's traits, `overviews` one message for each frame that can be shown."""
    content = {
        "state": state,
        "overviews": list(overviews),
        "script": base64.b64encode(script.encode()).decode(),
    }
    # Inside of a script element nothing but `<` can end it.
    data = json.dumps(content, default=_bytes, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")
    return "\n".join(
        (
            '<!doctype html><html lang="en"><head><meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{html.escape(title)}</title>",
            f"<style>{_STYLE}{styles}</style>",
            '</head><body><div id="nf"></div>',
            f'<script type="application/json" id="nf-page">{data}</script>',
            f'<script type="module">{_STAND_IN.read_text(encoding="utf-8")}</script>',
            "</body></html>",
        )
    )


def _bytes(value: Any) -> dict[str, str]:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return {"$bytes": base64.b64encode(value).decode()}
    raise TypeError(f"{type(value).__name__} has no place in a page")


def tile_key(trace: str, place: tuple[int, int], stage: str, leaf: str, channel: int | None) -> str:
    """The key by which the front end asks for a whole plane at full resolution; `place` is (frame, sample)."""
    key = [trace, *place, stage, leaf, channel, None, None, None]
    return json.dumps(key, ensure_ascii=False, separators=(",", ":"))


def chosen_frames(frames: str | Sequence[int], *, shown: int, count: int) -> list[int]:
    """The frames of a page, the shown one always among them. Raises `OptionError` for one that is not there."""
    if frames == "shown":
        return [shown]
    if frames == "all":
        return list(range(count))
    chosen = [*frames] if not isinstance(frames, str) else [frames]
    for frame in chosen:
        if not isinstance(frame, int) or not 0 <= frame < count:
            raise OptionError(f'frames holds {frame!r}: use 0 to {count - 1}, "shown" or "all".')
    numbers = [int(frame) for frame in chosen]
    return numbers if shown in numbers else [shown, *numbers]

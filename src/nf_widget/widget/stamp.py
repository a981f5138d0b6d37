"""What belongs to a browser bundle, and the stamp that says what it was built from.

The build writes the stamp and `bundle` checks it. Standard library only, and nothing of ours: the build loads this
file by its path, before the package can be imported.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

FILES = ("widget.js", "widget.css")
STAMP = "stamp.json"


@dataclass(frozen=True, slots=True)
class Stamp:
    """`sources` is the digest of the front end's sources, `files` maps each bundle file to its own."""

    sources: str
    protocol: int
    files: Mapping[str, str]


def sources_digest(js: Path) -> str:
    """SHA-256 of everything under `js` that the bundle is made from. Line ends do not count: git may change them."""
    total = hashlib.sha256()
    files = [path for path in _sources(js) if path.is_file() and not path.name.startswith(".")]
    for path in sorted(files, key=lambda path: path.relative_to(js).as_posix()):
        content = path.read_bytes().replace(b"\r\n", b"\n")
        total.update(f"{path.relative_to(js).as_posix()}\0{len(content)}\0".encode())
        total.update(content)
    return total.hexdigest()


def may_be_stale(js: Path, static: Path) -> bool:
    """Whether a source or a folder was written to after the stamp, or is missing: reading all of them takes longer."""
    stamped = (static / STAMP).stat().st_mtime_ns
    return any(not os.path.lexists(path) or path.lstat().st_mtime_ns >= stamped for path in _sources(js))


def protocol_version(js: Path) -> int:
    """The version that the front end's sources speak. Raises `ValueError` where they do not say."""
    found = re.search(r"^export const VERSION = (\d+);", (js / "src" / "protocol.ts").read_text("utf-8"), re.MULTILINE)
    if found is None:
        raise ValueError(f"{js / 'src' / 'protocol.ts'} does not export a number called VERSION")
    return int(found[1])


def files_digest(static: Path) -> dict[str, str]:
    """The digest of each bundle file. Raises `FileNotFoundError`."""
    return {name: hashlib.sha256((static / name).read_bytes()).hexdigest() for name in FILES}


def _sources(js: Path) -> Iterator[Path]:
    """Files, and the folders that they lie in."""
    yield from (js / name for name in ("build.mjs", "package.json", "package-lock.json", "tsconfig.json", "src"))
    yield from (js / "src").rglob("*")


def write(static: Path, js: Path) -> None:
    """Stamp the bundle in `static` as built from `js`. Raises `FileNotFoundError` where a bundle file is missing."""
    stamp = Stamp(sources_digest(js), protocol_version(js), files_digest(static))
    (static / STAMP).write_text(json.dumps(asdict(stamp), indent=1) + "\n", "utf-8")


def read(static: Path) -> Stamp | None:
    """The stamp in `static`; None where there is none that can be read."""
    try:
        fields = json.loads((static / STAMP).read_text("utf-8"))
        return Stamp(str(fields["sources"]), int(fields["protocol"]), dict(fields["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None

"""The browser bundle: where it is, and whether it belongs to this package."""

from __future__ import annotations

import os
from pathlib import Path

from ..errors import BundleError
from ..protocol import VERSION
from . import stamp

STATIC = Path(__file__).parents[1] / "static"


def load(static: Path = STATIC, js: Path | None = None) -> tuple[Path, Path]:
    """The paths of the script and of the style sheet.

    `js` are the front end's sources; by default those beside this package in a git clone, if it lies in one. With
    `ANYWIDGET_HMR` set, a watcher rewrites the bundle while one works, and only its presence is checked.
    Raises `BundleError` when the bundle is missing, or was built from other sources or for another protocol version.
    """
    js = _sources_beside() if js is None else js
    remedy = "Run `make bundle` in the clone." if js else "Install it again: pip install --force-reinstall nf-widget."
    script, style = paths = tuple(static / name for name in stamp.FILES)
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise BundleError(f"The browser bundle is missing: there is no {missing[0]}. {remedy}")
    if not _watched():
        fault = _fault(static, js)
        if fault:
            raise BundleError(f"The browser bundle in {static} {fault}. {remedy}")
    return script, style


def _fault(static: Path, js: Path | None) -> str:
    """What is wrong with the bundle, in words; "" if nothing is."""
    found = stamp.read(static)
    if found is None or dict(found.files) != stamp.files_digest(static):
        return "was not written by the package's build, or was changed since"
    if found.protocol != VERSION:
        return f"speaks version {found.protocol} of the protocol, and this package version {VERSION}"
    if js is not None and stamp.may_be_stale(js, static) and found.sources != stamp.sources_digest(js):
        return f"is stale: {js} has changed since it was built"
    return ""


def _sources_beside() -> Path | None:
    """The front end's sources in the git clone that this package lies in; None for an installed package."""
    package = Path(__file__).parents[1]
    root = package.parents[1]
    is_clone = package.parent.name == "src" and (root / "pyproject.toml").is_file()
    return root / "js" if is_clone and (root / "js" / "src").is_dir() else None


def _watched() -> bool:
    return os.environ.get("ANYWIDGET_HMR", "") not in ("", "0")

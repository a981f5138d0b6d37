"""The house: who imports whom, how long files are, and what is public."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nf_widget

PACKAGE = Path(nf_widget.__file__).parent
# A layer may import the layers named here, and itself. Of the rooms in `OPEN`, each file is a layer of its own.
OPEN = {"session", "protocol", "widget"}
EVERYONE = {"records", "errors", "nested", "naming", "functions", "_version"}
ALLOWED = {
    "widget": {
        "protocol", "session.flow", "session.opening", "session.options", "widget.differences", "widget.export",
        "widget.idle", "widget.mainthread", "widget.planes", "widget.synced",
    },
    "widget.synced": {"protocol", "protocol.budget", "widget.bundle"},
    "widget.differences": {"session.flow", "colours"},
    "widget.idle": {"session.flow"},
    "widget.planes": {"session.axes", "session.flow", "widget.export"},
    "widget.export": {"protocol"},
    "widget.bundle": {"widget.stamp", "protocol"},
    "widget.mainthread": set(),
    "widget.stamp": set(),
    "session": {"session.flow", "session.opening"},
    "session.opening": {"session.flow", "session.meaning", "session.options", "frames", "inputs", "running"},
    "session.flow": {
        "session.cache", "session.cuts", "session.meaning", "session.options", "session.passes", "session.pins",
        "session.recording", "session.rollouts", "session.table", "frames", "inputs", "running", "topology", "tracing",
    },
    "session.cuts": {
        "session.options", "session.recording", "session.warned", "inputs", "interpret", "selection", "topology",
    },
    "session.passes": {
        "session.axes", "session.meaning", "session.options", "session.pins", "session.recording", "session.repeats",
        "session.sites", "session.waiting", "capture", "inputs", "tracing",
    },
    "session.waiting": {"capture"},
    "session.repeats": {"capture", "running"},
    "session.rollouts": {"session.recording", "capture", "inputs"},
    "session.axes": {"session.options", "capture", "interpret"},
    "session.meaning": {"session.axes", "session.options", "inputs", "interpret"},
    "session.recording": {"session.options", "session.sites", "inputs", "running", "tracing"},
    "session.options": {"interpret", "running", "topology"},
    "session.pins": {"colours"},
    "session.cache": set(),
    "session.sites": set(),
    "session.table": set(),
    "session.warned": set(),
    "protocol": {"protocol.pictures", "protocol.wire", "colours"},
    "protocol.budget": {"protocol", "protocol.pictures"},
    "protocol.pictures": set(),
    "protocol.wire": set(),
    "tracing": {"running", "inputs"},
    "topology": {"running", "inputs"},
    "capture": {"running", "inputs"},
    "frames": {"running", "sweeps"},
    "running": set(),
    "interpret": set(),
    "inputs": set(),
    "selection": set(),
    "sweeps": set(),
    "colours": set(),
    "records": set(),
    "errors": set(),
    "nested": set(),
    "naming": {"records"},
    "functions": set(),
    "_version": set(),
}  # fmt: skip
FILES = sorted(PACKAGE.rglob("*.py"))


def _layer(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return _room(parts[:-1] if parts[-1] == "__init__" else parts)


def _room(parts: tuple[str, ...]) -> str:
    dotted = ".".join(parts[:2])
    return dotted if parts[0] in OPEN and dotted in ALLOWED else parts[0]


def _imported_layers(path: Path) -> set[str]:
    package = ("nf_widget", *path.relative_to(PACKAGE).parts[:-1])
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            whole = ".".join((*base, *(node.module or "").split("."))).strip(".")
            names = [whole, *(f"{whole}.{alias.name}" for alias in node.names)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "nf_widget" and len(parts) > 1:
                found.add(_room(tuple(parts[1:])))
    return found & set(ALLOWED)


@pytest.mark.parametrize("path", [f for f in FILES if f.name != "__init__.py" or f.parent != PACKAGE], ids=str)
def test_a_layer_imports_only_what_lies_below_it(path: Path) -> None:
    layer = _layer(path)
    assert layer in ALLOWED, f"{layer} has no place in the house yet"
    assert _imported_layers(path) <= ALLOWED[layer] | EVERYONE | {layer, layer.partition(".")[0]}


@pytest.mark.parametrize("path", FILES, ids=str)
def test_files_are_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def test_all_names_exactly_what_is_public_in_order() -> None:
    visible = {
        name
        for name, value in vars(nf_widget).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("nf_widget")
    }
    # The widget is imported when it is asked for.
    assert set(nf_widget.__all__) == visible | {"__version__", "FlowWidget"}
    assert all(hasattr(nf_widget, name) for name in nf_widget.__all__)
    with pytest.raises(AttributeError, match="no attribute 'Widget'"):
        _ = nf_widget.Widget
    assert list(nf_widget.__all__) == sorted(nf_widget.__all__)


def test_only_the_widgets_traits_import_anywidget() -> None:
    users = [f.name for f in FILES if "import anywidget" in f.read_text(encoding="utf-8")]
    assert users == ["synced.py"]

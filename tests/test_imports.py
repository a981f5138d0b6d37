"""The house: who imports whom, how long files are, and what is public."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import nf_widget

PACKAGE = Path(nf_widget.__file__).parent
# A layer may import the layers named here, and itself.
EVERYONE = {"records", "errors", "nested", "naming", "functions", "_version"}
ALLOWED = {
    "widget": {
        "session", "flow", "protocol", "differences", "export", "planes", "bundle", "idle", "mainthread", "options",
        "synced",
    },
    "synced": {"budget", "protocol"},
    "budget": {"pictures", "protocol"},
    "differences": {"flow", "colours"},
    "idle": {"flow"},
    "planes": {"flow", "passes", "export"},
    "session": {"flow", "frames", "inputs", "meaning", "options", "running"},
    "flow": {
        "cache", "cuts", "frames", "meaning", "pins", "inputs", "options", "passes", "recording", "rollouts", "running",
        "table", "topology",
    },
    "cuts": {"inputs", "interpret", "options", "recording", "selection", "topology", "warned"},
    "passes": {"capture", "interpret", "inputs", "meaning", "options", "pins", "recording", "sites", "waiting"},
    "waiting": {"capture"},
    "rollouts": {"capture", "inputs", "recording"},
    "meaning": {"inputs", "interpret", "options"},
    "recording": {"tracing", "inputs", "running", "options", "sites"},
    "options": {"interpret", "running", "topology"},
    "tracing": {"running", "inputs"},
    "topology": {"running", "inputs"},
    "capture": {"running", "inputs"},
    "running": set(),
    "interpret": set(),
    "inputs": set(),
    "selection": set(),
    "frames": {"running", "sweeps"},
    "sweeps": set(),
    "pins": {"colours"},
    "table": set(),
    "warned": set(),
    "cache": set(),
    "protocol": {"wire", "colours", "pictures"},
    "colours": set(),
    "pictures": set(),
    "wire": set(),
    "mainthread": set(),
    "export": {"protocol"},
    "bundle": {"stamp", "protocol"},
    "stamp": set(),
    "records": set(),
    "errors": set(),
    "nested": set(),
    "sites": set(),
    "naming": {"records"},
    "functions": set(),
    "_version": set(),
}  # fmt: skip
FILES = sorted(PACKAGE.rglob("*.py"))


def _layer(path: Path) -> str:
    parts = path.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


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
                found.add(parts[1])
    known = set(ALLOWED)
    return found & known


@pytest.mark.parametrize("path", [f for f in FILES if f.name != "__init__.py" or f.parent != PACKAGE], ids=str)
def test_a_layer_imports_only_what_lies_below_it(path: Path) -> None:
    layer = _layer(path)
    assert layer in ALLOWED, f"{layer} has no place in the house yet"
    assert _imported_layers(path) <= ALLOWED[layer] | EVERYONE | {layer}


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

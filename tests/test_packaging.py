"""Wheel and sdist carry a bundle that was built from the sources beside it, whatever lay in `static/` before."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = {f"nf_widget/static/{name}" for name in ("widget.js", "widget.css", "stamp.json")}


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of this tree, as a clone has it, with a bundle in it that somebody left."""
    tree = tmp_path_factory.mktemp("tree")
    for folder in ("src", "js"):
        skipped = shutil.ignore_patterns("node_modules", "static", "__pycache__")
        shutil.copytree(ROOT / folder, tree / folder, ignore=skipped)
    for file in ("pyproject.toml", "hatch_build.py", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / file, tree)
    # The packages of npm are large, and the build only reads them; those of another lock file it would remove.
    installed = ROOT / "js" / "node_modules" / ".nf-widget-lock.json"
    if not installed.is_file() or installed.read_bytes() != (ROOT / "js" / "package-lock.json").read_bytes():
        pytest.fail("The packages of npm are missing or old: run `make bundle` first.")
    (tree / "js" / "node_modules").symlink_to(ROOT / "js" / "node_modules", target_is_directory=True)
    static = tree / "src" / "nf_widget" / "static"
    static.mkdir()
    (static / "widget.js").write_text("// left by somebody")
    (static / "left.js").write_text("// left by somebody")
    return tree


@pytest.fixture(scope="module")
def sdist(tree: Path) -> Path:
    build(tree, "--sdist")
    return next((tree / "dist").glob("*.tar.gz"))


def build(tree: Path, kind: str, path: str | None = None) -> None:
    environment = {"PATH": path} if path is not None else None
    command = [sys.executable, "-m", "build", "--no-isolation", "--skip-dependency-check", kind, str(tree)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_wheel_ships_a_fresh_bundle(tree: Path) -> None:
    build(tree, "--wheel")
    with zipfile.ZipFile(next((tree / "dist").glob("*.whl"))) as wheel:
        names = set(wheel.namelist())
        script = wheel.read("nf_widget/static/widget.js").decode()
    assert {name for name in names if name.startswith("nf_widget/static/")} == FILES
    assert "left by somebody" not in script
    assert "nf_widget/py.typed" in names
    assert not {name for name in names if name.startswith(("js/", "tests/"))}


def test_wheel_needs_no_server(tree: Path) -> None:
    wheel = next((tree / "dist").glob("*.whl"), None)
    if wheel is None:
        build(tree, "--wheel")
        wheel = next((tree / "dist").glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        metadata = archive.read(next(name for name in archive.namelist() if name.endswith("METADATA"))).decode()
    needed = re.findall(r"^Requires-Dist: ([\w-]+)(?!.*extra ==)", metadata, re.MULTILINE)
    assert sorted(needed) == ["anywidget", "ipywidgets", "numpy", "torch", "traitlets"]


def test_import_is_quick_because_it_takes_little() -> None:
    """Beyond torch nothing large is imported, what widgets need only with them, and nothing more of torch."""
    code = """
import sys, torch
before = set(sys.modules)
import nf_widget
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before}))
print(*sorted(name for name in set(sys.modules) - before if name.startswith("torch.")))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    packages, torches = done.stdout.splitlines()
    large = {"jupyter_server", "jupyterlab", "ipykernel", "matplotlib", "pandas", "scipy", "IPython", "ipywidgets"}
    assert not large & set(packages.split())
    assert not torches.split()


def test_sdist_ships_bundle_and_sources(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {f"src/{name}" for name in FILES} <= names
    assert {"js/package-lock.json", "js/src/protocol.ts", "hatch_build.py", "LICENSE", "README.md"} <= names
    assert not {name for name in names if "node_modules" in name}


def test_sdist_builds_without_node(sdist: Path, tmp_path: Path) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    unpacked = next(tmp_path.iterdir())
    nothing = tmp_path / "nothing"
    nothing.mkdir()
    build(unpacked, "--wheel", path=str(nothing))
    with zipfile.ZipFile(next((unpacked / "dist").glob("*.whl"))) as wheel:
        assert set(wheel.namelist()) >= FILES

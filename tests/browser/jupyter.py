"""A real Jupyter server with its own settings, on this machine alone. It serves JupyterLab and Jupyter Notebook."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from browser.process import free_port, listening


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
    """Jupyter under `home`, which keeps its settings, its kernels' files and the served folder `home/root`."""
    server = Server(f"http://127.0.0.1:{free_port()}", home / "root", log, secrets.token_hex(16))
    server.root.mkdir(parents=True)
    ready = urllib.request.Request(f"{server.url}/api", headers={"Authorization": f"token {server.token}"})
    with listening(_command(server, _settings(home)), ready, log=log, environment=_environment(home)):
        yield server


def _command(server: Server, settings: Path) -> list[str]:
    return [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root", "--ip=127.0.0.1"),
        f"--port={server.url.rpartition(':')[2]}",
        "--ServerApp.port_retries=0",
        f"--IdentityProvider.token={server.token}",
        f"--ServerApp.root_dir={server.root}",
        # A page from elsewhere with the token may use the kernels, as an editor with its own notebooks does.
        "--ServerApp.allow_origin_pat=http://127[.]0[.]0[.]1:.*",
        # `window.jupyterapp`: commands and sessions can then be awaited, where clicks would have to guess.
        "--LabApp.expose_app_in_browser=True",
        "--JupyterNotebookApp.expose_app_in_browser=True",
        f"--LabApp.user_settings_dir={settings}",
        f"--JupyterNotebookApp.user_settings_dir={settings}",
    ]


def _settings(home: Path) -> Path:
    """Settings under which Jupyter asks no question, fetches no news, and saves what widgets show."""
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    _write(home, "@jupyterlab/apputils-extension/notification", quiet)
    _write(home, "@jupyter-widgets/jupyterlab-manager/plugin", {"saveState": True})
    return home / "settings"


def _write(home: Path, name: str, settings: dict[str, object]) -> None:
    path = home / "settings" / f"{name}.jupyterlab-settings"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(settings), "utf-8")


def _environment(home: Path) -> dict[str, str]:
    own = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "IPYTHONDIR": "ipython",
    }
    return {**os.environ, **{name: str(home / folder) for name, folder in own.items()}, "JUPYTER_PLATFORM_DIRS": "1"}

"""A server of its own for the tests: a process that listens on this machine alone and is ended with the block."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

START_SECONDS = 90


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextlib.contextmanager
def listening(
    command: Sequence[str], ready: urllib.request.Request, *, log: Path, environment: Mapping[str, str]
) -> Iterator[subprocess.Popen[bytes]]:
    """Run `command`, whose output goes to `log`, from the moment that `ready` is answered to the end of the block.

    Raises `RuntimeError` with the log where it ends before, or takes longer than `START_SECONDS`.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as output:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(environment)
        )
        try:
            if not _answered(ready, process):
                raise RuntimeError(f"{command[0]} did not start:\n{log.read_text('utf-8', errors='replace')}")
            yield process
        finally:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _answered(ready: urllib.request.Request, process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            with urllib.request.urlopen(ready, timeout=5):
                return True
        except (urllib.error.URLError, TimeoutError, ConnectionError):
            time.sleep(0.2)
    return False

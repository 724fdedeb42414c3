"""The app as a person starts it: which settings it rejects, and how it ends."""

import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


def env(data: Path, port: int, **more: str) -> dict[str, str]:
    return {**os.environ, "BERTEXPLORER_DATA": str(data), "BERTEXPLORER_PORT": str(port), **more}


def free() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def refused(given: dict[str, str], *words: str) -> Any:
    command = [sys.executable, "app.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=given, capture_output=True, text=True, timeout=60)
    assert done.returncode == 2 and "Traceback" not in done.stderr and len(done.stderr.strip().splitlines()) == 1
    return done.stderr


def test_the_app_opens_and_ends_on_a_signal(tmp_path: Path) -> None:
    port, data = free(), tmp_path / "data"
    command = [sys.executable, "app.py"]
    app = subprocess.Popen(command, cwd=ROOT, env=env(data, port), stdout=subprocess.PIPE, text=True)
    try:
        assert app.stdout and app.stdout.readline() == f"BERT Explorer is open at http://127.0.0.1:{port}/\n"
        assert httpx.get(f"http://127.0.0.1:{port}/train", timeout=30).status_code == 200
        assert stat.S_IMODE((data / "tmp").stat().st_mode) == 0o700
        assert "Another BERT Explorer" in refused(env(data, free()))
        assert f"BERTEXPLORER_PORT={port + 1}" in refused(env(tmp_path / "other", port))
        begun = time.monotonic()
        app.send_signal(signal.SIGTERM)
        assert app.wait(20) == 0 and time.monotonic() - begun < 20
    finally:
        app.kill()
        app.stdout.close()


def test_the_app_does_not_start_open_to_others_by_mistake(tmp_path: Path) -> None:
    far = env(tmp_path, free(), BERTEXPLORER_HOST="0.0.0.0")
    assert "--public" in refused(far) and not (tmp_path / "runs").exists()
    assert "6 at least" in refused({**far, "BERTEXPLORER_CODE": "short"})
    assert "wanted --public" in refused(far, "--pubic")

"""The app, or a similar page, as a separate process that a benchmark queries, kills and restarts."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import IO, Any

import httpx

ROOT = Path(__file__).parents[1]
COMES_S = 60.0  # time limit for the start of a server


class Server:
    """Started on creation, on a free port, with *folder* for its data. *more*: of its environment."""

    def __init__(self, folder: str, log: IO[Any] | None = None, **more: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.folder, self.log, self.url = folder, log, f"http://127.0.0.1:{self.port}"
        self.env = {**os.environ, "BERTEXPLORER_PORT": str(self.port), "BERTEXPLORER_DATA": folder, **more}
        self.start()

    def command(self) -> list[str]:
        return [sys.executable, "app.py"]

    def start(self) -> None:
        self.process = subprocess.Popen(
            self.command(), cwd=ROOT, env=self.env, stdout=subprocess.DEVNULL, stderr=self.log
        )

    async def there(self, client: httpx.AsyncClient) -> None:
        """Return once it answers."""
        begun = time.monotonic()
        while time.monotonic() - begun < COMES_S:
            try:
                (await client.get("/config")).raise_for_status()
                return
            except httpx.HTTPError:
                await asyncio.sleep(0.3)
        raise RuntimeError("the server has not come up")

    def wait(self, path: str = "/healthz", at_most_s: float = COMES_S) -> float:
        """Seconds until *path* is answered with 200. Raises RuntimeError if it is not."""
        begun = time.monotonic()
        while time.monotonic() - begun < at_most_s:
            try:
                urllib.request.urlopen(self.url + path, timeout=5).close()
                return time.monotonic() - begun
            except (urllib.error.URLError, OSError):
                time.sleep(0.05)
        raise RuntimeError(f"{path} was not answered")

    def kill(self) -> None:
        """As kill -9 does."""
        self.process.kill()
        self.process.wait(20)

    def end(self, number: int = signal.SIGTERM) -> int:
        """Its exit status after a signal."""
        self.process.send_signal(number)
        return self.process.wait(40)

    def cpu_s(self) -> float:
        return cpu_s(self.process.pid)

    def memory_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1000

    def threads(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def files(self) -> int:
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def cpu_s(process: int) -> float:
    """Processor seconds used by a process."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

"""Benchmark: server and trainer are killed repeatedly, as by a pulled plug; no accepted work may be lost.

    python -m bench.faults [--kills 100]

A person starts runs. At random moments the server, the run or both get kill -9. The server restarts: each
accepted run must be listed, none as running without a process, interrupted ones can be resumed, and at the end every
run has, bit for bit, the weights of an undisturbed run.
"""

import argparse
import hashlib
import os
import random
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.serving import Server
from bertexplorer import locks
from bertexplorer.runs import run_folder
from tests.server.talk import Browser

SHORT: dict[str, Any] = {"checkpoint": "tiny", "settings": {"epochs": 3}}  # a run of a few seconds
RUNS = "/api/v1/runs"
UNFINISHED, LEFT_S = 2, 240.0  # simultaneous runs; time limit for the last one
VICTIMS = ("server", "run", "both")


@dataclass
class Drill:
    """One server, one person, and the work that the server has accepted from that person."""

    server: Server
    draw: random.Random
    accepted: dict[str, str] = field(default_factory=dict)  # name -> run
    up_s: list[float] = field(default_factory=list)  # from each start to the first answer
    wrong: list[str] = field(default_factory=list)
    client: Browser | None = None
    values: dict[str, Any] = field(default_factory=lambda: SHORT)  # of each run

    def open(self) -> Browser:
        """The page, opened by the same browser."""
        browser = Browser(self.server.url)
        if self.client:
            browser.cookies = self.client.cookies
        self.client = browser
        return browser

    def listed(self, browser: Browser) -> dict[str, tuple[str, str]]:
        """name -> run, state: what the page lists."""
        found = browser.get(RUNS).raise_for_status().json()
        return {run["name"]: (run["id"], run["state"]) for run in found}

    def begin(self, browser: Browser, name: str) -> None:
        """Start a run; it counts as accepted once the server says so."""
        key = f"{self.draw.getrandbits(40):x}"
        answer = browser.post(RUNS, json={"task": "classification", "name": name, "key": key, **self.values})
        if answer.status_code != 202:
            raise ValueError(f"{name} was not accepted: {answer.json()['detail']}")
        self.accepted[name] = answer.json()["id"]

    def resume(self, browser: Browser, id: str) -> None:
        browser.post(f"{RUNS}/{id}/resume").raise_for_status()

    def headline(self, browser: Browser, id: str) -> str:
        """What the page says about the state of a run."""
        return str(browser.get(f"{RUNS}/{id}").raise_for_status().json()["status"])

    def check(self, shown: dict[str, tuple[str, str]]) -> None:
        """Compare the page with the accepted runs and the running processes."""
        for name, id in self.accepted.items():
            state = shown.get(name, ("", "missing"))[1]
            if state == "missing":
                self.wrong.append(f"{name} is not listed")
            elif state in run_folder.ACTIVE_STATES and not self.lives(id) and self.stays(name):
                self.wrong.append(f"{name} is shown as {state}; it has no process")

    def lives(self, id: str) -> bool:
        return run_folder.is_alive(self.folder(id))

    def stays(self, name: str) -> bool:
        """Whether it is still shown as active without a process after the server had time to notice."""
        time.sleep(2)
        id, state = self.listed(self.open())[name]
        return state in run_folder.ACTIVE_STATES and not self.lives(id)

    def folder(self, id: str) -> Path:
        return Path(self.server.folder) / "runs" / id

    def up(self) -> None:
        if self.server.process.poll() is not None:
            self.server.start()
            self.up_s.append(self.server.wait("/readyz"))

    def kill(self, victim: str) -> None:
        """Kill the server, the run or both at a random moment."""
        time.sleep(self.draw.uniform(0.0, 3.0))
        if victim != "server":
            signal_runs(Path(self.server.folder))
        if victim != "run":
            self.server.kill()

    def go_on(self) -> dict[str, tuple[str, str]]:
        """Open the page, check it, and resume interrupted runs."""
        self.up()
        browser = self.open()
        shown = self.listed(browser)
        self.check(shown)
        for id, state in shown.values():
            if state == "interrupted":
                self.resume(browser, id)
        return shown

    def weights(self, name: str) -> str:
        (best,) = (self.folder(self.accepted[name]) / "best").glob("step-*")
        return hashlib.sha256((best / "model.safetensors").read_bytes()).hexdigest()

    def finish(self) -> None:
        """Wait until all are finished, and compare."""
        begun = time.monotonic()
        while any(state != "finished" for _, state in self.go_on().values()):
            if time.monotonic() - begun > LEFT_S:
                self.wrong.append(f"not finished: {self.listed(self.open())}")
                return
            time.sleep(1)

    def compare(self) -> None:
        alone = self.weights("alone")
        self.wrong += [f"{name} ended with other weights" for name in self.accepted if self.weights(name) != alone]


def signal_runs(data: Path, number: signal.Signals = signal.SIGKILL) -> None:
    """Send a signal (default: SIGKILL) to each running process below the data folder."""
    for process in data.glob("runs/*/process"):
        if pid := locks.holder_pid(process):
            with suppress(ProcessLookupError):
                os.killpg(pid, number)


def drill(server: Server, kills: int, seed: int = 0) -> Drill:
    """The whole drill."""
    run_drill = Drill(server, random.Random(seed))
    server.wait("/readyz")
    run_drill.begin(run_drill.open(), "alone")
    run_drill.finish()
    for number in range(kills):
        shown = run_drill.go_on()
        if sum(state != "finished" for _, state in shown.values()) < UNFINISHED:
            run_drill.begin(run_drill.open(), f"run {number}")
        victim = VICTIMS[number % len(VICTIMS)]
        run_drill.kill(victim)
        sys.stdout.write(
            f"{number + 1}: {victim} killed, {len(run_drill.accepted)} runs accepted, {len(run_drill.wrong)} wrong\n"
        )
        sys.stdout.flush()
    run_drill.finish()
    run_drill.compare()
    return run_drill


def main(kills: int) -> int:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            result = drill(server, kills)
        finally:
            server.end()
    slowest = max(result.up_s, default=0.0)
    lines: list[Any] = [
        f"{kills} kills; {len(result.accepted)} runs accepted; up again within {slowest:.1f} s",
        *result.wrong,
    ]
    sys.stdout.write("\n".join(lines) + "\n")
    return len(result.wrong)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Server and trainer killed again and again.")
    parser.add_argument("--kills", type=int, default=100)
    sys.exit(bool(main(parser.parse_args().kills)))

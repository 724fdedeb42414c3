"""Benchmark: server and trainer are killed repeatedly, as by a pulled plug; no accepted work may be lost.

    python -m tests.bench.faults [--kills 100]

A person starts runs on the page. At random moments the server, the run or both get kill -9. The server restarts: each
accepted run must be listed, none as running without a process, interrupted ones can be resumed, and at the end every
run has, bit for bit, the weights of an undisturbed run.
"""

import argparse
import hashlib
import os
import random
import re
import signal
import sys
import tempfile
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bertexplorer import locks
from bertexplorer.store import runs
from tests.bench.serving import Server
from tests.server.talk import Page

LISTED = re.compile(r'data-run="([0-9a-f]{32})".*?<b[^>]*>(.*?)</b><span class="state (\w+)"')
SHORT: dict[str, Any] = {"Epochs": 3, "Start from": "tiny"}  # a run of a few seconds
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
    client: httpx.Client | None = None

    def open(self) -> Page:
        """The page Train, opened by the same browser."""
        page = Page(self.server.url, "/train", session=f"{self.draw.getrandbits(40):x}")
        if self.client:
            page.client.cookies = self.client.cookies
        self.client = page.client
        for props in page.props.values():
            if props.get("label") in SHORT:
                props["value"] = SHORT[props["label"]]
        return page

    def listed(self, page: Page) -> dict[str, tuple[str, str]]:
        """name -> run, state: what the page shows."""
        loads = [item for item in page.config["dependencies"] if [name for _, name in item["targets"]] == ["load"]]
        named = {id: props.get("elem_id") for id, props in page.props.items()}
        (load,) = (item for item in loads if "task" in [named[id] for id in item["inputs"]])
        lines = page.ask(load)
        position = [named[id] for id in load["outputs"]].index("runs")
        return {name: (id, state) for id, name, state in LISTED.findall(str(lines["output"]["data"][position]))}

    def begin(self, page: Page, name: str) -> None:
        """Press Start; it counts as accepted once the page lists it."""
        for box, value in (("run-name", name), ("run-key", f"{self.draw.getrandbits(40):x}")):
            (props,) = (props for props in page.props.values() if props.get("elem_id") == box)
            props["value"] = value
        start = page.number("start", "click")
        lines = page.ask(start)
        named = [page.props[id].get("elem_id") for id in start["outputs"]]
        result = {name: id for id, name, _ in LISTED.findall(str(lines["output"]["data"][named.index("runs")]))}
        if name not in result:
            raise ValueError(f"{name} was not accepted: {lines['output']['data'][named.index('message')]}")
        self.accepted[name] = result[name]

    def resume(self, page: Page, id: str) -> None:
        """Press Resume."""
        resumes = {key: props for key, props in page.props.items() if props.get("value") == "Resume"}
        (button,) = (key for key, props in resumes.items() if props.get("elem_id") != "resume-arm")  # of Pretrain
        (press,) = (
            dependency
            for dependency in page.config["dependencies"]
            if [button, "click"] in map(list, dependency["targets"])
        )
        page.ask(press, id)

    def headline(self, page: Page, id: str) -> str:
        """The headline of the page for a chosen run."""
        lines = page.ask(tick := page.number("", "tick"), id)
        named = [page.props[output].get("elem_id") for output in tick["outputs"]]
        return str(lines["output"]["data"][named.index("headline")])

    def check(self, shown: dict[str, tuple[str, str]]) -> None:
        """Compare the page with the accepted runs and the running processes."""
        for name, id in self.accepted.items():
            state = shown.get(name, ("", "missing"))[1]
            if state == "missing":
                self.wrong.append(f"{name} is not listed")
            elif state in runs.ACTIVE_STATES and not self.lives(id) and self.stays(name):
                self.wrong.append(f"{name} is shown as {state}; it has no process")

    def lives(self, id: str) -> bool:
        return runs.is_alive(self.folder(id))

    def stays(self, name: str) -> bool:
        """Whether it is still shown as active without a process after the server had time to notice."""
        time.sleep(2)
        id, state = self.listed(self.open())[name]
        return state in runs.ACTIVE_STATES and not self.lives(id)

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
        page = self.open()
        shown = self.listed(page)
        self.check(shown)
        for id, state in shown.values():
            if state == "interrupted":
                self.resume(page, id)
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

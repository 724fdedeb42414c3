"""Benchmark: a class of fifty for hours, with a run at all times; memory and open resources must not grow.

    python -m bench.soak [--minutes 480] [--leak]

Fifty people send requests at a constant rate, some open a new page, and one run trains all the time. Every answer is
checked. After a warm-up, memory may grow by 100 MB, threads and open files by a few. With --leak the server never
forgets, as a control: the benchmark must then fail.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import httpx

from bench.faults import Drill, signal_runs
from bench.load import EVERY_S, PEOPLE, texts
from bench.people import Heard, Person, at_rate
from bench.serving import Server
from bertexplorer.runs.run_folder import LIVE_STATES

PAGES, TEXTS, WARM_S = 100, 1500, 100.0  # pages and requests beforehand, to fill every cache
WARM, SLICE_S = 0.1, 30.0  # share of the time that is not evaluated; seconds between two measurements
GROWTH_MB, MORE_THREADS, MORE_FILES, DRIFT = 100.0, 10, 40, 1.5
NEWCOMERS = 3  # pages opened in each slice
KEPT = {"BERTEXPLORER_CACHE_MB": "32"}
LEAK = {"BERTEXPLORER_CACHE_MB": "1000000"}
LONG = {"checkpoint": "tiny", "settings": {"epochs": 100}}


@dataclass(frozen=True)
class Look:
    """A measurement of the server."""

    minute: float
    memory_mb: float
    threads: int
    files: int
    p95_ms: float
    failed: int

    def line(self) -> str:
        return (
            f"| {self.minute:,.1f} | {self.memory_mb:,.0f} | {self.threads} | {self.files} | {self.p95_ms:,.0f} | "
            f"{self.failed} |\n"
        )


def keep_training(one: Drill) -> None:
    """Start another run if none is active."""
    shown = one.listed(one.open())
    if all(state not in LIVE_STATES for _, state in shown.values()):
        one.begin(one.open(), f"run {len(shown)}")


def failures(heard: list[Heard]) -> int:
    return sum(reply.status in ("wrong", "busy") for reply in heard)


async def slices(server: Server, minutes: float) -> list[Look]:
    """One measurement every half minute."""
    looks: list[Look] = []
    trained = Drill(server, random.Random(0), values=LONG)
    limits = httpx.Limits(max_connections=None, keepalive_expiry=3)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        await server.there(client)
        people = [await Person.arrive(client) for _ in range(PEOPLE + PAGES)][PAGES:]
        await at_rate(people, texts(TEXTS, 0), TEXTS / WARM_S)
        begun, seed = time.monotonic(), 0
        while time.monotonic() - begun < 60 * minutes:
            await asyncio.to_thread(keep_training, trained)
            rate, seed = PEOPLE / EVERY_S, seed + 1
            requests = at_rate(people, texts(int(rate * SLICE_S), seed), rate)
            heard, *new = await asyncio.gather(requests, *(Person.arrive(client) for _ in range(NEWCOMERS)))
            people = [*people[NEWCOMERS:], *new]
            ms = sorted(reply.ms for reply in heard)
            p95 = ms[int(0.95 * len(ms))]
            minute = (time.monotonic() - begun) / 60
            looks.append(Look(minute, server.memory_mb(), server.threads(), server.files(), p95, failures(heard)))
            sys.stdout.write(looks[-1].line())
            sys.stdout.flush()
    return looks


def judge(looks: list[Look]) -> list[str]:
    """The failures after the warm-up: the median of the last quarter compared with that of the first."""
    warm = looks[max(1, int(WARM * len(looks))) :]
    quarter = max(1, len(warm) // 4)
    first, last = warm[:quarter], warm[-quarter:]

    def grown(name: str) -> float:
        return median(getattr(item, name) for item in last) - median(getattr(item, name) for item in first)

    faults = [
        f"{item.failed} answers wrong or refused before minute {item.minute:.1f}" for item in looks if item.failed
    ]
    for name, most in (("memory_mb", GROWTH_MB), ("threads", MORE_THREADS), ("files", MORE_FILES)):
        if grown(name) > most:
            faults.append(f"{name} grew by {grown(name):,.0f}, the limit is {most:,.0f}")
    if median(item.p95_ms for item in last) > DRIFT * median(item.p95_ms for item in first):
        faults.append(
            f"p95 went from {median(x.p95_ms for x in first):,.0f} to {median(x.p95_ms for x in last):,.0f} ms"
        )
    sys.stdout.write(f"\nmemory grew by {grown('memory_mb'):,.0f} MB\n")
    return faults


def main(minutes: float, leak: bool) -> int:
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, **(LEAK if leak else KEPT))
        sys.stdout.write(
            "| minute | memory, MB | threads | files | p95 ms | wrong or refused |\n|---|---|---|---|---|---|\n"
        )
        try:
            faults = judge(asyncio.run(slices(server, minutes)))
        finally:
            server.end()
            signal_runs(Path(folder))
    sys.stdout.write("\n".join(faults or ["nothing grew, nothing failed"]) + "\n")
    return len(faults)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A class of fifty for hours, a run always on.")
    parser.add_argument("--minutes", type=float, default=480.0)
    parser.add_argument("--leak", action="store_true", help="the server forgets nothing: this must fail")
    given = parser.parse_args()
    sys.exit(bool(main(given.minutes, given.leak)))

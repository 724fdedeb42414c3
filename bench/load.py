"""Benchmark: a class of fifty on one server, every answer checked.

    python -m bench.load [CASE ...] [--seconds 60]

Starts the app on a free port with a data folder of its own. People arrive at a constant rate whether the earlier ones
were answered or not. Next to wall time, the table has the server's CPU time per action, which other load does not
change.
"""

import argparse
import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import httpx

from bench.common import machine
from bench.painting import browse, loaded
from bench.people import Heard, Person, at_rate, fetch
from bench.serving import ROOT, Server, cpu_s

PEOPLE, EVERY_S = 50, 10.0
NOUNS = ("river", "piano", "doctor", "garden", "market", "castle", "planet", "letter", "bridge", "forest", "orange")
PLACES = ("house", "city", "mountain", "school", "ship", "island", "church", "palace", "farm", "station", "museum")


def texts(count: int, seed: int = 0) -> list[str]:
    """*count* different sentences of 8 to 40 tokens with one mask each."""
    draw = random.Random(seed)
    sentences: list[str] = []
    while len(sentences) < count:
        first, second, more = draw.choice(NOUNS), draw.choice(PLACES), " and of the old town" * draw.randint(0, 4)
        sentences.append(f"Every {first} of the {second} number {len(sentences)}{more} is very [MASK].")
    return sentences


async def steady(people: list[Person], seconds: float) -> list[Heard]:
    """Fifty people, one action each 10 s."""
    rate = PEOPLE / EVERY_S
    return await at_rate(people, texts(int(rate * seconds), 1), rate)


async def training(people: list[Person], seconds: float) -> list[Heard]:
    """Fifty people and a run, which gets one thread of low priority, as on a server."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.txt"
        text.write_text("".join(f"{one}\n\n" if n % 5 == 4 else f"{one}\n" for n, one in enumerate(texts(5000))))
        message = ["--text", str(text), "--minutes", "60", "--heldout-documents", "20", "--heldout-pairs", "20"]
        command = [
            sys.executable,
            "-m",
            "bertexplorer",
            "pretrain",
            str(Path(folder) / "run"),
            *message,
            "--layers",
            "4",
            "--hidden",
            "256",
        ]
        command += ["--threads", "1", "--pieces", "1000", "--heads", "4", "--objective", "mlm"]
        run = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, env={**os.environ, "OMP_NUM_THREADS": "1"})
        os.setpriority(os.PRIO_PROCESS, run.pid, 19)
        try:
            await asyncio.sleep(25)  # its rows are read and its first steps are done
            if run.poll() is not None:
                raise RuntimeError("the run has ended; nothing is measured beside it")
            before, started = cpu_s(run.pid), time.perf_counter()
            heard = await steady(people, seconds)
            cores = (cpu_s(run.pid) - before) / (time.perf_counter() - started)
            sys.stdout.write(f"the run had {cores:.2f} of a core\n")
        finally:
            run.kill()
            run.wait()
    return heard


async def alone(people: list[Person], seconds: float) -> list[Heard]:
    """One person in a real browser, one action per second: from the typed text to the painted figure."""
    url = str(people[0].client.base_url)
    return [Heard(ms, "answered") for ms in (await browse(url, 1, seconds / 2, 1.0))[1:]]


async def browsers(people: list[Person], seconds: float) -> list[Heard]:
    """Five real browsers among fifty people."""
    url = str(people[0].client.base_url)
    painted, _ = await asyncio.gather(browse(url, 5, seconds, EVERY_S), steady(people, seconds))
    return [Heard(ms, "answered") for ms in painted]


async def overload(people: list[Person], seconds: float) -> list[Heard]:
    """Ten times as many people."""
    rate = 10 * PEOPLE / EVERY_S
    return await at_rate(people, texts(int(rate * seconds / 3), 2), rate)


async def crowd(people: list[Person]) -> list[Person]:
    """Ten times as many, each of whom has been answered before."""
    many = [Person(person.client, person.state) for person in people for _ in range(10)]
    await at_rate(many, texts(len(many), 3), 10)
    return many


async def burst(people: list[Person], seconds: float) -> list[Heard]:
    """Fifty press at the same moment, each with another text of 16 tokens."""
    message = [
        f"The {NOUNS[i % 11]} and the {PLACES[i // 11]} near the old mill by {i} trees are [MASK]." for i in range(50)
    ]
    return list(await asyncio.gather(*(person.type(text) for person, text in zip(people, message, strict=True))))


async def same(people: list[Person], seconds: float) -> list[Heard]:
    """Fifty press at the same moment, all with the same text."""
    return list(await asyncio.gather(*(person.type("The children in the yard are [MASK].") for person in people)))


async def openings(people: list[Person], seconds: float) -> list[Heard]:
    """Fifty open the page within 5 s, in browsers without its scripts."""
    url = str(people[0].client.base_url)
    paths = await loaded(url)

    async def arrive(after: float) -> Heard:
        await asyncio.sleep(after)
        started = time.perf_counter()
        await fetch(url, paths)
        await Person.arrive(people[0].client, fetched=True)
        return Heard(1000 * (time.perf_counter() - started), "answered")

    return list(await asyncio.gather(*(arrive(5 * number / PEOPLE) for number in range(PEOPLE))))


CASES: dict[str, Callable[[list[Person], float], Awaitable[list[Heard]]]] = {
    "alone": alone,
    "steady": steady,
    "browsers": browsers,
    "training": training,
    "burst": burst,
    "same": same,
    "openings": openings,
    "overload": overload,
}


def line(name: str, heard: list[Heard], cpu_s: float) -> str:
    """One row of the table."""
    ok = sorted(reply.ms for reply in heard if reply.status == "answered")
    busy = sorted(reply.ms for reply in heard if reply.status == "busy")
    wrong = [reply for reply in heard if reply.status == "wrong"]
    at = lambda share: ok[min(len(ok) - 1, int(share * len(ok)))] if ok else float("nan")  # noqa: E731
    message = f"; refused within {busy[-1]:,.0f} ms" if busy else ""
    message += f"; first wrong: {wrong[0].message}" if wrong else ""
    return (
        f"| {name} | {len(heard)} | {at(0.5):,.0f} | {at(0.95):,.0f} | {at(0.99):,.0f} | {ok[-1] if ok else 0:,.0f} | "
        f"{len(busy)} | {len(wrong)} | {1000 * cpu_s / max(1, len(heard)):,.0f} |{message}"
    )


async def main(names: list[str], seconds: float, server: Server) -> int:
    limits = httpx.Limits(max_connections=None, keepalive_expiry=3)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        await server.there(client)
        await Person.arrive(client)
        sys.stdout.write(f"{machine()}; {server.memory_mb():,.0f} MB after the first page\n\n")
        people = [await Person.arrive(client) for _ in range(PEOPLE)]
        sys.stdout.write(f"{server.memory_mb():,.0f} MB with {PEOPLE} pages\n\n")
        sys.stdout.write("| case | actions | p50 ms | p95 | p99 | all within | refused | wrong | CPU ms each |\n")
        sys.stdout.write("|---|---|---|---|---|---|---|---|---|\n")
        failed = 0
        for name in names:
            there = await crowd(people) if name == "overload" else people
            before = server.cpu_s()
            heard = await CASES[name](there, seconds)
            sys.stdout.write(line(name, heard, server.cpu_s() - before) + "\n")
            sys.stdout.flush()
            failed += sum(reply.status == "wrong" for reply in heard)
            await asyncio.sleep(2)
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="A class of fifty on one server.")
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"of {', '.join(CASES)}; all if none is given")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long the steady case lasts")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Server(folder)
        try:
            failed = asyncio.run(main(given.cases or list(CASES), given.seconds, served))
        finally:
            served.end()
    sys.exit(bool(failed))

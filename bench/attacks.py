"""Benchmark: one program attacks the server, while a person asks. How long does the person wait?

    python -m bench.attacks [--only uploads pipe …]

Each attack has a server of its own, with an access code: a vote whose number takes long to read, a lesson that does, a
pickle that names one sentence many times, bodies that are half sent, uploads of very many lines and items, checkpoints
with very large vocabularies, a program that fills a class, and streams that stay open. The person sends a new text
every 0.3 s. Reports the median and the longest answer, and the most memory of the server with its processes.
"""

import argparse
import asyncio
import itertools
import json
import os
import pickle
import resource
import shutil
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx

from bench.common import MINI, machine
from bench.serving import Server

CODE = "robin-2026"
EVERY_S, CALM_S, AT_MOST_S = 0.3, 3.0, 150.0
HEAD = "POST /api/v1/class/ABCD/vote HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n"
QUESTION = {"prompt": "How many?", "choices": [], "link": ""}
WORDS = itertools.count()
Attack = Callable[[Server, httpx.AsyncClient, Path], Awaitable[str]]


async def vote(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    code = (await client.post("/api/v1/class", json={"question": QUESTION})).raise_for_status().json()["code"]
    await client.post(f"/api/v1/class/{code}/step", json={"question": 0, "phase": "lobby", "to": "vote1"})
    async with stranger(server) as phone:
        await phone.get(f"/j/{code}")
        sent = {"question": 0, "round": 1, "choice": "1" * 20_000 + "x"}
        return str((await phone.post(f"/api/v1/class/{code}/vote", json=sent)).status_code)


async def lesson(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    lines = ["---", "title: a", "---", "```find a-b", "Q?", "start: /?view=fill-mask", "accept: rank(1) > 2"]
    content = "\n".join([*lines, f"near: a{' ' * 40_000}x", "```", "```find a-c", *lines[4:], "```"])
    answer = await client.post("/api/v1/lessons/own", files={"file": ("a.md", content.encode())})
    if answer.status_code == 200:
        await client.get(f"/api/v1/lessons/{answer.json()['slug']}")
    return str(answer.status_code)


async def sentence_in_a_pickle(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    sentence = "a" * 20_000
    content = pickle.dumps({"a": [[sentence, sentence]] * 50_000})
    return await upload(client, "rows", "a.pickle", content)


async def half_bodies(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    held: list[socket.socket] = []
    for _ in range(30):  # seconds
        begun = time.monotonic()
        for _ in range(200):
            connection = socket.socket()
            connection.setblocking(False)
            with suppress(OSError):
                connection.connect_ex(("127.0.0.1", server.port))
            held.append(connection)
        await asyncio.sleep(0.1)
        for connection in held[-200:]:
            with suppress(OSError):
                connection.send(HEAD.encode())
        await asyncio.sleep(max(0.0, 1 - (time.monotonic() - begun)))
    files = server.files()
    for connection in held:
        connection.close()
    return f"{files} descriptors"


async def many_lines(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    return await four_times(client, "lines", "x.txt", b"a\n" * 12_000_000)


async def many_items(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    return await four_times(client, "rows", "x.json", b"[" + b"{}," * 8_000_000 + b"{}]")


async def vocabularies(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    asked = [{"text": "A [MASK].", "checkpoint": name} for name in ("large-1", "large-2", "large-1", "large-2")]
    answers = await asyncio.gather(*(client.post("/api/v1/fill-mask", json=one) for one in asked))
    return str([answer.status_code for answer in answers])


async def full_class(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    question = {"prompt": "Which?", "choices": ["a", "b"], "link": ""}
    code = (await client.post("/api/v1/class", json={"question": question})).raise_for_status().json()["code"]
    await client.post(f"/api/v1/class/{code}/step", json={"question": 0, "phase": "lobby", "to": "vote1"})
    counts: dict[int, int] = {}
    for _ in range(1100):
        async with stranger(server) as phone:
            await phone.get(f"/j/{code}")
            sent = {"question": 0, "round": 1, "choice": 0}
            status = (await phone.post(f"/api/v1/class/{code}/vote", json=sent)).status_code
            counts[status] = counts.get(status, 0) + 1
    async with stranger(server) as phone:
        wrong = [(await phone.get(f"/api/v1/class/{word}")).status_code for word in ("AAAA", "AAAB", "AAAC")]
    return f"votes {counts}, wrong codes {wrong}"


async def streams(server: Server, client: httpx.AsyncClient, folder: Path) -> str:
    await client.post("/code", data={"code": CODE, "page": "/"})  # the cookie of a page
    cookies = "; ".join(f"{name}={value}" for name, value in client.cookies.items())
    head = f"GET /gradio_api/heartbeat/abc HTTP/1.1\r\nhost: localhost\r\ncookie: {cookies}\r\n\r\n"
    held = []
    for _ in range(2120):
        connection = socket.create_connection(("127.0.0.1", server.port))
        connection.sendall(head.encode())
        held.append(connection)
        if len(held) % 50 == 0:
            await asyncio.sleep(0.05)
    await asyncio.sleep(15)
    for connection in held:
        connection.close()
    return ""


ATTACKS: dict[str, Attack] = {
    "a vote of 20,000 digits": vote,
    "a lesson of 40 kB": lesson,
    "a pickle of 220 kB": sentence_in_a_pickle,
    "half-sent bodies, 200 a second": half_bodies,
    "12,000,000 lines, four times": many_lines,
    "8,000,000 empty items, four times": many_items,
    "two vocabularies of 3,000,000 words, asked for twice": vocabularies,
    "1,100 votes of one program": full_class,
    "2,120 open streams": streams,
}


def stranger(server: Server) -> httpx.AsyncClient:
    """A browser without the access code."""
    return httpx.AsyncClient(base_url=server.url, timeout=AT_MOST_S)


async def upload(client: httpx.AsyncClient, what: str, name: str, content: bytes) -> str:
    try:
        answer = await client.post(f"/api/v1/{what}", files={"file": (name, content)})
    except httpx.HTTPError as error:
        return type(error).__name__
    return f"{answer.status_code} {answer.text[:80]}"


async def four_times(client: httpx.AsyncClient, what: str, name: str, content: bytes) -> str:
    """The same file from one owner, four times at once."""
    return (await asyncio.gather(*(upload(client, what, name, content) for _ in range(4))))[0]


def family_mb(process: int) -> float:
    """The resident memory of a process and of those that it started, in MB."""
    total, waiting = 0.0, [process]
    while waiting:
        one = waiting.pop()
        with suppress(OSError, IndexError):
            status = Path(f"/proc/{one}/status").read_text()
            total += int(status.partition("VmRSS:")[2].split()[0]) / 1000
            for task in Path(f"/proc/{one}/task").iterdir():
                waiting += map(int, (task / "children").read_text().split())
    return total


async def ask(client: httpx.AsyncClient, waits: list[float], memory: list[float], server: Server) -> None:
    """The person: a new text every EVERY_S. A request that is never answered counts as AT_MOST_S."""

    async def one() -> None:
        begun = time.monotonic()
        waits.append(AT_MOST_S)
        place = len(waits) - 1
        with suppress(httpx.HTTPError):
            await client.post("/api/v1/fill-mask", json={"text": f"The {next(WORDS)} [MASK] sleep."})
        waits[place] = time.monotonic() - begun

    asked = []
    try:
        while True:
            asked.append(asyncio.ensure_future(one()))
            memory.append(family_mb(server.process.pid))
            await asyncio.sleep(EVERY_S)
    finally:
        await asyncio.wait(asked, timeout=AT_MOST_S)


async def attacked(name: str, attack: Attack, folder: Path) -> str:
    more = {"BERTEXPLORER_CODE": CODE, "BERTEXPLORER_MODELS": str(folder / "models"), "BERTEXPLORER_LOG": "error"}
    server = Server(str(folder / "data"), **more)
    limits = httpx.Limits(max_connections=None)
    try:
        server.wait("/readyz")
        headers = {"authorization": f"Bearer {CODE}"}
        to_server: dict[str, Any] = {"base_url": server.url, "timeout": AT_MOST_S, "headers": headers, "limits": limits}
        async with httpx.AsyncClient(**to_server) as attacker, httpx.AsyncClient(**to_server) as person:
            for client in (attacker, person):
                (await client.get("/api/v1/page")).raise_for_status()
            waits: list[float] = []
            memory: list[float] = []
            asking = asyncio.ensure_future(ask(person, waits, memory, server))
            await asyncio.sleep(CALM_S)
            waits.clear()
            begun = time.monotonic()
            try:
                outcome = await asyncio.wait_for(attack(server, attacker, folder), AT_MOST_S)
            except (TimeoutError, httpx.HTTPError) as error:
                outcome = type(error).__name__
            seconds = time.monotonic() - begun
            await asyncio.sleep(CALM_S)
            asking.cancel()
            with suppress(asyncio.CancelledError):
                await asking
    finally:
        server.kill()
    median, worst = statistics.median(waits), max(waits)
    return (
        f"{name}: others p50 {median:.2f} s, worst {worst:.2f} s; {max(memory):,.0f} MB; {seconds:.1f} s; {outcome}\n"
    )


def large_vocabularies(folder: Path) -> None:
    """Two checkpoints with three million words each."""
    whole = json.loads((MINI / "tokenizer.json").read_text("utf-8"))
    words = whole["model"]["vocab"]
    words |= {f"w{i:07d}": i for i in range(len(words), 3_000_000)}
    for name in ("large-1", "large-2"):
        shutil.copytree(MINI, folder / name)
        (folder / name / "tokenizer.json").write_text(json.dumps({**whole, "added": name}), "utf-8")


def main(given: argparse.Namespace) -> int:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 16_384), hard))
    sys.stdout.write(f"{machine()}\n\n")
    with tempfile.TemporaryDirectory() as folder:
        os.mkdir(f"{folder}/models")
        large_vocabularies(Path(folder, "models"))
        for name, attack in ATTACKS.items():
            if not given.only or any(word in name for word in given.only):
                sys.stdout.write(asyncio.run(attacked(name, attack, Path(folder))))
                sys.stdout.flush()
                shutil.rmtree(Path(folder, "data"), ignore_errors=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="One program attacks the server, while a person asks.")
    parser.add_argument("--only", nargs="*", default=[], help="words of the attacks to run")
    sys.exit(main(parser.parse_args()))

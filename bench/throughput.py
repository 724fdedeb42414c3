"""Benchmark: answers a second for fifty callers without pauses, compared with a plain page around
`transformers.pipeline`.

    python -m bench.throughput [--seconds 20]

Three servers in turn, on the same weights, get the same sentences from fifty callers, who send the next one as soon
as they are answered: gradio's `Interface` around the pipeline, the same `Interface` around our engine, our page.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any

import httpx

from bench.common import machine
from bench.load import PEOPLE, texts
from bench.people import Person
from bench.serving import Server
from bertexplorer.settings import ASSETS

MINI = ASSETS / "checkpoints" / "mini"
TOP = 5


def serve(kind: str, port: int) -> None:
    """A plain page with one box for the sentence and one for the answers."""
    import gradio as gr

    if kind == "pipeline":
        from transformers import pipeline

        fill = pipeline("fill-mask", model=str(MINI), top_k=TOP)
        page = gr.Interface(lambda text: {item["token_str"]: item["score"] for item in fill(text)}, "text", "label")
    else:
        from bertexplorer.store.registry import CheckpointRegistry
        from bertexplorer.views.fill_mask import compute as fill_mask

        checkpoint = CheckpointRegistry().get("mini")

        def answer(text: str) -> dict[str, float]:
            (blank,) = fill_mask.run(checkpoint, text, options=fill_mask.Options(top=TOP)).blanks
            return {item.token: item.probability for item in blank.candidates}

        page = gr.Interface(answer, "text", "label", concurrency_limit=PEOPLE)
    page.launch(server_port=port, quiet=True, prevent_thread_lock=False, max_threads=PEOPLE)


class Plain(Server):
    """Such a page in a process of its own."""

    def command(self) -> list[str]:
        return [sys.executable, "-m", "bench.throughput", "--serve", self.folder, "--port", str(self.port)]


@dataclass
class Caller:
    """One open plain page; *submit*: the event of its button."""

    client: httpx.AsyncClient
    submit: int
    session: str = field(default_factory=lambda: token_hex(6))

    async def ask(self, text: str) -> list[Any]:
        """The answer of the page for *text*. Raises ValueError for an error."""
        body = {"data": [text], "fn_index": self.submit, "session_hash": self.session}
        (await self.client.post("/gradio_api/queue/join", json=body)).raise_for_status()
        params = {"session_hash": self.session}
        result: dict[str, Any] = {}
        async with self.client.stream("GET", "/gradio_api/queue/data", params=params) as stream:
            async for line in stream.aiter_lines():
                message = json.loads(line[5:]) if line.startswith("data:") else {}
                result = message if message.get("msg") == "process_completed" else result
        if not result.get("success"):
            raise ValueError(str(result)[:200])
        return list(result["output"]["data"])


async def plain(client: httpx.AsyncClient) -> list[Caller]:
    """Fifty on a plain page."""
    config = (await client.get("/config")).raise_for_status().json()
    submit = next(
        dependency["id"] for dependency in config["dependencies"] if dependency["backend_fn"] and dependency["inputs"]
    )
    return [Caller(client, submit) for _ in range(PEOPLE)]


async def ask(one: Person | Caller, text: str) -> bool:
    """Whether *text* was answered correctly."""
    if isinstance(one, Person):
        heard = await one.type(text)
        if heard.status != "answered":
            sys.stderr.write(f"{heard}\n")
        return heard.status == "answered"
    try:
        output = await one.ask(text)
    except (httpx.HTTPError, ValueError) as error:
        sys.stderr.write(f"{error!r}\n")
        return False
    return len(output[0]["confidences"]) == TOP


async def count(server: Server, ours: bool, seconds: float) -> str:
    """One row: answers a second, and the server's CPU time for each."""
    limits = httpx.Limits(max_connections=None, keepalive_expiry=3)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        await server.there(client)
        people: Sequence[Person | Caller]
        people = [await Person.arrive(client) for _ in range(PEOPLE)] if ours else await plain(client)
        every = iter(texts(100_000, 3))
        wrong = 0

        async def caller(person: Person | Caller, until: float) -> int:
            nonlocal wrong
            answered = 0
            while time.perf_counter() < until:
                right = await ask(person, next(every))
                answered, wrong = answered + right, wrong + (not right)
            return answered

        await asyncio.gather(*(caller(person, time.perf_counter() + 3) for person in people))  # warm
        before, started, wrong = server.cpu_s(), time.perf_counter(), 0
        answered = sum(await asyncio.gather(*(caller(person, started + seconds) for person in people)))
        took = time.perf_counter() - started
        each = 1000 * (server.cpu_s() - before) / max(1, answered)
        return f"{answered / took:,.1f} | {each:,.1f} | {wrong} |"


def main(seconds: float) -> None:
    sys.stdout.write(f"{machine()}\n\n| page | answers a second | server's CPU ms each | wrong |\n|---|---|---|---|\n")
    for kind in ("pipeline", "engine", "page"):
        with tempfile.TemporaryDirectory() as folder:
            server = Server(folder) if kind == "page" else Plain(kind)
            try:
                row = asyncio.run(count(server, kind == "page", seconds))
            finally:
                server.end()
        sys.stdout.write(f"| {kind} | {row}\n")
        sys.stdout.flush()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Answers a second when fifty ask without pause.")
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--serve", default="")
    parser.add_argument("--port", type=int, default=0)
    given = parser.parse_args()
    if given.serve:
        serve(given.serve, given.port)
    else:
        main(given.seconds)

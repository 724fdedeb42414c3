"""Benchmark: calls by gradio's client beside the same over HTTP.

    python -m bench.endpoints [--idle 60] [--rounds 30] [--seconds 20]

1. One caller: the first call after a pause, and the next ones, with gradio_client, with a request of httpx each, and
   with a connection of httpx that stays open. They take turns.
2. Fifty people who type, each once in 10 s, while fifty callers ask without pause: nobody, over HTTP, through the
   endpoints. What counts is how long the people wait.
3. The server's share of a core while nobody asks.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from statistics import median, quantiles
from typing import Any

import httpx
from gradio_client import Client

from bench.common import machine
from bench.load import PEOPLE, steady, texts
from bench.people import Person
from bench.serving import Server
from bench.throughput import Caller

PATH = "/api/v1/fill-mask"


def one_caller(url: str, idle_s: float, rounds: int) -> None:
    """Print what one caller waits for."""
    client, http = Client(url, verbose=False, analytics_enabled=False), httpx.Client(base_url=url, timeout=60)
    sentences = iter(texts(10_000, 5))
    ways: dict[str, Callable[[], Any]] = {
        "gradio_client": lambda: client.predict(next(sentences), api_name="/fill_mask"),
        "httpx, a request each": lambda: httpx.post(url + PATH, json={"text": next(sentences)}).raise_for_status(),
        "httpx, one connection": lambda: http.post(PATH, json={"text": next(sentences)}).raise_for_status(),
    }
    for way in ways.values():
        way()
    sys.stdout.write(f"| one caller, ms | first after {idle_s:.0f} s | next, median | slowest |\n|---|---|---|---|\n")
    firsts = {}
    for name, way in ways.items():
        time.sleep(idle_s)
        firsts[name] = timed(way)
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            times[name].append(timed(way))
    for name, found in times.items():
        sys.stdout.write(f"| {name} | {firsts[name]:.0f} | {median(found):.1f} | {max(found):.1f} |\n")


def timed(way: Callable[[], Any]) -> float:
    """Milliseconds of a call."""
    started = time.perf_counter()
    way()
    return 1000 * (time.perf_counter() - started)


class EndpointCaller(Caller):
    """A caller of the endpoint fill_mask, over one connection."""

    defaults: list[Any]

    async def call(self, text: str) -> None:
        body = {"data": [text, *self.defaults], "fn_index": self.submit, "session_hash": self.session}
        (await self.client.post("/gradio_api/queue/join", json=body)).raise_for_status()
        params = {"session_hash": self.session}
        async with self.client.stream("GET", "/gradio_api/queue/data", params=params) as stream:
            answer = (await stream.aread()).decode()
        if '"success":true' not in answer:
            raise ValueError(answer[:200])


async def beside(url: str, kind: str, seconds: float) -> str:
    """One row: how long fifty people wait, and what fifty callers of this *kind* get meanwhile."""
    limits = httpx.Limits(max_connections=None, keepalive_expiry=30)
    async with httpx.AsyncClient(base_url=url, timeout=120, limits=limits) as client:
        people = [await Person.arrive(client, fetched=True) for _ in range(PEOPLE)]
        strangers = [httpx.AsyncClient(base_url=url, timeout=120, verify=False) for _ in range(PEOPLE)]
        calls = await callers(strangers, kind)
        sentences, answered, refused = iter(texts(100_000, 7)), 0, 0

        async def go_on(call: Callable[[str], Awaitable[Any]]) -> None:
            nonlocal answered, refused
            while True:
                try:
                    await call(next(sentences))
                    answered += 1
                except (httpx.HTTPError, ValueError):
                    refused += 1
                    await asyncio.sleep(0.2)

        going = [asyncio.create_task(go_on(call)) for call in calls]
        heard = await steady(people, seconds)
        for task in going:
            task.cancel()
        await asyncio.gather(*going, return_exceptions=True)
        await asyncio.gather(*(stranger.aclose() for stranger in strangers))
        waited = sorted(one.ms for one in heard if one.status == "answered")
        others = len(heard) - len(waited)
        late = quantiles(waited, n=20)[-1]
        return f"| {kind} | {median(waited):.0f} | {late:.0f} | {others} | {answered / seconds:.1f} | {refused} |\n"


async def callers(clients: list[httpx.AsyncClient], kind: str) -> list[Callable[[str], Awaitable[Any]]]:
    """A caller for each of *clients*, each with a cookie of its own."""
    if kind == "nobody":
        return []
    if kind == "HTTP":
        return [partial(over_http, client) for client in clients]
    config = (await clients[0].get("/config")).json()["dependencies"]
    number = next(one["id"] for one in config if one["api_name"] == "fill_mask")
    parameters = (await clients[0].get("/gradio_api/info")).json()["named_endpoints"]["/fill_mask"]["parameters"]
    EndpointCaller.defaults = [one["example_input"] for one in parameters[1:]]
    for client in clients:
        await client.get("/gradio_api/app_id")  # for the cookie
    return [EndpointCaller(client, number).call for client in clients]


async def over_http(client: httpx.AsyncClient, text: str) -> None:
    (await client.post(PATH, json={"text": text})).raise_for_status()


def idle(server: Server, seconds: float = 20.0) -> float:
    """The server's share of a core, in percent."""
    time.sleep(8)
    before = server.cpu_s()
    time.sleep(seconds)
    return 100 * (server.cpu_s() - before) / seconds


def main(idle_s: float, rounds: int, seconds: float) -> None:
    sys.stdout.write(f"{machine()}\n\n")
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            server.wait("/readyz")
            sys.stdout.write(f"idle: {idle(server):.2f} % of a core\n\n")
            one_caller(server.url, idle_s, rounds)
            sys.stdout.write("\n| beside fifty people | median ms | 95 % | busy or wrong | answers/s | refused |\n")
            sys.stdout.write("|---|---|---|---|---|---|\n")
            for kind in ("nobody", "HTTP", "endpoints", "HTTP", "endpoints"):
                sys.stdout.write(asyncio.run(beside(server.url, kind, seconds)))
                sys.stdout.flush()
            sys.stdout.write(f"\nidle, afterwards: {idle(server):.2f} % of a core\n")
        finally:
            server.end()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Calls by gradio's client beside the same over HTTP.")
    parser.add_argument("--idle", type=float, default=60.0)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seconds", type=float, default=20.0)
    given = parser.parse_args()
    main(given.idle, given.rounds, given.seconds)

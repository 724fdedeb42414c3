"""Benchmark: a class of voting phones and fifty users of Explore on one server.

    python -m bench.class_load [--phones 50] [--people 50] [--seconds 40] [--vote-within 10]

Starts the app on a free port with a data folder of its own. The phones poll as often as the server tells them to, like
the phone page: first alone, to measure their share of the processor, then while people type, one text every 10 s each.
The vote opens when the typing starts. At the end every phone must see its own vote, and the counts must match the votes
cast. For a lecture hall behind one address: --phones 400 --people 0 --vote-within 20.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time
from dataclasses import dataclass, field
from typing import Any

import httpx

from bench.common import machine
from bench.load import EVERY_S, PEOPLE, texts
from bench.people import Heard, Person, at_rate
from bench.serving import Server

POLL_S = 1.5  # before the server says how often
QUESTION = {"prompt": "What would BERT put here?\n\nThe [MASK] barked.", "choices": ["dog", "cat", "something else"]}


@dataclass
class Phone:
    """One phone of the class: it polls repeatedly, and votes once."""

    client: httpx.AsyncClient
    code: str
    draw: random.Random
    room: dict[str, Any] = field(default_factory=dict)
    polls_ms: list[float] = field(default_factory=list)
    vote_ms: float | None = None  # until its vote was acknowledged
    choice: int | None = None
    poll_s: float = POLL_S
    failed: list[str] = field(default_factory=list)

    async def arrive(self) -> "Phone":
        (await self.client.get(f"/j/{self.code}")).raise_for_status()
        await self.poll()
        return self

    async def poll(self) -> None:
        started = time.perf_counter()
        try:
            answer = await self.client.get(f"/api/v1/class/{self.code}", params={"v": self.room.get("v", -1)})
        except httpx.HTTPError as error:
            self.failed.append(repr(error))
            return
        self.polls_ms.append(1000 * (time.perf_counter() - started))
        self.poll_s = float(answer.headers.get("poll-ms", 1000 * POLL_S)) / 1000
        if answer.status_code == 200:
            self.room = answer.json()
        elif answer.status_code != 204:
            self.failed.append(answer.text[:200])

    async def watch(self, until: float) -> None:
        """Poll with the jitter of the page until the given time."""
        while time.perf_counter() < until:
            await asyncio.sleep(self.poll_s * self.draw.uniform(0.8, 1.2))
            await self.poll()

    async def vote(self, after: float) -> None:
        await asyncio.sleep(after)
        choice = self.draw.randrange(3)
        started = time.perf_counter()
        sent = {"question": 0, "round": 1, "choice": choice}
        try:
            answer = await self.client.post(f"/api/v1/class/{self.code}/vote", json=sent)
        except httpx.HTTPError as error:
            self.failed.append(repr(error))
            return
        if answer.status_code == 200:
            self.vote_ms, self.choice = 1000 * (time.perf_counter() - started), choice
        else:
            self.failed.append(answer.text[:200])


async def typing(people: list[Person], seconds: float) -> list[Heard]:
    if not people:
        await asyncio.sleep(seconds)
        return []
    rate = len(people) / EVERY_S
    return await at_rate(people, texts(int(rate * seconds), 4), rate)


def at(values: list[float], share: float) -> float:
    """The quantile of *values* at this share."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


def message(name: str, seconds: float, server_s: float, phones: list[Phone]) -> str:
    polls = [ms for phone in phones for ms in phone.polls_ms]
    return (
        f"{name}: {len(polls) / seconds:.0f} polls/s, p50 {at(polls, 0.5):,.0f} ms, p95 {at(polls, 0.95):,.0f} ms; "
        f"the server used {100 * server_s / seconds:.1f} % of a core\n"
    )


async def main(given: argparse.Namespace, server: Server) -> int:
    seconds = given.seconds
    limits = httpx.Limits(max_connections=None, keepalive_expiry=10)
    async with httpx.AsyncClient(base_url=server.url, timeout=60, limits=limits) as client:
        await server.there(client)
        sys.stdout.write(f"{machine()}\n\n")
        people = [await Person.arrive(client, fetched=number > 0) for number in range(given.people)]
        code = (await client.post("/api/v1/class", json={"question": QUESTION})).raise_for_status().json()["code"]
        browsers = [httpx.AsyncClient(base_url=server.url, timeout=60, verify=False) for _ in range(given.phones)]
        drawn = [random.Random(number) for number in range(given.phones)]
        phones = [Phone(item, code, draw) for item, draw in zip(browsers, drawn, strict=True)]
        started = time.perf_counter()
        await asyncio.gather(*(phone.arrive() for phone in phones))
        sys.stdout.write(f"{given.phones} phones joined at once within {time.perf_counter() - started:.1f} s\n")
        await asyncio.gather(*(phone.watch(time.perf_counter() + 3) for phone in phones))

        await alone(server, phones, seconds / 2)
        heard = await with_explore(client, server, code, phones, people, given)
        lost = await counted(client, code, phones)
        for item in browsers:
            await item.aclose()
    votes = [phone.vote_ms for phone in phones if phone.vote_ms is not None]
    failed = [words for phone in phones for words in phone.failed]
    typed = [item.ms for item in heard if item.status == "answered"]
    wrong = [item.message for item in heard if item.status == "wrong"]
    sys.stdout.write(f"{len(votes)} votes acknowledged, {lost} lost; p50 {at(votes, 0.5):,.0f} ms, ")
    sys.stdout.write(f"p95 {at(votes, 0.95):,.0f} ms, all within {at(votes, 1):,.0f} ms\n")
    sys.stdout.write(
        f"Explore beside it: {len(heard)} texts, p50 {at(typed, 0.5):,.0f} ms, p95 {at(typed, 0.95):,.0f}, "
    )
    sys.stdout.write(f"{len(wrong)} wrong; {len(failed)} requests of phones failed {failed[:1] or ''}\n")
    return lost + len(failed) + len(wrong)


async def alone(server: Server, phones: list[Phone], seconds: float) -> None:
    """The phones wait in the lobby, without other requests."""
    for phone in phones:
        phone.polls_ms.clear()
    before, started = server.cpu_s(), time.perf_counter()
    await asyncio.gather(*(phone.watch(started + seconds) for phone in phones))
    sys.stdout.write(message("only phones", time.perf_counter() - started, server.cpu_s() - before, phones))


async def with_explore(
    client: httpx.AsyncClient,
    server: Server,
    code: str,
    phones: list[Phone],
    people: list[Person],
    given: argparse.Namespace,
) -> list[Heard]:
    """The vote, while people type."""
    seconds = given.seconds
    for phone in phones:
        phone.polls_ms.clear()
    before, started = server.cpu_s(), time.perf_counter()
    sent = {"question": 0, "phase": "lobby", "to": "vote1"}
    (await client.post(f"/api/v1/class/{code}/step", json=sent)).raise_for_status()
    heard, *_ = await asyncio.gather(
        typing(people, seconds),
        *(phone.watch(started + seconds) for phone in phones),
        *(phone.vote(phone.draw.uniform(0, given.vote_within)) for phone in phones),
    )
    sys.stdout.write(message("beside Explore", time.perf_counter() - started, server.cpu_s() - before, phones))
    return heard


async def counted(client: httpx.AsyncClient, code: str, phones: list[Phone]) -> int:
    """The number of acknowledged votes missing after the answer is revealed."""
    for phase, to in (("vote1", "closed1"), ("closed1", "reveal")):
        sent = {"question": 0, "phase": phase, "to": to}
        (await client.post(f"/api/v1/class/{code}/step", json=sent)).raise_for_status()
    await asyncio.gather(*(phone.poll() for phone in phones))
    cast = [phone for phone in phones if phone.choice is not None]
    lost = sum(phone.room["own"][1] != phone.choice for phone in cast)
    counts = [sum(phone.choice == choice for phone in cast) for choice in range(3)]
    shown = phones[0].room["counts"][0]
    return max(lost, sum(abs(a - b) for a, b in zip(counts, shown, strict=True))) + (len(phones) - len(cast))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Phones that vote, beside people who use Explore.")
    parser.add_argument("--phones", type=int, default=50, help="how many phones join")
    parser.add_argument("--people", type=int, default=PEOPLE, help="how many people use Explore")
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="how long the people type; half as long, phones alone"
    )
    parser.add_argument("--vote-within", type=float, default=10.0, help="seconds within which all phones vote")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        served = Server(folder)
        try:
            failed = asyncio.run(main(given, served))
        finally:
            served.end()
    sys.exit(bool(failed))

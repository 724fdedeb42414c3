"""People as the server sees them: they fetch the page with its scripts, type a text, read the answer and check it."""

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

import httpx

API = "/api/v1"
LINES = {"accept": "application/x-ndjson"}
SCRIPTS = re.compile(r'(?:href|src)="(scripts/[^"]+)"')


@dataclass(frozen=True)
class Heard:
    """The outcome of one action."""

    ms: float
    status: str  # answered, busy, overtaken (the same person sent a newer request meanwhile) or wrong
    message: str = ""


@dataclass
class Person:
    """One open page, with everything that its person has set."""

    client: httpx.AsyncClient
    state: dict[str, Any] = field(default_factory=dict)
    asking: "asyncio.Task[tuple[int, Any]] | None" = None

    @classmethod
    async def arrive(cls, client: httpx.AsyncClient, *, fetched: bool = False) -> "Person":
        """Open the page: its HTML and its scripts unless they are *fetched*, the description of the views, and the
        opening answer. Raises ValueError if there is none."""
        if not fetched:
            html = (await client.get("/")).raise_for_status().text
            for path in dict.fromkeys(SCRIPTS.findall(html)):
                (await client.get(f"/{path}")).raise_for_status()
        page = (await client.get(f"{API}/page")).raise_for_status().json()
        person = cls(client, page["opening"])
        status, answer = await person.ask(person.state)
        if status != 200:
            raise ValueError(f"{status}: {answer}"[:200])
        person.state = answer["state"]
        return person

    async def type(self, text: str) -> Heard:
        """Write *text*; the answer must show each of its words and have a sentence. As in a browser, a pending
        request is abandoned."""
        if self.asking and not self.asking.done():
            self.asking.cancel()
        self.state = {**self.state, "text": text}
        started = time.perf_counter()
        request = self.asking = asyncio.create_task(self.ask(self.state))
        try:
            status, answer = await request
        except asyncio.CancelledError:
            return Heard(1000 * (time.perf_counter() - started), "overtaken")
        except (httpx.HTTPError, ValueError) as error:
            return Heard(1000 * (time.perf_counter() - started), "wrong", repr(error))
        ms = 1000 * (time.perf_counter() - started)
        if status == 503:
            return Heard(ms, "busy", answer["detail"])
        if status != 200:
            return Heard(ms, "wrong", f"{status}: {answer}"[:200])
        tokens = "".join(chip["label"].removeprefix("##") for chip in answer["strip"]["chips"]).lower()
        missing = [word for word in text.lower().replace("[mask]", "").split() if word not in tokens]
        if missing or answer["state"]["text"] != text or "It would put" not in answer["said"] or not answer["figure"]:
            return Heard(ms, "wrong", f"{missing} {answer['said']}"[:200])
        return Heard(ms, "answered")

    async def ask(self, state: dict[str, Any]) -> tuple[int, Any]:
        """(status, answer) of a state; lines about the progress are ignored."""
        result = await self.client.post(f"{API}/view", json={"state": state}, headers=LINES)
        if not result.headers["content-type"].startswith(LINES["accept"]):
            return result.status_code, result.json()
        last = json.loads(result.text.rstrip("\n").rpartition("\n")[2])
        return last["status"], last["answer"]


async def fetch(url: str, paths: list[str], connections: int = 6) -> None:
    """Read *paths* like a browser with an empty cache. Over plain sockets: fifty httpx clients in this process would
    be slower than the server. Raises ValueError for any response that is not 200 and complete."""
    host, left = urlsplit(url), list(paths)

    async def one() -> None:
        reader, writer = await asyncio.open_connection(host.hostname, host.port)
        while left:
            path = left.pop(0)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: {host.netloc}\r\nAccept-Encoding: br\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            if not head.startswith("http/1.1 200") or not (length := re.search(r"content-length: (\d+)", head)):
                raise ValueError(f"{path}: {head}")
            await reader.readexactly(int(length[1]))
        writer.close()

    await asyncio.gather(*(one() for _ in range(connections)))


async def at_rate(people: list[Person], texts: list[str], per_second: float) -> list[Heard]:
    """*texts* typed by *people* in turn, one every 1 / *per_second* seconds whether the earlier ones were answered or
    not (an open loop: waiting is not hidden)."""
    going = []
    started = time.perf_counter()
    for number, text in enumerate(texts):
        await asyncio.sleep(max(0.0, started + number / per_second - time.perf_counter()))
        going.append(asyncio.create_task(people[number % len(people)].type(text)))
    return list(await asyncio.gather(*going))

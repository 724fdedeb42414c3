"""People as the server hears them: the page fetched, a text typed, the answer read from its stream and checked."""

import asyncio
import json
import re
import time
from dataclasses import dataclass, field
from secrets import token_hex
from typing import Any
from urllib.parse import urlsplit

import httpx

API = "/gradio_api/queue"
PATIENCE_S = 60.0


@dataclass(frozen=True)
class Wiring:
    """What of the page's config a person needs to press its buttons."""

    typed: int  # component that tells what is typed
    edit: int  # function that answers it
    open: tuple[int, int]  # functions that run when the page opens: what the link asks for, and its answer
    values: list[Any]  # what the inputs of `edit` hold at first
    text: int  # which of them is the text
    outputs: dict[str, int]  # elem_id -> place among the outputs of `edit`
    memory: int  # place of what the page remembers among them; it is the first input

    @classmethod
    def of(cls, config: dict[str, Any]) -> "Wiring":
        props = {one["id"]: one["props"] for one in config["components"]}
        named = {prop.get("elem_id"): id for id, prop in props.items() if prop.get("elem_id")}
        targets = {tuple(target): one for one in config["dependencies"] for target in one["targets"]}
        edit = targets[named["typed"], "click"]
        answers = [one for one in config["dependencies"] if one["outputs"] == edit["outputs"]]
        loads = [one["id"] for one in config["dependencies"] if any(t[1] == "load" for t in one["targets"])]
        opens = next((one["trigger_after"], one["id"]) for one in answers if one["trigger_after"] in loads)
        values = [props[id].get("value") for id in edit["inputs"]]
        places = {props[id].get("elem_id"): place for place, id in enumerate(edit["outputs"])}
        memory = edit["outputs"].index(edit["inputs"][0])
        return cls(named["typed"], edit["id"], opens, values, edit["inputs"].index(named["text"]), places, memory)


@dataclass(frozen=True)
class Heard:
    """What came of one action."""

    ms: float
    status: str  # answered, busy, overtaken (the same person asked for more meanwhile) or wrong
    told: str = ""


@dataclass
class Person:
    """One open page."""

    client: httpx.AsyncClient
    wiring: Wiring
    session: str = field(default_factory=lambda: token_hex(6))
    events: int = 0
    memory: dict[str, Any] = field(default_factory=dict)
    heard: dict[str, "asyncio.Future[dict[str, Any]]"] = field(default_factory=dict)  # event -> how it ended
    stream: "asyncio.Task[None] | None" = None

    @classmethod
    async def arrive(cls, client: httpx.AsyncClient, wiring: Wiring | None = None) -> "Person":
        """Open the page: its HTML, and the opening answer. A browser finds the wiring in the HTML; without it, it is
        asked for."""
        (await client.get("/")).raise_for_status()
        wiring = wiring or Wiring.of((await client.get("/config")).raise_for_status().json())
        person = cls(client, wiring)
        opening, answer = person.wiring.open
        await person.fire(opening, [], None)
        await person.fire(answer, [""], None)
        return person

    async def type(self, text: str) -> Heard:
        """Write *text*; the answer must show each of its words, and say something."""
        self.events += 1
        values = list(self.wiring.values)
        values[0], values[self.wiring.text] = {**self.memory, "event": self.events}, text
        started = time.perf_counter()
        try:
            output = await self.fire(self.wiring.edit, values, {"typed": {"text": text}})
        except (httpx.HTTPError, ValueError, TimeoutError) as error:
            return Heard(1000 * (time.perf_counter() - started), "wrong", repr(error))
        ms = 1000 * (time.perf_counter() - started)
        if output is None:
            self.events -= 1  # a page sends the same again
            return Heard(ms, "busy")
        if "turn" not in output[self.wiring.memory]:
            return Heard(ms, "overtaken")
        self.memory = output[self.wiring.memory]
        strip, said, message = (shown(output, self.wiring.outputs[name]) for name in ("strip", "caption", "message"))
        if "busy" in message.lower():
            return Heard(ms, "busy", message)
        missing = [word for word in text.lower().replace("[mask]", "").split() if word.strip(".") not in strip]
        if missing or "It would put" not in said:
            return Heard(ms, "wrong", f"{missing} {message} {said}"[:200])
        return Heard(ms, "answered")

    async def fire(self, fn: int, data: list[Any], event: dict[str, Any] | None) -> list[Any] | None:
        """Press something, and wait for what its function gives; None if the server is too busy. Raises ValueError if
        that is an error."""
        body = {"data": data, "event_data": event, "fn_index": fn, "trigger_id": self.wiring.typed}
        joined = await self.client.post(f"{API}/join", json={**body, "session_hash": self.session})
        if joined.status_code == 503:
            return None
        if joined.status_code != 200:
            raise ValueError(f"{joined.status_code}: {joined.text[:200]}")
        heard = self.heard.setdefault(joined.json()["event_id"], asyncio.get_running_loop().create_future())
        if self.stream is None or self.stream.done():
            self.stream = asyncio.create_task(self.listen())
        message = await asyncio.wait_for(heard, PATIENCE_S)
        if not message["success"]:
            raise ValueError(str(message["output"])[:200])
        return list(message["output"]["data"])

    async def listen(self) -> None:
        """The one event stream of a page, until the server ends it or nothing is waited for."""
        params = {"session_hash": self.session}
        async with self.client.stream("GET", f"{API}/data", params=params) as stream:
            async for line in stream.aiter_lines():
                message = json.loads(line[5:]) if line.startswith("data:") else {"msg": ""}
                if message["msg"] == "process_completed":
                    new = asyncio.get_running_loop().create_future()
                    self.heard.setdefault(message["event_id"], new).set_result(message)


def shown(output: list[Any], place: int) -> str:
    value = output[place]
    if isinstance(value, dict):
        value = value.get("value", "")
    return str(value or "")


async def fetch(url: str, paths: list[str], connections: int = 6) -> None:
    """Read *paths* as a browser does that has nothing yet. Over plain sockets: fifty of httpx's clients in this process
    would be slower than the server. Raises ValueError for whatever is not 200 and whole."""
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

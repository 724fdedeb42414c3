"""The browser's side: for the Explore page, post a state and read its answer; for gradio's pages, join an event and
read its stream up to the answer."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

VIEW = "/api/v1/view"
LINES = {"accept": "application/x-ndjson"}


def state(text: str = "a great [MASK]", **more: Any) -> dict[str, Any]:
    """A request for the view fill-mask of *text*; *more*: other fields of the state."""
    return {"state": {"text": text, **more}}


def read_lines(answer: httpx.Response) -> list[dict[str, Any]]:
    """The lines of JSON of an answer."""
    return [json.loads(line) for line in answer.text.split("\n") if line]


@contextmanager
def asking(client: httpx.Client, body: Any, path: str = VIEW) -> Iterator[Iterator[dict[str, Any]]]:
    """The lines of an answer as they arrive; the connection is closed when the block ends."""
    with client.stream("POST", path, json=body, headers=LINES) as answer:
        yield map(json.loads, answer.iter_lines())


class Page:
    """One open page of a server."""

    def __init__(self, url: str, path: str = "/", session: str = "s") -> None:
        self.client = httpx.Client(base_url=url, timeout=60)
        self.client.get(path)
        self.session = session
        self.config = self.client.get("/config").json()
        self.props = {c["id"]: c["props"] for c in self.config["components"]}

    def number(self, elem_id: str, event: str, at: int = 0) -> dict[str, Any]:
        """The event of a component, by its id on the page; of the page itself for "load"."""
        result = []
        for dependency in self.config["dependencies"]:
            for target, name in dependency["targets"]:
                named = self.props.get(target, {}).get("elem_id") == elem_id or not elem_id
                if name == event and named and dependency["backend_fn"]:
                    result.append(dependency)
        return result[at]

    def join(self, event: dict[str, Any], *first: Any, data: Any = None) -> tuple[int, dict[str, Any]]:
        """(status, answer) of an event with *first* as the values of its first components; {} if it is rejected."""
        values = [self.props[id].get("value") for id in event["inputs"]]
        body = {"data": [*first, *values[len(first) :]], "fn_index": event["id"], "session_hash": self.session}
        if data is not None:
            body["event_data"] = data
        kind = {"content-type": "application/json"}
        joined = self.client.post("/gradio_api/queue/join", content=json.dumps(body), headers=kind)
        return joined.status_code, self.answer() if joined.status_code == 200 else {"refused": joined.text}

    def ask(self, event: dict[str, Any], *first: Any, data: Any = None) -> dict[str, Any]:
        """The answer to an event that must be accepted."""
        status, message = self.join(event, *first, data=data)
        assert status == 200, message
        return message

    def answer(self) -> dict[str, Any]:
        """The first answer; the stream is read to its end, as gradio drops an event that follows a disconnection."""
        result: dict[str, Any] = {}
        with self.client.stream("GET", "/gradio_api/queue/data", params={"session_hash": self.session}) as stream:
            rest = ""
            for text in stream.iter_text():
                *lines, rest = (rest + text).split("\n")  # httpx would treat U+2028 in an answer as a line end
                for message in (json.loads(line[6:]) for line in lines if line.startswith("data: ")):
                    if message.get("msg") in ("process_completed", "unexpected_error"):
                        result = result or dict(message)
        assert result, "the stream ended without an answer"
        return result

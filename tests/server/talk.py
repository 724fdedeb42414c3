"""The browser's side: post a state and read its answer, upload a file, preview a run."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx

VIEW, FILES, PREVIEW = "/api/v1/view", "/api/v1/files", "/api/v1/runs/preview"
ROWS = b"text,label\na,b\nc,d\n"
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


class Browser(httpx.Client):
    """The browser of one person, who has opened a page: it keeps its cookie."""

    def __init__(self, url: str) -> None:
        super().__init__(base_url=url, timeout=60)
        self.get("/").raise_for_status()

    @property
    def owner(self) -> str:
        """Whose browser it is, according to its cookie."""
        return next(iter(self.cookies.values())).partition(".")[0]

    def upload(self, name: str = "a.csv", content: bytes = ROWS) -> str:
        """The id of an uploaded file, which must be accepted."""
        answer = self.post(FILES, files={"file": (name, content)})
        assert answer.status_code == 200, answer.text
        return str(answer.json()["file"])

    def preview(self, **more: Any) -> httpx.Response:
        """What a run would learn from; *more*: its fields, such as the id of a file."""
        return self.post(PREVIEW, json={"task": "classification", **more})

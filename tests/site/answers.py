"""What a site answers in Chromium, in the form of the golden files of the server."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from playwright.sync_api import Page

from bertexplorer.api.calls import Call
from bertexplorer.api.perform import perform
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.settings import Settings
from bertexplorer.site.offer import Offer
from bertexplorer.store.registry import CheckpointRegistry
from tests.golden.compare import differences
from tests.golden.files import read
from tests.golden.normalise import normalised

PAINTED = "#figure .marks, #figure .plot, #figure .model"
PARTS = ("strip", "notice", "said", "figure", "detail", "missing")
ASK = """async ([path, question]) => {
    const { ask } = await import("./scripts/web/static/backend.js");
    return ask(path, question);
}"""


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server, as `python -m http.server` is one."""

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path, handler: type[SimpleHTTPRequestHandler] = Quiet) -> Iterator[str]:
    """The address of *folder* on a plain web server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def ask(page: Page, path: str, question: Any = None) -> Any:
    """{status, answer} of the site, as its components get it."""
    return page.evaluate(ASK, [path, question or {}])


def rows_of(page: Page, state: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a view's answer."""
    answer = ask(page, "view/json", {"body": {"state": state}})["answer"]
    rows: list[dict[str, Any]] = json.loads(answer["content"])["rows"]
    return rows


def of_view(page: Page, name: str) -> Iterator[tuple[str, list[str]]]:
    """(example, what differs from the golden file) for each example of a view that is computed in the browser."""
    for label, golden in read(f"views/{name}").items():
        if "state" not in golden or not Offer().supports(
            name, golden["state"]["options"]
        ):  # a comparison, or not computed
            continue
        state = {**golden["state"], "precision": "auto"}
        if name == "switchboard":
            golden = without_controls(golden)
        shown = ask(page, "view", {"body": {"state": state}})["answer"]
        if name == "sentence-similarity":  # a button to derivatives, which a browser does not have
            for each in (golden, shown):
                each.get("figure", {}).pop("buttons", None)
        found = normalised({key: shown[key] for key in PARTS if key in shown})
        wanted = {key: golden[key] for key in PARTS if key in golden}
        if "rows" in golden:
            rows = ask(page, "view/json", {"body": {"state": state}})["answer"]
            found["rows"] = normalised(json.loads(rows["content"])["rows"]) if "content" in rows else rows
            wanted["rows"] = golden["rows"]
        yield label, list(differences(wanted, found))


def without_controls(golden: dict[str, Any]) -> dict[str, Any]:
    """The answer of Switchboard without random sets of heads, which a site does not draw: numpy's generator would have
    to be in the browser."""
    if golden["state"]["options"]["how"] != "zero" or not golden["state"]["options"]["off"]:
        return golden
    reply = answered({**golden["state"], "options": {**golden["state"]["options"], "controls": 0}})
    return {"state": golden["state"], **reply}


def answered(state: dict[str, Any]) -> dict[str, Any]:
    """What the server answers to *state*, in the form of a golden file."""
    answerer = Answerer(CheckpointRegistry(Settings(precision="fp32")))
    first = opening(answerer.registry.settings)
    shown = json.loads(perform(answerer, first, Call("view", "", "", {"state": state})).body)
    rows = json.loads(perform(answerer, first, Call("export", "json", "", {"state": state})).body)["rows"]
    return {**normalised({key: shown[key] for key in PARTS if key in shown}), "rows": normalised(rows)}

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

from tests.golden.compare import differences
from tests.golden.files import read
from tests.golden.normalise import normalised

PARTS = ("strip", "notice", "said", "figure", "detail", "missing")
ASK = """async ([path, question]) => {
    const { ask } = await import("./scripts/backend.js");
    return ask(path, question);
}"""


class Quiet(SimpleHTTPRequestHandler):
    """A plain web server, as `python -m http.server` is one."""

    def log_message(self, *words: object) -> None:
        """Say nothing."""


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of *folder* on a plain web server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


def ask(page: Page, path: str, question: Any = None) -> Any:
    """{status, answer} of the site, as its components get it."""
    return page.evaluate(ASK, [path, question or {}])


def of_view(page: Page, name: str) -> Iterator[tuple[str, list[str]]]:
    """(example, what differs from the golden file) for each example of a view."""
    for label, golden in read(f"views/{name}").items():
        if "state" not in golden:  # a comparison
            continue
        state = {**golden["state"], "precision": "auto"}
        state["options"] = known(page, name, state["options"])
        shown = ask(page, "view", {"body": {"state": state}})["answer"]
        found = normalised({key: shown[key] for key in PARTS if key in shown})
        wanted = {key: golden[key] for key in PARTS if key in golden}
        if "rows" in golden:
            rows = ask(page, "view/json", {"body": {"state": state}})["answer"]
            found["rows"] = normalised(json.loads(rows["content"])["rows"]) if "content" in rows else rows
            wanted["rows"] = golden["rows"]
        yield label, list(differences(wanted, found))


def known(page: Page, name: str, options: dict[str, Any]) -> dict[str, Any]:
    """Those of *options* that the site has."""
    schema = ask(page, "page")["answer"]["views"][name]
    return {setting["name"]: options[setting["name"]] for setting in schema["settings"]}

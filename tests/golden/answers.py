"""All that the program answers, asked over HTTP as a page would, and on the command line.

Nothing here knows how an answer is made: only `serve` starts the program of today."""

import csv
import io
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import httpx

from bertexplorer.cli import main
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.runs.service import RunService
from bertexplorer.server.application import add_layers, create_api
from bertexplorer.server.health import Readiness
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS
from tests import tiny
from tests.conftest import ROOT
from tests.golden.normalise import normalised
from tests.golden.runs import of_runs
from tests.server.conftest import SIGNER, Listening

OTHER_TEXT = "The old doctor went to the [MASK] near the river."
LONG = {
    "suite",
    "probe",
    "counterfactuals",
    "referee",
    "saliency",
    "whose-vectors",
}  # views whose first example alone is compared
CHECKPOINTS = {"answer": "classifier", "error-analysis": "sentiment"}  # of views that need a fine-tuned one
COMPARED = 2  # examples of each other view: one with random weights, one with another text
COMMANDS = (
    "serve",
    "train",
    "pretrain",
    "lesson",
    "doctor",
    "cluster",
    "mcp",
    "checkpoints",
    "encode",
    "export",
    "completion",
    "site",
)
Document = dict[str, Any]


@contextmanager
def serve() -> Iterator[httpx.Client]:
    """A browser of a server with mini, and with a tiny classifier called "classifier"."""
    with program() as (client, _):
        yield client


@contextmanager
def program() -> Iterator[tuple[httpx.Client, Answerer]]:
    """The same browser, and what answers it."""
    server = Listening()
    with TemporaryDirectory() as folder:
        models, data = Path(folder) / "models", Path(folder) / "data"
        tiny.write(models / "classifier", "bert-classifier")
        server.settings = Settings(port=0, models_dir=models, data_dir=data, precision="fp32")
        registry = CheckpointRegistry(server.settings)
        server.service = RunService(registry, server.settings)
        server.service.supervisor.slots = 0
        answerer = Answerer(registry.for_owner(""), server.service.quota)
        queues = RequestQueues(limit=server.settings.tokens)
        api = create_api(answerer, queues, opening(server.settings), server.service)
        server.listen(add_layers(api, server.settings, SIGNER, Readiness()))
        with httpx.Client(base_url=f"{server.url}/api/v1", timeout=600) as client:
            yield client, answerer
        server.close()


def documents(client: httpx.Client) -> dict[str, Callable[[], Document]]:
    """The name of each golden file -> a function that asks for its content."""
    page = client.get("/page").json()
    views = {f"views/{name}": lambda name=name: of_view(client, name, page["views"][name]) for name in page["views"]}
    listed = client.get("/lessons").json()
    lessons = {f"lessons/{entry['slug']}": lambda entry=entry: of_lesson(client, entry) for entry in listed}
    rest: dict[str, Callable[[], Document]] = {
        "page": lambda: without_examples(page),
        "commands": of_commands,
        "runs": of_runs,
        "openapi": lambda: client.get("/openapi.json").json(),
        "links": lambda: of_links(client),
    }
    return {**views, **lessons, **rest}


# Views


def of_view(client: httpx.Client, name: str, view: Document) -> Document:
    """The answers to each example of a view; the first also beside random weights, the second beside another text."""
    out: Document = {}
    for number, example in enumerate(view["examples"]):
        state = {
            "view": name,
            "checkpoint": CHECKPOINTS.get(name, "mini"),
            "precision": "fp32",
            "options": {setting["name"]: setting["default"] for setting in view["settings"]} | example["options"],
        }
        if view["text"]:
            state |= {key: example[key] for key in ("text", "pair", "picked")}
        if state["options"].get("method") == "t-SNE":  # another processor finds another map
            out[example["label"]] = {"state": state, "strip": answer(client, state)["strip"]}
            continue
        out[example["label"]] = {"state": state, **answer(client, state), **exports(client, state)}
        against = {"against": "another text", "other": OTHER_TEXT}
        if number == 0 or not view["text"]:
            against = {"against": "random weights"}
        if number >= COMPARED or (number and name in LONG):
            continue
        out[f"{example['label']}, compared"] = {"with": against, **compared(client, {**state, **against})}
    return out


def answer(client: httpx.Client, state: Document) -> Document:
    """What the page shows for a state."""
    reply = client.post("/view", json={"state": state})
    shown = reply.json()
    for part in ("state", "receipt"):
        shown.pop(part, None)
    if reply.status_code == 200:
        shown.pop("checkpoint")
    if "document" in shown:
        shown["document"] = of_document(shown["document"])
    content: Document = normalised(shown)
    return content


def compared(client: httpx.Client, state: Document) -> Document:
    """What a comparison adds: the other side, and both sides as rows."""
    reply = client.post("/view", json={"state": state})
    beside = reply.json().get("beside") or reply.json()
    if "document" in beside:
        beside["document"] = of_document(beside["document"])
    parts = ("name", "ours", "said", "difference", "figure", "document", "detail")
    return normalised({key: beside[key] for key in parts if key in beside}) | exports(client, state)


def of_document(page: str) -> Document:
    """The numbers and the size of a figure that is a page of its own."""
    numbers = [float(number) for number in re.findall(r"-?\d+\.\d+(?:e-?\d+)?", page)]
    return {"numbers": numbers, "kilobytes": round(len(page) / 1000, -1)}


def exports(client: httpx.Client, state: Document) -> Document:
    """The rows, whether the CSV holds the same ones, and the Python."""
    files = {kind: client.post(f"/view/{kind}", json={"state": state}) for kind in ("json", "csv", "python")}
    if files["json"].status_code != 200:
        return {}
    document = json.loads(files["json"].text)
    tables = {key: normalised(value) for key, value in document.items() if key not in ("text", "options", "provenance")}
    table = list(csv.reader(io.StringIO(files["csv"].text)))
    about_csv = {"columns": table[0] if table else [], "rows": max(0, len(table) - 1)}
    return {**tables, "csv": about_csv, "python": normalised(files["python"].text.splitlines())}


# The rest


def without_examples(page: Document) -> Document:
    """The views with their words, settings and examples."""
    kept = {name: page[name] for name in ("precisions", "comparisons", "opening")}
    return {**kept, "views": page["views"]}


def of_lesson(client: httpx.Client, entry: Document) -> Document:
    """A lesson as its readers get it, and its keys, in each language."""
    slug = entry["slug"]
    out: Document = {}
    for language in client.get(f"/lessons/{slug}").json()["languages"] or [""]:
        asked = {"lang": language}
        read = client.get(f"/lessons/{slug}", params=asked).json()
        keys = client.get(f"/lessons/{slug}/keys", params=asked)
        out[language or "en"] = {
            "title": read["title"],
            "parts": [{key: part[key] for key in ("kind", "id", "link") if key in part} for part in read["parts"]],
            "keys": keys.json() if keys.status_code == 200 else keys.text,
        }
    content: Document = normalised(out)
    return content


def of_commands() -> Document:
    """The help of every command, 100 columns wide."""
    out = {}
    with patch.dict(os.environ, {"COLUMNS": "100"}):
        for command in ("", *COMMANDS, *VIEWS):
            shown, complained = io.StringIO(), io.StringIO()
            with redirect_stdout(shown), redirect_stderr(complained), suppress(SystemExit):
                main([*([command] if command else []), "--help"])
            out[command or "bertexplorer"] = shown.getvalue().splitlines() or complained.getvalue().splitlines()
    return out


def of_links(client: httpx.Client) -> Document:
    """Each link of the README and the documentation, and what those into the page open."""
    out: Document = {}
    for file in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        links = re.findall(r"\]\(([^)\s]+)\)", file.read_text("utf-8"))
        out[file.relative_to(ROOT).as_posix()] = [
            {"link": link, "said": client.post("/view", json={"link": link[link.index("?") :]}).json().get("said", "")}
            if "?view=" in link
            else link
            for link in links
        ]
    return out

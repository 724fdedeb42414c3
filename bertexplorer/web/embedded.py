"""Embedded: the page's elements on pages that are not ours, in a notebook and in anybody's Gradio app. Their scripts
and styles are handed over as text, and Python answers in the same process, so nothing is asked of a server of ours."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import Any

import orjson

from bertexplorer.api.admission import Reply, error_reply, problem
from bertexplorer.api.calls import Call
from bertexplorer.api.perform import perform
from bertexplorer.api.view import parse_request, state_json
from bertexplorer.core.ask import Answerer, opening, with_example
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError, unforeseen
from bertexplorer.options import build
from bertexplorer.python.bert import Bert, Words, join_list, library, spans
from bertexplorer.python.result import Result
from bertexplorer.settings import ASSETS
from bertexplorer.store.registry import with_checkpoint
from bertexplorer.views import view_of

log = logging.getLogger(__name__)
STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'(?:from|import) "\./(\w+\.js)"')
ROWS = 100  # that the event "answered" brings; `result` has them all
PLOTLY = ("plotly-cartesian", "plotly-gl3d")  # the bundles that a figure may ask for
STYLES = (ASSETS / "style.css", STATIC / "explore.css", STATIC / "learn.css", STATIC / "embedded.css")
KEYFRAMES = re.compile(r"@keyframes \w+ \{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
PAGES = re.compile(r":is\(#explore, #learn(?:, #train)?(?:, #pretrain)?\)|#learn\b")  # the pages' own elements


@cache
def script(entry: str) -> str:
    """One module that holds *entry* and all modules that it imports. Its default export has the entry's `render`."""
    ordered: dict[str, str] = {}

    def add(name: str) -> None:
        source = (STATIC / name).read_text("utf-8")
        for other in IMPORT.findall(source):
            if other not in ordered:
                add(other)
        ordered[name] = source

    add(entry)
    loader = (STATIC / "embedded_loader.js").read_text("utf-8")
    return loader.replace("SOURCES", json.dumps(ordered)).replace("ENTRY", json.dumps(entry))


@cache
def styles() -> str:
    """The styles of the page, for its elements inside .bx-embedded alone."""
    rules = "\n".join(path.read_text("utf-8") for path in STYLES)
    rules = PAGES.sub(".bx-page", rules)
    rules = rules.replace(":root", ".bx-theme").replace("body:not(.dark)", ".bx-theme:not(.dark)")
    moves = KEYFRAMES.findall(rules)  # which no rule may contain
    return "\n".join([*moves, f".bx-embedded {{\n{KEYFRAMES.sub('', rules)}\n}}"])


class EmbeddedBackend:
    """Answers the questions of embedded elements, with *bert* as the checkpoint that they open with."""

    def __init__(self, bert: Bert) -> None:
        self.answerer = Answerer(with_checkpoint(library(), bert.checkpoint))
        self.opening = replace(opening(library().settings), checkpoint=bert.name)

    def reply(self, path: str, body: Any) -> Reply:
        """The reply to a question, as the API would give it. Errors are replies too."""
        if path in PLOTLY:
            return Reply(orjson.dumps({"source": (STATIC / "vendor" / f"{path}.min.js").read_text("utf-8")}))
        if path not in ("view", "strip", "rows"):
            return problem(404, "Not found", f"There is no {path!r:.40} here. Use the page of `serve` for it.")
        try:
            if path == "strip":
                return self.strip(body)
            if path == "rows":
                return self.rows(body)
            return perform(self.answerer, self.opening, Call("view", "", "", body))
        except ExplorerError as error:
            return error_reply(error)
        except Exception:  # without an answer, the element would wait for ever
            return problem(500, "Internal error", unforeseen(log, "an embedded view failed"))

    def strip(self, body: Any) -> Reply:
        """The tokens of a text as chips. Raises ExplorerError as a view does."""
        state, _ = parse_request(self.answerer, body, self.opening)
        checkpoint = self.answerer.registry.get(state.checkpoint, state.precision)
        chips = self.answerer.strip(checkpoint, self.answerer.encode(checkpoint, state), state)
        return Reply(orjson.dumps({"state": state_json(state), "strip": chips}))

    def rows(self, body: Any) -> Reply:
        """The first rows of an answer, for whoever listens to it: no figure waits for them. Raises ExplorerError as a
        view does."""
        state, _ = parse_request(self.answerer, body, self.opening)
        rows = result_of(self.answerer, state).rows[:ROWS]
        return Reply(orjson.dumps({"rows": rows}, default=str))


def result_of(answerer: Answerer, state: State) -> Result:
    """The answer to *state*. Raises ExplorerError as the analysis does."""
    checkpoint = answerer.registry.get(state.checkpoint, state.precision)
    value = answerer.analyse(checkpoint, state)
    return Result(state.view.replace("-", "_"), value, checkpoint, state.as_text, answerer.options(state))


def state_of(
    bert: Bert,
    analysis: str,
    text: str | None,
    pair: str | None,
    mask: Words,
    pick: Words,
    options: Mapping[str, Any],
    before: State | None = None,
) -> State:
    """The state that shows *analysis*. What is not given (None) is that of *before*, or of the view's first example.
    Raises ExplorerError for an unknown analysis, word, setting or value."""
    view = view_of(analysis.replace("-", "_"))
    if before is None:
        before = State("", checkpoint=bert.name, view=view.slug)
        if text is None:
            before = with_example(view.examples[0], before)
    # 1. The texts. Words that are hidden or picked belong to them.
    if text is None:
        text = before.text
    if pair is None:
        pair = before.pair
    if (text, pair) != (before.text, before.pair):
        before = replace(before, text=text, pair=pair, hidden=(), picked=())
    # 2. The settings, which are those of the view.
    joined = {name: join_list(name, value) for name, value in options.items()}
    if before.view == view.slug:
        joined = {**before.options, **joined}
    settings = asdict(build(view.analysis.Options, joined, by_name=True))
    # 3. The words.
    tokenizer = bert.checkpoint.tokenizer
    hidden = spans(tokenizer, text, pair, mask, "mask") or before.hidden
    picked = spans(tokenizer, text, pair, pick, "pick") or before.picked
    return replace(before, view=view.slug, options=settings, hidden=hidden, picked=picked)

"""Widget: a view in a notebook, made of the components of the page. The kernel answers instead of a server, so it works
offline, below any path, and on checkpoints that only the notebook has. anywidget shows it in Jupyter, marimo, Colab and
VS Code.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anywidget
import orjson
import traitlets

from bertexplorer.api.admission import Reply, error_reply, problem
from bertexplorer.api.calls import Call
from bertexplorer.api.page import page_schema
from bertexplorer.api.perform import perform
from bertexplorer.api.view import read_state, state_json
from bertexplorer.bert import Bert, Words, join_list, library, spans
from bertexplorer.core.ask import DEFAULTS, Explore, opening, with_example
from bertexplorer.core.state import State, to_link
from bertexplorer.errors import ExplorerError, unforeseen
from bertexplorer.options import build
from bertexplorer.result import Result
from bertexplorer.settings import ASSETS
from bertexplorer.views import view_of

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

log = logging.getLogger(__name__)
STATIC = Path(__file__).parent / "static"
IMPORT = re.compile(r'(?:from|import) "\./(\w+\.js)"')
PLOTLY = ("plotly-cartesian", "plotly-gl3d")  # the bundles that a figure may ask for
STYLES = (ASSETS / "style.css", STATIC / "explore.css", STATIC / "learn.css", STATIC / "widget.css")
KEYFRAMES = re.compile(r"@keyframes \w+ \{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
PAGES = re.compile(r":is\(#explore, #learn(?:, #train)?(?:, #pretrain)?\)|#learn\b")  # the pages' own elements


@cache
def script() -> str:
    """The module that anywidget loads: all modules of the widget, each after those that it imports."""
    ordered: dict[str, str] = {}

    def add(name: str) -> None:
        source = (STATIC / name).read_text("utf-8")
        for other in IMPORT.findall(source):
            if other not in ordered:
                add(other)
        ordered[name] = source

    add("widget.js")
    return (STATIC / "widget_loader.js").read_text("utf-8").replace("SOURCES", json.dumps(ordered))


@cache
def styles() -> str:
    """The styles of the page, for the widget alone."""
    rules = PAGES.sub(".bx-page", "\n".join(path.read_text("utf-8") for path in STYLES))
    rules = rules.replace(":root", ".bx-theme").replace("body:not(.dark)", ".bx-theme:not(.dark)")
    moves = KEYFRAMES.findall(rules)  # which no rule may contain
    return "\n".join([*moves, f".bx-widget {{\n{KEYFRAMES.sub('', rules)}\n}}"])


class Registry:
    """The checkpoints of this process, and one that only the notebook has."""

    def __init__(self, bert: Bert) -> None:
        self.library, self.bert = library(), bert

    def get(self, name: str, precision: str = "auto") -> Checkpoint:
        return self.bert.checkpoint if name == self.bert.name else self.library.get(name, precision)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.library, name)


class Widget(anywidget.AnyWidget):
    """A view that a notebook shows: type, press a token, change a setting, choose another view, and it answers.

    `state` is what it shows, and `result` the numbers behind that, as `bx.attention(…)` would return them. `show`
    changes it from Python.

    `bx.widget` makes it.
    """

    _esm = script()
    _css = styles()
    link = traitlets.Unicode().tag(sync=True)  # of what to show, as in the address of the page

    def __init__(self, bert: Bert, state: State) -> None:
        self.bert, self.shown = bert, state
        self.explore = Explore(Registry(bert))  # type: ignore[arg-type]
        self.opening = replace(opening(library().settings), checkpoint=bert.name)
        super().__init__(link=to_link(state, DEFAULTS[state.view]))
        self.on_msg(self.answer)

    @property
    def state(self) -> dict[str, Any]:
        """What the widget shows: view, text, pair, hidden and picked words, checkpoint, options."""
        return state_json(self.shown)

    @property
    def result(self) -> Result:
        """The answer to what the widget shows. Raises ExplorerError as the analysis does."""
        state = self.shown
        checkpoint = self.explore.registry.get(state.checkpoint, state.precision)
        value = self.explore.analyse(checkpoint, state)
        name = state.view.replace("-", "_")
        return Result(name, value, checkpoint, state.as_text, self.explore.options(state))

    def show(
        self,
        analysis: str = "",
        text: str | None = None,
        pair: str | None = None,
        *,
        mask: Words = (),
        pick: Words = (),
        **options: Any,
    ) -> None:
        """Show another view, text or setting; what is not given stays, except for the settings of another view, and for
        the words of another text. Raises ExplorerError for an unknown analysis, word, setting or value."""
        name = (analysis or self.shown.view).replace("-", "_")
        self.shown = state_of(self.bert, name, text, pair, mask, pick, options, self.shown)
        self.link = to_link(self.shown, DEFAULTS[self.shown.view])

    def answer(self, _: Any, message: Mapping[str, Any], __: Any) -> None:
        """Answer a question of the widget in the browser, as the API would."""
        reply = self.reply(str(message.get("path", "")), message.get("body"))
        self.send({"number": message.get("number"), "status": reply.status, "answer": reply.body.decode()})

    def reply(self, path: str, body: Any) -> Reply:
        if path in PLOTLY:
            return Reply(orjson.dumps({"source": (STATIC / "vendor" / f"{path}.min.js").read_text("utf-8")}))
        if path == "page":
            page = {**page_schema(library().settings), "opening": state_json(self.opening)}
            return Reply(orjson.dumps(page))
        if path != "view":
            return problem(404, "Not found", f"The widget has no {path!r:.40}. Use the page for it.")
        try:
            reply = perform(self.explore, self.opening, Call("view", "", "", body))
        except ExplorerError as error:
            return error_reply(error)
        except Exception:  # without an answer, the widget would wait for ever
            return problem(500, "Internal error", unforeseen(log, "a widget failed"))
        if answered := json.loads(reply.body).get("state"):
            self.shown = read_state(answered, self.opening)
        return reply


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
    view = view_of(analysis)
    name, module = view.slug, view.analysis
    if before is None:
        before = State("", checkpoint=bert.name, view=name)
        if text is None:
            before = with_example(view.examples[0], before)
    given = {key: join_list(key, value) for key, value in options.items()}
    if (text, pair) != (None, None):
        first = before.text if text is None else text
        second = before.pair if pair is None else pair
        texts = first, second
        if texts != (before.text, before.pair):  # spans count in the texts
            before = replace(before, text=texts[0], pair=texts[1], hidden=(), picked=())
    if before.view != name:
        before = replace(before, options={})
    settings = asdict(build(module.Options, {**before.options, **given}, by_name=True))
    hidden, picked = (
        spans(bert.checkpoint.tokenizer, before.text, before.pair, words, argument)
        for words, argument in ((mask, "mask"), (pick, "pick"))
    )
    return replace(before, view=name, options=settings, hidden=hidden or before.hidden, picked=picked or before.picked)

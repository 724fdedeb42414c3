"""Widget: a view in a notebook, made of the components of the page. The kernel answers instead of a server, so it works
offline, below any path, and on checkpoints that only the notebook has. anywidget shows it in Jupyter, marimo, Colab and
VS Code.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anywidget
import orjson
import traitlets

from bertexplorer.api.admission import Reply
from bertexplorer.api.page import page_schema
from bertexplorer.api.view import read_state, state_json
from bertexplorer.core.ask import DEFAULTS
from bertexplorer.core.state import State, to_link
from bertexplorer.python.bert import Bert, Words, library
from bertexplorer.python.result import Result
from bertexplorer.web.embedded import EmbeddedBackend, result_of, script, state_of, styles


class Widget(anywidget.AnyWidget):
    """A view that a notebook shows: type, press a token, change a setting, choose another view, and it answers.

    `state` is what it shows, and `result` the numbers behind that, as `bx.attention(…)` would return them. `show`
    changes it from Python.

    `bx.widget` makes it.
    """

    _esm = script("widget.js")
    _css = styles()
    link = traitlets.Unicode().tag(sync=True)  # of what to show, as in the address of the page

    def __init__(self, bert: Bert, state: State) -> None:
        self.bert = bert
        self.shown = state
        self.backend = EmbeddedBackend(bert)
        super().__init__(link=to_link(state, DEFAULTS[state.view]))
        self.on_msg(self.answer)

    @property
    def state(self) -> dict[str, Any]:
        """What the widget shows: view, text, pair, hidden and picked words, checkpoint, options."""
        return state_json(self.shown)

    @property
    def result(self) -> Result:
        """The answer to what the widget shows. Raises ExplorerError as the analysis does."""
        return result_of(self.backend.answerer, self.shown)

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
        self.shown = state_of(self.bert, name, text, pair, mask=mask, pick=pick, options=options, before=self.shown)
        self.link = to_link(self.shown, DEFAULTS[self.shown.view])

    def answer(self, _: Any, message: Mapping[str, Any], __: Any) -> None:
        """Answer a question of the widget in the browser, as the API would."""
        reply = self.reply(str(message.get("path", "")), message.get("body"))
        self.send({"number": message.get("number"), "status": reply.status, "answer": reply.body.decode()})

    def reply(self, path: str, body: Any) -> Reply:
        """The reply to a question, as the API would give it. After one for a view, `shown` is what that shows."""
        if path == "page":
            page = {**page_schema(library().settings), "opening": state_json(self.backend.opening)}
            return Reply(orjson.dumps(page))
        reply = self.backend.reply(path, body)
        if path == "view":
            state = json.loads(reply.body).get("state")
            if state:
                self.shown = read_state(state, self.backend.opening)
        return reply

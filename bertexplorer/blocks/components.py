"""The components. Their templates are constants: what people type reaches the page through the element's own script,
which writes text as text."""

from __future__ import annotations

import hashlib
import html
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from pathlib import Path
from typing import Any

import gradio as gr
from gradio.components.base import server
from gradio.events import EventListener

from bertexplorer.api.admission import Reply, problem
from bertexplorer.api.page import page_schema
from bertexplorer.api.view import read_state, state_json
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.python.bert import Bert, Words, library, load
from bertexplorer.python.result import Result
from bertexplorer.views import VIEWS
from bertexplorer.web.embedded import EmbeddedBackend, result_of, script, state_of, styles

ON_LOAD = (Path(__file__).parent / "on_load.js").read_text("utf-8")
TEMPLATE = '<div class="bertexplorer"></div>'
AT_ONCE = threading.BoundedSemaphore(2)  # answers computed at the same time, of all components of this process
PRESSES = {"hide": "fill-mask", "pick": "attention"}  # what a press on a strip does -> a view whose strip does so


@cache
def scripts() -> tuple[str, str]:
    """What all components of a page need, as JSON: script, styles, and the views with their settings; and its hash."""
    page = page_schema(library().settings)
    content = json.dumps({"script": script("blocks.js"), "styles": styles(), "page": page})
    return content, hashlib.sha256(content.encode()).hexdigest()[:12]


def heard(name: str, mode: str) -> Callable[..., Any]:
    """The event *name*, of which a listener misses nothing while it runs: Gradio would drop what comes meanwhile.
    *mode*: "multiple", as each brings data of its own, or "always_last", as the listener reads the newest value."""
    of_gradio = EventListener(name).listener

    @wraps(of_gradio)
    def listen(*given: Any, **settings: Any) -> Any:
        return of_gradio(*given, **{"trigger_mode": mode, **settings})

    return listen


class Component(gr.HTML):
    """What the three have in common. A value is a state, as in the address bar of the page; a part of one, given by a
    listener, changes only that part."""

    change = heard("changed", "always_last")  # Gradio's own comes with a part of a value, where that was given
    answered = heard("answered", "multiple")
    select = heard("select", "multiple")
    fields: tuple[str, ...] = ()  # of a value; (): those of a state

    def __init__(self, state: State, bert: Bert, look: Mapping[str, Any], **props: Any) -> None:
        self._backend = EmbeddedBackend(bert)
        value = state_json(state)
        super().__init__(
            {name: value[name] for name in self.fields or value},
            html_template=TEMPLATE,
            js_on_load=ON_LOAD,
            apply_default_css=False,
            component=type(self).__name__,
            version=scripts()[1],
            opening=state_json(self._backend.opening),
            **props,
            **look,
        )

    @server  # type: ignore[untyped-decorator]
    def scripts(self, _: Any) -> str:
        return scripts()[0]

    @server  # type: ignore[untyped-decorator]
    def ask(self, question: Any) -> str:
        """Answer {"path", "body"} with {"status", "answer"} as JSON. No question raises an exception."""
        if not isinstance(question, dict):
            reply = problem(400, "Bad request", f"A question is an object with path and body, not {question!r:.60}.")
        else:
            with AT_ONCE:
                reply = self.reply(str(question.get("path", "")), question.get("body"))
        return f'{{"status": {reply.status}, "answer": {reply.body.decode()}}}'

    def reply(self, path: str, body: Any) -> Reply:
        return self._backend.reply(path, body)

    def result(self, value: Mapping[str, Any]) -> Result:
        """The answer to a value of the component, with all rows. Raises ExplorerError as the analysis does."""
        return result_of(self._backend.answerer, read_state(dict(value), self._backend.opening))

    def postprocess(self, value: Mapping[str, Any] | str | None) -> dict[str, Any] | None:
        """A text is a state with that text. Raises ExplorerError for what is no state."""
        if value is None:
            return None
        given = {"text": value} if isinstance(value, str) else dict(value)
        read_state(given, self._backend.opening)
        if unknown := [name for name in given if self.fields and name not in self.fields]:
            raise ExplorerError(f"The value has {unknown[0]!r:.40}; wanted {', '.join(self.fields)}.")
        return given

    def as_example(self, value: Mapping[str, Any] | str | None) -> str:
        """What `gr.Examples` shows, which reads HTML."""
        text = value if isinstance(value, str) else (value or {}).get("text", "")
        return html.escape(str(text))

    def example_payload(self) -> dict[str, Any]:
        return {"text": "Paris is the [MASK] of France."}

    example_value = example_payload

    def api_info(self) -> dict[str, Any]:
        return {"type": "object", "description": "a state: text, pair, hidden and picked spans, view, options"}


class View(Component):
    """A view that answers: one types, presses tokens and changes settings, as on the page.

    Use it to show what a checkpoint does with a text beside components of your own.

    Args:
        view: the view, such as "attention".
        text: the text; without one, the view opens with its first example.
        pair: a second text, read as segment B.
        checkpoint: the checkpoint, as `load` takes it; a `Bert` of `from_transformers` is one, too.
        mask: words to hide, as for the analyses.
        pick: words that the view is about, as for the analyses.
        options: the settings of the view.
        strip: whether the text can be changed in the component, as a field and as tokens.
        **look: label, visible, elem_id, elem_classes, scale, min_width, render and key, as `gr.HTML` takes them.

    The value is the state (view, text, pair, hidden, picked, checkpoint, precision, against, other, options). `change`
    fires with it once it is answered; `answered` brings `rows` (the first 100), `sentence` and `title` as its event
    data; `result(value)` is the whole answer.

    Raises:
        ExplorerError: for an unknown view, checkpoint, word, setting or value.

    Example:
        >>> import gradio as gr
        >>> with gr.Blocks(analytics_enabled=False):
        ...     view = View("attention", text="The cat sat on the mat.", options={"layer": 2})
        >>> view.value["options"]["layer"]
        2
        >>> view.result(view.value).rows[0]["from"]
        '[CLS]'
    """

    def __init__(
        self,
        view: str = "fill-mask",
        *,
        text: str = "",
        pair: str = "",
        checkpoint: str | Path | Bert = "mini",
        mask: Words = (),
        pick: Words = (),
        options: Mapping[str, Any] | None = None,
        strip: bool = True,
        **look: Any,
    ) -> None:
        bert = load(checkpoint)
        state = state_of(bert, view, text or None, pair or None, mask, pick, options or {})
        super().__init__(state, bert, look, strip=strip)


class Explorer(View):
    """The explorer: a `View` with doors to others.

    Args:
        view: the view to open.
        views: the views to offer; without them, all.
        topics: the topics whose views to offer, such as "Attention"; they add to *views*.
        **more: as for `View`.

    Raises:
        ExplorerError: for an unknown topic or view, and as `View` does.
    """

    def __init__(
        self, view: str = "fill-mask", *, views: Sequence[str] = (), topics: Sequence[str] = (), **more: Any
    ) -> None:
        super().__init__(view, **more)
        self.props["offered"] = offered(self.value["view"], views, topics)


def offered(opened: str, views: Sequence[str], topics: Sequence[str]) -> list[str]:
    """The names of the views to offer, with the one that is *opened*. Raises ExplorerError for an unknown one."""
    if not views and not topics:
        return list(VIEWS)
    known = {view.topic for view in VIEWS.values()}
    wanted = [name.replace("_", "-") for name in views]
    for given, names, what in ((wanted, VIEWS, "view"), (topics, known, "topic")):
        if unknown := [name for name in given if name not in names]:
            raise ExplorerError(f"There is no {what} {unknown[0]!r:.60}; wanted one of {', '.join(names)}.")
    return [slug for slug, view in VIEWS.items() if slug in (*wanted, opened) or view.topic in topics]


class TokenStrip(Component):
    """A text as the checkpoint's tokens, to be pressed.

    Use it where people should point at words: which to hide, which to look at.

    Args:
        text: the text.
        pair: a second text, read as segment B.
        press: what a press on a token does: "hide" it from the checkpoint, or "pick" it.
        checkpoint: the checkpoint whose tokenizer cuts the text, as `load` takes it.
        mask: words that are hidden, as for the analyses.
        pick: words that are picked, as for the analyses.
        **look: as for `View`.

    The value is {text, pair, hidden, picked}, with spans such as "0:4-11,1:0-3": side, first character, end. `change`
    fires with it; `select` brings the pressed `token` and its `span` as its event data.

    Raises:
        ExplorerError: for an unknown checkpoint or word, and for another press.

    Example:
        >>> strip = TokenStrip("The cat sat on the mat.", mask="cat", render=False)
        >>> strip.value["hidden"]
        '0:4-7'
    """

    fields = ("text", "pair", "hidden", "picked")

    def __init__(
        self,
        text: str = "",
        pair: str = "",
        *,
        press: str = "hide",
        checkpoint: str | Path | Bert = "mini",
        mask: Words = (),
        pick: Words = (),
        **look: Any,
    ) -> None:
        if press not in PRESSES:
            raise ExplorerError(f"press: got {press!r:.40}; wanted hide or pick.")
        bert = load(checkpoint)
        state = state_of(bert, PRESSES[press], text, pair, mask, pick, {})
        super().__init__(state, bert, look, view=state.view)

    def reply(self, path: str, body: Any) -> Reply:
        """The tokens of a text; nothing is computed."""
        if path != "strip":
            return problem(404, "Not found", f"A strip of tokens has no {path!r:.40}.")
        return self._backend.reply(path, body)

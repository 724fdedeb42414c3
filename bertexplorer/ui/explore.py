"""Explore: what happens when a person types, presses a chip, picks an example, a view, a setting or a checkpoint."""

from __future__ import annotations

import logging
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from bertexplorer import engine
from bertexplorer.analysis import receipt
from bertexplorer.analysis.fill_mask import encode_masked
from bertexplorer.errors import ExplorerError
from bertexplorer.figures import Figure
from bertexplorer.knobs import build, settings
from bertexplorer.model.text import Encoding, Span
from bertexplorer.store.library import Library
from bertexplorer.ui import strip
from bertexplorer.ui.state import State, follow, scrub, to_link
from bertexplorer.ui.tabs import TABS, slug

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

VIEWS: dict[str, ModuleType] = {slug(tab): tab for tab in TABS}
DEFAULTS: dict[str, dict[str, Any]] = {
    name: {s.name: s.default for s in settings(tab.analysis.Options)} for name, tab in VIEWS.items()
}
log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """What the page shows for a state; None keeps what stands there."""

    state: State
    strip: str | None = None
    figure: Figure | None = None
    said: str = ""
    took_ms: float = 0.0
    error: str = ""
    checkpoint: Checkpoint | None = None


class Explore:
    """Looks up, analyses, draws. Holds the library and nothing of any one person."""

    def __init__(self, library: Library) -> None:
        self.library = library

    def answer(self, state: State) -> Answer:
        """The view that *state* asks for; what goes wrong becomes a sentence, and what was typed stays."""
        drawn, checkpoint = None, None
        try:
            checkpoint = self.library.get(state.checkpoint, state.precision)
            encoding = checkpoint.tokenizer.encode(state.as_text)
            drawn = self.strip(checkpoint, encoding, state)
            tab = VIEWS[state.view]
            options = self.options(state)
            started = time.perf_counter()
            result = tab.analysis.run(checkpoint, state.as_text, options=options)
            took = 1000 * (time.perf_counter() - started)
            if hasattr(tab.figure, "colours"):
                drawn = self.strip(checkpoint, encoding, state, tab.figure.colours(result))
            return Answer(state, drawn, tab.figure.draw(result), tab.figure.say(result), took, "", checkpoint)
        except ExplorerError as error:
            return Answer(state, drawn or "", error=str(error), checkpoint=checkpoint)
        except Exception:
            number = secrets.token_hex(4)
            log.exception("error %s in view %s", number, state.view)
            told = f"Something went wrong that should not have (error {number} in the log). Your text is kept."
            return Answer(state, drawn, error=told, checkpoint=checkpoint)

    def options(self, state: State) -> Any:
        return build(VIEWS[state.view].analysis.Options, dict(state.options))

    def strip(
        self, checkpoint: Checkpoint, encoding: Encoding, state: State, colours: Mapping[int, float] | None = None
    ) -> str:
        return strip.draw(checkpoint, encoding, to_link(state, DEFAULTS[state.view]), colours)

    def typed(self, before: State, text: str, pair: str) -> State:
        """The text was edited: hidden words stay hidden where they still stand."""
        text, pair = scrub(text), scrub(pair)
        hidden = follow(before.hidden, 0, self.prepared(before, 0), self.prepared(replace(before, text=text), 0))
        hidden = follow(hidden, 1, self.prepared(before, 1), self.prepared(replace(before, pair=pair), 1))
        return replace(before, text=text, pair=pair, hidden=hidden)

    def prepared(self, state: State, side: int) -> str:
        """The text as spans count its characters; as typed if it cannot be prepared (the answer will say why)."""
        typed = state.pair if side else state.text
        try:
            return self.library.get(state.checkpoint, state.precision).tokenizer.prepare(typed)[0]
        except ExplorerError:
            return typed

    def filled(self, state: State, span: Span) -> State:
        """A typed mask was pressed. It hides nothing that could be shown, so the best answer takes its place."""
        checkpoint = self.library.get(state.checkpoint, state.precision)
        encoding = encode_masked(checkpoint, state.as_text)
        position = next((p for p in encoding.masked if encoding.spans[p] == span), None)
        if position is None:
            return state
        row = next(engine.masked_log_probs(checkpoint, [encoding], positions=[[position]]))[0]
        word = checkpoint.tokenizer.join([int(row.argmax())]).removeprefix("##")
        old = encoding.texts[span.side]
        new = old[: span.start] + word + old[span.end :]
        hidden = follow(state.hidden, span.side, old, new)
        if span.side:
            return replace(state, pair=new, hidden=hidden)
        return replace(state, text=new, hidden=hidden)

    def fetch(self, name: str) -> Iterator[str]:
        """Sentences on the way to having *name* on this disk."""
        yield f"Looking for {name}…"
        for progress in self.library.fetch(name):
            done = f"{progress.done:,.0f} of {progress.total:,.0f} MB"
            yield f"Downloading {name}: {done}. You can go on with the old one meanwhile."
        yield f"Loading {name}…"

    def export(self, state: State, kind: str) -> tuple[str, str]:
        """(file name, content) of the receipt: kind is csv, json or python. Raises ExplorerError as the view would."""
        checkpoint = self.library.get(state.checkpoint, state.precision)
        analysis, options, text = VIEWS[state.view].analysis, self.options(state), state.as_text
        name = f"{state.view}_{re.sub(r'[^A-Za-z0-9.-]+', '-', checkpoint.name)}_{checkpoint.precision}"
        if kind == "python":
            return f"{name}.py", receipt.as_python(analysis, checkpoint, text, options)
        rows = analysis.rows(analysis.run(checkpoint, text, options=options))
        if kind == "csv":
            made = receipt.told(checkpoint)
            return f"{name}.csv", receipt.as_csv([{**row, "made_with": made} for row in rows])
        return f"{name}.json", receipt.as_json(analysis, checkpoint, text, options, rows)

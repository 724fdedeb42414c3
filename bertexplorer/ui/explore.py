"""Explore: what happens when a person types, presses a chip, picks an example, a view, a setting or a checkpoint."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from bertexplorer import engine
from bertexplorer.analysis import Alternatives, export
from bertexplorer.engine.progress import Stopped
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError, unforeseen
from bertexplorer.figures import Colouring, Figure, Page, Tabular, difference
from bertexplorer.model.text import TOKENS, Encoding, Span
from bertexplorer.options import build, option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.index import Index
from bertexplorer.store.quota import Quota
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.runs import SavedCheckpoint
from bertexplorer.store.text_uploads import RowUploads, TextUploads, Uploads
from bertexplorer.ui import comparing, strip
from bertexplorer.ui.state import State, follow, scrub, spans_of
from bertexplorer.ui.tabs import VIEWS
from bertexplorer.ui.view import Example

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

DEFAULTS: dict[str, dict[str, Any]] = {
    name: {s.name: s.default for s in option_specs(view.analysis.Options)} for name, view in VIEWS.items()
}
log = logging.getLogger(__name__)


def opening(settings: Settings) -> State:
    """The state of a page that is opened without a link."""
    first = VIEWS["fill-mask"].examples[0]
    return State(first.text, checkpoint=settings.checkpoint, precision=settings.precision)


def shown_in(example: Example, state: State) -> State:
    """*state* with the text and the settings of *example*."""
    options: Mapping[str, Any] = {**DEFAULTS[state.view], **example.options}
    if not VIEWS[state.view].text:
        return replace(state, options=options)
    return replace(
        state, text=example.text, pair=example.pair, hidden=(), picked=spans_of(example.picked), options=options
    )


@dataclass(frozen=True)
class Answer:
    """What the page shows for a state. None leaves that part of the page as it is."""

    state: State
    strip: dict[str, Any] | None = None
    figure: Figure | str | None = None
    said: str = ""
    took_ms: float = 0.0
    error: str = ""
    missing: str = ""  # what the text lacks, see ExplorerError
    failed: bool = False  # whether the error is a fault of this program
    checkpoint: Checkpoint | None = None
    beside: comparing.Beside | None = None
    height: int = 0  # pixels of a figure that is a page of its own
    cases: Mapping[str, Any] | None = None  # the table below the figure
    series: tuple[SavedCheckpoint, ...] = ()  # the checkpoints of one training, if the one in use belongs to it

    @property
    def title(self) -> str:
        """What people call the checkpoint in use."""
        name = self.checkpoint.name if self.checkpoint else ""
        return next((saved.label for saved in self.series if saved.name == name), name)


class Explore:
    """Looks up, analyses, draws. Holds the library and no data of any person."""

    def __init__(self, library: CheckpointRegistry, quota: Quota | None = None) -> None:
        self.library = library
        self.owner = ""
        settings = library.settings
        self.lines = TextUploads(settings.data_dir / "lines")
        self.rows = RowUploads(settings.data_dir / "rows")
        self.quota = quota or Quota(settings)
        self.index = Index(settings.data_dir / "index")

    def of(self, owner: str) -> Explore:
        """The same for *owner*: it finds the checkpoints of their runs, and stores uploads as theirs."""
        made = copy(self)
        made.library, made.owner = self.library.for_owner(owner), owner
        return made

    def answer(self, state: State) -> Answer:
        """The view that *state* asks for. An error becomes a sentence, and the typed text stays. Raises Busy if the
        work proves long and too many wait, and Stopped if nobody waits for it any more."""
        drawn, checkpoint = None, None
        try:
            checkpoint = self.library.get(state.checkpoint, state.precision)
            view = VIEWS[state.view]
            if view.text:
                encoding = self.read(checkpoint, state)
                drawn = self.strip(checkpoint, encoding, state)
            started = time.perf_counter()
            result = self.analyse(checkpoint, state)
            took = 1000 * (time.perf_counter() - started)
            module = view.figure
            if isinstance(module, Colouring):
                drawn = self.strip(checkpoint, encoding, state, module.colours(result))
            figure = module.draw(result)
            beside = comparing.beside(self.library, state, result, self.analyse) if state.compared else None
            if beside and beside.result is not None and isinstance(figure, Figure):
                difference.one_scale(figure, beside.figure)
            height = module.height(result) if isinstance(module, Page) else 0
            cases = module.cases(result, beside and beside.result) if isinstance(module, Tabular) else None
            series = tuple(self.library.series(state.checkpoint))
            more: dict[str, Any] = {
                "checkpoint": checkpoint,
                "beside": beside,
                "height": height,
                "cases": cases,
                "series": series,
            }
            return Answer(state, drawn, figure, module.say(result), took, **more)
        except (Busy, Stopped):
            raise
        except ExplorerError as error:
            series = tuple(self.library.series(state.checkpoint)) if checkpoint else ()  # another one may answer
            missing = error.missing
            return Answer(state, drawn, error=str(error), missing=missing, checkpoint=checkpoint, series=series)
        except Exception:
            fault = unforeseen(log, "a view failed", view=state.view)
            return Answer(state, drawn, error=fault, failed=True, checkpoint=checkpoint)

    def read(self, checkpoint: Checkpoint, state: State) -> Encoding:
        """The tokens that the strip shows. In a text with alternatives, these are the tokens with the first of each."""
        analysis, text = VIEWS[state.view].analysis, state.as_text
        if not isinstance(analysis, Alternatives) or "{" not in text.first:
            return checkpoint.tokenizer.encode(text)
        encoding = checkpoint.tokenizer.encode(analysis.first(checkpoint, text))
        return replace(encoding, notes=(*encoding.notes, "The first of the sentences; the others are in the figure."))

    def analyse(self, checkpoint: Checkpoint, state: State) -> Any:
        """The result of the view's analysis."""
        view, options = VIEWS[state.view], self.options(state)
        more: dict[str, Any] = {}
        if "lines" in view.needs and options.lines:
            more["lines"] = self.lines.load(options.lines).lines
        if "rows" in view.needs and options.rows:
            more["rows"] = self.rows.load(options.rows).rows
        if "index" in view.needs:
            more["index"] = self.index
        return view.analysis.run(checkpoint, state.as_text, options=options, **more)

    def keep(self, uploads: Uploads[Any], content: bytes, name: str) -> tuple[str, str]:
        """(key of an uploaded file, how it was read). Raises ExplorerError if it cannot be used."""
        self.quota.check(self.owner, len(content))
        key = uploads.save(content, name, self.owner)
        return key, uploads.load(key).summary

    def options(self, state: State) -> Any:
        return build(VIEWS[state.view].analysis.Options, dict(state.options))

    def strip(
        self, checkpoint: Checkpoint, encoding: Encoding, state: State, colours: Mapping[int, float] | None = None
    ) -> dict[str, Any]:
        return strip.draw(checkpoint, encoding, colours, press=VIEWS[state.view].chips)

    def typed(self, before: State, text: str, pair: str) -> State:
        """The state after the text was edited. Hidden and picked words stay so if they are still in the text."""
        text, pair = scrub(text), scrub(pair)
        if (text, pair) == (before.text, before.pair):
            return before
        old = [self.prepared(before, side) for side in (0, 1)]
        new = [self.prepared(replace(before, text=text, pair=pair), side) for side in (0, 1)]
        hidden, picked = before.hidden, tuple(span for span in before.picked if span.side != TOKENS)
        for side in (0, 1):
            hidden = follow(hidden, side, old[side], new[side])
            picked = follow(picked, side, old[side], new[side])
        return replace(before, text=text, pair=pair, hidden=hidden, picked=picked)

    def prepared(self, state: State, side: int) -> str:
        """The text whose characters the spans count. If it cannot be prepared, the text as typed: the answer will say
        why."""
        typed = state.pair if side else state.text
        try:
            return self.library.get(state.checkpoint, state.precision).tokenizer.prepare(typed)[0]
        except ExplorerError:
            return typed

    def filled(self, state: State, span: Span) -> State:
        """The state after a typed mask was pressed. A typed mask hides no word that could be shown, so the best answer
        takes its place. Nothing changes if the text was edited and has no mask there any more."""
        checkpoint = self.library.get(state.checkpoint, state.precision)
        encoding = checkpoint.tokenizer.encode(state.as_text)
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
        """Download *name*, and yield sentences on the progress."""
        yield f"Looking for {name}…"
        for progress in self.library.fetch(name):
            done = f"{progress.done:,.0f} of {progress.total:,.0f} MB"
            yield f"Downloading {name}: {done}. You can go on with the old one meanwhile."
        yield f"Loading {name}…"

    def export(self, state: State, kind: str) -> tuple[str, str]:
        """(file name, content) of an export; *kind* is csv, json or python. Raises ExplorerError as the view would."""
        checkpoint = self.library.get(state.checkpoint, state.precision)
        analysis, options, text = VIEWS[state.view].analysis, self.options(state), state.as_text
        title = self.library.title(state.checkpoint)
        name = f"{state.view}_{re.sub(r'[^A-Za-z0-9.-]+', '-', title)}_{checkpoint.precision}"
        if kind == "python":
            return f"{name}.py", export.as_python(analysis, checkpoint, text, options, title)
        rows, made = (
            analysis.rows(self.analyse(checkpoint, state)),
            {"made_with": export.provenance_line(checkpoint, title)},
        )
        rows = [{**row, **made} for row in rows] if kind == "csv" else rows
        if state.compared:
            rows = [
                {"side": side.name, **row}
                for side in comparing.sides(self.library, state)
                for row in (rows if side.checkpoint is None else self.rows_of(side, kind))
            ]
        if kind == "csv":
            return f"{name}.csv", export.as_csv(rows)
        return f"{name}.json", export.as_json(analysis, checkpoint, text, options, rows, title)

    def rows_of(self, side: comparing.Side, kind: str) -> list[dict[str, Any]]:
        """The rows of another side of a comparison."""
        assert side.checkpoint is not None
        found = VIEWS[side.state.view].analysis.rows(self.analyse(side.checkpoint, side.state))
        called = self.library.title(side.state.checkpoint)
        title = called if side.state.against == "another text" else side.name
        made = {"made_with": export.provenance_line(side.checkpoint, title)} if kind == "csv" else {}
        return [{**row, **made} for row in found]

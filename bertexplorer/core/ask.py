"""Ask: responses to edits of the text, presses on chips, and choices of an example, view, setting or checkpoint."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from bertexplorer import engine
from bertexplorer.core import compare, export, strip
from bertexplorer.core.export import Origin
from bertexplorer.core.row_uploads import RowUploads, lines_of
from bertexplorer.core.sizes import size_of
from bertexplorer.core.state import State, read_spans, scrub, shift_spans
from bertexplorer.core.vector_uploads import VectorUploads
from bertexplorer.csv_safety import as_csv
from bertexplorer.engine.progress import Stopped
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import ExplorerError, unforeseen
from bertexplorer.model.text import TOKENS, Encoding, Span, Text
from bertexplorer.options import build, option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.index import Index
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.text_uploads import TextUploads, Uploads
from bertexplorer.store.trained import SavedCheckpoint
from bertexplorer.store.uploads import Quota
from bertexplorer.views import VIEWS
from bertexplorer.views.protocols import Alternatives, Colouring, Drawing, Page, Tabular, ViewResult
from bertexplorer.views.view import Example, View

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

T = TypeVar("T")
LARGEST_KEPT = 1_000_000  # bytes of a result; more would push out many passes
LARGEST_SLOW = 16_000_000  # of a view that takes long
log = logging.getLogger(__name__)


class Defaults(dict[str, dict[str, Any]]):
    """View -> its settings with their defaults, which are looked up when they are asked for."""

    def __missing__(self, view: str) -> dict[str, Any]:
        self[view] = {setting.name: setting.default for setting in option_specs(VIEWS[view].analysis.Options)}
        return self[view]

    def __contains__(self, view: object) -> bool:
        return view in VIEWS


DEFAULTS = Defaults()


def opening(settings: Settings) -> State:
    """The state of a page opened without a link."""
    first = VIEWS["fill-mask"].examples[0]
    return State(first.text, checkpoint=settings.checkpoint, precision=settings.precision)


def with_example(example: Example, state: State) -> State:
    """*state* with the text and the settings of *example*."""
    options: Mapping[str, Any] = {**DEFAULTS[state.view], **example.options}
    if not VIEWS[state.view].text:
        return replace(state, options=options)
    picked = read_spans(example.picked)
    return replace(state, text=example.text, pair=example.pair, hidden=(), picked=picked, options=options)


@dataclass(frozen=True)
class Answer:
    """What the page shows for a state. None leaves that part of the page as it is."""

    state: State
    strip: dict[str, Any] | None = None
    figure: Drawing | None = None
    said: str = ""
    took_ms: float = 0.0
    error: str = ""
    missing: str = ""  # what the text lacks; see ExplorerError
    failed: bool = False  # whether the error is a fault of this program
    checkpoint: Checkpoint | None = None
    comparison: compare.ComparedAnswer | None = None
    height: int = 0  # pixels, for a figure that is an HTML page of its own
    cases: Mapping[str, Any] | None = None  # the table below the figure
    series: tuple[SavedCheckpoint, ...] = ()  # the saved checkpoints of the training that the one in use belongs to

    @property
    def title(self) -> str:
        """The display name of the checkpoint in use."""
        name = self.checkpoint.name if self.checkpoint else ""
        return next((saved.label for saved in self.series if saved.name == name), name)


class Answerer:
    """Computes answers: looks up checkpoints, runs analyses, draws figures. Holds no personal data."""

    def __init__(self, registry: CheckpointRegistry, quota: Quota | None = None) -> None:
        self.registry = registry
        self.owner = ""
        settings = registry.settings
        self.lines = TextUploads(settings.data_dir / "lines")
        self.rows = RowUploads(settings.data_dir / "rows")
        self.vectors = VectorUploads(settings.data_dir / "vectors")
        self.stores: dict[str, Uploads[Any]] = {"lines": self.lines, "rows": self.rows, "vectors": self.vectors}
        self.quota = quota or Quota(settings)
        self.index = Index(settings.data_dir / "index")

    def for_owner(self, owner: str) -> Answerer:
        """Return a copy for *owner* that finds the checkpoints of their runs and stores uploads as theirs."""
        personal = copy(self)
        personal.owner = owner
        personal.registry = self.registry.for_owner(owner)
        return personal

    def answer(self, state: State) -> Answer:
        """Compute the view of *state*. Errors become messages, and the typed text stays. Raises Busy if the work proves
        long and too many requests wait, and Stopped if nobody waits for the answer any more."""
        checkpoint = None
        encoding = None
        try:
            # 1. The numbers.
            checkpoint = self.registry.get(state.checkpoint, state.precision)
            view = VIEWS[state.view]
            if view.text:
                encoding = self.encode(checkpoint, state)
            result, took_ms = self.analyse_timed(checkpoint, state)
            # 2. How they are shown, alone and beside those of others.
            module = view.figure
            colours = module.colours(result) if isinstance(module, Colouring) else None
            figure = module.draw(result)
            series = tuple(self.registry.series(state.checkpoint))
            comparison = None
            if state.compared:
                comparison = compare.compare_answer(self.registry, state, result, self.analyse)
            height = module.height(result) if isinstance(module, Page) else 0
            cases = None
            if isinstance(module, Tabular):
                cases = table_of_cases(module, result, comparison)
            return Answer(
                state,
                strip=self.strip(checkpoint, encoding, state, colours),
                figure=figure,
                said=module.say(result),
                took_ms=took_ms,
                checkpoint=checkpoint,
                comparison=comparison,
                height=height,
                cases=cases,
                series=series,
            )
        except (Busy, Stopped):
            raise
        except ExplorerError as error:
            series = ()
            if checkpoint:  # another one of its training may answer
                series = tuple(self.registry.series(state.checkpoint))
            return Answer(
                state,
                strip=self.strip(checkpoint, encoding, state),
                error=str(error),
                missing=error.code,
                checkpoint=checkpoint,
                series=series,
            )
        except Exception:
            message = unforeseen(log, "a view failed", view=state.view)
            strip_json = self.strip(checkpoint, encoding, state)
            return Answer(state, strip=strip_json, error=message, failed=True, checkpoint=checkpoint)

    def encode(self, checkpoint: Checkpoint, state: State) -> Encoding:
        """Encode the text for the strip, with the first of each group of alternatives."""
        analysis = VIEWS[state.view].analysis
        text = state.as_text
        if not isinstance(analysis, Alternatives) or "{" not in text.first:
            return checkpoint.tokenizer.encode(text)
        encoding = checkpoint.tokenizer.encode(analysis.first(checkpoint, text))
        return replace(encoding, notes=(*encoding.notes, "The first of the sentences; the others are in the figure."))

    def analyse(self, checkpoint: Checkpoint, state: State) -> ViewResult:
        """The result of the view's analysis."""
        return self.analyse_timed(checkpoint, state)[0]

    def analyse_timed(self, checkpoint: Checkpoint, state: State) -> tuple[ViewResult, float]:
        """(the result of the view's analysis, the milliseconds that it took). It is kept with the passes of the
        checkpoint, so that an export, a comparison or a lesson does not compute it again."""
        view = VIEWS[state.view]
        options = self.options(state)
        inputs: dict[str, Any] = {}
        if view.upload:
            key = getattr(options, view.upload)
            if key:
                inputs[view.upload] = self.load_upload(view.upload, key).content
        if "index" in view.needs:
            inputs["index"] = self.index

        # 1. The result that is kept, if there is one.
        about = state.as_text if view.text else ""  # whatever is typed, a view without a text answers the same
        asked = ("result", state.view, about, options)
        timed: tuple[ViewResult, float] | None = checkpoint.cache.peek(asked)
        if timed is not None:
            return timed

        # 2. A new one, which is kept if it is small enough and stays true: an index changes.
        started = time.perf_counter()
        result = view.run(checkpoint, state.as_text, options, **inputs)
        timed = (result, 1000 * (time.perf_counter() - started))
        num_bytes = size_of(result) + size_of(asked)
        most = LARGEST_SLOW if view.slow else LARGEST_KEPT
        if "index" not in view.needs and num_bytes <= most:
            checkpoint.cache.get(asked, lambda: timed, lambda _: num_bytes)
        return timed

    def load_upload(self, kind: str, key: str) -> Any:
        """The upload saved under *key*. The texts of uploaded rows are lines as well. Raises ExplorerError if it does
        not exist (any more)."""
        if kind == "lines" and not self.lines.find(key) and self.rows.find(key):
            return lines_of(self.rows.load(key))
        return self.stores[kind].load(key)

    def save_upload(self, uploads: Uploads[Any], content: bytes, name: str) -> tuple[str, str]:
        """Store an uploaded file; return (key, summary of its contents). Raises ExplorerError if it is unusable."""
        self.quota.check(self.owner, len(content))
        return uploads.save(content, name, self.owner)

    def options(self, state: State) -> Any:
        """The settings of the view as its Options. Raises ExplorerError for a value that is not allowed."""
        return build(VIEWS[state.view].analysis.Options, dict(state.options))

    def strip(
        self,
        checkpoint: Checkpoint | None,
        encoding: Encoding | None,
        state: State,
        colours: Mapping[int, float] | None = None,
    ) -> dict[str, Any] | None:
        """The text as chips; None for a view without a text, and for a text that cannot be encoded."""
        if checkpoint is None or encoding is None:
            return None
        return strip.draw(checkpoint, encoding, colours, press=VIEWS[state.view].chips)

    def with_edited_text(self, state: State, text: str, pair: str) -> State:
        """The state after an edit of the text. Words stay hidden or picked if they are still in the text."""
        text, pair = scrub(text), scrub(pair)
        if (text, pair) == (state.text, state.pair):
            return state
        edited = replace(state, text=text, pair=pair)
        hidden = state.hidden
        picked = tuple(span for span in state.picked if span.side != TOKENS)
        for side in (0, 1):
            old = self.prepared_text(state, side)
            new = self.prepared_text(edited, side)
            hidden = shift_spans(hidden, side, old, new)
            picked = shift_spans(picked, side, old, new)
        return replace(edited, hidden=hidden, picked=picked)

    def prepared_text(self, state: State, side: int) -> str:
        """The text in which spans count characters. If the tokenizer cannot prepare it, the text as typed: the answer
        explains the error."""
        typed = state.pair if side else state.text
        try:
            return self.registry.get(state.checkpoint, state.precision).tokenizer.prepare(typed)[0]
        except ExplorerError:
            return typed

    def with_mask_filled(self, state: State, span: Span) -> State:
        """The state after a press on a typed mask. Such a mask hides no word that could be revealed, so the best answer
        replaces it. The state is unchanged if an edit has removed the mask."""
        checkpoint = self.registry.get(state.checkpoint, state.precision)
        encoding = checkpoint.tokenizer.encode(state.as_text)
        position = next((p for p in encoding.masked if encoding.spans[p] == span), None)
        if position is None:
            return state
        log_probs = next(engine.masked_log_probs(checkpoint, [encoding], positions=[[position]]))[0]
        word = checkpoint.tokenizer.join([int(log_probs.argmax())]).removeprefix("##")
        old = encoding.texts[span.side]
        new = old[: span.start] + word + old[span.end :]
        if span.side == 0:
            return self.with_edited_text(state, new, state.pair)
        return self.with_edited_text(state, state.text, new)

    def fetch(self, name: str) -> Iterator[str]:
        """Download the checkpoint *name*, and yield messages on the progress."""
        yield f"Looking for {name}…"
        for progress in self.registry.fetch(name):
            done = f"{progress.done:,.0f} of {progress.total:,.0f} MB"
            yield f"Downloading {name}: {done}. You can go on with the old one meanwhile."
        yield f"Loading {name}…"

    def export(self, state: State, kind: str) -> tuple[str, str]:
        """(file name, content) of an export; *kind* is csv, json or python. Raises ExplorerError as the view would."""
        checkpoint = self.registry.get(state.checkpoint, state.precision)
        own = self.origin(state, checkpoint)
        uploads = self.uploads(state)
        title = re.sub(r"[^A-Za-z0-9.-]+", "-", own.title)
        name = f"{state.view}_{title}_{checkpoint.precision}"
        match kind:
            case "python":
                return f"{name}.py", self.python_export(state, own, uploads)
            case "csv":
                return f"{name}.csv", self.csv_export(state, checkpoint)
            case _:
                return f"{name}.json", self.json_export(state, own, uploads)

    def python_export(self, state: State, own: Origin, uploads: Mapping[str, str]) -> str:
        """The program of an export. *own*: the origin of the answer to *state*; *uploads*: as from `uploads`."""
        others = []
        for side, checkpoint in self.sides(state, own.checkpoint, lambda checkpoint, _: checkpoint):
            if side.checkpoint:
                others.append(self.origin(side.state, checkpoint))
        notes = []
        for what, summary in uploads.items():
            notes.append(f"The {what} are an upload: {summary} On another machine, give the path of your copy.")
        return export.as_python(VIEWS[state.view], *own, others, notes)

    def csv_export(self, state: State, checkpoint: Checkpoint) -> str:
        """The rows of an export. The first row of each side says what made it."""
        view = VIEWS[state.view]
        sides = self.sides(state, checkpoint, self.analyse)
        rows: list[dict[str, object]] = []
        for side, result in sides:
            rows_of_side = named_rows(view, side, result, compared=len(sides) > 1)
            if rows_of_side:
                rows_of_side[0]["made_with"] = self.made_with(side, side.checkpoint or checkpoint)
            rows += rows_of_side
        return as_csv(rows)

    def json_export(self, state: State, own: Origin, uploads: Mapping[str, str]) -> str:
        """The rows and tables of an export. *own*, *uploads*: as in `python_export`."""
        view = VIEWS[state.view]
        answered = self.sides(state, own.checkpoint, self.analyse)
        sides = [side for side, _ in answered]
        results = [result for _, result in answered]
        rows: list[dict[str, object]] = []
        for side, result in answered:
            rows += named_rows(view, side, result, compared=len(sides) > 1)
        tables = export.tables(view, results[0])
        if len(sides) > 1:
            names = [side.name for side in sides]
            checkpoints = [side.checkpoint or own.checkpoint for side in sides]
            tables = export.comparison_tables(view, names, results, checkpoints, compare.own_index(sides))
        return export.as_json(
            view,
            own.checkpoint,
            own.text,
            own.options,
            rows,
            title=own.title,
            sources=uploads,
            more=tables,
        )

    def sides(
        self, state: State, checkpoint: Checkpoint, compute: Callable[[Checkpoint, State], T]
    ) -> list[tuple[compare.Side, T]]:
        """The sides of an export, each with what *compute* makes of it; only that of *state* if another has none, as in
        the view."""
        own = (compare.Side(self.registry.title(state.checkpoint), state), compute(checkpoint, state))
        if not state.compared:
            return [own]
        try:
            sides = []
            for side in compare.comparison_sides(self.registry, state):
                if side.checkpoint is None:
                    sides.append((side, own[1]))
                else:
                    sides.append((side, compute(side.checkpoint, side.state)))
            return sides
        except Busy:
            raise
        except ExplorerError:  # the view explains it
            return [own]

    def origin(self, state: State, checkpoint: Checkpoint) -> Origin:
        """What the answer of *checkpoint* to *state* comes from."""
        text = state.as_text if VIEWS[state.view].text else Text("")
        return Origin(checkpoint, text, self.options(state), self.registry.title(state.checkpoint))

    def uploads(self, state: State) -> dict[str, str]:
        """The files that the view reads: lines, rows or vectors -> a summary with the name of the file."""
        options = self.options(state)
        summaries = {}
        for kind in self.stores:
            key = getattr(options, kind, "")
            if key:
                summaries[kind] = self.load_upload(kind, key).summary
        return summaries

    def made_with(self, side: compare.Side, checkpoint: Checkpoint) -> str:
        """The origin of the rows of *side*, which a CSV has in the first of them. Comment lines at the head would be
        cells for a spreadsheet, and pandas' option for them would cut every cell at the # of a piece such as ##ing."""
        title = self.registry.title(side.state.checkpoint)
        if side.checkpoint and side.state.against != "another text":
            title = side.name
        return export.provenance_line(checkpoint, title)


def table_of_cases(module: Tabular, result: ViewResult, comparison: compare.ComparedAnswer | None) -> dict[str, Any]:
    """The table below a figure, with a column for each other side that a comparison has."""
    names = []
    results = []
    if comparison:
        for name, other in comparison.others:
            names.append(name)
            results.append(other)
    return {**module.cases(result, *results), "sides": names}


def named_rows(view: View, side: compare.Side, result: ViewResult, *, compared: bool) -> list[dict[str, object]]:
    """The rows of one side of an export; if it is *compared* with others, each says which side it belongs to."""
    rows = view.analysis.rows(result)
    if compared:
        return [{"side": side.name, **row} for row in rows]
    return [dict(row) for row in rows]

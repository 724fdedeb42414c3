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
from bertexplorer.views.view import Example

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
    return replace(
        state, text=example.text, pair=example.pair, hidden=(), picked=read_spans(example.picked), options=options
    )


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
        personal.registry, personal.owner = self.registry.for_owner(owner), owner
        return personal

    def answer(self, state: State) -> Answer:
        """Compute the view of *state*. Errors become messages, and the typed text stays. Raises Busy if the work proves
        long and too many requests wait, and Stopped if nobody waits for the answer any more."""
        encoding, checkpoint = None, None
        try:
            checkpoint = self.registry.get(state.checkpoint, state.precision)
            view = VIEWS[state.view]
            if view.text:
                encoding = self.encode(checkpoint, state)
            result, took_ms = self.analyse_timed(checkpoint, state)
            module = view.figure
            colours = module.colours(result) if isinstance(module, Colouring) else None
            figure = module.draw(result)
            series = tuple(self.registry.series(state.checkpoint))
            comparison = compare.compare_answer(self.registry, state, result, self.analyse) if state.compared else None
            others = comparison.others if comparison else ()
            height = module.height(result) if isinstance(module, Page) else 0
            cases = None
            if isinstance(module, Tabular):
                cases = {**module.cases(result, *(other for _, other in others)), "sides": [name for name, _ in others]}
            return Answer(
                state,
                self.strip(checkpoint, encoding, state, colours),
                figure,
                module.say(result),
                took_ms,
                checkpoint=checkpoint,
                comparison=comparison,
                height=height,
                cases=cases,
                series=series,
            )
        except (Busy, Stopped):
            raise
        except ExplorerError as error:
            # another checkpoint of the series may answer
            series = tuple(self.registry.series(state.checkpoint)) if checkpoint else ()
            strip_json = self.strip(checkpoint, encoding, state)
            return Answer(state, strip_json, error=str(error), missing=error.code, checkpoint=checkpoint, series=series)
        except Exception:
            message = unforeseen(log, "a view failed", view=state.view)
            strip_json = self.strip(checkpoint, encoding, state)
            return Answer(state, strip_json, error=message, failed=True, checkpoint=checkpoint)

    def encode(self, checkpoint: Checkpoint, state: State) -> Encoding:
        """Encode the text for the strip, with the first of each group of alternatives."""
        analysis, text = VIEWS[state.view].analysis, state.as_text
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
        view, options = VIEWS[state.view], self.options(state)
        inputs: dict[str, Any] = {}
        if view.upload and (key := getattr(options, view.upload)):
            inputs[view.upload] = self.load_upload(view.upload, key).content
        if "index" in view.needs:
            inputs["index"] = self.index
        about = state.as_text if view.text else ""  # whatever is typed, a view without a text answers the same
        asked = ("result", state.view, about, options)
        kept: tuple[ViewResult, float] | None = checkpoint.cache.peek(asked)
        if kept is None:
            started = time.perf_counter()
            result = view.run(checkpoint, state.as_text, options, **inputs)
            kept = result, 1000 * (time.perf_counter() - started)
            num_bytes = size_of(result) + size_of(asked)
            most = LARGEST_SLOW if view.slow else LARGEST_KEPT
            if "index" not in view.needs and num_bytes <= most:  # an index changes
                checkpoint.cache.get(asked, lambda: kept, lambda _: num_bytes)
        return kept

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
        old = [self.prepared_text(state, side) for side in (0, 1)]
        new = [self.prepared_text(replace(state, text=text, pair=pair), side) for side in (0, 1)]
        hidden, picked = state.hidden, tuple(span for span in state.picked if span.side != TOKENS)
        for side in (0, 1):
            hidden = shift_spans(hidden, side, old[side], new[side])
            picked = shift_spans(picked, side, old[side], new[side])
        return replace(state, text=text, pair=pair, hidden=hidden, picked=picked)

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
        row = next(engine.masked_log_probs(checkpoint, [encoding], positions=[[position]]))[0]
        word = checkpoint.tokenizer.join([int(row.argmax())]).removeprefix("##")
        old = encoding.texts[span.side]
        new = old[: span.start] + word + old[span.end :]
        text, pair = (state.text, new) if span.side else (new, state.pair)
        return self.with_edited_text(state, text, pair)

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
        view, own = VIEWS[state.view], self.origin(state, checkpoint)
        title, uploads = own.title, self.uploads(state)
        name = f"{state.view}_{re.sub(r'[^A-Za-z0-9.-]+', '-', title)}_{checkpoint.precision}"
        if kind == "python":
            origins = self.sides(state, checkpoint, lambda used, asked: self.origin(asked, used))
            others = [origin for side, origin in origins if side.checkpoint]
            notes = [
                f"The {what} are an upload: {about} On another machine, give the path of your copy."
                for what, about in uploads.items()
            ]
            return f"{name}.py", export.as_python(view, *own, others, notes)
        sides, results = zip(*self.sides(state, checkpoint, self.analyse), strict=True)
        checkpoints, compared = [side.checkpoint or checkpoint for side in sides], len(sides) > 1
        rows: list[dict[str, object]] = []
        for side, used, result in zip(sides, checkpoints, results, strict=True):
            of_side = [{**({"side": side.name} if compared else {}), **row} for row in view.analysis.rows(result)]
            if kind == "csv" and of_side:
                of_side[0]["made_with"] = self.made_with(side, used)
            rows += of_side
        if kind == "csv":
            return f"{name}.csv", as_csv(rows)
        names, at = [side.name for side in sides], next(i for i, side in enumerate(sides) if side.checkpoint is None)
        tables = export.tables(view, results[0])
        if compared:
            tables = export.comparison_tables(view, names, results, checkpoints, at)
        asked = (checkpoint, own.text, own.options, rows, title, uploads, tables)
        return f"{name}.json", export.as_json(view, *asked)

    def sides(
        self, state: State, checkpoint: Checkpoint, compute: Callable[[Checkpoint, State], T]
    ) -> list[tuple[compare.Side, T]]:
        """The sides of an export, each with what *compute* makes of it; only that of *state* if another has none, as in
        the view."""
        own, result = compare.Side(self.registry.title(state.checkpoint), state), compute(checkpoint, state)
        if not state.compared:
            return [(own, result)]
        try:
            sides = compare.comparison_sides(self.registry, state)
            return [(side, compute(side.checkpoint, side.state) if side.checkpoint else result) for side in sides]
        except Busy:
            raise
        except ExplorerError:
            return [(own, result)]  # the view explains it

    def origin(self, state: State, checkpoint: Checkpoint) -> Origin:
        """What the answer of *checkpoint* to *state* comes from."""
        text = state.as_text if VIEWS[state.view].text else Text("")
        return Origin(checkpoint, text, self.options(state), self.registry.title(state.checkpoint))

    def uploads(self, state: State) -> dict[str, str]:
        """The files that the view reads: lines, rows or vectors -> a summary with the name of the file."""
        options = self.options(state)
        keys = {name: getattr(options, name, "") for name in self.stores}
        return {name: self.load_upload(name, key).summary for name, key in keys.items() if key}

    def made_with(self, side: compare.Side, checkpoint: Checkpoint) -> str:
        """The origin of the rows of *side*, which a CSV has in the first of them. Comment lines at the head would be
        cells for a spreadsheet, and pandas' option for them would cut every cell at the # of a piece such as ##ing."""
        title = self.registry.title(side.state.checkpoint)
        if side.checkpoint and side.state.against != "another text":
            title = side.name
        return export.provenance_line(checkpoint, title)

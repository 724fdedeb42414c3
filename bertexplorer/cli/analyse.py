"""An analysis on the command line: its rows on stdout; its sentence, notes and progress on stderr."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.cli.parser import FILES, SHOWN, chosen
from bertexplorer.cli.waiting import format_remaining, tell, watched
from bertexplorer.core.state import find_word_spans
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Span, Text
from bertexplorer.options import build, option_specs
from bertexplorer.python.result import Comparison, Result, as_table, compare
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.events import STOPPED
from bertexplorer.views.protocols import Summarised

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint


def analyse(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Answer the command of one analysis."""
    view = flags.view
    # 1. The settings; those that are files are read.
    settings = option_specs(view.analysis.Options)
    values = {setting.name: chosen(setting, getattr(flags, setting.name)) for setting in settings}
    for setting in settings:
        if setting.name == view.first and values[setting.name] not in setting.choices:
            kind = str(view.upload)
            if values[kind]:
                raise ExplorerError(f"Two files were given: {values[setting.name]} and {values[kind]}. Give one.")
            values |= {kind: values[setting.name], setting.name: setting.default}  # a file in place of a name
    inputs, sources = {}, {name: values[name] for name in FILES if values.get(name)}
    for name, file in sources.items():
        inputs[name], values[name] = read(Path(file), name, view.most_lines), ""
    options = build(view.analysis.Options, values)
    # 2. The checkpoints.
    names = [flags.checkpoint] if isinstance(flags.checkpoint, str) else flags.checkpoint or ["mini"]
    for name in names:
        fetch(library, name)
    checkpoint = library.get(names[0], flags.precision)
    if getattr(flags, "out", None):
        if len(names) > 1:
            raise ExplorerError(f"--out scores one checkpoint; {len(names)} were given. Give each a folder of its own.")
        return score(flags.out, checkpoint, options, inputs.get("rows"))
    # 3. The answer.
    hidden, picked = (word_spans(checkpoint, flags, words) for words in (flags.mask, flags.pick))
    text = Text(flags.text, flags.pair, hidden, picked)
    with watched():
        results = []
        for name in names:
            each = library.get(name, flags.precision)
            value = view.run(each, text, options, **inputs)
            results.append(Result(view.name, value, each, text, options, sources))
    if len(results) > 1:
        return print_comparison(compare(*results), flags.json)
    return print_result(results[0], flags.json, flags.all or not sys.stdout.isatty())


def word_spans(checkpoint: Checkpoint, flags: argparse.Namespace, words: Sequence[str]) -> tuple[Span, ...]:
    """The spans of every occurrence of *words* in the texts."""
    spans: set[Span] = set()
    for word in words:
        spans.update(find_word_spans(checkpoint.tokenizer, flags.text, flags.pair, word))
    return tuple(sorted(spans))


def print_result(result: Result, as_json: bool, every: bool) -> int:
    """Print an answer. *every*: all rows, not only the first that fit a terminal."""
    for note in result.notes:
        print(f"note: {note}", file=sys.stderr)
    print(result.said, file=sys.stderr)
    if isinstance(result.module, Summarised):  # the rows are single cases
        print(as_table(result.module.summary_rows(result.value)), file=sys.stderr)
    if as_json:
        print(result.to_json())
        return 0
    rows = result.rows
    print(as_table(rows if every else rows[:SHOWN]))
    if not every and len(rows) > SHOWN:
        print(f"note: {len(rows) - SHOWN:,} more rows; --all prints them, --json has them.", file=sys.stderr)
    return 0


def print_comparison(several: Comparison, as_json: bool) -> int:
    """Print the sentences, scores and paired tests of suites, then the cases on which they differ."""
    print(several.said, file=sys.stderr)
    for table in ("summary", "tests"):
        print(as_table(several.tables[table]), file=sys.stderr)
    print(several.to_json() if as_json else as_table(several.tables["differences"]))
    return 0


def score(out: Path, checkpoint: Checkpoint, options: Any, rows: Sequence[Any] | None) -> int:
    """Score a whole suite in the folder *out*, or resume it."""
    from bertexplorer.runs.suite_folder import SuiteFolder
    from bertexplorer.training.run_process import catch_stop_signals
    from bertexplorer.views.suite import show as suite
    from bertexplorer.views.suite.compute import own_or_built_in, summary_rows

    if rows is None:
        rows = own_or_built_in(options.suite, options.pairs, options.pairs_mean)
    folder, done = SuiteFolder(out, checkpoint, rows, options.scoring), 0
    for progress in folder.run(catch_stop_signals()):
        done = progress.done
        rest = format_remaining(progress.seconds_left)
        tell(f"{done:,} of {progress.total:,} cases{rest and f', {rest}'}")
    tell("")
    if done < progress.total:
        print(f"Stopped. Repeat the command to resume {out}.", file=sys.stderr)
        return STOPPED
    result = folder.result()
    print(suite.say(result))
    print(as_table(summary_rows(result)))
    print(f"The cases are in {out / 'cases.csv'}, this table in {out / 'summary.csv'}.")
    return 0


def read(file: Path, what: str, most_lines: int) -> Sequence[Any]:
    """The lines, rows or vectors of *file*. Prints a note about how they were read. Raises ExplorerError."""
    from bertexplorer.core.row_uploads import read_rows
    from bertexplorer.core.vector_uploads import parse_vectors
    from bertexplorer.store.text_uploads import parse_lines, read_file

    readers: dict[str, Callable[[Path], Any]] = {
        "lines": partial(read_file, parse=partial(parse_lines, most=most_lines)),
        "rows": read_rows,
        "vectors": partial(read_file, parse=parse_vectors),
    }
    try:
        parsed = readers[what](file)
    except ExplorerError as error:
        known = "; or name a built-in one, see --help" if what != "lines" and not os.path.exists(file) else ""
        raise ExplorerError(f"{str(error).removesuffix('.')}{known}.") from error
    print(f"note: {parsed.summary}", file=sys.stderr)
    content: Sequence[Any] = parsed.content
    return content


def fetch(library: CheckpointRegistry, name: str) -> None:
    """Download a checkpoint that is not on this disk."""
    for progress in library.fetch(name):
        tell(f"{name}: {progress.done:.0f} of {progress.total:.0f} MB")
        if progress.done >= progress.total:
            tell("")

"""The command line of a fine-tuning run: start one from a file, resume one, or time its first steps; a signal ends it
after a commit."""

import argparse
import json
import secrets
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.options import option_specs
from bertexplorer.training.data import hub, qrels
from bertexplorer.training.data.decode import decode
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Table
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.preflight import plan
from bertexplorer.training.finetuning.run import Run, finetune
from bertexplorer.training.finetuning.spec import task_of
from bertexplorer.training.loop import Budget, train
from bertexplorer.training.run_process import catch_stop_signals, memory_mb, print_events
from bertexplorer.training.tasks import BY_NAME

HUB = "hub:"  # prefix of the name of a data set
MAX_ROWS = 1_000_000  # rows; the limit on the page is lower
TIMED = 3  # steps of a dry run


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser("python -m bertexplorer train", description=__doc__)
    arguments.add_argument("run", nargs="?", help="folder of a run to resume; --out names that of a new one")
    arguments.add_argument("--task", choices=sorted(BY_NAME))
    arguments.add_argument(
        "--data",
        nargs="+",
        help="a file: CSV, TSV, JSONL, JSON, CoNLL, TXT; three: queries, documents, judgements (qrels); or hub:NAME",
    )
    arguments.add_argument("--dev", help="validation file; default: a tenth of --data")
    arguments.add_argument("--checkpoint", default="mini", help="a name from the list, a hub name or a folder")
    arguments.add_argument("--out", help="folder of the new run")
    arguments.add_argument("--name", default="", help="name of the run")
    arguments.add_argument("--map", nargs="*", default=[], metavar="COLUMN=FILE_COLUMN", help="which column is which")
    arguments.add_argument(
        "--trial", action="store_true", help="time three steps of the run in the folder, change nothing"
    )
    arguments.add_argument(
        "--strict", action="store_true", help="stop at rows that cannot be used, instead of skipping them"
    )
    arguments.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the task")
    for setting in option_specs(specs.Tuning):
        flag = "--" + setting.name.replace("_", "-")
        arguments.add_argument(flag, help=setting.help(), choices=setting.choices or None)
    return arguments


def main(arguments: Sequence[str] | None, find: Callable[[str], Path], runs: Path) -> int:
    """Run one command. *find*: a checkpoint's name -> its folder; *runs*: where new runs go. Returns 0, 3 after a
    stop, or 2 after printing an error to stderr."""
    options = parser().parse_args(arguments)
    try:
        need("train", "Fine-tuning")
        folder = resumed_folder(options) if options.run else create_run(options, find, runs)
        if options.trial:
            print_line(json.dumps(dry_run(folder, print_line)))
            return 0
        return print_events(finetune(folder, catch_stop_signals()))
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error.render('cli')}\n")
        return 2


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def resumed_folder(options: argparse.Namespace) -> Path:
    """The folder of the run to resume. Raises ExplorerError for settings that a resume would ignore."""
    given = {name for name, value in vars(options).items() if value != parser().get_default(name)}
    if ignored := [f"--{name.replace('_', '-')}" for name in sorted(given - {"run", "trial"})]:
        raise ExplorerError(
            f"{options.run} is the folder of a run to resume, which continues with its own settings. "
            f"Omit {', '.join(ignored)}, or start a new run: --out names its folder."
        )
    return Path(options.run)


def create_run(options: argparse.Namespace, find: Callable[[str], Path], runs: Path) -> Path:
    """Create the folder of a new run. Problems with rows are printed to stderr."""
    if not options.task or not options.data:
        raise ExplorerError("Name the folder of a run to resume it, or --task and --data to start one.")
    values = {s.name: value for s in option_specs(specs.Tuning) if (value := getattr(options, s.name)) is not None}
    table = read_collection(options.data, options.task) if len(options.data) > 1 else read_table(options.data[0])
    folder = write_run(
        Path(options.out) if options.out else runs / secrets.token_hex(16),
        options.task,
        table,
        read_table(options.dev) if options.dev else None,
        checkpoint=(options.checkpoint, find(options.checkpoint)),
        values=values | parse_pairs(options.set, "--set"),
        columns=parse_pairs(options.map, "--map"),
        file=Path(options.data[0]).name,
        name=options.name,
        strict=options.strict,
        tell=lambda words: sys.stderr.write(words + "\n"),
    )
    sys.stderr.write(f"note: the run is in {folder}\n")
    return folder


def write_run(
    folder: Path,
    task: str,
    table: Table,
    dev: Table | None,
    *,
    checkpoint: tuple[str, Path],
    values: Mapping[str, Any],
    columns: Mapping[str, str],
    file: str,
    name: str = "",
    strict: bool = False,
    tell: Callable[[str], object],
) -> Path:
    """Write a new run to *folder*, which is returned; `finetune` trains it.

    *checkpoint*: name and folder; *values*: settings of Tuning and of the task; *columns*: columns of the task ->
    columns of the *table*, guessed if empty; *strict*: raise if rows cannot be used; *tell*: receives the columns,
    problems and findings, one call per line. Raises ExplorerError if the rows do not make a run."""
    spec, preflight = plan(
        task, checkpoint, table, dev, values=values, mapping=dict(columns) or None, file=file, name=name
    )
    tell(f"note: {preflight.summary}")
    unused = [column for column in table.columns if column not in preflight.mapping.values()]
    tell(f"note: columns: {preflight.columns_in_words}" + (f"; not used: {', '.join(unused)}" if unused else ""))
    for problem in preflight.problems[:20]:
        tell(f"{'error' if strict else 'skipped'}: {table.unit} {problem.line} {problem.what}")
    for finding in preflight.findings:
        tell(f"note: {finding.render('cli')}")
    if preflight.stops:
        raise ExplorerError(" ".join(finding.render("cli") for finding in preflight.findings if finding.stops))
    if preflight.problems and strict:
        raise ExplorerError(f"{len(preflight.problems):,} rows cannot be used. Fix them, or omit --strict.")
    specs.write_run_folder(folder, spec, preflight.train, preflight.dev)
    return folder


def read_table(name: str) -> Table:
    if name.startswith(HUB):
        return hub.fetch_dataset(name.removeprefix(HUB), MAX_ROWS)
    path = Path(name)
    try:
        return read(path.read_bytes(), path.name, max_rows=MAX_ROWS)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read: {error.strerror}. Name a CSV, TSV, JSONL or TXT file.") from error


def read_collection(names: Sequence[str], task: str) -> Table:
    """Queries, documents and judgements as rows; for re-ranking also the passages that BM25 finds."""
    if len(names) != 3 or "judgements" not in task_of(task).CAN:
        judged = " and ".join(name for name, module in BY_NAME.items() if "judgements" in module.CAN)
        raise ExplorerError(
            f"--data got {len(names)} files for {task}; wanted one, or for {judged} three: queries, documents and "
            "judgements."
        )
    contents = []
    for name in names:
        try:
            contents.append(decode(Path(name).read_bytes(), Path(name).name)[0])
        except OSError as error:
            raise ExplorerError(f"{name} cannot be read: {error.strerror}. Name three text files.") from error
    queries, documents, judgements = contents
    candidates = task_of(task).CANDIDATES
    rows = qrels.collection_rows(queries, documents, judgements, candidates)
    summary = f"{len(rows):,} rows from {', '.join(Path(name).name for name in names)}"
    summary += f"; each query with up to {candidates} more passages that BM25 finds." if candidates else "."
    return Table(tuple(rows[0].cells), tuple(rows), (), summary, "qrels", unit="line of the judgements")


def parse_pairs(arguments: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse NAME=VALUE arguments."""
    parts = [part.partition("=") for part in arguments]
    if malformed := [name for name, sign, _ in parts if not sign]:
        raise ExplorerError(f"{flag} got {malformed[0]!r:.60}; wanted NAME=VALUE.")
    return {name: value for name, _, value in parts}


def dry_run(folder: Path, tell: Callable[[str], object]) -> dict[str, float]:
    """Run three real steps after one to warm up, and evaluate some rows, without writing anything. Returns the
    estimated time of the whole run ("seconds"), its "steps", and peak memory ("memory_mb"). *tell* receives progress
    messages."""
    tell("Loading the checkpoint…")
    spec, train_rows, dev_rows = specs.read_run(folder)
    run = Run(folder, spec, train_rows, dev_rows, lambda: False)
    learner, items, dev = run.learner()
    tuning, batches = spec.tuning, run.batches(learner, items)
    optimiser = run.optimiser(learner)
    workers = DataParallel(learner, 1, run.device, bf16=run.bf16, distributed=run.distributed)
    steps = train(
        workers,
        optimiser,
        batches,
        run.state,
        learning=run.learning,
        budget=Budget(steps=TIMED + 1),
        seed=tuning.seed,
    )
    tell("Warming up…")
    times = []
    for number, step in enumerate(steps):
        times.append(step.seconds)
        tell(f"Timing step {number + 1} of {TIMED}…" if number < TIMED else "Timing an evaluation…")
    times = times[1:]
    sample = dev[:64]
    began = time.monotonic()
    learner.evaluate(sample)
    evaluation = (time.monotonic() - began) * len(dev) / len(sample)
    evaluations = 1 + max(1, round(tuning.epochs * tuning.evaluations))
    seconds = run.steps * sum(times) / len(times) + evaluations * evaluation
    return {"seconds": seconds, "steps": run.steps, "memory_mb": memory_mb()}

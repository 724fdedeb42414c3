"""The command line of a fine-tuning run: start one from a file, or resume one; a signal ends it after a commit."""

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.options import option_specs
from bertexplorer.training.data import hub, qrels
from bertexplorer.training.data.decode import decode
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Table
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.dry_run import dry_run
from bertexplorer.training.finetuning.preflight import plan
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.run_process import asked_to_stop, show
from bertexplorer.training.tasks import BY_NAME

HUB = "hub:"  # prefix of the name of a data set
CANDIDATES = 50  # unjudged passages that BM25 adds per query for re-ranking
MOST = 1_000_000  # rows; the limit on the page is lower


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser("python -m bertexplorer train", description=__doc__)
    made.add_argument("run", nargs="?", help="folder of a run to resume; --out names that of a new one")
    made.add_argument("--task", choices=sorted(BY_NAME))
    made.add_argument(
        "--data",
        nargs="+",
        help="a file: CSV, TSV, JSONL, JSON, CoNLL, TXT; three: queries, documents, judgements (qrels); or hub:NAME",
    )
    made.add_argument("--dev", help="validation file; default: a tenth of --data")
    made.add_argument("--checkpoint", default="mini", help="a name from the list, a hub name or a folder")
    made.add_argument("--out", help="folder of the new run")
    made.add_argument("--name", default="", help="name of the run")
    made.add_argument("--map", nargs="*", default=[], metavar="COLUMN=FILE_COLUMN", help="which column is which")
    made.add_argument("--trial", action="store_true", help="time three steps of the run in the folder, change nothing")
    made.add_argument(
        "--strict", action="store_true", help="stop at rows that cannot be used, instead of skipping them"
    )
    made.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the task")
    for setting in option_specs(specs.Tuning):
        note = f"{setting.option.label} ({setting.default!r}) {setting.option.info}".replace("%", "%%")
        made.add_argument("--" + setting.name.replace("_", "-"), help=note, choices=setting.choices or None)
    return made


def main(arguments: Sequence[str] | None, find: Callable[[str], Path], runs: Path) -> int:
    """Run one command. *find*: a checkpoint's name -> its folder; *runs*: where new runs go. Returns 0 (also after a
    stop by a signal), or 2 after an error, which stderr says."""
    given = parser().parse_args(arguments)
    try:
        need("train", "Fine-tuning")
        folder = Path(given.run) if given.run else begin(given, find, runs)
        if given.trial:
            line(json.dumps(dry_run(folder, line)))
            return 0
        return show(finetune(folder, asked_to_stop()))
    except ExplorerError as error:
        sentence = str(error).replace("Choose one.", "Name it with --map NAME=COLUMN.")
        sentence = sentence.replace("Choose another column.", "Name another column with --map label=COLUMN.")
        sys.stderr.write(f"bertexplorer: {sentence}\n")
        return 2


def line(words: str) -> None:
    sys.stdout.write(words + "\n")
    sys.stdout.flush()


def begin(given: argparse.Namespace, find: Callable[[str], Path], runs: Path) -> Path:
    """Create the folder of a new run. Problems with rows are printed to stderr."""
    if not given.task or not given.data:
        raise ExplorerError("Name the folder of a run to resume it, or --task and --data to start one.")
    values = {s.name: value for s in option_specs(specs.Tuning) if (value := getattr(given, s.name)) is not None}
    table = collection(given.data, given.task) if len(given.data) > 1 else opened(given.data[0])
    folder = set_up(
        Path(given.out) if given.out else runs / secrets.token_hex(16),
        given.task,
        table,
        opened(given.dev) if given.dev else None,
        checkpoint=(given.checkpoint, find(given.checkpoint)),
        values=values | pairs(given.set, "--set"),
        columns=pairs(given.map, "--map"),
        file=Path(given.data[0]).name,
        name=given.name,
        strict=given.strict,
        tell=lambda words: sys.stderr.write(words + "\n"),
    )
    sys.stderr.write(f"note: the run is in {folder}\n")
    return folder


def set_up(
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
    columns of the *table*, guessed if empty; *strict*: raise if rows cannot be used; *tell*: receives problems and
    findings line by line. Raises ExplorerError if the rows do not make a run."""
    spec, looked = plan(
        task, checkpoint, table, dev, values=values, mapping=dict(columns) or None, file=file, name=name
    )
    tell(f"note: {looked.summary}")
    for problem in looked.problems[:20]:
        tell(f"{'error' if strict else 'skipped'}: {table.unit} {problem.line} {problem.what}")
    for finding in looked.findings:
        tell(f"note: {finding.what}")
    if looked.stops:
        raise ExplorerError(" ".join(looked.stops))
    if looked.problems and strict:
        raise ExplorerError(f"{len(looked.problems):,} rows cannot be used. Fix them, or omit --strict.")
    specs.begin(folder, spec, looked.train, looked.dev)
    return folder


def opened(name: str) -> Table:
    if name.startswith(HUB):
        return hub.fetch(name.removeprefix(HUB), MOST)
    path = Path(name)
    try:
        return read(path.read_bytes(), path.name, most=MOST)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read: {error.strerror}. Name a CSV, TSV, JSONL or TXT file.") from error


def collection(names: Sequence[str], task: str) -> Table:
    """Queries, documents and judgements as rows; for re-ranking also the passages that BM25 finds."""
    if len(names) != 3 or task not in ("retrieval", "reranking"):
        raise ExplorerError(
            f"--data got {len(names)} files for {task}; wanted one, or for retrieval and reranking three: queries, "
            "documents and judgements."
        )
    contents = []
    for name in names:
        try:
            contents.append(decode(Path(name).read_bytes(), Path(name).name)[0])
        except OSError as error:
            raise ExplorerError(f"{name} cannot be read: {error.strerror}. Name three text files.") from error
    queries, documents, judged = contents
    rows = qrels.rows(queries, documents, judged, CANDIDATES if task == "reranking" else 0)
    summary = f"{len(rows):,} rows from {', '.join(Path(name).name for name in names)}"
    summary += f"; each query with up to {CANDIDATES} more passages that BM25 finds." if task == "reranking" else "."
    return Table(tuple(rows[0].cells), tuple(rows), (), summary, "qrels", unit="line of the judgements")


def pairs(given: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse NAME=VALUE arguments."""
    found = [part.partition("=") for part in given]
    if odd := [name for name, sign, _ in found if not sign]:
        raise ExplorerError(f"{flag} got {odd[0]!r:.60}; wanted NAME=VALUE.")
    return {name: value for name, _, value in found}

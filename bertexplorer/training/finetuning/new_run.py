"""A new fine-tuning run: the files it is trained on, read as a table, and its folder."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data import hub, qrels
from bertexplorer.training.data.decode import decode
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Table
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.preflight import plan
from bertexplorer.training.finetuning.spec import task_of
from bertexplorer.training.tasks import BY_NAME

HUB = "hub:"  # prefix of the name of a data set
MAX_ROWS = 1_000_000  # rows; the limit on the page is lower
SHOWN_PROBLEMS = 20


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
    columns_note = f"note: columns: {preflight.columns_in_words}"
    unused = [column for column in table.columns if column not in preflight.mapping.values()]
    if unused:
        columns_note += f"; not used: {', '.join(unused)}"
    tell(columns_note)
    consequence = "error" if strict else "skipped"
    for problem in preflight.problems[:SHOWN_PROBLEMS]:
        tell(f"{consequence}: {table.unit} {problem.line} {problem.what}")
    for finding in preflight.findings:
        tell(f"note: {finding.render('cli')}")
    if preflight.stops:
        raise ExplorerError(" ".join(finding.render("cli") for finding in preflight.findings if finding.stops))
    if preflight.problems and strict:
        raise ExplorerError(f"{len(preflight.problems):,} rows cannot be used. Fix them, or omit --strict.")
    specs.write_run_folder(folder, spec, preflight.train, preflight.dev)
    return folder


def read_table(name: str) -> Table:
    """The rows of a file, or of a data set of the hub if *name* begins with HUB. Raises ExplorerError if it cannot be
    read."""
    if name.startswith(HUB):
        return hub.fetch_dataset(name.removeprefix(HUB), MAX_ROWS)
    path = Path(name)
    try:
        return read(path.read_bytes(), path.name, max_rows=MAX_ROWS)
    except OSError as error:
        raise ExplorerError(f"{path} cannot be read: {error.strerror}. Name a CSV, TSV, JSONL or TXT file.") from error


def read_collection(names: Sequence[str], task: str) -> Table:
    """Queries, documents and judgements, the files *names*, as rows; for re-ranking also the passages that BM25 finds.
    Raises ExplorerError for a task without judgements, for other than three files, and if one cannot be read."""
    if len(names) != 3 or "judgements" not in task_of(task).can:
        judged = " and ".join(name for name, other in BY_NAME.items() if "judgements" in other.can)
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
    candidates = task_of(task).candidates
    rows = qrels.collection_rows(queries, documents, judgements, candidates)
    summary = f"{len(rows):,} rows from {', '.join(Path(name).name for name in names)}"
    if candidates:
        summary += f"; each query with up to {candidates} more passages that BM25 finds"
    return Table(
        columns=tuple(rows[0].cells),
        rows=tuple(rows),
        problems=(),
        summary=f"{summary}.",
        kind="qrels",
        unit="line of the judgements",
    )

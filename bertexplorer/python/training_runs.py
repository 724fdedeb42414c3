"""Runs in Python: fine-tune or pretrain a checkpoint in a folder, follow its events, use the result."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.errors import ExplorerError
from bertexplorer.python.arguments import check_rows
from bertexplorer.python.bert import Bert, load
from bertexplorer.runs import run_folder, suite_folder
from bertexplorer.store import trained

if TYPE_CHECKING:
    from bertexplorer.training.data.rows import Table
    from bertexplorer.training.events import Event
    from bertexplorer.training.finetuning.influence import Influences


@dataclass(frozen=True)
class TrainingRun:
    """A run in its folder: its settings, its events, and the best checkpoint so far.

    `train` and `pretrain` return it. Make one from a folder to look at a run of an earlier program, or to continue it.

    Args:
        folder: the folder of the run.

    Example:
        >>> bx.TrainingRun("runs/films").resume().metrics  # doctest: +SKIP
    """

    folder: Path

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder))  # which may be given as a string

    @property
    def spec(self) -> dict[str, Any]:
        """The content of spec.json."""
        return trained.read_spec(self.folder) or {}

    @property
    def events(self) -> list[Event]:
        """The events in order: dictionaries with "event", "time" (unix seconds) and "step"."""
        return run_folder.history(self.folder)

    @property
    def state(self) -> str:
        """The state: queued, starting, running, stopping, finished, stopped, failed or interrupted."""
        return run_folder.read(self.folder).state

    @property
    def metrics(self) -> dict[str, float]:
        """The metrics, on the validation rows, of the best checkpoint so far: the one that `load` and `predict` use.

        They are empty before it is saved, and for a pretraining run. `latest_metrics` has those of the latest
        evaluation.
        """
        from bertexplorer.training.checkpointing import list_commits

        best = list_commits(self.folder / "best")[-1:]
        if not best:
            return {}
        content = json.loads((best[0] / "task.json").read_text("utf-8"))
        return dict(content["metrics"])

    @property
    def latest_metrics(self) -> dict[str, float]:
        """The metrics of the latest evaluation on the validation rows, which may be worse than the best.

        They are empty before the first evaluation, and for a pretraining run.
        """
        metrics = [event["metrics"] for event in self.events if event["event"] == "evaluated" and "metrics" in event]
        return dict(metrics[-1]) if metrics else {}

    @property
    def best(self) -> Path:
        """The folder of the best checkpoint.

        Raises:
            ExplorerError: if there is none yet.
        """
        return trained.best_checkpoint(self.folder)

    def load(self) -> Bert:
        """The best checkpoint, whose `metrics` the run has, with every analysis.

        Returns:
            The checkpoint, as from `bertexplorer.load`.

        Raises:
            ExplorerError: if there is none yet.
        """
        return load(self.best)

    def predict(self, rows: Sequence[Mapping[str, str]] | Mapping[str, str]) -> list[dict[str, Any]]:
        """The answers of the best checkpoint, whose `metrics` the run has, to new rows.

        Args:
            rows: a dictionary of the task's columns for each row, or a single one.

        Returns:
            A dictionary for each row, as the page Train shows it: {"labels": [{"label": "good", "probability": 0.9},
            …]} for labels of texts.

        Raises:
            ExplorerError: if there is no checkpoint yet, and for a pretraining run.
        """
        from bertexplorer.training.finetuning.artifacts import open_learner

        several = [rows] if isinstance(rows, Mapping) else check_rows("rows", rows)
        return list(open_learner(self.best).predict([dict(row) for row in several]))

    def influence(self, row: Mapping[str, str], label: str = "") -> Influences:
        """The training rows that made a label the answer to a new row, and those that spoke against it.

        They are found by gradients at the kept checkpoints (Pruthi et al., 2020, TracIn). Use it to learn which
        examples an answer rests on.

        Args:
            row: a dictionary of the task's columns.
            label: the answer to explain; "" for the run's own. For tags, one for each word, separated by spaces; for
                questions, a text in the passage; for similarity and re-ranking, leave it out.

        Returns:
            The training rows with their scores.

        Raises:
            ExplorerError: for tasks other than labels of texts and pairs, tags, questions, similarity and re-ranking.

        Example:
            >>> found = run.influence({"text": "A great film."})  # doctest: +SKIP
            >>> found.rows[0].texts, found.rows[0].score  # doctest: +SKIP
        """
        from bertexplorer.training.finetuning import influence

        return influence.run_to_end(influence.influence(self.folder, row, label))

    def suspects(self) -> Influences:
        """The training rows, the most suspicious first.

        Use it to find wrong labels: a wrong label has much influence on its own row's loss, as only memorising it
        lowers it.

        Returns:
            The training rows with their scores.

        Raises:
            ExplorerError: as `influence` does.
        """
        from bertexplorer.training.finetuning import influence

        return influence.run_to_end(influence.suspects(self.folder))

    def resume(self, on_event: Callable[[Event], object] | None = None) -> TrainingRun:
        """Continue a stopped or interrupted run until it is finished.

        Args:
            on_event: gets each event as it happens; by default, they are written to stderr.

        Returns:
            This run.

        Raises:
            ExplorerError: if another process works on the run.
        """
        return follow(self, on_event)


@dataclass(frozen=True)
class SuiteRun:
    """A finished suite in its folder.

    Args:
        folder: that of `bertexplorer suite --out`, or the folder of a run.

    Example:
        >>> bx.SuiteRun("runs/mini").compare("runs/large")["said"]  # doctest: +SKIP
    """

    folder: Path | str

    @property
    def rows(self) -> list[dict[str, str]]:
        """The cases, as in cases.csv."""
        return suite_folder.table(self.scored.folder, "cases.csv")

    @property
    def summary(self) -> list[dict[str, str]]:
        """The score overall and by category, as in summary.csv."""
        return suite_folder.table(self.scored.folder, "summary.csv")

    @property
    def scored(self) -> suite_folder.ScoredSuite:
        """The scored cases by line, with what was measured.

        Raises:
            ExplorerError: unless the suite is finished.
        """
        return suite_folder.read_suite(Path(self.folder))

    def compare(self, other: SuiteRun | Path | str) -> dict[str, Any]:
        """The paired test of another suite against this one, and the cases on which they differ.

        Args:
            other: a suite of the same rows, or its folder.

        Returns:
            "test", the paired test; "said", the test in a sentence; and "differences", the cases: the row here, with
            the answer and the score of the other.

        Raises:
            ExplorerError: for other rows or another scoring method.
        """
        from bertexplorer.views.suite.paired import test_row
        from bertexplorer.views.suite.show import say_test

        other_run = other if isinstance(other, SuiteRun) else SuiteRun(other)
        ours = self.scored
        theirs = other_run.scored
        test, lines = suite_folder.compare_suites(ours, theirs)
        differences = []
        for line in lines:
            row = dict(ours.cases[line])
            for name in ("answer", "right", "score"):
                row[f"other_{name}"] = theirs.cases[line][name]
            differences.append(row)
        return {
            "test": test_row(str(theirs.spec["checkpoint"]), str(ours.spec["checkpoint"]), test),
            "said": say_test(test, "cases"),
            "differences": differences,
        }


def train(
    checkpoint: str | Path | Bert = "mini",
    *,
    task: str,
    data: Any,
    out: str | Path,
    dev: Any = None,
    columns: Mapping[str, str] | None = None,
    name: str = "",
    strict: bool = False,
    on_event: Callable[[Event], object] | None = None,
    **settings: Any,
) -> TrainingRun:
    """Fine-tune a checkpoint in a new folder, until it is done.

    `TrainingRun(out).resume()` continues an interrupted run.

    Args:
        checkpoint: what to start from, as `load` takes it.
        task: the name of a task, such as "classification".
        data: a CSV, TSV, JSONL, JSON, CoNLL or TXT file, rows as dictionaries, or a DataFrame.
        out: the new folder of the run.
        dev: the same as *data* for validation; a tenth of the data if left out.
        columns: the task's columns -> yours; guessed if left out.
        name: a name for the run.
        strict: whether rows that cannot be used stop it, rather than being skipped.
        on_event: gets each event as it happens; by default, they are written to stderr.
        **settings: epochs, rate, batch, method, seed and all the others that `bertexplorer train --help` lists.

    Returns:
        The finished run.

    Raises:
        ExplorerError: if *out* exists, for unsuitable rows, and for an unknown setting.

    Example:
        >>> rows = [{"text": f"a {w} film", "label": w} for w in ["good", "bad"] * 20]
        >>> run = bx.train("tiny", task="classification", data=rows, out="runs/films", epochs=1)  # doctest: +SKIP
        >>> run.predict({"text": "a good film"})[0]["labels"][0]["label"]  # doctest: +SKIP
        'good'
    """
    from bertexplorer.training.finetuning.new_run import write_run
    from bertexplorer.training.finetuning.spec import make_spec

    make_spec(task, checkpoint="", folder="", values=settings, by_name=True)  # names a wrong setting as spelt here
    folder = Path(out)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise ExplorerError(f"{folder} exists. Name a new folder, or continue with TrainingRun({str(out)!r}).resume().")
    start = load(checkpoint)
    start_folder = start.checkpoint.folder
    if start_folder == Path():
        raise ExplorerError(f"{start.name} is only in memory. Save it to a folder, and train from that.")
    write_run(
        folder,
        task,
        table_of(data),
        None if dev is None else table_of(dev),
        checkpoint=(start.name, start_folder.resolve()),
        values=settings,
        columns=columns or {},
        file=Path(data).name if isinstance(data, str | Path) else "rows in memory",
        name=name,
        strict=strict,
        tell=lambda words: sys.stderr.write(words + "\n"),
    )
    return follow(TrainingRun(folder), on_event)


def pretrain(
    text: str | Path | Sequence[str | Path],
    *,
    out: str | Path,
    on_event: Callable[[Event], object] | None = None,
    **settings: Any,
) -> TrainingRun:
    """Pretrain an encoder on plain text in a new folder, until it is done.

    Args:
        text: files or folders of plain text with an empty line between documents.
        out: the new folder of the run.
        on_event: as for `train`.
        **settings: objective, minutes, steps, layers, hidden, heads, start (the folder of a checkpoint to start from)
            and all the others that `bertexplorer pretrain --help` lists.

    Returns:
        The finished run.

    Raises:
        ExplorerError: if *out* contains a run, for a text that is too short, and for an unknown setting.

    Example:
        >>> run = bx.pretrain("corpus.txt", out="runs/mine", minutes=10)  # doctest: +SKIP
        >>> run.load().fill_mask("A good [MASK].").said  # doctest: +SKIP
    """
    from bertexplorer.training.pretraining.new_run import PLAIN, prepare_folder
    from bertexplorer.training.pretraining.spec import make_spec

    values = {name: value for name, value in settings.items() if name not in PLAIN}
    make_spec({"text": ()}, values, by_name=True)  # names a wrong setting as it is spelt here
    folder = Path(out)
    if (folder / "spec.json").exists():
        raise ExplorerError(
            f"{folder} contains a run. Name a new folder, or continue with TrainingRun({str(out)!r}).resume()."
        )
    files = [text] if isinstance(text, str | Path) else list(text)
    prepare_folder(folder, [str(file) for file in files], settings)
    return follow(TrainingRun(folder), on_event)


def follow(run: TrainingRun, on_event: Callable[[Event], object] | None) -> TrainingRun:
    """Compute the rest of *run*, and report its events as they happen. Return *run*."""
    from bertexplorer.training.events import format_event

    report = on_event or (lambda event: sys.stderr.write(format_event(event) + "\n"))
    for event in remaining_events(run):
        report(event)
    return run


def remaining_events(run: TrainingRun) -> Iterator[Event]:
    """Compute the rest of *run*, and yield its events."""
    if "stretches" in run.spec:
        from bertexplorer.training.pretraining.run import pretrain

        return pretrain(run.folder)
    from bertexplorer.training.finetuning.run import finetune

    return finetune(run.folder)


def table_of(data: Any) -> Table:
    """The rows of a file, of dictionaries or of a DataFrame. Raises ExplorerError for anything else."""
    from bertexplorer.training.data.read import read
    from bertexplorer.training.finetuning.new_run import read_table

    if isinstance(data, str | Path):
        return read_table(str(data))
    rows = data.to_dict("records") if hasattr(data, "to_dict") else data
    if not isinstance(rows, list | tuple) or not all(isinstance(row, Mapping) for row in rows):
        raise ExplorerError(
            f"data is a {type(data).__name__}; wanted the name of a file, a list of dictionaries or a DataFrame."
        )
    try:
        lines = "".join(json.dumps(dict(row), allow_nan=False) + "\n" for row in rows)
    except (TypeError, ValueError) as error:
        raise ExplorerError(f"The rows cannot be read ({error}). Wanted texts, numbers and lists of them.") from error
    return read(lines.encode("utf-8"), "rows.jsonl")

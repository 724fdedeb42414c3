"""Training rows behind an answer, and training rows whose labels look wrong, as tables with their sentences."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.report import text_columns
from bertexplorer.runs.service import RunDetail
from bertexplorer.training.tasks import BY_NAME
from bertexplorer.wording import plural

if TYPE_CHECKING:
    from bertexplorer.training.finetuning.influence import Influence, Influences

MAX_ROWS, MAX_SUSPECTS = 5, 20  # rows of a table


def check_traceable(detail: RunDetail) -> None:
    """Raises ExplorerError for a run without training rows, such as a suite."""
    if detail.run.task not in BY_NAME:
        raise ExplorerError(f"{detail.run.name} has no training rows to trace. Choose a fine-tuning run.")


def influence_tables(detail: RunDetail, row: Mapping[str, str]) -> Generator[float, None, dict[str, Any]]:
    """The training rows behind the answer to *row*. Yields the share that is done; returns tables. Raises ExplorerError
    as `TrainingRun.influence` does."""
    from bertexplorer.training.finetuning import influence

    check_traceable(detail)
    found = yield from influence.influence(detail.run.folder, row)
    largest = max(abs(each.score) for each in found.rows) or 1.0

    def table(title: str, rows: Iterable[Influence]) -> dict[str, Any]:
        scored = [table_row(each, detail, score=each.score / largest, cosine=each.cosine) for each in rows]
        return {"title": title, "rows": scored}

    same, other = found.by_label
    if same and other:
        tables = [table(f"Rows with the label “{found.label}”", same[:MAX_ROWS])]
        tables += [table("Rows with another label", other[:MAX_ROWS])]
    else:
        tables = [table("For it", [each for each in found.rows[:MAX_ROWS] if each.score > 0])]
        tables += [table("Against it", [each for each in found.rows[::-1][:MAX_ROWS] if each.score < 0])]
    note = (
        f"{method(found)} Scores are shares of the largest; above 0, training on the row made “{found.label}” "
        f"likelier.{opposite_rows(found.label) if same and other else ''} This first-order estimate treats every step "
        "as plain gradient descent, so read the order of the rows, not the size of the scores."
    )
    tables.append(table("Nearest by vector, for comparison", found.nearest[:MAX_ROWS]))
    return {"title": f"Which rows taught it “{found.label}”?", "note": note, "said": "", "tables": tables}


def opposite_rows(label: str) -> str:
    """Why a row with another label can have a score above 0, as a sentence."""
    return (
        f" A row with another label can make “{label}” likelier too: if its vector points the other way, what moves it "
        "away from this label moves the text above towards it."
    )


def suspect_table(detail: RunDetail) -> Generator[float, None, dict[str, Any]]:
    """The training rows whose labels look wrong. Yields the share that is done; returns a table. Raises ExplorerError
    as `TrainingRun.suspects` does."""
    from bertexplorer.training.finetuning import influence

    check_traceable(detail)
    found = yield from influence.suspects(detail.run.folder)
    largest = found.rows[0].score or 1.0
    rows = [table_row(row, detail, score=row.score / largest, loss=row.loss) for row in found.rows[:MAX_SUSPECTS]]
    note = (
        f"{method(found)} The score of a row is its influence on its own loss, as a share of the largest. It is high "
        "for rows that can only be memorised: wrong labels, and rare or hard rows. Read them before you change them."
    )
    title = "Training rows whose labels look wrong"
    return {"title": title, "note": note, "said": planted_summary(found), "tables": [{"title": "", "rows": rows}]}


def planted_summary(found: Influences) -> str:
    """How many planted wrong labels were found again, compared with two baselines."""
    if not found.planted:
        return ""
    count, total = found.planted, len(found.rows)
    by_loss = found.found(lambda row: row.loss)
    return (
        f"{count:,} wrong labels were planted in {total:,} rows. Of the first {count:,} rows here, {found.found():,} "
        f"have one; sorted by loss, {by_loss:,} would; in random order, {count * count / total:.1f}."
    )


def table_row(row: Influence, detail: RunDetail, **scores: float) -> dict[str, object]:
    """A row of a table. A planted label is followed by the true one."""
    texts = {column.label.lower(): text for column, text in zip(text_columns(detail), row.texts, strict=False)}
    label = f"{row.label} (planted; was {row.truth})" if row.truth else row.label
    return {"line": row.line, **texts, "answer" if "question" in texts else "label": label, **scores}


def method(found: Influences) -> str:
    """How many rows and which checkpoints were used."""
    steps = ", ".join(f"{step:,}" for step in found.steps)
    at = f"the {plural('checkpoint', len(found.steps))} of {plural('step', len(found.steps))} {steps}"
    rest = f" {found.left_out:,} more rows were left out at random." if found.left_out else ""
    return f"TracIn (Pruthi et al., 2020) over {len(found.rows):,} training rows, at {at}.{rest}"

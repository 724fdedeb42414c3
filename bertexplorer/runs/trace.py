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
    as `influence.influence` does."""
    from bertexplorer.training.finetuning import influence

    check_traceable(detail)
    influences = yield from influence.influence(detail.run.folder, row)
    largest = max(abs(each.score) for each in influences.rows) or 1.0

    def table(title: str, rows: Iterable[Influence]) -> dict[str, Any]:
        scored = [table_row(each, detail, score=each.score / largest, cosine=each.cosine) for each in rows]
        return {"title": title, "rows": scored}

    label = influences.label
    sentences = [method(influences)]
    sentences.append(f"Scores are shares of the largest; above 0, training on the row made “{label}” likelier.")
    same, other = influences.by_label
    if same and other:
        tables = [table(f"Rows with the label “{label}”", same[:MAX_ROWS])]
        tables.append(table("Rows with another label", other[:MAX_ROWS]))
        sentences.append(
            f"A row with another label can make “{label}” likelier too: if its vector points the other way, what moves "
            "it away from this label moves the text above towards it."
        )
    else:
        first, last = influences.rows[:MAX_ROWS], influences.rows[::-1][:MAX_ROWS]
        tables = [table("For it", [each for each in first if each.score > 0])]
        tables.append(table("Against it", [each for each in last if each.score < 0]))
    sentences.append(
        "This first-order estimate treats every step as plain gradient descent, so read the order of the rows, not the "
        "size of the scores."
    )
    tables.append(table("Nearest by vector, for comparison", influences.nearest[:MAX_ROWS]))
    title = f"Which rows taught it “{label}”?"
    return {"title": title, "note": " ".join(sentences), "said": "", "tables": tables}


def suspect_table(detail: RunDetail) -> Generator[float, None, dict[str, Any]]:
    """The training rows whose labels look wrong. Yields the share that is done; returns a table. Raises ExplorerError
    as `influence.suspects` does."""
    from bertexplorer.training.finetuning import influence

    check_traceable(detail)
    influences = yield from influence.suspects(detail.run.folder)
    largest = influences.rows[0].score or 1.0
    rows = []
    for row in influences.rows[:MAX_SUSPECTS]:
        rows.append(table_row(row, detail, score=row.score / largest, loss=row.loss))
    note = (
        f"{method(influences)} The score of a row is its influence on its own loss, as a share of the largest. It is "
        "high for rows that can only be memorised: wrong labels, and rare or hard rows. Read them before you change "
        "them."
    )
    title = "Training rows whose labels look wrong"
    return {"title": title, "note": note, "said": planted_summary(influences), "tables": [{"title": "", "rows": rows}]}


def planted_summary(influences: Influences) -> str:
    """How many planted wrong labels were found again, compared with two baselines; "" if none was planted."""
    count, total = influences.planted, len(influences.rows)
    if not count:
        return ""
    by_score = influences.found()
    by_loss = influences.found(lambda row: row.loss)
    by_chance = count * count / total
    return (
        f"{count:,} wrong labels were planted in {total:,} rows. Of the first {count:,} rows here, {by_score:,} "
        f"have one; sorted by loss, {by_loss:,} would; in random order, {by_chance:.1f}."
    )


def table_row(row: Influence, detail: RunDetail, **scores: float) -> dict[str, object]:
    """A row of a table. A planted label is followed by the true one."""
    texts = {column.label.lower(): text for column, text in zip(text_columns(detail), row.texts, strict=False)}
    label = f"{row.label} (planted; was {row.truth})" if row.truth else row.label
    heading = "answer" if "question" in texts else "label"
    return {"line": row.line, **texts, heading: label, **scores}


def method(influences: Influences) -> str:
    """How many rows and which checkpoints were used."""
    steps = ", ".join(f"{step:,}" for step in influences.steps)
    count = len(influences.steps)
    at = f"the {plural('checkpoint', count)} of {plural('step', count)} {steps}"
    sentences = [f"TracIn (Pruthi et al., 2020) over {len(influences.rows):,} training rows, at {at}."]
    if influences.left_out:
        sentences.append(f"{influences.left_out:,} more rows were left out at random.")
    return " ".join(sentences)

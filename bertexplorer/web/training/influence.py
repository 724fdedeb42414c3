"""Training rows behind an answer, and training rows whose labels look wrong, as HTML."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from bertexplorer.runs.service import RunDetail
from bertexplorer.web.training.html import table, text_columns

if TYPE_CHECKING:
    from bertexplorer.training.finetuning.influence import Influence, Influences

LABELLED_TASKS = ("classification", "pair-classification", "tagging", "question-answering", "reranking")
TASKS = (*LABELLED_TASKS, "similarity")  # whose rows can be traced
MAX_ROWS, MAX_SUSPECTS = 5, 20  # rows of a table


def explain(detail: RunDetail, row: Mapping[str, str]) -> Generator[float, None, str]:
    """The training rows behind the answer to *row*. Yields the share that is done; returns HTML."""
    from bertexplorer.training.finetuning import influence

    found = yield from influence.influence(detail.run.folder, row)
    largest = max(abs(row.score) for row in found.rows) or 1.0

    def rows_table(heading: str, rows: Iterable[Influence]) -> str:
        cells = [table_row(row, detail, score=row.score / largest, cosine=row.cosine) for row in rows]
        return f"<h4>{escape(heading)}</h4>" + (table(cells) or '<p class="note">No row.</p>')

    same, other = found.by_label
    if same and other:
        opposite = opposite_rows(found.label)
        lists = rows_table(f"Rows with the label “{found.label}”", same[:MAX_ROWS])
        lists += rows_table("Rows with another label", other[:MAX_ROWS])
    else:
        opposite = ""
        lists = rows_table("For it", [row for row in found.rows[:MAX_ROWS] if row.score > 0])
        lists += rows_table("Against it", [row for row in found.rows[::-1][:MAX_ROWS] if row.score < 0])
    label = escape(found.label)
    return (
        f"<h3>Which rows taught it “{label}”?</h3>"
        f'<p class="note">{escape(method(found))} Scores are shares of the largest; above 0, training on the row made '
        f"“{label}” likelier.{escape(opposite)} This first-order estimate treats every step as plain gradient descent, "
        "so read the order of the rows, not the size of the scores.</p>"
        f"{lists}{rows_table('Nearest by vector, for comparison', found.nearest[:MAX_ROWS])}"
    )


def opposite_rows(label: str) -> str:
    """Why a row with another label can have a score above 0, as a sentence."""
    return (
        f" A row with another label can make “{label}” likelier too: if its vector points the other way, what moves it "
        "away from this label moves the text above towards it."
    )


def suspects(detail: RunDetail) -> Generator[float, None, str]:
    """The training rows whose labels look wrong. Yields the share that is done; returns HTML."""
    from bertexplorer.training.finetuning import influence

    found = yield from influence.suspects(detail.run.folder)
    largest = found.rows[0].score or 1.0
    rows = [table_row(row, detail, score=row.score / largest, loss=row.loss) for row in found.rows[:MAX_SUSPECTS]]
    return (
        "<h3>Training rows whose labels look wrong</h3>"
        f'<p class="note">{escape(method(found))} The score of a row is its influence on its own loss, as a share of '
        "the largest. It is high for rows that can only be memorised: wrong labels, and rare or hard rows. Read "
        f"them before you change them.</p>{planted_summary(found)}{table(rows)}"
    )


def planted_summary(found: Influences) -> str:
    """How many planted wrong labels were found again, compared with two baselines."""
    if not found.planted:
        return ""
    count, total = found.planted, len(found.rows)
    by_loss = found.found(lambda row: row.loss)
    return (
        f'<p class="summary">{count:,} wrong labels were planted in {total:,} rows. Of the first {count:,} rows here, '
        f"{found.found():,} have one; sorted by loss, {by_loss:,} would; in random order, "
        f"{count * count / total:.1f}.</p>"
    )


def table_row(row: Influence, detail: RunDetail, **scores: float) -> dict[str, object]:
    """A row of a table. A planted label is followed by the true one."""
    texts = {column.label.lower(): text for column, text in zip(text_columns(detail), row.texts, strict=False)}
    label = f"{row.label} (planted; was {row.truth})" if row.truth else row.label
    return {"line": row.line, **texts, "answer" if "question" in texts else "label": label, **scores}


def method(found: Influences) -> str:
    """How many rows and which checkpoints were used."""
    steps = ", ".join(f"{step:,}" for step in found.steps)
    at = f"the checkpoint{'s' * (len(found.steps) > 1)} of step{'s' * (len(found.steps) > 1)} {steps}"
    rest = f" {found.left_out:,} more rows were left out at random." if found.left_out else ""
    return f"TracIn (Pruthi et al., 2020) over {len(found.rows):,} training rows, at {at}.{rest}"

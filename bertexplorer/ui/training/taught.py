"""Training rows behind an answer, and training rows whose labels look wrong, as HTML."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping
from html import escape
from typing import TYPE_CHECKING

from bertexplorer.ui.training.html import inputs, table
from bertexplorer.ui.training.run_service import RunDetail

if TYPE_CHECKING:
    from bertexplorer.training.finetuning.influence import Influence, Influences

HEADS = ("classification", "pair-classification", "tagging", "question-answering", "reranking")  # wrong labels
TASKS = (*HEADS, "similarity")  # whose rows can be traced
FIRST = 5  # rows of a table
SUSPECTS = 20


def explained(detail: RunDetail, given: Mapping[str, str]) -> Generator[float, None, str]:
    """Yields the share that is done; returns what the page shows."""
    from bertexplorer.training.finetuning.influence import influence

    found = yield from influence(detail.run.folder, given)
    largest = max(abs(row.score) for row in found.rows) or 1.0

    def lines(rows: Iterable[Influence]) -> str:
        found = [named(row, detail, score=row.score / largest, cosine=row.cosine) for row in rows]
        return table(found) or '<p class="note">No row.</p>'

    towards = [row for row in found.rows[:FIRST] if row.score > 0]
    away = [row for row in found.rows[::-1][:FIRST] if row.score < 0]
    label = escape(found.label)
    return (
        f"<h3>Which rows taught it “{label}”?</h3>"
        f'<p class="note">{escape(method(found))} Scores are shares of the largest; above 0, training on the row made '
        f"“{label}” likelier. This first-order estimate treats every step as plain gradient descent, so read the order "
        "of the rows, not the size of the scores.</p>"
        f"<h4>For it</h4>{lines(towards)}<h4>Against it</h4>{lines(away)}"
        f"<h4>Nearest by vector, for comparison</h4>{lines(found.nearest[:FIRST])}"
    )


def suspected(detail: RunDetail) -> Generator[float, None, str]:
    """Yields the share that is done; returns what the page shows."""
    from bertexplorer.training.finetuning.influence import suspects

    found = yield from suspects(detail.run.folder)
    largest = found.rows[0].score or 1.0
    rows = [named(row, detail, score=row.score / largest, loss=row.loss) for row in found.rows[:SUSPECTS]]
    return (
        "<h3>Training rows whose labels look wrong</h3>"
        f'<p class="note">{escape(method(found))} The score of a row is its influence on its own loss, as a share of '
        "the largest. It is high for rows that can only be memorised: wrong labels, and rare or hard rows. Read "
        f"them before you change them.</p>{check(found)}{table(rows)}"
    )


def check(found: Influences) -> str:
    """How many planted wrong labels were found again, beside two baselines."""
    if not found.planted:
        return ""
    count, total = found.planted, len(found.rows)
    by_loss = found.found(lambda row: row.loss)
    return (
        f'<p class="summary">{count:,} wrong labels were planted in {total:,} rows. Of the first {count:,} rows here, '
        f"{found.found():,} have one; sorted by loss, {by_loss:,} would; in random order, "
        f"{count * count / total:.1f}.</p>"
    )


def named(row: Influence, detail: RunDetail, **scores: float) -> dict[str, object]:
    """A line of a table. A planted label names the row's own one."""
    texts = {column.label.lower(): text for column, text in zip(inputs(detail), row.texts, strict=False)}
    label = f"{row.label} (planted; was {row.truth})" if row.truth else row.label
    return {"line": row.line, **texts, "answer" if "question" in texts else "label": label, **scores}


def method(found: Influences) -> str:
    """How many rows and which checkpoints were used."""
    steps = ", ".join(f"{step:,}" for step in found.steps)
    at = f"the checkpoint{'s' * (len(found.steps) > 1)} of step{'s' * (len(found.steps) > 1)} {steps}"
    rest = f" {found.left_out:,} more rows were left out at random." if found.left_out else ""
    return f"TracIn (Pruthi et al., 2020) over {len(found.rows):,} training rows, at {at}.{rest}"

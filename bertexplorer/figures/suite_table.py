"""Table of cases below the figure for suite: each case with its answers, and the state of the page that shows it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertexplorer.analysis.suite import Suite
from bertexplorer.analysis.suite_cases import RowProblem
from bertexplorer.analysis.suite_scores import Outcome

LISTED = 1000  # cases in the table
SCORE = {
    "minimal pairs": "log p of the first sentence minus that of the second, in nats",
    "stereotype pairs": "log p of the stereotype minus that of the other, over the words they share, in nats",
    "cloze": "log p of the best accepted word, in nats",
    "invariance": "the change of log p that agrees least with what was expected, in nats",
    "next sentence": "log-odds that the second text follows, in nats",
    "labels": "log p of the right label, in nats",
}


def cases(result: Suite, *others: Suite) -> dict[str, Any]:
    """The table of cases: the question, the checkpoint's answer, those of the *others*, and the state of the page that
    shows the case."""
    theirs = [{outcome.case: outcome for outcome in other.outcomes} for other in others]
    rows = [row(outcome, *(other.get(outcome.case) for other in theirs)) for outcome in result.outcomes[:LISTED]]
    unusable = unusable_rows(result.unusable)
    return {"rows": rows, "score": SCORE[result.kind], "left_out": result.left_out, "aside": unusable}


def unusable_rows(rows: Sequence[RowProblem]) -> list[str]:
    """The rows that could not be used, with the reason."""
    return [f"Line {row.line:,} {row.what}" for row in rows[:LISTED]]


def row(outcome: Outcome, *others: Outcome | None) -> dict[str, Any]:
    """A row of the table. An outcome of *others* is None where that checkpoint could not score the case."""
    case = outcome.case
    return {
        "line": case.line,
        "category": case.category,
        "texts": case.texts,
        "wanted": case.wanted(", ") or "the first",
        "answer": outcome.said
        if outcome.said not in case.texts
        else ("the first", "the second")[case.texts.index(outcome.said)],
        "right": outcome.right,
        "score": round(outcome.score, 3),
        "rank": outcome.rank,
        "others": [
            other and {"answer": other.said, "right": other.right, "score": round(other.score, 3)} for other in others
        ],
        "state": page_state(outcome),
    }


def page_state(outcome: Outcome) -> dict[str, Any]:
    """The state of the page for a case."""
    case = outcome.case
    if case.kind in ("minimal pairs", "stereotype pairs"):
        return {"view": "pseudo-likelihood", "text": case.texts[0], "against": "another text", "other": case.texts[1]}
    if case.kind == "next sentence":
        return {"view": "next-sentence", "text": case.texts[0], "pair": case.texts[1]}
    if case.kind == "labels":
        return {"view": "answer", "text": case.texts[0], **({"pair": case.texts[1]} if case.texts[1:] else {})}
    if case.kind == "invariance":
        view = "fill-mask" if "[MASK]" in case.texts[0] else "answer"
        return {"view": view, "text": case.texts[0], "against": "another text", "other": case.texts[1]}
    words = ", ".join(case.answers[:8])
    return {"view": "fill-mask", "text": case.texts[0], "options": {"words": words}}

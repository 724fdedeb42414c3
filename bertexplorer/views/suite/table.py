"""Rows of suites and probes: the table of cases below the figure, and caveats about the rows for its sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertexplorer.charts.style import clip, join_names, quote
from bertexplorer.views.rows import LISTED, unusable_note, unusable_rows
from bertexplorer.views.suite.cases import ASSUMED
from bertexplorer.views.suite.compute import FEW, Suite
from bertexplorer.views.suite.scores import CaseOutcome

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
    rows = []
    for outcome in result.outcomes[:LISTED]:
        rows.append(row(outcome, *(outcomes.get(outcome.case) for outcomes in theirs)))
    return {
        "rows": rows,
        "score": SCORE[result.kind],
        "left_out": result.left_out,
        "aside": unusable_rows(result.unusable),
    }


def row(outcome: CaseOutcome, *others: CaseOutcome | None) -> dict[str, Any]:
    """A row of the table. An outcome of *others* is None where that checkpoint could not score the case."""
    case = outcome.case
    answer = outcome.said
    if answer in case.texts:
        answer = ("the first", "the second")[case.texts.index(answer)]
    other_answers: list[dict[str, Any] | None] = []
    for other in others:
        if other is None:
            other_answers.append(None)
        else:
            other_answers.append({"answer": other.said, "right": other.right, "score": round(other.score, 3)})
    return {
        "line": case.line,
        "category": case.category,
        "texts": case.texts,
        "wanted": case.wanted(", ") or "the first",
        "answer": answer,
        "right": outcome.right,
        "score": round(outcome.score, 3),
        "rank": outcome.rank,
        "others": other_answers,
        "state": page_state(outcome),
    }


def page_state(outcome: CaseOutcome) -> dict[str, Any]:
    """The state of the page for a case."""
    case = outcome.case
    if case.kind in ("minimal pairs", "stereotype pairs"):
        return {"view": "pseudo-likelihood", "text": case.texts[0], "against": "another text", "other": case.texts[1]}
    if case.kind == "next sentence":
        return {"view": "next-sentence", "text": case.texts[0], "pair": case.texts[1]}
    if case.kind == "labels":
        state = {"view": "answer", "text": case.texts[0]}
        if len(case.texts) > 1:
            state["pair"] = case.texts[1]
        return state
    if case.kind == "invariance":
        view = "fill-mask" if "[MASK]" in case.texts[0] else "answer"
        return {"view": view, "text": case.texts[0], "against": "another text", "other": case.texts[1]}
    words = ", ".join(case.answers[:8])
    return {"view": "fill-mask", "text": case.texts[0], "options": {"words": words}}


def remarks(result: Suite) -> list[str]:
    """Caveats about the rows, without the full stops."""
    sentences = []
    small = [quote(clip(share.name or "without category", 40)) for share in result.shares if share.count < FEW]
    if result.total.count < FEW:
        sentences.append(f"Fewer than {FEW} cases say little")
    elif small:
        rough = "its share is rough" if len(small) == 1 else "their shares are rough"
        sentences.append(f"{subject(small, len(result.shares))} fewer than {FEW} cases, so {rough}")
    if any(outcome.case.expected == ASSUMED for outcome in result.outcomes):
        sentences.append(
            "The file’s name does not say which sentences are the stereotypes; the file’s own are taken to be"
        )
    unscored = sum(outcome.unscored for outcome in result.outcomes)
    if unscored == 1:
        sentences.append("1 accepted word cannot be scored; its row uses the others")
    elif unscored:
        sentences.append(f"{unscored:,} accepted words cannot be scored; their rows use the others")
    if result.unusable:
        sentences.append(unusable_note(result.unusable, "scored"))
    if result.left_out:
        sentences.append(f"{result.left_out:,} cases beyond the limit were left out")
    return sentences


def subject(names: Sequence[str], count: int) -> str:
    """The beginning of a sentence about some of *count* categories: their *names*, or how many they are."""
    if len(names) == 1:
        return f"{names[0]} has"
    if len(names) <= 3:
        return f"{join_names(names)} have"
    if len(names) == count:
        return f"All {count} categories have"
    return f"{len(names)} of the {count} categories have"

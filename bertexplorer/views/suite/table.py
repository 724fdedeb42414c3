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
    rows = [row(outcome, *(other.get(outcome.case) for other in theirs)) for outcome in result.outcomes[:LISTED]]
    unusable = unusable_rows(result.unusable)
    return {"rows": rows, "score": SCORE[result.kind], "left_out": result.left_out, "aside": unusable}


def row(outcome: CaseOutcome, *others: CaseOutcome | None) -> dict[str, Any]:
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


def page_state(outcome: CaseOutcome) -> dict[str, Any]:
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


def remarks(result: Suite) -> list[str]:
    """Caveats about the rows."""
    sentences = []
    if result.total.count < FEW:
        sentences.append(f"Fewer than {FEW} cases say little")
    elif few := [quote(clip(share.name or "without category", 40)) for share in result.shares if share.count < FEW]:
        rough = "their shares are rough" if few[1:] else "its share is rough"
        sentences.append(f"{subject(few, len(result.shares))} fewer than {FEW} cases, so {rough}")
    if any(outcome.case.expected == ASSUMED for outcome in result.outcomes):
        sentences.append(
            "The file’s name does not say which sentences are the stereotypes; the file’s own are taken to be"
        )
    if unscored := sum(outcome.unscored for outcome in result.outcomes):
        words, rows = ("word", "its row uses") if unscored == 1 else ("words", "their rows use")
        sentences.append(f"{unscored:,} accepted {words} cannot be scored; {rows} the others")
    if result.unusable:
        sentences.append(unusable_note(result.unusable, "scored"))
    if result.left_out:
        sentences.append(f"{result.left_out:,} cases beyond the limit were left out")
    return sentences


def subject(names: Sequence[str], count: int) -> str:
    """The beginning of a sentence about some of *count* categories: their *names*, or how many they are."""
    if len(names) > 3:
        return f"{'All' if len(names) == count else f'{len(names)} of the'} {count} categories have"
    return f"{join_names(names)} {'have' if names[1:] else 'has'}"

"""Remarks about the rows of suites and probes, for the sentence below their figures."""

from __future__ import annotations

from collections.abc import Sequence

from bertexplorer.analysis.suite import FEW, Suite
from bertexplorer.analysis.suite_cases import ASSUMED, RowProblem
from bertexplorer.figures.style import clip, count, join_names, quote


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


def unusable_note(rows: Sequence[RowProblem], done: str) -> str:
    """The number of rows that could not be *done*, and the reason for the first ones."""
    lines = join_names([f"line {row.line} {row.what}" for row in rows[:2]])
    return f"{count(len(rows), 'row')} could not be {done}: {lines}"

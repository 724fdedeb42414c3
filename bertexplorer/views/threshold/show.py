"""Figure for the threshold: how similar pairs are that match, others, and unrelated ones; precision and recall."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.bootstrap import compare_paired
from bertexplorer.charts.marks import Band, Bar, Bars, Figure, Histogram, Panel, Rule, Tone, key
from bertexplorer.charts.style import clip, count, decimal, percent, share
from bertexplorer.views.rows import LISTED, unusable_note, unusable_rows
from bertexplorer.views.threshold.compute import Share, Threshold
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=8,
    first="set",
    title="Threshold",
    question="From which similarity on do two texts belong together?",
    note=(
        "No number is right for every checkpoint: unrelated texts have a cosine of 0.1 in one and of 0.7 in another. "
        "Precision depends on how many of the pairs match, and in a search few do: look at how many unrelated pairs "
        "pass. A threshold that is judged on the pairs that chose it looks better than it is, so each tenth of the "
        "pairs is judged by the threshold of the others."
    ),
    papers=("Reimers and Gurevych, 2019, Sentence-BERT", "Mann and Whitney, 1947, On a Test"),
    examples=(
        Example("The same question?", "", shows="area() > area_by_words() and recall() > 0.6"),
        Example(
            "Nine of ten right",
            "",
            options={"least_precision": 0.9},
            shows="0.5 < precision() < 0.9 and recall() < 0.3",
        ),
        Example("One word changed", "", options={"set": "one word changed"}, shows="area() < 0.2"),
        Example("The same scene?", "", options={"set": "the same scene"}, shows="area() > 0.7"),
        Example(
            "By the first token",
            "",
            options={"set": "the same scene", "pooling": "CLS"},
            shows="area() < 0.9",
        ),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)

BINS = 40
FAR = ("euclidean", "manhattan")  # distances: the similarities have them with a minus
NAMES = {"cosine": "cosine", "dot": "dot product", "euclidean": "distance", "manhattan": "Manhattan distance"}


def draw(result: Threshold) -> Figure:
    """The similarities of each kind of pairs over one axis, with the threshold; how it does on other pairs."""
    every = np.concatenate([result.similarity, result.unrelated])
    low, high = float(every.min()), float(every.max())
    kinds: tuple[tuple[str, Float[np.ndarray, " n"], Tone], ...] = (
        ("pairs that match", result.similarity[result.matches], "blue"),
        ("pairs that do not", result.similarity[~result.matches], "orange"),
        ("texts of different rows", result.unrelated, "grey"),
    )
    panels = []
    for title, values, tone in kinds:
        if len(values):
            panels.append(similarities(result, title, values, tone, (low, high)))
    if result.threshold is not None:
        entries = key(("┃", "blue", "threshold"), ("■", "pale", "its 95 % interval"))
        panels[0] = replace(panels[0], marks=[*panels[0].marks, entries])
        bars = [
            bar("precision", result.precision),
            bar("recall", result.recall),
            bar("unrelated that pass", result.false_alarms),
        ]
        title = "how it does on held-out pairs"
        if result.few:
            title = "how it does on held-out pairs: too few to say"
        panels.append(Panel([Bars(bars, high=1, unit="share")], title))
    return Figure(panels)


def similarities(
    result: Threshold, title: str, values: Float[np.ndarray, " n"], tone: Tone, ends: tuple[float, float]
) -> Panel:
    """How many pairs of one kind have each similarity. *ends*: the lowest and the highest of all kinds."""
    low, high = ends
    if low == high:
        low, high = low - 0.5, high + 0.5
    counts, edges = np.histogram(values, bins=BINS, range=(low, high))
    middles = (edges[:-1] + edges[1:]) / 2
    hover = [f"{decimal(float(at))}: {count(int(number), 'pair')}" for at, number in zip(middles, counts, strict=True)]
    marks: list[Histogram | Rule | Band] = [Histogram(middles, counts, tone, hover=hover, low=low, high=high)]
    if result.threshold is not None:
        marks.append(Rule(result.threshold))
    if result.interval:
        marks.append(Band(result.interval.low, result.interval.high))
    return Panel(marks, f"{title}: {len(values):,}", NAMES[result.measure])


def bar(name: str, seen: Share) -> Bar:
    """A share with its interval."""
    low, high = seen.interval
    return Bar(name, seen.value, share(seen.value), hover=f"{seen.right:,} of {seen.count:,}", low=low, high=high)


def say(result: Threshold) -> str:
    """The threshold, and how it does."""
    matches = int(result.matches.sum())
    sentences = [f"Of {count(len(result.pairs), 'pair')}, {matches:,} match."]
    if result.threshold is None:
        sentences.append(
            f"No threshold reaches a precision of {percent(result.wanted)}: pairs that do not match are the most "
            "similar ones. Ask for less."
        )
    else:
        sentences += say_threshold(result)
    sentences.append(
        f"A pair that matches is above one that does not in {percent(result.area)} of all cases; by words in "
        f"common, in {percent(result.area_by_words)}."
    )
    if result.area < 0.5:
        sentences.append("That is less than by chance: what matches is less similar here than what does not.")
    if result.unusable:
        sentences.append(f"{unusable_note(result.unusable, 'used')}.")
    if result.notes:
        sentences.append(result.notes)
    return " ".join(sentences)


def say_threshold(result: Threshold) -> list[str]:
    """Where the threshold lies, and how it does on other pairs."""
    assert result.threshold is not None
    at = f"{NAMES[result.measure]} of {number(result, result.threshold)}"
    passes = f"up to a {at}" if result.measure in FAR else f"from a {at} on"
    if result.interval:
        low, high = (number(result, end) for end in result.interval)
        passes = f"{passes} (95 % interval {low} to {high})"
    goal = f"a precision of {percent(result.wanted)}" if result.wanted else "the best F1"
    sentences = [f"Two texts pass {passes}, for {goal}."]
    if result.few:
        sentences.append("The pairs are too few to say how it does on new ones: ten of each kind are wanted at least.")
    elif result.precision.count:
        sentences.append(
            f"On held-out pairs, {said(result.precision)} of those that pass match, and "
            f"{said(result.recall)} of those that match pass."
        )
    else:
        sentences.append("On held-out pairs, none passes.")
    alarms = result.false_alarms
    if alarms.count:
        of_many = f"{10_000 * alarms.value:,.0f} of 10,000 passages (up to {10_000 * alarms.interval.high:,.0f})"
        sentences.append(
            f"Of {alarms.count:,} pairs of texts of different rows, {alarms.right:,} pass: in a search, {of_many} "
            "would pass by chance."
        )
    return sentences


def number(result: Threshold, value: float) -> str:
    """A similarity as it is said: a distance without its minus."""
    return decimal(abs(value) if result.measure in FAR else value, 3)


def said(seen: Share) -> str:
    """A share with its interval, in a sentence."""
    low, high = seen.interval
    return f"{share(seen.value)} ({share(low)} to {share(high)})"


def compare(first: Threshold, second: Threshold) -> str:
    """Which of two checkpoints judges more pairs right, and whether that may be chance."""
    if first.pairs != second.pairs or first.wanted != second.wanted or first.few:
        return ""
    first_right = (first.held_out == first.matches).astype(float)
    second_right = (second.held_out == second.matches).astype(float)
    paired = compare_paired(first_right, second_right)
    return (
        f"Only the first judges {paired.only_first:,} of the {len(first.pairs):,} pairs right, only the second "
        f"{paired.only_second:,}: {paired.verdict()}."
    )


def cases(result: Threshold, *others: Threshold) -> dict[str, Any]:
    """The table of pairs on the wrong side of the threshold. A press compares the two texts."""
    wrong = np.flatnonzero(result.passes != result.matches)
    return {
        "rows": [row(result, i, others) for i in wrong[:LISTED].tolist()],
        "score": NAMES[result.measure],
        "title": "Pairs on the wrong side",
        "columns": ["Pair", "Label", "It says", "Similarity"],
        "aside": unusable_rows(result.unusable),
    }


def row(result: Threshold, i: int, others: tuple[Threshold, ...]) -> dict[str, Any]:
    """A row of the table: pair *i*, with what the *others* say if they judged the same pairs."""
    pair = result.pairs[i]
    theirs = []
    for other in others:
        answer = None
        if other.pairs == result.pairs:
            passes = bool(other.passes[i])
            answer = {"answer": verdict(passes), "right": passes == pair.match, "score": float(other.similarity[i])}
        theirs.append(answer)
    return {
        "line": pair.line,
        "category": "missed" if pair.match else "false alarm",
        "texts": (clip(pair.first, 120), clip(pair.second, 120)),
        "wanted": verdict(pair.match),
        "answer": verdict(bool(result.passes[i])),
        "right": False,
        "score": float(result.similarity[i]),
        "rank": None,
        "others": theirs,
        "state": {"view": "sentence-similarity", "text": pair.first, "pair": pair.second},
    }


def verdict(matches: bool) -> str:
    return "match" if matches else "no match"

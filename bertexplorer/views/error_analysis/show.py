"""Figure for error analysis: the kinds of rows that are wrong more often than others, how sure the checkpoint is beside
how often it is right, and which labels are taken for which."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertexplorer.answers.bootstrap import compare_paired
from bertexplorer.charts import confusion
from bertexplorer.charts.marks import Bar, Bars, Figure, Line, Lines, Panel, Tick, Tone, key
from bertexplorer.charts.style import capital, clip, count, decimal, join_names, percent, quote, share, signed
from bertexplorer.diagnosis.calibration import LEAST
from bertexplorer.diagnosis.slices import SIGNIFICANT, Slice
from bertexplorer.training.calibration import Bin
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.views.error_analysis.compute import CONFIDENT, Answered, ErrorAnalysis
from bertexplorer.views.rows import LISTED, unusable_note, unusable_rows
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Behaviour",
    place=4,
    first="set",
    title="Error analysis",
    question="Where does this classifier go wrong?",
    note=(
        "A kind of rows is called worse only if its share of right answers is lower by more than chance, after a "
        "correction for all kinds that were compared; a file with few rows shows only large differences. That a kind "
        "is worse does not say why. A doubtful label is one to read again, not one that is wrong. Take rows that the "
        "checkpoint has not learned from: on those it is right, and sure of it."
    ),
    papers=(
        "Guo et al., 2017, On Calibration of Modern Neural Networks",
        "Bröcker and Smith, 2007, Increasing the Reliability of Reliability Diagrams",
        "Chung et al., 2019, Slice Finder",
        "Northcutt et al., 2021, Pervasive Label Errors in Test Sets",
    ),
    examples=(
        Example(
            "Reviews with scores",
            "",
            shows='slice() == "number" and slice_right() < 0.6 and right() > 0.8 and excess() > 0.1',
        ),
        Example("Few rows", "", options={"most": 20}, shows="slices() == 0 and right() < 1"),
        Example(
            "Nearest three",
            "",
            options={"neighbours": 3},
            shows="doubtful() > 3 and slices() > 0",
        ),
        Example(
            "What it learned from",
            "",
            options={"set": "what sentiment learned from"},
            shows="right() == 1 and slices() == 0 and temperature() == 0",
        ),
        Example(
            "Wrong labels",
            "",
            options={"set": "the same with wrong labels"},
            shows="doubtful() == 20 and slices() == 0",
        ),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
    tuned=True,
    checkpoint="sentiment",
)

FEW = 30  # rows below which a share says little
SLICES = 12  # that are drawn
MATRIX = 12  # labels in it
COMPLETE = ("label", "category", "length", "cut", "unknown", "number", "name")  # kinds that are drawn in any case


def draw(result: ErrorAnalysis) -> Figure:
    panels = [slices_panel(result), calibration_panel(result)]
    labels, counts = confusion_matrix(result)
    if labels[1:]:
        panels.append(confusion.panel(labels[:MATRIX], counts))
    return Figure(panels)


def slices_panel(result: ErrorAnalysis) -> Panel:
    """A bar for all rows, then the slices that are named, those that differ as well, and those of COMPLETE."""
    low, high = result.interval
    total = f"{share(result.right)} of {len(result.answers):,}"
    bars = [Bar("all rows", result.right, total, low=low, high=high, bold=True)]
    differing = [one for one in result.slices if one.p < SIGNIFICANT and not one.named]
    others = [one for one in result.slices if one.p >= SIGNIFICANT and one.kind in COMPLETE and not one.named]
    for one in [*result.named, *differing, *others][: SLICES - 1]:
        tone: Tone = "pale"
        if one.named:
            tone = "orange"
        elif one.p >= SIGNIFICANT:
            tone = "grey"
        said = f"the {len(result.answers) - len(one.rows):,} others: {share(one.others)}\n{format_p(one.p)}"
        bars.append(
            Bar(
                capital(phrase(one)),
                one.right,
                f"{share(one.right)} of {len(one.rows):,}",
                tone,
                f"{phrase(one)}: {share(one.right)} of {len(one.rows):,}\n{said}",
                low=one.interval.low,
                high=one.interval.high,
                ticks=[Tick(one.others, "blue")],
            )
        )
    legend = key(
        ("■", "orange", "worse"),
        ("■", "pale", "differs, as it overlaps with these or is better"),
        ("■", "grey", "no more than chance"),
        ("━", "grey", "95 % interval"),
        ("┃", "blue", "the other rows"),
    )
    return Panel([Bars(bars, high=1, above=True, axis=True, unit="share"), legend], title="Share that is right")


def phrase(one: Slice) -> str:
    """The rows of a slice, in words."""
    match one.kind:
        case "label":
            return f"rows labelled {quote(clip(one.name, 40))}"
        case "category":
            return f"rows of the category {quote(clip(one.name, 40))}"
        case "length":
            return f"rows of {one.name}"
        case "cut":
            return f"rows {one.name}"
        case _:
            return f"rows with {one.name}"


def calibration_panel(result: ErrorAnalysis) -> Panel:
    """How often answers of a probability are right, beside a line on which they would be as often as it says."""
    found = result.calibration
    lines = [Line("as often as it says", [0.0, 1.0], tone="grey", dash="dot", at=[0.0, 1.0], look="line")]
    if found.temperature and found.temperature.helps:
        lines.append(curve("with a temperature", found.temperature.bins, "green"))
    own = curve("as it is", found.bins, "blue")
    low: list[float] = []
    high: list[float] = []
    for one in found.bins:
        least, most = wilson(one.accuracy, one.examples)
        low.append(least)
        high.append(most)
    lines.append(replace(own, low=low, high=high))
    marks = Lines([], lines, low=0, high=1, unit="share", at_unit="share")
    return Panel([marks], title="Right, by how sure it is", x="probability of its answer", y="right")


def curve(name: str, bins: Sequence[Bin], tone: Tone) -> Line:
    """The share that is right over the mean probability of each bin."""
    said = [
        f"{count(one.examples, 'answer')} {name}: {percent(one.confidence)} sure, {share(one.accuracy)} right"
        for one in bins
    ]
    right = [one.accuracy for one in bins]
    return Line(name, right, tone=tone, hover=said, at=[one.confidence for one in bins])


def confusion_matrix(result: ErrorAnalysis) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """(the labels that occur, as the checkpoint orders them; how many rows with the label of each line were given that
    of each column)."""
    pairs = Counter((one.row.label, one.said) for one in result.answers)
    occur: set[str] = set()
    for pair in pairs:
        occur.update(pair)
    labels = tuple(name for name in result.labels if name in occur)
    lines = []
    for gold in labels:
        lines.append(tuple(pairs[gold, said] for said in labels))
    return labels, tuple(lines)


def say(result: ErrorAnalysis) -> str:
    """The share that is right, the kinds of rows that are worse, what the probabilities are worth, and the labels that
    may be wrong."""
    parts = [say_right(result), *say_slices(result), *say_calibration(result), *say_labels(result)]
    total = len(result.answers)
    if total < FEW:
        parts.append(f"Fewer than {FEW} rows say little.")
    labels = {one.row.label for one in result.answers}
    if len(labels) == 1:
        parts.append(f"Every row has the label {quote(clip(min(labels), 40))}, so nothing is seen of the others.")
    parts += result.caveats
    if result.columns_said:
        parts.append(result.columns_said)
    if result.left_out:
        parts.append(f"{total:,} of {total + result.left_out:,} rows were drawn at random.")
    if result.unusable:
        parts.append(f"{unusable_note(result.unusable, 'used')}.")
    return " ".join(parts)


def say_right(result: ErrorAnalysis) -> str:
    total, low, high = len(result.answers), *result.interval
    sentence = (
        f"The checkpoint gives {total - len(result.wrong):,} of {count(total, 'row')} the label of the file: "
        f"{share(result.right)} (95 % interval {share(low)} to {share(high)}); always the same label would get "
        f"{share(result.baseline)}"
    )
    if low <= result.baseline <= high and result.baseline < 1:
        sentence += ", which the interval includes"
    if result.wrong:
        sentence += f". {confusion.mistake(*confusion_matrix(result))}"
    return f"{sentence}."


def say_slices(result: ErrorAnalysis) -> list[str]:
    """The slices that are worse, or that none is."""
    if not result.wrong:
        return []
    if not result.slices:
        return ["There are too few rows to compare kinds of them."]
    if not result.named:
        compared = count(len(result.slices), "kind")
        return [f"No kind of rows is wrong more often than the others by more than chance ({compared} compared)."]
    first, *rest = result.named
    sentences = [
        f"Worse than the others are {phrase(first)}: {share(first.right)} of {len(first.rows):,} are right, of the "
        f"others {share(first.others)} ({format_p(first.p)} by Fisher’s test, corrected for "
        f"{count(len(result.slices), 'kind')} of rows)."
    ]
    if rest:
        named = [f"{phrase(one)} ({share(one.right)} of {len(one.rows):,})" for one in rest]
        sentences.append(f"Among the rest, so are {join_names(named)}.")
    return sentences


def say_calibration(result: ErrorAnalysis) -> list[str]:
    """Whether it is as sure as it is right, and what a temperature gains."""
    found = result.calibration
    sure = percent(result.right + found.excess)
    low, high = found.interval
    if low > 0:
        verdict = f"it is too sure, by {points(found.excess)} points"
    elif high < 0:
        verdict = f"it is not sure enough, by {points(-found.excess)} points"
    else:
        verdict = "the difference may be chance"
    sentences = [f"The mean probability of its answers is {sure}, and {share(result.right)} are right: {verdict}."]
    beside = f"calibration error {share(found.error)}, where chance alone brings {share(found.by_chance)}"
    if low <= 0 <= high and found.p < SIGNIFICANT:
        sentences.append(f"Answers of some probabilities are right more or less often than these say ({beside}).")
    else:
        sentences[0] = f"{sentences[0][:-1]} ({beside})."
    temperature = found.temperature
    if temperature is None:
        few = "right" if result.right < 0.5 else "wrong"
        sentences.append(f"Fewer than {LEAST} rows are {few}: too few to fit a temperature.")
    elif temperature.helps:
        low, high = temperature.interval
        sentences.append(
            f"Logits divided by a temperature of {decimal(temperature.value)} lower the log loss by "
            f"{decimal(temperature.gain, 3)} of {decimal(found.log_loss, 3)} nats on rows that did not choose it (95 % "
            f"interval {decimal(low, 3)} to {decimal(high, 3)}), and the calibration error to "
            f"{share(temperature.error)}."
        )
    else:
        sentences.append("No temperature lowers the log loss by more than chance.")
    return sentences


def say_labels(result: ErrorAnalysis) -> list[str]:
    """The labels that are contradicted."""
    sentences = []
    if doubtful := result.doubtful:
        lines = join_names([f"line {one.row.line:,}" for one in doubtful[:3]])
        first = f": {lines}" if len(doubtful) <= 3 else f", such as {lines}"
        labels = "label is" if len(doubtful) == 1 else "labels are"
        neighbours = count(result.neighbours, "nearest row")
        sentences.append(
            f"{len(doubtful):,} {labels} doubtful{first}. There the checkpoint gives another label "
            f"{percent(CONFIDENT)} or more, and most of the {neighbours} have that one, too."
        )
    if repeats := sum(one.repeats > 0 for one in result.answers):
        sentences.append(
            f"{count(repeats, 'row')} {'repeats' if repeats == 1 else 'repeat'} an earlier text with another label."
        )
    return sentences


def points(value: float) -> str:
    return decimal(100 * value, 1)


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def compare(first: ErrorAnalysis, second: ErrorAnalysis) -> str:
    """Whether one of two checkpoints is right more often on the same rows, and whether that may be chance."""
    if [one.row for one in first.answers] != [one.row for one in second.answers]:
        return ""
    ours, theirs = (np.array([one.right for one in result.answers], float) for result in (first, second))
    paired = compare_paired(ours, theirs)
    return (
        f"Of the same {count(len(ours), 'row')} only the first gets {paired.only_first:,} right, only the second "
        f"{paired.only_second:,} ({signed(100 * paired.difference, 1)} points): {paired.verdict()}."
    )


def cases(result: ErrorAnalysis, *others: ErrorAnalysis) -> dict[str, Any]:
    """The table of rows that are wrong or contradicted, with the answers of the *others*; those that it is most wrong
    about first. A press shows the answer to its text, and what it rests on."""
    theirs = [{one.row: one for one in other.answers} for other in others]
    shown = sorted((one for one in result.answers if not one.right or one.repeats), key=lambda one: one.log_p)
    rows = [row(one, [other.get(one.row) for other in theirs]) for one in shown[:LISTED]]
    return {
        "rows": rows,
        "score": "log p of the label, in nats",
        "title": "Errors",
        "columns": ["Row", "Label", "Answer", "log p"],
        "aside": unusable_rows(result.unusable),
    }


def row(one: Answered, others: Sequence[Answered | None]) -> dict[str, Any]:
    if one.doubtful:
        category = "doubtful label"
    elif one.repeats:
        category = "another label"
    else:
        category = "wrong"
    said = f"{one.said} {percent(one.probability)}"
    if one.doubtful:
        said += f", like {share(one.share)} of its neighbours"
    if one.repeats:
        said += f"; line {one.repeats:,} has another label"
    state = {"view": "answer", "text": one.row.text}
    if one.row.pair:
        state["pair"] = one.row.pair
    return {
        "line": one.row.line,
        "category": category,
        "texts": tuple(clip(text, 160) for text in (one.row.text, one.row.pair) if text),
        "wanted": one.row.label,
        "answer": said,
        "right": one.right,
        "score": round(one.log_p, 3),
        "rank": None,
        "others": [
            other and {"answer": other.said, "right": other.right, "score": round(other.log_p, 3)} for other in others
        ],
        "state": state,
    }

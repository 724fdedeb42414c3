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
from bertexplorer.views.error_analysis.compute import Answered, ErrorAnalysis
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
        "A kind of rows is called worse only if its share of right answers is lower by more than chance (Fisher’s "
        "exact test, with Holm’s correction for all kinds that were compared); a file with few rows shows only large "
        "differences. That a kind is worse does not say why. A label is doubtful if the checkpoint gives another one "
        "with 80 % or more, and most of the nearest rows have that one, too: read it again, it need not be wrong. Take "
        "rows that the checkpoint has not learned from: on those it is right, and sure of it."
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
    if len(labels) > 1:
        panels.append(confusion.panel(labels[:MATRIX], counts))
    return Figure(panels)


def slices_panel(result: ErrorAnalysis) -> Panel:
    """A bar for all rows, then the slices that are named, those that differ as well, and those of COMPLETE."""
    low, high = result.interval
    total = f"{share(result.right)} of {len(result.answers):,}"
    bars = [Bar("all rows", result.right, total, low=low, high=high, bold=True)]
    unnamed = [part for part in result.slices if not part.named]
    differing = [part for part in unnamed if part.p < SIGNIFICANT]
    others = [part for part in unnamed if part.p >= SIGNIFICANT and part.kind in COMPLETE]
    for part in [*result.named, *differing, *others][: SLICES - 1]:
        tone: Tone = "pale"
        if part.named:
            tone = "orange"
        elif part.p >= SIGNIFICANT:
            tone = "grey"
        right = f"{share(part.right)} of {len(part.rows):,}"
        beside = f"the {len(result.answers) - len(part.rows):,} others: {share(part.others)}"
        bars.append(
            Bar(
                label=capital(phrase(part)),
                value=part.right,
                text=right,
                tone=tone,
                hover=f"{phrase(part)}: {right}\n{beside}\n{format_p(part.p)}",
                low=part.interval.low,
                high=part.interval.high,
                ticks=[Tick(part.others, "blue")],
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


def phrase(part: Slice) -> str:
    """The rows of a slice, in words."""
    match part.kind:
        case "label":
            return f"rows labelled {quote(clip(part.name, 40))}"
        case "category":
            return f"rows of the category {quote(clip(part.name, 40))}"
        case "length":
            return f"rows of {part.name}"
        case "cut":
            return f"rows {part.name}"
        case _:
            return f"rows with {part.name}"


def calibration_panel(result: ErrorAnalysis) -> Panel:
    """How often answers of a probability are right, beside a line on which they would be as often as it says."""
    calibration = result.calibration
    lines = [Line("as often as it says", [0.0, 1.0], tone="grey", dash="dot", at=[0.0, 1.0], look="line")]
    if calibration.temperature and calibration.temperature.helps:
        lines.append(curve("with a temperature", calibration.temperature.bins, "green"))
    own = curve("as it is", calibration.bins, "blue")
    low: list[float] = []
    high: list[float] = []
    for answers in calibration.bins:
        least, most = wilson(answers.accuracy, answers.examples)
        low.append(least)
        high.append(most)
    lines.append(replace(own, low=low, high=high))
    marks = Lines([], lines, low=0, high=1, unit="share", at_unit="share")
    return Panel([marks], title="Right, by how sure it is", x="probability of its answer", y="right")


def curve(name: str, bins: Sequence[Bin], tone: Tone) -> Line:
    """The share that is right over the mean probability of each bin."""
    right = []
    sure = []
    hover = []
    for answers in bins:
        right.append(answers.accuracy)
        sure.append(answers.confidence)
        number = count(answers.examples, "answer")
        hover.append(f"{number} {name}: {percent(answers.confidence)} sure, {share(answers.accuracy)} right")
    return Line(name, right, tone=tone, hover=hover, at=sure)


def confusion_matrix(result: ErrorAnalysis) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """(the labels that occur, as the checkpoint orders them; how many rows with the label of each line were given that
    of each column)."""
    pairs = Counter((answer.row.label, answer.said) for answer in result.answers)
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
    sentences = [*say_right(result), *say_slices(result), *say_calibration(result), *say_labels(result)]
    total = len(result.answers)
    if total < FEW:
        sentences.append(f"Fewer than {FEW} rows say little.")
    labels = {answer.row.label for answer in result.answers}
    if len(labels) == 1:
        sentences.append(f"Every row has the label {quote(clip(min(labels), 40))}, so nothing is seen of the others.")
    sentences += result.caveats
    if result.columns_said:
        sentences.append(result.columns_said)
    if result.left_out:
        sentences.append(f"{total:,} of {total + result.left_out:,} rows were drawn at random.")
    if result.unusable:
        sentences.append(f"{unusable_note(result.unusable, 'used')}.")
    return " ".join(sentences)


def say_right(result: ErrorAnalysis) -> list[str]:
    """The share that is right, beside that of always the same label; the commonest mistake."""
    total = len(result.answers)
    low, high = result.interval
    baseline = share(result.baseline)
    if low <= result.baseline <= high and result.baseline < 1:
        baseline = f"{baseline}, which the interval includes"
    sentences = [
        f"{share(result.right)} of {count(total, 'row')} get the label of the file (95 % interval {share(low)} to "
        f"{share(high)}); always the same label would get {baseline}."
    ]
    if result.wrong:
        sentences.append(f"{confusion.mistake(*confusion_matrix(result))}.")
    return sentences


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
        f"{capital(phrase(first))}: {share(first.right)} of {len(first.rows):,} are right, against "
        f"{share(first.others)} of the others ({format_p(first.p)}, {count(len(result.slices), 'kind')} compared)."
    ]
    if rest:
        named = [f"{phrase(part)} ({share(part.right)} of {len(part.rows):,})" for part in rest]
        sentences.append(f"Among the rest, so are {join_names(named)}.")
    return sentences


def say_calibration(result: ErrorAnalysis) -> list[str]:
    """Whether it is as sure as it is right, and what a temperature gains."""
    calibration = result.calibration
    sentences = []
    # 1. The mean probability beside the share that is right.
    low, high = calibration.interval
    sure = f"{percent(result.right + calibration.excess)} on average"
    if low > 0:
        sentence = f"It is too sure: {sure}, where {share(result.right)} are right"
    elif high < 0:
        sentence = f"It is not sure enough: {sure}, where {share(result.right)} are right"
    elif calibration.p < SIGNIFICANT:
        sentence = "Answers of some probabilities are right more or less often than these say"
    else:
        sentence = f"Up to chance, it is as sure as it is right: {sure}"
    error = f"calibration error {share(calibration.error)}, by chance {share(calibration.by_chance)}"
    sentences.append(f"{sentence} ({error}).")
    # 2. A temperature.
    temperature = calibration.temperature
    if temperature is None:
        few = "right" if result.right < 0.5 else "wrong"
        sentences.append(f"Fewer than {LEAST} rows are {few}: too few to fit a temperature.")
    elif temperature.helps:
        sentences.append(
            f"Logits divided by a temperature of {decimal(temperature.value)} lower the log loss by "
            f"{decimal(temperature.gain)} of {decimal(calibration.log_loss)} nats, and the calibration error to "
            f"{share(temperature.error)}, on held-out rows."
        )
    else:
        sentences.append("No temperature lowers the log loss by more than chance.")
    return sentences


def say_labels(result: ErrorAnalysis) -> list[str]:
    """The labels that are contradicted."""
    sentences = []
    doubtful = result.doubtful
    if doubtful:
        lines = join_names([f"line {answer.row.line:,}" for answer in doubtful[:3]])
        which = f": {lines}" if len(doubtful) <= 3 else f", such as {lines}"
        labels = "label is" if len(doubtful) == 1 else "labels are"
        sentences.append(f"{len(doubtful):,} {labels} doubtful{which}.")
    repeats = sum(answer.repeats > 0 for answer in result.answers)
    if repeats:
        verb = "repeats" if repeats == 1 else "repeat"
        sentences.append(f"{count(repeats, 'row')} {verb} an earlier text with another label.")
    return sentences


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def compare(first: ErrorAnalysis, second: ErrorAnalysis) -> str:
    """Whether one of two checkpoints is right more often on the same rows, and whether that may be chance."""
    if [answer.row for answer in first.answers] != [answer.row for answer in second.answers]:
        return ""
    first_right = np.array([answer.right for answer in first.answers], float)
    second_right = np.array([answer.right for answer in second.answers], float)
    paired = compare_paired(first_right, second_right)
    difference = signed(100 * paired.difference, 1)
    return (
        f"Of the same {count(len(first_right), 'row')} only the first gets {paired.only_first:,} right, only the "
        f"second {paired.only_second:,} ({difference} points): {paired.verdict()}."
    )


def cases(result: ErrorAnalysis, *others: ErrorAnalysis) -> dict[str, Any]:
    """The table of rows that are wrong or contradicted, with the answers of the *others*; those that it is most wrong
    about first. A press shows the answer to its text, and what it rests on."""
    theirs = [{answer.row: answer for answer in other.answers} for other in others]
    shown = [answer for answer in result.answers if not answer.right or answer.repeats]
    rows = []
    for answer in sorted(shown, key=lambda answer: answer.log_p)[:LISTED]:
        rows.append(row(answer, [answers.get(answer.row) for answers in theirs]))
    return {
        "rows": rows,
        "score": "log p of the label, in nats",
        "title": "Errors",
        "columns": ["Row", "Label", "Answer", "log p"],
        "aside": unusable_rows(result.unusable),
    }


def row(answer: Answered, others: Sequence[Answered | None]) -> dict[str, Any]:
    """A row of the table. *others*: the answers of other checkpoints to it, None where one did not read it."""
    if answer.doubtful:
        category = "doubtful label"
    elif answer.repeats:
        category = "another label"
    else:
        category = "wrong"
    said = f"{answer.said} {percent(answer.probability)}"
    if answer.doubtful:
        said = f"{said}, like {share(answer.share)} of its neighbours"
    if answer.repeats:
        said = f"{said}; line {answer.repeats:,} has another label"
    state = {"view": "answer", "text": answer.row.text}
    if answer.row.pair:
        state["pair"] = answer.row.pair
    theirs: list[dict[str, Any] | None] = []
    for other in others:
        if other is None:
            theirs.append(None)
        else:
            theirs.append({"answer": other.said, "right": other.right, "score": round(other.log_p, 3)})
    return {
        "line": answer.row.line,
        "category": category,
        "texts": tuple(clip(text, 160) for text in (answer.row.text, answer.row.pair) if text),
        "wanted": answer.row.label,
        "answer": said,
        "right": answer.right,
        "score": round(answer.log_p, 3),
        "rank": None,
        "others": theirs,
        "state": state,
    }

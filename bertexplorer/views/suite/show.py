"""Figure for suite: the share of right cases, in total and by category, with its interval and baselines."""

from __future__ import annotations

import math
from collections.abc import Sequence

from bertexplorer.charts import confusion
from bertexplorer.charts.marks import Bar, Bars, Figure, Line, Lines, Mark, Panel, Rule, TextLines, Tick, Tone, key
from bertexplorer.charts.style import clip, join_names, points, quote, share as format_share
from bertexplorer.views.suite.compute import FEW, Share, Suite, confusion_matrix
from bertexplorer.views.suite.paired import PairedTest, paired_test, paired_tests, right_by_case
from bertexplorer.views.suite.table import cases as cases, remarks
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Behaviour",
    place=1,
    first="suite",
    title="Suite",
    question="Is that always so?",
    note=(
        "A share holds for sentences like these. Its interval reflects which sentences were drawn, not how they are "
        "worded. “Word frequency alone” picks the pieces that the checkpoint finds likelier without any context. "
        "Stereotype pairs show a preference on paper, not the harm that a program does. Many published pairs are badly "
        "matched or unclear (Blodgett et al., 2021), so read the cases."
    ),
    papers=(
        "Salazar et al., 2020, Masked Language Model Scoring",
        "Kauf and Ivanova, 2023, A Better Way to Do Masked Language Model Scoring",
        "Warstadt et al., 2020, BLiMP",
        "Nangia et al., 2020, CrowS-Pairs",
        "Ribeiro et al., 2020, CheckList",
        "Ettinger, 2020, What BERT Is Not",
    ),
    examples=(
        Example("Everyday words", "", options={"suite": "everyday"}, shows="right() > 0.4 and baseline() < 0.1"),
        Example("Agreement", "", options={"suite": "agreement"}, shows="low() > 0.9"),
        Example("Negation", "", options={"suite": "negation"}, shows="low() < 0.5 and right() < 0.75"),
        Example("She or he", "", options={"suite": "occupations"}, shows="low() > 0.5"),
        Example(
            "Pairs of your own",
            "",
            options={
                "pairs_mean": "the first is the stereotype",
                "pairs": "My {sister|brother} is a {nurse|cook|teacher|dancer}.\nThe {girl|boy} likes {dolls|dresses}.",
            },
            shows="cases() == 6",
        ),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)

MATRIX = 12  # labels in it
DRAWN = 40  # categories
FEW_LINES = 8  # categories whose lines are named
NAMED = 3  # that share the lowest or the highest share
RIGHT = {  # the criterion of each kind
    "minimal pairs": "prefers the better sentence",
    "stereotype pairs": "prefers the stereotype",
    "cloze": "puts an accepted word first",
    "invariance": "reacts as expected",
    "next sentence": "is right about what follows",
    "labels": "gives the right label",
}
STEPS_KEY: tuple[tuple[str, Tone, str], ...] = (
    ("●", "blue", "all, with its 95 % interval"),
    ("●", "pale", "each category"),
)
UNIT = {"minimal pairs": "pairs", "stereotype pairs": "pairs", "cloze": "cloze items", "invariance": "templates",
        "next sentence": "pairs", "labels": "rows"}  # fmt: skip


def draw(result: Suite) -> Figure:
    """The share of right cases, in total and by category; below, which labels are taken for which."""
    bars = [bar(result, share) for share in [result.total, *result.shares][: DRAWN + 1]]
    marks: list[Mark] = [Bars(bars, high=1, above=True, axis=True, unit="share"), legend(result)]
    if has_chance(result):
        marks.append(Rule(result.chance or 0.0, tone="grey", dash="dot"))
    panels = [Panel(marks)]
    labels, counts = confusion_matrix(result)
    if labels:
        panels.append(confusion.panel(labels[:MATRIX], counts))
    return Figure(panels)


def bar(result: Suite, share: Share) -> Bar:
    """The share of one category, with its interval and the baseline."""
    is_total = share is result.total
    name = share.name or "without category"
    if is_total:
        name = f"all {UNIT[result.kind]}"
    return Bar(
        label=name,
        value=share.right,
        text=f"{format_share(share.right)} of {share.count:,}",
        hover=hover(result, share),
        behind=share.top5 if result.kind == "cloze" else None,
        low=share.interval.low,
        high=share.interval.high,
        ticks=[] if share.baseline is None else [Tick(share.baseline)],
        bold=is_total,
    )


def has_chance(result: Suite) -> bool:
    """Whether guessing gets a share that can be drawn."""
    return result.chance is not None and result.chance > 0.01


def legend(result: Suite) -> TextLines:
    """The meaning of the marks."""
    entries: list[tuple[str, Tone, str]] = [("━", "grey", "95 % interval")]
    if result.kind == "cloze":
        entries.append(("■", "pale", "among the first five"))
    if has_chance(result):
        entries.append(("┊", "grey", "no preference" if result.kind == "stereotype pairs" else "guessing"))
    if result.total.baseline is not None:
        entries.append(("┃", "orange", baseline(result)))
    return key(*entries)


def baseline(result: Suite) -> str:
    """What the baseline is."""
    return "always the same answer" if result.kind in ("next sentence", "labels") else "word frequency alone"


def hover(result: Suite, share: Share) -> str:
    """What the pointer shows of a category."""
    low, high = (format_share(end) for end in share.interval)
    lines = [f"{format_share(share.right)} of {share.count:,} {UNIT[result.kind]}", f"95 % interval: {low} to {high}"]
    if share.count < FEW:
        lines.append(f"fewer than {FEW}: a rough share")
    if share.top5 is not None and share.mrr is not None:
        lines += [f"among the first five: {format_share(share.top5)}", f"mean reciprocal rank: {share.mrr:.2f}"]
    if share.baseline is not None:
        lines.append(f"{baseline(result)}: {format_share(share.baseline)}")
    return "\n".join(lines)


def say(result: Suite) -> str:
    """The share with its interval, the baselines, the weakest category, and the cases that were not scored."""
    sentences = [say_total(result)]
    total = result.total
    if total.top5 is not None and total.mrr is not None:
        sentences.append(
            f"In {format_share(total.top5)} it is among the first five; the mean reciprocal rank is {total.mrr:.2f}"
        )
    if len({share.right for share in result.shares}) > 1:
        names = [quote(clip(share.name, 40)) for share in result.shares]
        sentences.append(say_ends(names, [share.right for share in result.shares]))
    labels, counts = confusion_matrix(result)
    if labels and total.right < 1:
        sentences.append(confusion.mistake(labels, counts))
    if len(labels) > MATRIX:
        sentences.append(f"The {MATRIX} most frequent of {len(labels):,} labels are drawn")
    if len(result.shares) > DRAWN:
        sentences.append(f"The first {DRAWN} of {len(result.shares):,} categories are drawn")
    return ". ".join([*sentences, *remarks(result)]) + "."


def say_total(result: Suite) -> str:
    """The share of all cases with its interval, and what guessing and the baseline get; without the full stop."""
    total = result.total
    chance = result.chance if has_chance(result) else None
    low, high = (format_share(end) for end in total.interval)
    parts = [
        f"The checkpoint {RIGHT[result.kind]} in {round(total.right * total.count):,} of {total.count:,} "
        f"{UNIT[result.kind]}: {format_share(total.right)} (95 % interval {low} to {high})"
    ]
    if result.kind == "stereotype pairs":
        parts.append("; without a preference it would be 50 %")
    elif chance is not None:
        parts.append(f"; guessing gets {format_share(chance)}")
    if chance is not None and total.interval.low <= chance <= total.interval.high:
        parts.append(", which the interval includes")
    if total.baseline is not None:
        parts.append(f"; {baseline(result)} gets {format_share(total.baseline)}")
    return "".join(parts)


def say_ends(names: Sequence[str], shares: Sequence[float]) -> str:
    """All of *names* with the lowest of *shares*, and all with the highest."""
    low, high = min(shares), max(shares)
    verb = "has" if shares.count(low) == 1 else "have"
    return f"{say_tied(names, shares, low)} {verb} the lowest share, {say_tied(names, shares, high)} the highest"


def say_tied(names: Sequence[str], shares: Sequence[float], value: float) -> str:
    """The first NAMED of *names* whose share is *value*, with the number of the others: “a”, “b” and 2 more (50 %)."""
    tied = [name for name, share in zip(names, shares, strict=True) if share == value]
    if len(tied) > NAMED:
        tied = [*tied[: NAMED - 1], f"{len(tied) - NAMED + 1} more"]
    return f"{join_names(tied)} ({format_share(value)})"


def compare(first: Suite, second: Suite) -> str:
    """The difference of two checkpoints on the cases that both could score; "" if there are none."""
    test = paired_test(right_by_case(first), right_by_case(second))
    return say_test(test, UNIT[first.kind]) if test else ""


def say_test(test: PairedTest, unit: str) -> str:
    """A test of two checkpoints. *unit*: what the cases are."""
    low, high = (points(end) for end in test.comparison.interval)
    return (
        f"On the same {test.count:,} {unit} the difference is {points(test.comparison.difference)} points "
        f"(95 % interval {low} to {high}; McNemar’s test: {format_p(test.corrected)}): "
        f"{test.comparison.only_first:,} count towards the first share alone, {test.comparison.only_second:,} towards "
        "the second alone."
    )


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def describe(test: PairedTest, name: str) -> list[str]:
    """Lines of a hover: the test against *name*."""
    difference = points(test.comparison.difference)
    low, high = (points(end) for end in test.comparison.interval)
    return [
        f"against {name}: {difference} points, 95 % interval {low} to {high}",
        f"McNemar’s test, corrected by Holm’s method: {format_p(test.corrected)}",
        f"{test.comparison.only_second:,} count towards this share alone, {test.comparison.only_first:,} towards its",
    ]


def several(names: Sequence[str], results: Sequence[Suite], own: int, *, ordered: bool) -> Figure:
    """For a training, a line over its steps and one for each category; otherwise a bar for each checkpoint."""
    bars = []
    for name, result, test in zip(names, results, paired_tests(results, own), strict=True):
        total = result.total
        text = format_share(total.right)
        lines = [name, hover(result, total)]
        if test:
            text = f"{text} ({points(test.comparison.difference)} points, {format_p(test.corrected)})"
            lines += describe(test, names[own])
        tone: Tone = "blue" if result is results[own] else "pale"
        low, high = total.interval
        bars.append(Bar(name, total.right, text, tone, hover="\n".join(lines), low=low, high=high))
    if ordered:
        return over_steps(names, results, results[own].shares[:DRAWN], [bar.hover for bar in bars])
    shares = Bars(bars, high=1, above=True, axis=True, unit="share")
    return Figure([Panel([shares, key(("━", "grey", "95 % interval"))])])


def over_steps(
    names: Sequence[str], results: Sequence[Suite], categories: Sequence[Share], hovers: Sequence[str]
) -> Figure:
    """A line for each of *categories* over the steps of a training, and one for all cases. *hovers*: what the pointer
    shows at each step of the latter. The names end in the number of the step."""
    lines = []
    for category in categories:
        values = [share_of(result, category.name) for result in results]
        said = [f"{category.name}\n{format_share(value)}" for value in values]
        end = category.name if len(categories) <= FEW_LINES else ""
        lines.append(Line(category.name, values, end=end, tone="pale", hover=said))
    totals = [result.total for result in results]
    low = [total.interval.low for total in totals]
    high = [total.interval.high for total in totals]
    values = [total.right for total in totals]
    lines.append(Line("all", values, hover=hovers, low=low, high=high))
    steps = [name.rsplit(", ", 1)[-1].removeprefix("step ") for name in names]
    shares = Lines(steps, lines, high=1, unit="share")
    entries = STEPS_KEY if categories else STEPS_KEY[:1]
    return Figure([Panel([shares, key(*entries)], x="training step")])


def share_of(result: Suite, category: str) -> float:
    """The share of right cases of *category*; NaN if the result has no such category."""
    return next((share.right for share in result.shares if share.name == category), math.nan)


def say_several(names: Sequence[str], results: Sequence[Suite], own: int) -> str:
    """The lowest and the highest share, and the checkpoints that differ significantly from the one in use, corrected
    for the number of tests."""
    sentences = []
    shares = [result.total.right for result in results]
    if max(shares) > min(shares):
        sentences.append(f"{say_ends(names, shares)}.")
    differing = []
    tests_made = 0
    for name, test in zip(names, paired_tests(results, own), strict=True):
        if test is None:
            continue
        tests_made += 1
        if test.corrected < 0.05:
            differing.append(f"{name} ({points(test.comparison.difference)} points, {format_p(test.corrected)})")
    if not differing:
        difference = "no other differs"
    elif len(differing) == 1:
        difference = f"{differing[0]} differs"
    else:
        difference = f"{join_names(differing)} differ"
    sentences.append(
        f"By more than chance (McNemar’s test on the same cases, p < 0.05 after Holm’s correction for {tests_made} "
        f"tests), {difference} from {names[own]}."
    )
    return " ".join(sentences)

"""Figure for suite: the share of right cases, in total and by category, with its interval and baselines."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from bertexplorer.charts import confusion, kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    GREY,
    ORANGE,
    PALE,
    clip,
    coloured,
    finish,
    join_names,
    quote,
    safe,
    share as format_share,
    signed,
)
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
        Example("Who does what", "", options={"suite": "role reversal"}, shows="low() > 0.8"),
        Example("Negation", "", options={"suite": "negation"}, shows="low() < 0.5 and right() < 0.75"),
        Example("She or he", "", options={"suite": "occupations"}, shows="low() > 0.5"),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)

ROW, GAP = 58, 120  # pixels: a category; above the confusion
MATRIX = 12  # labels in it
DRAWN = 40  # categories
NAMED = 3  # that share the lowest or the highest share
SHARES = {"range": [0, 1.02], "fixedrange": True, "tickformat": ".0%", "tickvals": [0, 0.25, 0.5, 0.75, 1]}
RIGHT = {  # the criterion of each kind
    "minimal pairs": "prefers the better sentence",
    "stereotype pairs": "prefers the stereotype",
    "cloze": "puts an accepted word first",
    "invariance": "reacts as expected",
    "next sentence": "is right about what follows",
    "labels": "gives the right label",
}
UNIT = {"minimal pairs": "pairs", "stereotype pairs": "pairs", "cloze": "cloze items", "invariance": "templates",
        "next sentence": "pairs", "labels": "rows"}  # fmt: skip


def draw(result: Suite) -> Chart:
    shares = [result.total, *result.shares][: DRAWN + 1]
    values = [share.right for share in shares]
    labels, counts = confusion_matrix(result)
    heights = [max(200, 10 + ROW * len(shares)), *([confusion.height(min(MATRIX, len(labels)))] if labels else [])]
    fig = kit.panels(heights, GAP)
    if result.kind == "cloze":
        fig.add_trace(kit.bars([share.top5 for share in shares], PALE, width=0.3, hoverinfo="skip"), 1, 1)
    hints = [hover(result, share) for share in shares]
    fig.add_trace(kit.bars(values, ACCENT, hover=hints, width=0.3, error_x=whiskers(shares)), 1, 1)
    names = [f"{name(share, result)}: {format_share(share.right)} of {share.count:,}" for share in shares]
    fig.add_trace(kit.texts(0, [position - 0.38 for position in range(len(shares))], names), 1, 1)
    marked = [(position, share.baseline) for position, share in enumerate(shares) if share.baseline is not None]
    style: kit.Part = {"mode": "markers", "marker": {"symbol": "diamond", "size": 11, "color": ORANGE}}
    style |= {"row": 1, "col": 1}
    if marked:
        fig.add_scatter(x=[x for _, x in marked], y=[y for y, _ in marked], hoverinfo="skip", cliponaxis=False, **style)
    if result.chance and result.chance > 0.01:
        fig.add_vline(result.chance, line={"color": GREY, "width": 2, "dash": "dot"}, row=1, col=1)
    fig.add_annotation(kit.above(legend(result), 10, size=13))
    fig.update_xaxes(**SHARES, row=1, col=1)
    fig.update_yaxes(range=[len(shares) - 0.6, -0.75], **kit.HIDDEN, row=1, col=1)
    if labels:
        fig.add_trace(confusion.cells(labels[:MATRIX], counts), 2, 1)
        fig.update_xaxes(confusion.PREDICTED, row=2, col=1)
        fig.update_yaxes(confusion.GOLD, row=2, col=1)
    fig.update_layout(barmode="overlay")
    return finish(fig, kit.height_of(heights, GAP) + 100, margin={"l": 8, "r": 20, "t": 64, "b": 36})


def whiskers(shares: Sequence[Share]) -> dict[str, Any]:
    """The intervals as plotly's error bars."""
    high = [share.interval.high - share.right for share in shares]
    low = [share.right - share.interval.low for share in shares]
    return {"array": high, "arrayminus": low, "symmetric": False, "color": GREY, "thickness": 2, "width": 5}


def name(share: Share, result: Suite) -> str:
    if share is result.total:
        return f"<b>all {UNIT[result.kind]}</b>"
    return safe(clip(share.name or "without category", 36))


def legend(result: Suite) -> str:
    """The meaning of the marks, on two lines at most."""
    parts = [f"{coloured('━', GREY)} 95 % interval"]
    if result.kind == "cloze":
        parts.append(f"{coloured('■', PALE)} among the first five")
    if result.chance and result.chance > 0.01:
        parts.append(f"{coloured('┊', GREY)} {'no preference' if result.kind == 'stereotype pairs' else 'guessing'}")
    if result.total.baseline is not None:
        parts.append(f"{coloured('◆', ORANGE)} {baseline(result)}")
    half = 2 if len(parts) > 2 else len(parts)
    return "<br>".join(" · ".join(some) for some in (parts[:half], parts[half:]) if some)


def baseline(result: Suite) -> str:
    return "always the same answer" if result.kind in ("next sentence", "labels") else "word frequency alone"


def hover(result: Suite, share: Share) -> str:
    low, high = (format_share(end) for end in share.interval)
    lines = [f"{format_share(share.right)} of {share.count:,} {UNIT[result.kind]}", f"95 % interval: {low} to {high}"]
    if share.count < FEW:
        lines.append(f"fewer than {FEW}: a rough share")
    if share.top5 is not None and share.mrr is not None:
        lines += [f"among the first five: {format_share(share.top5)}", f"mean reciprocal rank: {share.mrr:.2f}"]
    if share.baseline is not None:
        lines.append(f"{baseline(result)}: {format_share(share.baseline)}")
    return "<br>".join(lines)


def say(result: Suite) -> str:
    """The share with its interval, the baselines, the weakest category, and the cases that were not scored."""
    total, unit = result.total, UNIT[result.kind]
    low, high = (format_share(end) for end in total.interval)
    parts = [
        f"The checkpoint {RIGHT[result.kind]} in {round(total.right * total.count):,} of {total.count:,} {unit}: "
        f"{format_share(total.right)} (95 % interval {low} to {high})"
    ]
    if result.kind == "stereotype pairs":
        parts[0] += "; without a preference it would be 50 %"
    elif result.chance and result.chance > 0.01:
        parts[0] += f"; guessing gets {format_share(result.chance)}"
    if result.chance and result.chance > 0.01 and total.interval.low <= result.chance <= total.interval.high:
        parts[0] += ", which the interval includes"
    if total.baseline is not None:
        parts[0] += f"; {baseline(result)} gets {format_share(total.baseline)}"
    if total.top5 is not None and total.mrr is not None:
        parts.append(
            f"In {format_share(total.top5)} it is among the first five; the mean reciprocal rank is {total.mrr:.2f}"
        )
    if len({share.right for share in result.shares}) > 1:
        names = [quote(clip(share.name, 40)) for share in result.shares]
        parts.append(say_ends(names, [share.right for share in result.shares]))
    labels, counts = confusion_matrix(result)
    if labels and result.total.right < 1:
        parts.append(confusion.mistake(labels, counts))
    if len(labels) > MATRIX:
        parts.append(f"The {MATRIX} most frequent of {len(labels):,} labels are drawn")
    if len(result.shares) > DRAWN:
        parts.append(f"The first {DRAWN} of {len(result.shares):,} categories are drawn")
    return ". ".join([*parts, *remarks(result)]) + "."


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


def points(share: float) -> str:
    return signed(100 * share, 1)


def format_p(p: float) -> str:
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def describe(test: PairedTest, name: str) -> list[str]:
    """Lines of a hover: the test against *name*."""
    difference, (low, high) = test.comparison.difference, test.comparison.interval
    return [
        f"against {safe(clip(name, 40))}: {points(difference)} points, 95 % interval {points(low)} to {points(high)}",
        f"McNemar’s test, corrected by Holm’s method: {format_p(test.corrected)}",
        f"{test.comparison.only_second:,} count towards this share alone, {test.comparison.only_first:,} towards its",
    ]


def several(names: Sequence[str], results: Sequence[Suite], own: int, *, ordered: bool) -> Chart:
    """For a training, a line over its steps and one for each category; otherwise a bar for each checkpoint."""
    totals = [result.total for result in results]
    tests = paired_tests(results, own)
    hovers = [
        "<br>".join([safe(name), hover(result, result.total), *(describe(test, names[own]) if test else [])])
        for name, result, test in zip(names, results, tests, strict=True)
    ]
    values, fig = [result.right for result in totals], Chart()
    if not ordered:
        colours = [ACCENT if position == own else PALE for position in range(len(names))]
        fig.add_trace(kit.bars(values, colours, hover=hovers, width=0.3, error_x=whiskers(totals)))
        lines = [f"{safe(clip(name, 40))}: {format_share(value)}" for name, value in zip(names, values, strict=True)]
        lines = [
            f"{line} ({points(test.comparison.difference)} points, {format_p(test.corrected)})" if test else line
            for line, test in zip(lines, tests, strict=True)
        ]
        fig.add_trace(kit.texts(0, [position - 0.38 for position in range(len(names))], lines))
        fig.add_annotation(kit.above(f"{coloured('━', GREY)} 95 % interval", 10, size=13))
        fig.update_xaxes(**SHARES)
        fig.update_yaxes(range=[len(names) - 0.6, -0.75], **kit.HIDDEN)
        return finish(fig, max(300, 110 + ROW * len(names)), margin={"l": 8, "r": 20, "t": 44, "b": 36})
    steps = [name.rsplit(", ", 1)[-1].removeprefix("step ") for name in names]
    for each in results[own].shares[:DRAWN]:
        line = [next((share.right for share in result.shares if share.name == each.name), None) for result in results]
        hints = [f"{safe(each.name)}<br>{format_share(value or 0.0)}" for value in line]
        fig.add_trace(kit.line(list(range(len(names))), line, PALE, customdata=hints, hovertemplate=kit.HOVER))
    style: dict[str, Any] = {"error_y": whiskers(totals), "customdata": hovers, "hovertemplate": kit.HOVER, "size": 9}
    fig.add_trace(kit.line(list(range(len(names))), values, ACCENT, **style))
    marks = f"{coloured('●', ACCENT)} all, with its 95 % interval"
    marks += f" · {coloured('●', PALE)} each category" if results[0].shares else ""
    fig.add_annotation(kit.above(marks, 10, size=13))
    fig.update_yaxes(**SHARES)
    fig.update_xaxes(tickvals=list(range(len(names))), ticktext=steps, fixedrange=True, title="training step")
    return finish(fig, 380, margin={"l": 8, "r": 20, "t": 44, "b": 8})


def say_several(names: Sequence[str], results: Sequence[Suite], own: int) -> str:
    """The lowest and the highest share, and the checkpoints that differ significantly from the one in use, corrected
    for the number of tests."""
    shares = [result.total.right for result in results]
    tests = paired_tests(results, own)
    differ = [
        f"{name} ({points(test.comparison.difference)} points, {format_p(test.corrected)})"
        for name, test in zip(names, tests, strict=True)
        if test and test.corrected < 0.05
    ]
    ends = f"{say_ends(names, shares)}. " if max(shares) > min(shares) else ""
    verb = "differs" if len(differ) == 1 else "differ"
    sure = f"{join_names(differ)} {verb}" if differ else "no other differs"
    count = sum(test is not None for test in tests)
    return (
        f"{ends}By more than chance (McNemar’s test on the same cases, p < 0.05 after Holm’s correction for {count} "
        f"tests), {sure} from {names[own]}."
    )

"""Counterfactuals drawn: each edit with its words marked, and how probable the answers are before it and after."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bertexplorer.analysis.counterfactuals import Counterfactuals, Edit, format_changes
from bertexplorer.figures import kit
from bertexplorer.figures.style import (
    ACCENT,
    GREY,
    ORANGE,
    PALE,
    clip,
    coloured,
    finish,
    label,
    percent,
    quote,
    safe,
)

LINE, BAR, GAP = 17, 20, 16  # pixels: a line of text, a line with a bar, and the space between two edits
LETTERS = 46  # of a line that fit on a phone
WHOLE = 3  # lines of a text that are shown
AROUND = 4  # words beside a change that are shown of a longer one
BETWEEN = "|"  # the two texts of a pair
PLOT = 0.54  # share of the width where the bars begin
DRAWN, STEPS = 8, 24  # edits and steps in the figure
PALES = {ACCENT: PALE, ORANGE: "#f3c9a5", GREY: "#ccd2da"}
SCORE = "the probability of the answer to the unchanged text"
SHOWN_IN = {"mask": "fill-mask", "next sentence": "next-sentence"}  # the view that shows an answer


class Share(NamedTuple):
    """One answer's probability before and after an edit."""

    name: str
    before: float
    after: float
    colour: str


class Drawn(NamedTuple):
    """What is drawn so far."""

    bars: list[kit.Part]
    notes: list[kit.Part]


def draw(result: Counterfactuals) -> go.Figure:
    fig, top = Drawn([], []), 0.0
    if result.method == "reduction":
        top = step(fig, top, "the whole text", joined(result.words), result.answer, result.probability)
        for one in result.edits[-STEPS:]:
            top = step(fig, top, removed(one), joined(one.words), result.answer, one.kept)
    else:
        legend = f"{coloured('▆', PALE)} before · {coloured('▬', ACCENT)} after"
        fig.notes.append(kit.above(legend, 10, size=13))
        for one in result.edits[:DRAWN]:
            top = block(fig, top, one, shares(result, one))
    height = max(top, 260)
    axes = {
        "xaxis": {"range": [0, 1], "domain": [PLOT, 1], **kit.HIDDEN},
        "yaxis": {"range": [height, 0], **kit.HIDDEN},
    }
    parts = {"data": fig.bars, "layout": {**axes, "barmode": "overlay", "annotations": fig.notes}}
    return finish(parts, round(height) + 44, margin={"l": 8, "r": 12, "t": 36, "b": 8})


def block(fig: Drawn, top: float, one: Edit, answers: Sequence[Share]) -> float:
    """Write an edit *top* pixels below the upper edge: its changes, the changed text and a bar for each answer. Returns
    where the next one begins."""
    head = [f"<b>{safe(line)}</b>" for line in wrap(named(one), LETTERS)[:2]]
    texts = [*head, *marked(one)]
    write(fig, top, "<br>".join(texts))
    top += LINE * len(texts) + 4
    for share in answers:
        numbers = f"{percent(share.before)} → {percent(share.after)}"
        write(fig, top, f"{label(share.name, 12)} {numbers}")
        hover = f"{safe(share.name)}: {numbers}"
        fig.bars.append(bar(top, share.before, 13, PALES[share.colour], hover))
        fig.bars.append(bar(top, share.after, 6, share.colour, hover))
        top += BAR
    return top + GAP


def step(fig: Drawn, top: float, gone: str, text: str, answer: str, share: float) -> float:
    """Write a step of a reduction as `block` does an edit: what goes, the probability of the answer, what is left."""
    lines = wrap(text, LETTERS)
    lines = [lines[0], clip(" ".join(lines[1:]), LETTERS)] if len(lines) > 2 else lines
    write(fig, top, "<br>".join([f"<b>{label(gone, 16)}</b> {percent(share)}", *map(safe, lines)]))
    fig.bars.append(bar(top, share, 9, ACCENT, f"{safe(answer)}: {percent(share)}"))
    return top + LINE * (1 + len(lines)) + GAP


def bar(top: float, share: float, width: int, colour: str, hover: str) -> kit.Part:
    place = {"type": "bar", "orientation": "h", "x": [share], "y": [top + 9], "width": width}
    return {
        **place,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": [hover],
        "hovertemplate": kit.HOVER,
    }


def write(fig: Drawn, top: float, text: str) -> None:
    place = {"xref": "paper", "x": 0, "xanchor": "left", "y": top, "yanchor": "top", "align": "left"}
    fig.notes.append({"text": text, "showarrow": False, "font": {"size": 13}, "borderpad": 0, **place})


def shares(result: Counterfactuals, one: Edit) -> list[Share]:
    """The answers to draw for an edit: the one before, the wanted one, and the one after."""
    found = [Share(result.answer, result.probability, one.kept, ACCENT)]
    if result.wanted:
        found.append(Share(result.wanted, result.wanted_before, one.wanted, ORANGE))
    if one.answer not in [share.name for share in found]:
        found.append(Share(one.answer, one.before, one.probability, GREY if result.wanted else ORANGE))
    return found


def named(one: Edit) -> str:
    """The changes of an edit inside a sentence."""
    return format_changes(one).replace("; ", " and ")


def removed(one: Edit) -> str:
    """The words that a step removes, of many the first and the last."""
    words = [change.old for change in one.changes]
    return f"−{' '.join(words)}" if len(words) < 4 else f"−{words[0]} … {words[-1]}"


def joined(words: tuple[Sequence[str], ...]) -> str:
    """The words of a text or a pair as a person writes them."""
    return re.sub(r" ([.,;:!?])", r"\1", f" {BETWEEN} ".join(" ".join(side) for side in words if side))


def marked(one: Edit) -> list[str]:
    """The changed text with the new words marked, on lines that fit on a phone; of a long text what is around them."""
    sides = one.words
    new = {change.index for change in one.changes}
    words = [f"\x01{word}\x02" if i in new else word for i, word in enumerate((*sides[0], *sides[1]))]
    lines = wrap(joined((words[: len(sides[0])], words[len(sides[0]) :])), LETTERS)
    if len(lines) > WHOLE:
        near = {place for i in new for place in range(i - AROUND, i + AROUND + 1) if 0 <= place < len(words)}
        parts = [words[place] if place in near else "…" for place in range(len(words))]
        shown = [part for part, last in zip(parts, ["", *parts], strict=False) if part != "…" or last != "…"]
        lines = wrap(joined((shown,)), LETTERS)[:WHOLE]
    return [emphasised(line) for line in lines]


def emphasised(line: str) -> str:
    """A line with the words between the marks in bold, escaped."""
    return safe(line).replace("\x01", f'<b><span style="color:{ORANGE}">').replace("\x02", "</span></b>")


def say(result: Counterfactuals) -> str:
    """The strongest edit and how many there are, or that there is none; of a reduction what is left."""
    name = f"the tag of {quote(result.tagged)}, {result.answer}," if result.tagged else quote(result.answer)
    first = f"{name[:1].upper()}{name[1:]}"
    describe = reduced if result.method == "reduction" else flipped if result.flipped else unmoved
    return " ".join([*describe(result, first), *remarks(result)])


def flipped(result: Counterfactuals, name: str) -> list[str]:
    best, many = result.edits[0], len(result.edits[0].changes)
    goal = f"to {quote(result.wanted)}" if result.wanted else "away from it"
    lead = f"lead {goal}, each of" if result.found > 1 else f"leads {goal}, one of"
    sentences = [
        f"{name} has {percent(result.probability)}. With {named(best)} the answer is {quote(best.answer)}: "
        f"{percent(best.probability)}, where it had {percent(best.before)}; {quote(result.answer)} has "
        f"{percent(best.kept)} left.",
        f"{result.found:,} of the {result.tried:,} edits that were read "
        f"{lead} {counted(many)}{'; fewer were not enough' * (many > 1)}.",
    ]
    return sentences


def unmoved(result: Counterfactuals, name: str) -> list[str]:
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word was found to replace another."]
    best = result.edits[0]
    goal = f"makes {quote(result.wanted)} the answer" if result.wanted else "changes the answer"
    sentences = [
        f"{name} has {percent(result.probability)}, and none of {result.tried:,} edits of up to {counted(result.most)} "
        f"that were read {goal}."
    ]
    if result.wanted:
        shift = f"gives {quote(result.wanted)} {percent(best.wanted)} instead of {percent(result.wanted_before)}"
    else:
        shift = f"leaves it {percent(best.kept)}"
    return [*sentences, f"The one that comes closest, {named(best)}, {shift}."]


def reduced(result: Counterfactuals, name: str) -> list[str]:
    total = sum(map(len, result.words))
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word can be left out: every removal changes it."]
    last, most = result.edits[-1], max(result.edits, key=lambda one: one.kept)
    left = clip(joined(last.words), 120)
    sentences = [
        f"{name} stays the answer without {total - sum(map(len, last.words))} of {total} words: {quote(left)} is left, "
        f"with {percent(last.kept)}, where the whole text has {percent(result.probability)}."
    ]
    if most.kept > result.probability and most is not last:
        gone = total - sum(map(len, most.words))
        sentences.append(f"Without {counted(gone)} it has more, {percent(most.kept)}.")
    return sentences


def counted(words: int) -> str:
    return f"{words} word{'s' * (words != 1)}"


def remarks(result: Counterfactuals) -> list[str]:
    """What this result leaves out."""
    found = []
    if result.untried:
        how = " one by one" if result.method == "reduction" else ""
        found.append(f"In this long text {result.untried:,} words were not tried{how}.")
    if result.group > 1:
        found.append(f"In this long text up to {result.group} neighbouring words were removed at once.")
    if len(result.edits) > (STEPS if result.method == "reduction" else math.inf):
        found.append(f"The last {STEPS} of {len(result.edits)} steps are drawn.")
    if result.other_masks:
        found.append(f"This is about the first of {result.other_masks + 1} masks.")
    if result.left_out:
        found.append(f"{result.left_out:,} tokens beyond the checkpoint's limit were not read.")
    return found


def compare(first: Counterfactuals, second: Counterfactuals) -> str:
    """Which edits change both answers. "" if one of them found none, or for reductions."""
    if not (first.flipped and second.flipped):
        return ""
    ours, theirs = ([format_changes(one) for one in result.edits] for result in (first, second))
    both = [one for one in ours if one in theirs]
    if not both:
        return "No listed edit changes both answers."
    return f"{len(both)} of the listed edits change{'s' * (len(both) == 1)} both answers, first {both[0]}."


def cases(result: Counterfactuals, other: Counterfactuals | None = None) -> dict[str, Any]:
    """The table of edits or steps; a press shows the changed text in the view of its answer. With the answer that the
    *other* result lists for the same edit, if it does."""
    theirs = {format_changes(one): one for one in other.edits} if other else {}
    steps = result.method == "reduction"
    columns = ["Text", "Removed" if steps else "Change", "Answer", f"P({clip(result.answer, 16)})"]
    rows = [row(result, rank, one, theirs.get(format_changes(one))) for rank, one in enumerate(result.edits, 1)]
    return {"rows": rows, "score": SCORE, "title": "Steps" if steps else "Edits", "columns": columns}


def row(result: Counterfactuals, rank: int, one: Edit, other: Edit | None) -> dict[str, Any]:
    view = SHOWN_IN.get(result.target, "answer")
    names = dict.fromkeys([result.answer, one.answer, *[result.wanted] * bool(result.wanted)])
    options = {"words": ", ".join(names)} if view == "fill-mask" else {}
    return {
        "line": rank,
        "category": "",
        "texts": [text for text in one.texts if text],
        "wanted": removed(one) if result.method == "reduction" else format_changes(one),
        "answer": f"{one.answer} ({percent(one.probability)})",
        "right": None,
        "score": round(one.kept, 3),
        "rank": None,
        "other": other and {"answer": other.answer, "right": None, "score": round(other.kept, 3)},
        "state": {"view": view, "text": one.texts[0], "pair": one.texts[1], "options": options},
    }

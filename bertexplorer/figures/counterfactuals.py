"""Counterfactuals drawn: each edit with its words marked, and how probable the answers are before it and after."""

from __future__ import annotations

import math
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

import plotly.graph_objects as go

from bertexplorer.analysis.counterfactuals import Counterfactuals, Edit, written
from bertexplorer.figures import kit
from bertexplorer.figures.style import (
    ACCENT,
    GREY,
    ORANGE,
    PALE,
    clip,
    coloured,
    decimal,
    finish,
    label,
    percent,
    quote,
    safe,
)

LINE, GAP = 20, 18  # pixels: of a line of text, and between two edits
LETTERS = 46  # of a line that fit on a phone
AROUND = 4  # words beside a change that are shown
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


def draw(result: Counterfactuals) -> go.Figure:
    fig, top = go.Figure(), 0
    shown = result.edits[:DRAWN]
    if result.method == "reduction":
        shown = result.edits[-STEPS:]
        whole = shortened([word for side in result.words for word in side])
        top = block(fig, top, ["the whole text"], whole, [Share(result.answer, 0, result.probability, ACCENT)])
    for one in shown:
        head = wrap(written(one).replace("; ", ", "), LETTERS)[:2]
        if result.method == "reduction":
            top = block(fig, top, head, shortened([word for side in one.words for word in side]), shares(result, one))
        else:
            top = block(fig, top, head, marked(result, one), shares(result, one))
    height = max(top, 250)
    fig.update_xaxes(range=[0, 1], domain=[PLOT, 1], **kit.HIDDEN)
    fig.update_yaxes(range=[height, 0], **kit.HIDDEN)
    fig.update_layout(barmode="overlay")
    if result.method != "reduction":
        fig.add_annotation(kit.above(f"{coloured('▆', PALE)} before · {coloured('▬', ACCENT)} after", 6, size=13))
    return finish(fig, height + 40, margin={"l": 8, "r": 12, "t": 32, "b": 8})


def block(fig: go.Figure, top: int, head: Sequence[str], lines: Sequence[str], answers: Sequence[Share]) -> int:
    """Write an edit *top* pixels below the upper edge: its changes, the changed text and a bar for each answer. Returns
    where the next one begins."""
    texts = [*(f"<b>{safe(line)}</b>" for line in head), *lines]
    write(fig, top, "<br>".join(texts))
    top += LINE * len(texts) + 2
    for one in answers:
        numbers = f"{percent(one.before)} → {percent(one.after)}" if one.before else percent(one.after)
        write(fig, top, f"{label(one.name, 12)} {numbers}")
        tip = [f"{safe(one.name)}: {numbers}"]
        bar: dict[str, Any] = {"orientation": "h", "y": [top + LINE / 2], "customdata": tip, "hovertemplate": kit.TOLD}
        fig.add_bar(x=[one.before], width=13, marker={"color": PALES[one.colour]}, **bar)
        fig.add_bar(x=[one.after], width=6, marker={"color": one.colour}, **bar)
        top += LINE
    return top + GAP


def write(fig: go.Figure, top: float, text: str) -> None:
    place = {"xref": "paper", "x": 0, "xanchor": "left", "y": top, "yanchor": "top", "align": "left"}
    fig.add_annotation(text=text, showarrow=False, font={"size": 13}, borderpad=0, **place)


def shares(result: Counterfactuals, one: Edit) -> list[Share]:
    """The answers to draw for an edit: the one before, the wanted one, and the one after."""
    if result.method == "reduction":
        return [Share(result.answer, 0, one.kept, ACCENT)]
    found = [Share(result.answer, result.probability, one.kept, ACCENT)]
    if result.wanted:
        found.append(Share(result.wanted, result.wanted_before, one.wanted, ORANGE))
    if one.answer not in [share.name for share in found]:
        found.append(Share(one.answer, one.before, one.probability, GREY if result.wanted else ORANGE))
    return found


def marked(result: Counterfactuals, one: Edit) -> list[str]:
    """The changed text around its changes, with the new words marked, on lines that fit on a phone."""
    new = {change.index for change in one.changes}
    words = [word for side in one.words for word in side]
    near = {place for i in new for place in range(i - AROUND, i + AROUND + 1) if 0 <= place < len(words)}
    near |= {i for i, word in enumerate(words) if word == "[MASK]"} if len(words) <= 2 * LETTERS else set()
    parts: list[str] = []
    for place, last in zip(sorted(near), [-1, *sorted(near)], strict=False):
        parts += ["…"] * (place != last + 1) + [f"\x01{words[place]}\x02" if place in new else words[place]]
    parts += ["…"] * (max(near) < len(words) - 1)
    return [emphasised(line) for line in wrap(" ".join(parts), LETTERS)[:3]]


def emphasised(line: str) -> str:
    """A line with the words between the marks in bold, escaped."""
    return safe(line).replace("\x01", f'<b><span style="color:{ORANGE}">').replace("\x02", "</span></b>")


def shortened(words: Sequence[str]) -> list[str]:
    """What is left of a text, on two lines at most."""
    lines = wrap(" ".join(words), LETTERS)
    if len(lines) > 2:
        lines = [lines[0], clip(" ".join(lines[1:]), LETTERS)]
    return [safe(line) for line in lines]


def say(result: Counterfactuals) -> str:
    """The strongest edit and how many there are, or that there is none; of a reduction what is left."""
    name = f"the tag of {quote(result.tagged)}, {result.answer}," if result.tagged else quote(result.answer)
    first = f"{name[:1].upper()}{name[1:]}"
    told = reduced if result.method == "reduction" else flipped if result.flipped else unmoved
    return " ".join([*told(result, first), *remarks(result)])


def flipped(result: Counterfactuals, name: str) -> list[str]:
    best, many = result.edits[0], len(result.edits[0].changes)
    edits = f"edit{'s' * (result.found > 1)} of {counted(many)}"
    sentences = [
        f"{name} has {percent(result.probability)}. With {written(best)} the answer is {quote(best.answer)}: "
        f"{percent(best.probability)}, where it had {percent(best.before)}; {quote(result.answer)} has "
        f"{percent(best.kept)} left.",
        f"Of {result.tried:,} changed texts that were read, {result.found:,} {edits} "
        f"{'lead' if result.found > 1 else 'leads'} {f'to {quote(result.wanted)}' if result.wanted else 'away from it'}"
        f"{', and none of fewer' if many > 1 else ''}.",
    ]
    return sentences


def unmoved(result: Counterfactuals, name: str) -> list[str]:
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word could be found to put in place of another."]
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
    return [*sentences, f"The one that comes closest, {written(best)}, {shift}."]


def reduced(result: Counterfactuals, name: str) -> list[str]:
    total = sum(map(len, result.words))
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word can be left out: each removal changes the answer."]
    last, most = result.edits[-1], max(result.edits, key=lambda one: one.kept)
    left = clip(" | ".join(" ".join(side) for side in last.words if side), 120)
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
        found.append(f"In this long text {result.untried:,} words were not tried.")
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
    ours, theirs = ([written(one) for one in result.edits] for result in (first, second))
    both = [one for one in ours if one in theirs]
    if not both:
        return "No edit that is listed changes both answers."
    return f"{len(both)} of the edits that are listed change{'s' * (len(both) == 1)} both answers, first {both[0]}."


def cases(result: Counterfactuals, other: Counterfactuals | None = None) -> dict[str, Any]:
    """The table of edits or steps; a press shows the changed text in the view of its answer. With the answer that the
    *other* result lists for the same edit, if it does."""
    theirs = {written(one): one for one in other.edits} if other else {}
    steps = result.method == "reduction"
    columns = ["Text", "Removed" if steps else "Change", "Answer", f"P({clip(result.answer, 16)})"]
    rows = [row(result, rank, one, theirs.get(written(one))) for rank, one in enumerate(result.edits, 1)]
    return {"rows": rows, "score": SCORE, "title": "Steps" if steps else "Edits", "columns": columns}


def row(result: Counterfactuals, rank: int, one: Edit, other: Edit | None) -> dict[str, Any]:
    view = SHOWN_IN.get(result.target, "answer")
    names = dict.fromkeys([result.answer, one.answer, *[result.wanted] * bool(result.wanted)])
    options = {"words": ", ".join(names)} if view == "fill-mask" else {}
    return {
        "line": rank,
        "category": "",
        "texts": [text for text in one.texts if text],
        "wanted": written(one),
        "answer": f"{one.answer} ({decimal(100 * one.probability, 1)} %)",
        "right": None,
        "score": round(one.kept, 3),
        "rank": None,
        "other": other and {"answer": other.answer, "right": None, "score": round(other.kept, 3)},
        "state": {"view": view, "text": one.texts[0], "pair": one.texts[1], "options": options},
    }

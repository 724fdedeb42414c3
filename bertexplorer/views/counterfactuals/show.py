"""Figure for counterfactuals: each edit with its words marked, and the probability of the answers before and after."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from textwrap import wrap
from typing import Any, NamedTuple

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    GREY,
    ORANGE,
    PALE,
    beyond_limit,
    capital,
    clip,
    coloured,
    count,
    finish,
    label,
    only_first_mask,
    percent,
    quote,
    safe,
)
from bertexplorer.views.counterfactuals.compute import Counterfactuals, Edit, format_changes
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Behaviour",
    place=3,
    title="Counterfactuals",
    question="What is the smallest change that changes the answer?",
    note=(
        "These edits were found; there may be others, because a search tries few of the possible words. Edits from "
        "gradients may read like nonsense, and the words that change an answer need not be those it rests on. The same "
        "goes for the words that a reduction leaves: short texts are unlike any that BERT has read, and it is often "
        "sure of them (Feng et al., 2018)."
    ),
    papers=(
        "Ebrahimi et al., 2018, HotFlip",
        "Garg and Ramakrishnan, 2020, BAE",
        "Feng et al., 2018, Pathologies of Neural Models Make Interpretations Difficult",
    ),
    examples=(
        Example(
            "He or she?",
            "The doctor said that [MASK] was happy.",
            options={"word": "she"},
            shows='flips() > 0 and new_answer() == "she"',
        ),
        Example(
            "To Japan",
            "The capital of France is [MASK].",
            options={"word": "tokyo"},
            shows='new_answer() == "tokyo" and replacement() == "japan"',
        ),
        Example(
            "The key to the cabinets",
            "The key to the cabinets [MASK] in the drawer.",
            options={"method": "fill-mask", "word": "are"},
            shows='answer() == "was" and new_answer() == "are" and changed() == "key"',
        ),
        Example(
            "Penguins at the store",
            "The man went to the store.",
            "Penguins eat fish.",
            {"method": "fill-mask"},
            shows="flips() > 0",
        ),
        Example(
            "What is enough?",
            "The queen who had ruled the country for many years said that [MASK] was tired.",
            options={"method": "reduction"},
            shows='answer() == "she" and words_left() < 8',
        ),
    ),
    slow=True,
)

LINE = 17  # px: a line of text
BAR = 20  # px: a line with a bar
GAP = 16  # px: the space between two edits
LETTERS = 46  # in a line, as many as fit on a phone
WHOLE = 3  # lines of a text to show in full
AROUND = 4  # words on each side of a change, in a longer text
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


class Canvas(NamedTuple):
    """The parts of the figure so far."""

    bars: list[kit.Part]
    notes: list[kit.Part]


def draw(result: Counterfactuals) -> Chart:
    fig, top = Canvas([], []), 0.0
    if result.method == "reduction":
        top = draw_step(fig, top, "the whole text", join_words(result.words), result.answer, result.probability)
        for edit in result.edits[-STEPS:]:
            top = draw_step(fig, top, removed_words(edit), join_words(edit.words), result.answer, edit.kept)
    else:
        legend = f"{coloured('▆', PALE)} before · {coloured('▬', ACCENT)} after"
        fig.notes.append(kit.above(legend, 10, size=13))
        for edit in result.edits[:DRAWN]:
            top = draw_edit(fig, top, edit, shares(result, edit))
    height = max(top, 260)
    axes = {
        "xaxis": {"range": [0, 1], "domain": [PLOT, 1], **kit.HIDDEN},
        "yaxis": {"range": [height, 0], **kit.HIDDEN},
    }
    chart = Chart(fig.bars, {**axes, "barmode": "overlay", "annotations": fig.notes})
    return finish(chart, round(height) + 44, margin={"l": 8, "r": 12, "t": 36, "b": 8})


def draw_edit(fig: Canvas, top: float, edit: Edit, answers: Sequence[Share]) -> float:
    """Draw an edit *top* pixels below the upper edge: its changes, the changed text and a bar for each answer. Returns
    the top of the next edit."""
    head = [f"<b>{safe(line)}</b>" for line in wrap(phrase(edit), LETTERS)[:2]]
    texts = [*head, *marked_lines(edit)]
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


def draw_step(fig: Canvas, top: float, removed_text: str, text: str, answer: str, share: float) -> float:
    """Draw a step of a reduction: the removed words, the probability of the answer, the remaining text. Returns the top
    of the next step."""
    lines = wrap(text, LETTERS)
    lines = [lines[0], clip(" ".join(lines[1:]), LETTERS)] if len(lines) > 2 else lines
    write(fig, top, "<br>".join([f"<b>{label(removed_text, 16)}</b> {percent(share)}", *map(safe, lines)]))
    fig.bars.append(bar(top, share, 9, ACCENT, f"{safe(answer)}: {percent(share)}"))
    return top + LINE * (1 + len(lines)) + GAP


def bar(top: float, share: float, width: int, colour: str, hover: str) -> kit.Part:
    position = {"type": "bar", "orientation": "h", "x": [share], "y": [top + 9], "width": width}
    return {
        **position,
        "marker": {"color": colour, "line": {"width": 0}},
        "customdata": [hover],
        "hovertemplate": kit.HOVER,
    }


def write(fig: Canvas, top: float, text: str) -> None:
    position = {"xref": "paper", "x": 0, "xanchor": "left", "y": top, "yanchor": "top", "align": "left"}
    fig.notes.append({"text": text, "showarrow": False, "font": {"size": 13}, "borderpad": 0, **position})


def shares(result: Counterfactuals, edit: Edit) -> list[Share]:
    """The answers to draw for an edit: the one before, the wanted one, and the one after."""
    answers = [Share(result.answer, result.probability, edit.kept, ACCENT)]
    if result.wanted:
        answers.append(Share(result.wanted, result.wanted_before, edit.wanted, ORANGE))
    if edit.answer not in [share.name for share in answers]:
        answers.append(Share(edit.answer, edit.before, edit.probability, GREY if result.wanted else ORANGE))
    return answers


def phrase(edit: Edit) -> str:
    """The changes of an edit, as a phrase in a sentence."""
    return format_changes(edit).replace("; ", " and ")


def removed_words(edit: Edit) -> str:
    """The words that a step removes; if there are many, the first and the last."""
    words = [change.old for change in edit.changes]
    return f"−{' '.join(words)}" if len(words) < 4 else f"−{words[0]} … {words[-1]}"


def join_words(words: tuple[Sequence[str], ...]) -> str:
    """The words of a text or a pair, joined with natural spacing."""
    return re.sub(r" ([.,;:!?])", r"\1", f" {BETWEEN} ".join(" ".join(side) for side in words if side))


def marked_lines(edit: Edit) -> list[str]:
    """The changed text with the new words marked, on lines that fit on a phone; of a long text only their context."""
    sides = edit.words
    new = {change.index for change in edit.changes}
    words = [f"\x01{word}\x02" if i in new else word for i, word in enumerate((*sides[0], *sides[1]))]
    lines = wrap(join_words((words[: len(sides[0])], words[len(sides[0]) :])), LETTERS)
    if len(lines) > WHOLE:
        context = {index for i in new for index in range(i - AROUND, i + AROUND + 1) if 0 <= index < len(words)}
        parts = [words[index] if index in context else "…" for index in range(len(words))]
        visible = [part for part, last in zip(parts, ["", *parts], strict=False) if part != "…" or last != "…"]
        lines = wrap(join_words((visible,)), LETTERS)[:WHOLE]
    return [emphasise(line) for line in lines]


def emphasise(line: str) -> str:
    """A line with the words between the marks in bold, escaped."""
    return safe(line).replace("\x01", f'<b><span style="color:{ORANGE}">').replace("\x02", "</span></b>")


def say(result: Counterfactuals) -> str:
    """The strongest edit and the number of edits, if any; for a reduction, the remaining text."""
    name = f"the tag of {quote(result.tagged)}, {result.answer}," if result.tagged else quote(result.answer)
    describe = say_flipped if result.flipped else say_unmoved
    if result.method == "reduction":
        describe = say_reduced
    return " ".join([*describe(result, capital(name)), *remarks(result)])


def say_flipped(result: Counterfactuals, name: str) -> list[str]:
    best, many = result.edits[0], len(result.edits[0].changes)
    goal = f"to {quote(result.wanted)}" if result.wanted else "away from it"
    lead = f"lead {goal}, each of" if result.found > 1 else f"leads {goal}, one of"
    sentences = [
        f"{name} has {percent(result.probability)}. With {phrase(best)} the answer is {quote(best.answer)}: "
        f"{percent(best.probability)}, where it had {percent(best.before)}; {quote(result.answer)} has "
        f"{percent(best.kept)} left.",
        f"{result.found:,} of the {result.tried:,} edits that were tried "
        f"{lead} {count(many, 'word')}{'; fewer were not enough' if many > 1 else ''}.",
    ]
    return sentences


def say_unmoved(result: Counterfactuals, name: str) -> list[str]:
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word was found to replace another."]
    best = result.edits[0]
    goal = f"makes {quote(result.wanted)} the answer" if result.wanted else "changes the answer"
    sentences = [
        f"{name} has {percent(result.probability)}. {result.tried:,} edits of up to {count(result.most, 'word')} were "
        f"tried, and none {goal}."
    ]
    if result.wanted:
        shift = f"gives {quote(result.wanted)} {percent(best.wanted)} instead of {percent(result.wanted_before)}"
    else:
        shift = f"leaves it {percent(best.kept)}"
    return [*sentences, f"The one that comes closest, {phrase(best)}, {shift}."]


def say_reduced(result: Counterfactuals, name: str) -> list[str]:
    total = sum(map(len, result.words))
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word can be left out: every removal changes it."]
    last, most = result.edits[-1], max(result.edits, key=lambda edit: edit.kept)
    remaining = clip(join_words(last.words), 120)
    sentences = [
        f"{name} stays the answer without {total - sum(map(len, last.words))} of {total} words: {quote(remaining)} "
        f"is left, with {percent(last.kept)}, where the whole text has {percent(result.probability)}."
    ]
    if most.kept > result.probability and most is not last:
        removed_count = total - sum(map(len, most.words))
        shown = percent(most.kept)
        how = f"as much, {shown}" if shown == percent(result.probability) else f"more, {shown}"
        sentences.append(f"Without {count(removed_count, 'word')} it has {how}.")
    return sentences


def remarks(result: Counterfactuals) -> list[str]:
    """Sentences about what this result leaves out."""
    sentences = []
    if result.several:
        sentences.append("The text may have several labels; the answer here is the likeliest one, above 50 % or not.")
    if result.stale_head:
        sentences.append(
            "The mask head was not trained further, but the encoder that it reads was: its words may not fit."
        )
    if result.untried:
        how = " one by one" if result.method == "reduction" else ""
        sentences.append(f"In this long text {result.untried:,} words were not tried{how}.")
    if result.group > 1:
        sentences.append(f"In this long text up to {result.group} neighbouring words were removed at once.")
    if len(result.edits) > (STEPS if result.method == "reduction" else math.inf):
        sentences.append(f"The last {STEPS} of {len(result.edits)} steps are drawn.")
    return [*sentences, *result.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)]


def compare(first: Counterfactuals, second: Counterfactuals) -> str:
    """The edits that change both answers. "" for reductions, or if one result has no edits."""
    if not (first.flipped and second.flipped):
        return ""
    ours, theirs = ([format_changes(edit) for edit in result.edits] for result in (first, second))
    common = [edit for edit in ours if edit in theirs]
    if not common:
        return "No listed edit changes both answers."
    verb = "changes" if len(common) == 1 else "change"
    return f"{len(common)} of the listed edits {verb} both answers, first {common[0]}."


def cases(result: Counterfactuals, *others: Counterfactuals) -> dict[str, Any]:
    """The table of edits or steps, with the answers of the *others* to the same edit, if any. A press on a row shows
    the changed text in the view of its answer."""
    theirs = [{format_changes(edit): edit for edit in other.edits} for other in others]
    steps = result.method == "reduction"
    columns = ["Text", "Removed" if steps else "Change", "Answer", f"P({clip(result.answer, 16)})"]
    rows = [
        row(result, rank, edit, [other.get(format_changes(edit)) for other in theirs])
        for rank, edit in enumerate(result.edits, 1)
    ]
    return {"rows": rows, "score": SCORE, "title": "Steps" if steps else "Edits", "columns": columns}


def row(result: Counterfactuals, rank: int, edit: Edit, others: Sequence[Edit | None]) -> dict[str, Any]:
    view = SHOWN_IN.get(result.target, "answer")
    answers = [result.answer, edit.answer, result.wanted]
    names = dict.fromkeys(answer for answer in answers if answer)
    options = {"words": ", ".join(names)} if view == "fill-mask" else {}
    return {
        "line": rank,
        "category": "",
        "texts": [text for text in edit.texts if text],
        "wanted": removed_words(edit) if result.method == "reduction" else format_changes(edit),
        "answer": f"{edit.answer} ({percent(edit.probability)})",
        "right": None,
        "score": round(edit.kept, 3),
        "rank": None,
        "others": [
            other and {"answer": other.answer, "right": None, "score": round(other.kept, 3)} for other in others
        ],
        "state": {"view": view, "text": edit.texts[0], "pair": edit.texts[1], "options": options},
    }

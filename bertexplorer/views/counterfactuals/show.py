"""Figure for counterfactuals: each edit with its words marked, and the probability of the answers before and after."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, StyledWords, TextLines, Tone, key
from bertexplorer.charts.style import beyond_limit, capital, clip, count, only_first_mask, percent, quote
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

WHOLE = 24  # words of a text to show in full
AROUND = 4  # words on each side of a change, in a longer text
BETWEEN = "|"  # the two texts of a pair
DRAWN, STEPS = 8, 24  # edits and steps in the figure
SCORE = "the probability of the answer to the unchanged text"


class Share(NamedTuple):
    """One answer's probability before and after an edit."""

    name: str
    before: float
    after: float
    tone: Tone


def draw(result: Counterfactuals) -> Figure:
    if result.method == "reduction":
        return Figure([Panel([steps(result)])])
    panels = [Panel([key(("■", "pale", "before"), ("■", "blue", "after"))])]
    panels += [edit_panel(edit, shares(result, edit)) for edit in result.edits[:DRAWN]]
    return Figure(panels)


def steps(result: Counterfactuals) -> Bars:
    """A bar for each step of a reduction: the removed words, the rest of the text, the probability of the answer."""
    texts = [("the whole text", result.words, result.probability)]
    texts += [(removed_words(edit), edit.words, edit.kept) for edit in result.edits[-STEPS:]]
    bars = []
    for removed, words, share in texts:
        remaining = join_words(words)
        hover = f"{remaining}\n{result.answer}: {percent(share)}"
        bars.append(Bar(f"{removed}\n{remaining}", share, percent(share), hover=hover, bold=True))
    return Bars(bars, high=1, above=True)


def edit_panel(edit: Edit, answers: Sequence[Share]) -> Panel:
    """An edit: its changes, the changed text and a bar for each answer."""
    bars = []
    for share in answers:
        numbers = f"{percent(share.before)} → {percent(share.after)}"
        bars.append(Bar(share.name, share.after, numbers, share.tone, behind=share.before))
    return Panel([Bars(bars, high=1), TextLines([marked_text(edit)])], phrase(edit))


def shares(result: Counterfactuals, edit: Edit) -> list[Share]:
    """The answers to draw for an edit: the one before, the wanted one, and the one after."""
    answers = [Share(result.answer, before=result.probability, after=edit.kept, tone="blue")]
    if result.wanted:
        answers.append(Share(result.wanted, before=result.wanted_before, after=edit.wanted, tone="orange"))
    if edit.answer not in [share.name for share in answers]:
        tone: Tone = "grey" if result.wanted else "orange"
        answers.append(Share(edit.answer, before=edit.before, after=edit.probability, tone=tone))
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
    joined = f" {BETWEEN} ".join(" ".join(side) for side in words if side)
    return re.sub(r" ([.,;:!?])", r"\1", joined)


def marked_text(edit: Edit) -> list[StyledWords]:
    """The changed text with the new words marked; of a long text only what is around them."""
    first, second = edit.words
    words = [*first, *second]
    new = {change.index for change in edit.changes if change.new}
    changed = [change.index for change in edit.changes]
    parts = [StyledWords("")]  # the last of them goes on until a new word comes
    for index, word in enumerate(words):
        is_shown = len(words) <= WHOLE or any(abs(index - other) <= AROUND for other in changed)
        if first and index == len(first):
            space = f" {BETWEEN} "
        elif index == 0 or word[0] in ".,;:!?":
            space = ""
        else:
            space = " "
        text = parts[-1].text
        if is_shown and index in new:
            parts += [StyledWords(space), StyledWords(word, "orange", bold=True), StyledWords("")]
        elif is_shown:
            parts[-1] = StyledWords(f"{text}{space}{word}")
        elif not text.endswith("…"):
            parts[-1] = StyledWords(f"{text}{space}…")
    return [part for part in parts if part.text]


def say(result: Counterfactuals) -> str:
    """The strongest edit and the number of edits, if any; for a reduction, the remaining text."""
    name = f"the tag of {quote(result.tagged)}, {result.answer}," if result.tagged else quote(result.answer)
    name = capital(name)
    if result.method == "reduction":
        sentences = say_reduced(result, name)
    elif result.flipped:
        sentences = say_flipped(result, name)
    else:
        sentences = say_unmoved(result, name)
    return " ".join([*sentences, *remarks(result)])


def say_flipped(result: Counterfactuals, name: str) -> list[str]:
    """The strongest edit, and how many change the answer. *name*: of the answer, at the start of a sentence."""
    best = result.edits[0]
    goal = f"to {quote(result.wanted)}" if result.wanted else "away from it"
    lead = f"lead {goal}, each of" if result.found > 1 else f"leads {goal}, one of"
    size = count(len(best.changes), "word")
    if len(best.changes) > 1:
        size = f"{size}; fewer were not enough"
    return [
        f"{name} has {percent(result.probability)}. With {phrase(best)} the answer is {quote(best.answer)}: "
        f"{percent(best.probability)}, where it had {percent(best.before)}; {quote(result.answer)} has "
        f"{percent(best.kept)} left.",
        f"{result.found:,} of the {result.tried:,} edits that were tried {lead} {size}.",
    ]


def say_unmoved(result: Counterfactuals, name: str) -> list[str]:
    """That no edit changes the answer, and which comes closest."""
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word was found to replace another."]
    best = result.edits[0]
    if result.wanted:
        goal = f"makes {quote(result.wanted)} the answer"
        shift = f"gives {quote(result.wanted)} {percent(best.wanted)} instead of {percent(result.wanted_before)}"
    else:
        goal = "changes the answer"
        shift = f"leaves it {percent(best.kept)}"
    return [
        f"{name} has {percent(result.probability)}. {result.tried:,} edits of up to {count(result.most, 'word')} were "
        f"tried, and none {goal}.",
        f"The one that comes closest, {phrase(best)}, {shift}.",
    ]


def say_reduced(result: Counterfactuals, name: str) -> list[str]:
    """What is left of the text, and without how many words the answer is surest."""
    total = sum(map(len, result.words))
    if not result.edits:
        return [f"{name} has {percent(result.probability)}. No word can be left out: every removal changes it."]
    last = result.edits[-1]
    surest = max(result.edits, key=lambda edit: edit.kept)
    remaining = clip(join_words(last.words), 120)
    sentences = [
        f"{name} stays the answer without {total - sum(map(len, last.words))} of {total} words: {quote(remaining)} "
        f"is left, with {percent(last.kept)}, where the whole text has {percent(result.probability)}."
    ]
    if surest.kept > result.probability and surest is not last:
        removed_count = total - sum(map(len, surest.words))
        shown = percent(surest.kept)
        how = f"as much, {shown}" if shown == percent(result.probability) else f"more, {shown}"
        sentences.append(f"Without {count(removed_count, 'word')} it has {how}.")
    return sentences


def remarks(result: Counterfactuals) -> list[str]:
    """Sentences about what this result leaves out."""
    sentences = []
    is_reduction = result.method == "reduction"
    if result.several:
        sentences.append("The text may have several labels; the answer here is the likeliest one, above 50 % or not.")
    if result.stale_head:
        sentences.append(
            "The mask head was not trained further, but the encoder that it reads was: its words may not fit."
        )
    if result.untried:
        how = " one by one" if is_reduction else ""
        sentences.append(f"In this long text {result.untried:,} words were not tried{how}.")
    if result.group > 1:
        sentences.append(f"In this long text up to {result.group} neighbouring words were removed at once.")
    if is_reduction and len(result.edits) > STEPS:
        sentences.append(f"The last {STEPS} of {len(result.edits)} steps are drawn.")
    return [*sentences, *result.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)]


def compare(first: Counterfactuals, second: Counterfactuals) -> str:
    """The edits that change both answers. "" for reductions, or if one result has no edits."""
    if not (first.flipped and second.flipped):
        return ""
    theirs = [format_changes(edit) for edit in second.edits]
    common = []
    for edit in first.edits:
        if format_changes(edit) in theirs:
            common.append(format_changes(edit))
    if not common:
        return "No listed edit changes both answers."
    verb = "changes" if len(common) == 1 else "change"
    return f"{len(common)} of the listed edits {verb} both answers, first {common[0]}."


def cases(result: Counterfactuals, *others: Counterfactuals) -> dict[str, Any]:
    """The table of edits or steps, with the answers of the *others* to the same edit, if any. A press on a row shows
    the changed text in the view of its answer."""
    title, changed = ("Steps", "Removed") if result.method == "reduction" else ("Edits", "Change")
    columns = ["Text", changed, "Answer", f"P({clip(result.answer, 16)})"]
    theirs = [{format_changes(edit): edit for edit in other.edits} for other in others]
    rows = []
    for rank, edit in enumerate(result.edits, 1):
        same_edits = [edits.get(format_changes(edit)) for edits in theirs]
        rows.append(row(result, rank, edit, same_edits))
    return {"rows": rows, "score": SCORE, "title": title, "columns": columns}


def row(result: Counterfactuals, rank: int, edit: Edit, same_edits: Sequence[Edit | None]) -> dict[str, Any]:
    """A row of the table. *same_edits*: the same edit in each of the other results, None where it is not listed."""
    answers = [result.answer, edit.answer, result.wanted]
    names = dict.fromkeys(answer for answer in answers if answer)
    options = {"words": ", ".join(names)} if result.readout.at_mask else {}
    others: list[dict[str, Any] | None] = []
    for other in same_edits:
        if other is None:
            others.append(None)
        else:
            others.append({"answer": other.answer, "right": None, "score": round(other.kept, 3)})
    return {
        "line": rank,
        "category": "",
        "texts": [text for text in edit.texts if text],
        "wanted": removed_words(edit) if result.method == "reduction" else format_changes(edit),
        "answer": f"{edit.answer} ({percent(edit.probability)})",
        "right": None,
        "score": round(edit.kept, 3),
        "rank": None,
        "others": others,
        "state": {"view": result.readout.view, "text": edit.texts[0], "pair": edit.texts[1], "options": options},
    }

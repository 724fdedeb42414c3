"""Answer keys: the answers of a lesson, computed in advance for a copy that works without a server."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.expressions import fill_slots
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.learn.numbers import format_answer, in_percent
from bertexplorer.learn.prose import inline, tree


def answer_keys(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> dict[str, Any]:
    """Block id -> its answer key, or {"problem": …} where the checkpoint has no answer."""
    keys: dict[str, Any] = {}
    for block in lesson.blocks:
        if block.kind == "figure":
            continue
        try:
            facts = block_facts(answerer, block, opening, checkpoint)
            keys[block.id] = answer_key(block, facts)
            if block.kind == "click":
                state = grading.state_of(answerer, block.link, opening, checkpoint)
                keys[block.id] |= click_key(block, facts, grading.tokens_of(answerer, state))
        except ExplorerError as error:
            keys[block.id] = {"problem": str(error)}
    return keys


def answer_key(block: Block, facts: grading.Facts) -> dict[str, Any]:
    """The right answer to *block*, with feedback on each answer. Raises ExplorerError if the checkpoint has none."""
    after: dict[str, Any] = {"after": []}
    if facts or block.kind != "find":  # a find without an example has no facts
        after["after"] = tree(fill_slots(block.fields.get("after", ""), facts))
    if block.kind == "claim":
        claim = grading.claim(block, facts)
        return {"holds": claim.holds, "text": inline(claim.text)}
    if block.kind in ("predict", "choice"):
        graded = [grading.grade(block, i, facts, grading.ATTEMPTS) for i in range(len(block.items))]
        return {"key": graded[0].key, "feedback": [tree(feedback.text) for feedback in graded], **after}
    if block.kind == "number":
        number = grading.number_key(block, facts)
        ranges = []
        for item in block.items:
            low, high = grading.bounds(item)
            ranges.append((low, high, tree(fill_slots(item.feedback, facts))))
        return {
            "key": number,
            "tolerance": grading.tolerance(block, number),
            "percent": in_percent(block.prompt),
            "ranges": ranges,
            "answer": format_answer(number, block.prompt),
            **after,
        }
    if block.kind == "share":
        return {"shares": grading.shares_of(block, facts), **after}
    if block.kind == "say":
        return {"answer": inline(block.fields["model"]), "criteria": [inline(item.text) for item in block.items]}
    if block.kind == "find":
        return {"example": inline(block.shown_example), "hint": inline(block.fields.get("hint", "")), **after}
    return after


def click_key(block: Block, facts: grading.Facts, tokens: list[str]) -> dict[str, Any]:
    """The tokens that can be pressed, in order, and which of them are right, each once."""
    right = [token for token in dict.fromkeys(tokens) if grading.grade(block, token, facts).right]
    return {"tokens": tokens, "right": right, "hint": inline(fill_slots(block.fields.get("hint", ""), facts))}


def block_facts(answerer: Answerer, block: Block, opening: State, checkpoint: str) -> grading.Facts:
    """The facts of the view of *block*; of a find, those of its example, or none without one."""
    if block.kind != "find":
        return grading.facts_for(answerer, block.link, opening, checkpoint)
    if not block.fields.get("example"):
        return {}
    state = grading.state_of(answerer, block.link, opening, checkpoint)
    return grading.facts_of(answerer, example_state(answerer, block, state, opening, checkpoint))


def example_state(answerer: Answerer, block: Block, state: State, opening: State, checkpoint: str = "") -> State:
    """The view *state* of a find with its example: the link of a view, or "text | second text"."""
    example = block.fields["example"]
    if example.startswith("/?"):
        return grading.state_of(answerer, example, opening, checkpoint)
    text, pair = block.example_texts
    return replace(state, text=text, pair=pair or state.pair, hidden=(), picked=())

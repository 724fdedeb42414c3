"""Answer keys: the answers of a lesson, computed in advance for a copy that works without a server."""

from __future__ import annotations

from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.expressions import fill_slots
from bertexplorer.learn.lesson import Block, Lesson
from bertexplorer.learn.prose import inline, tree
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State


def answer_keys(explore: Explore, lesson: Lesson, opening: State, checkpoint: str = "") -> dict[str, Any]:
    """Block id -> its answer key, or {"problem": …} where the checkpoint has no answer."""
    keys: dict[str, Any] = {}
    for block in lesson.blocks:
        if block.kind == "figure":
            continue
        try:
            facts = {} if block.kind == "find" else grading.facts_for(explore, block.link, opening, checkpoint)
            keys[block.id] = answer_key(block, facts)
            if block.kind == "click":
                state = grading.state_of(explore, block.link, opening, checkpoint)
                keys[block.id] |= click_key(block, facts, grading.tokens_of(explore, state))
        except ExplorerError as error:
            keys[block.id] = {"problem": str(error)}
    return keys


def answer_key(block: Block, facts: grading.Facts) -> dict[str, Any]:
    """The right answer to *block*, with feedback on each answer. Raises ExplorerError if the checkpoint has none."""
    after = {"after": tree(fill_slots(block.fields.get("after", ""), facts))} if block.kind != "find" else {}
    if block.kind == "claim":
        claim = grading.claim(block, facts)
        return {"holds": claim.holds, "text": inline(claim.text)}
    if block.kind in ("predict", "choice"):
        graded = [grading.grade(block, i, facts, grading.ATTEMPTS) for i in range(len(block.items))]
        return {"key": graded[0].key, "feedback": [tree(feedback.text) for feedback in graded], **after}
    if block.kind == "number":
        number = grading.number_key(block, facts)
        ranges = [(*grading.bounds(item), tree(fill_slots(item.feedback, facts))) for item in block.items]
        percent, width = grading.in_percent(block.prompt), grading.tolerance(block, number)
        about = {"key": number, "tolerance": width, "percent": percent}
        return {**about, "ranges": ranges, "answer": grading.format_answer(number, block), **after}
    if block.kind == "share":
        return {"shares": grading.shares_of(block, facts), **after}
    if block.kind == "say":
        return {"answer": inline(block.fields["model"]), "criteria": [inline(item.text) for item in block.items]}
    if block.kind == "find":
        return {"example": block.fields.get("example", ""), "hint": inline(block.fields.get("hint", ""))}
    return after


def click_key(block: Block, facts: grading.Facts, tokens: list[str]) -> dict[str, Any]:
    """The tokens that can be pressed, and the right ones."""
    return {"tokens": tokens, "right": [token for token in tokens if grading.grade(block, token, facts).right]}

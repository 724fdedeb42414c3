"""Keys: the answers of a lesson, computed in advance, for a copy that is read without a server."""

from __future__ import annotations

from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.expressions import filled
from bertexplorer.learn.lesson import Block, Lesson
from bertexplorer.learn.prose import inline, tree
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State


def keys(explore: Explore, lesson: Lesson, opening: State, checkpoint: str = "") -> dict[str, Any]:
    """Id of each block -> what is said of every answer to it, or {"problem": …} where the checkpoint has none."""
    found: dict[str, Any] = {}
    for block in lesson.blocks:
        if block.kind == "figure":
            continue
        try:
            facts = {} if block.kind == "find" else grading.facts_for(explore, block.link, opening, checkpoint)
            found[block.id] = key(block, facts)
            if block.kind == "click":
                state = grading.state_of(explore, block.link, opening, checkpoint)
                found[block.id] |= pressed(block, facts, grading.tokens_of(explore, state))
        except ExplorerError as error:
            found[block.id] = {"problem": str(error)}
    return found


def key(block: Block, facts: grading.Facts) -> dict[str, Any]:
    """What is said of every answer to *block*. Raises ExplorerError if the checkpoint has none."""
    after = {"after": tree(filled(block.fields.get("after", ""), facts))} if block.kind != "find" else {}
    if block.kind == "claim":
        claim = grading.claim(block, facts)
        return {"holds": claim.holds, "text": inline(claim.text)}
    if block.kind in ("predict", "choice"):
        graded = [grading.grade(block, i, facts, grading.ATTEMPTS) for i in range(len(block.items))]
        return {"key": graded[0].key, "feedback": [tree(one.text) for one in graded], **after}
    if block.kind == "number":
        number = grading.number_key(block, facts)
        ranges = [(*grading.bounds(item), tree(filled(item.feedback, facts))) for item in block.items]
        percent, width = grading.in_percent(block.prompt), grading.tolerance(block, number)
        about = {"key": number, "tolerance": width, "percent": percent}
        return {**about, "ranges": ranges, "answer": grading.shown(number, block), **after}
    if block.kind == "share":
        return {"shares": grading.shares_of(block, facts), **after}
    if block.kind == "say":
        return {"answer": inline(block.fields["model"]), "criteria": [inline(item.text) for item in block.items]}
    if block.kind == "find":
        return {"example": block.fields.get("example", ""), "hint": inline(block.fields.get("hint", ""))}
    return after


def pressed(block: Block, facts: grading.Facts, tokens: list[str]) -> dict[str, Any]:
    """The tokens that can be pressed, and those whose press is right."""
    return {"tokens": tokens, "right": [one for one in tokens if grading.grade(block, one, facts).right]}

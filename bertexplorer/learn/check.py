"""Check: whether a lesson can be taught: its links restore, its keys are among the choices, its claims hold.

The page leaves out the faulty parts of a lesson and shows the rest. Here its writer can read what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.expressions import Expression, slots, written
from bertexplorer.learn.lesson import Block, Lesson, Problem
from bertexplorer.learn.recording import PREFIX
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State

PICKING = ("predict", "choice")
DOING = ("find", "number", "click")


@dataclass(frozen=True)
class Checked:
    """One line of a report: a block with what was evaluated, or what is wrong."""

    line: int
    block: str  # its kind and id, "" for the lesson as a whole
    text: str
    wrong: bool = False


def check(explore: Explore, lesson: Lesson, opening: State, checkpoint: str = "") -> Iterator[Checked]:
    """Evaluate everything that *lesson* asserts, on *checkpoint* or the one of the page."""
    yield from (Checked(problem.line, "", problem.text, True) for problem in [*lesson.problems, *style(lesson)])
    asked: dict[str, grading.Facts] = {}  # by the link, so that blocks on one view compute it once
    for block in lesson.blocks:
        name = f"{block.kind} {block.id}"
        try:
            yield from (
                Checked(block.line, name, text) for text in evaluated(explore, block, opening, checkpoint, asked)
            )
        except ExplorerError as error:
            yield Checked(block.line, name, str(error), True)


def style(lesson: Lesson) -> Iterator[Problem]:
    """What every lesson has: a prediction, something to find out, feedback for wrong choices."""
    kinds = [block.kind for block in lesson.blocks]
    if "predict" not in kinds:
        yield Problem(1, "No block is a predict; a lesson begins with a prediction.")
    if not set(kinds) & set(DOING):
        yield Problem(1, f"No block is one of {', '.join(DOING)}; a lesson has something to find out.")
    for block in lesson.blocks:
        for item in block.items:
            if block.kind in PICKING and not item.ticked and not item.feedback:
                yield Problem(item.line, f"{item.text!r:.60} has no feedback; say below it, after >, why one picks it.")


def evaluated(
    explore: Explore, block: Block, opening: State, checkpoint: str, asked: dict[str, grading.Facts]
) -> Iterator[str]:
    """What the checkpoint says to *block*, as sentences. *asked*: the facts of links so far. Raises ExplorerError if
    the block cannot be used with it."""
    if not block.link:
        return
    state = None if block.link.startswith(PREFIX) else grading.state_of(explore, block.link, opening, checkpoint)
    if state and block.kind == "find":
        yield from found(explore, block, state)
        return
    if block.link not in asked:
        asked[block.link] = grading.facts_for(explore, block.link, opening, checkpoint)
    facts = asked[block.link]
    said = (block.fields.get(name, "") for name in ("after", "text", "otherwise"))
    texts = [*said, *(item.feedback for item in block.items)]
    for source in (slot for text in texts for slot in slots(text)):
        yield f"{source} = {written(Expression.read(source, facts).value(facts))}"
    if state and block.kind == "click":
        yield from pressed(block, facts, grading.tokens_of(explore, state))
    elif block.kind in KEYS:
        yield KEYS[block.kind](block, facts)


def claimed(block: Block, facts: grading.Facts) -> str:
    """Raises ExplorerError if the claim does not hold."""
    condition = block.fields["holds"]
    values = ", ".join(f"{call} = {value}" for call, value in calls(condition, facts))
    if not grading.claim(block, facts).holds:
        raise ExplorerError(f"does not hold: {condition} ({values})")
    return f"holds: {condition} ({values})"


def numbered(block: Block, facts: grading.Facts) -> str:
    return f"answer: {block.fields['key']} = {Expression.read(block.fields['key'], facts).number(facts):.4g}"


def shared(block: Block, facts: grading.Facts) -> str:
    shares = grading.shares_of(block, facts)
    return ", ".join(f"{item.text} {share:.2f}" for item, share in zip(block.items, shares, strict=True))


KEYS: dict[str, Callable[[Block, grading.Facts], str]] = {
    "claim": claimed,
    "predict": lambda block, facts: f"answer: {block.items[grading.key_of(block, facts)].text}",
    "number": numbered,
    "share": shared,
}


def calls(source: str, facts: grading.Facts) -> Iterator[tuple[str, str]]:
    """The facts that an expression calls, with their values."""
    for node in ast.walk(Expression.read(source, facts).tree):
        if isinstance(node, ast.Call):
            call = ast.unparse(node)
            yield call, written(Expression.read(call, facts).value(facts))


def found(explore: Explore, block: Block, state: State) -> Iterator[str]:
    """Check that the starting text of a find is not accepted yet, and that its example is."""
    names = grading.names_of(block, state)
    said = slots(" ".join([block.fields.get("hint", ""), *(hint for _, hint in block.near)]))
    for source in [block.fields["accept"], *(condition for condition, _ in block.near), *said]:
        Expression.read(source, names)
    example = block.fields.get("example", "")
    if not example:
        return
    text, _, pair = (part.strip() for part in example.partition(" | "))
    facts = grading.facts_of(explore, replace(state, text=text, pair=pair or state.pair, hidden=(), picked=()))
    values = ", ".join(f"{call} = {value}" for call, value in calls(block.fields["accept"], facts))
    if not grading.grade(block, None, facts).right:
        raise ExplorerError(f"its own example is not accepted: {block.fields['accept']} ({values})")
    yield f"the example is accepted: {values}"


def pressed(block: Block, facts: grading.Facts, tokens: list[str]) -> Iterator[str]:
    """The tokens of the strip whose press is right: at least one, and not all."""
    right = [token for token in tokens if grading.grade(block, token, facts).right]
    if not right or len(right) == len(tokens):
        raise ExplorerError(f"{len(right)} of {len(tokens)} tokens are right; wanted some, and not all.")
    yield f"right: {', '.join(right)}"

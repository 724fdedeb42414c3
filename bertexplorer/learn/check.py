"""Check: a lesson can be taught if its links restore, its keys are among the choices, and its claims hold.

The page leaves out the faulty parts of a lesson and shows the rest. These checks tell its author what is wrong.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.answer_keys import example_state
from bertexplorer.learn.expressions import Expression, format_value, slots
from bertexplorer.learn.front_matter import LessonProblem
from bertexplorer.learn.lesson import CHOOSING, Block, ParsedLesson
from bertexplorer.learn.recording import PREFIX

PICKING = ("predict", "choice")
DOING = ("find", "number", "click")


@dataclass(frozen=True)
class CheckLine:
    """One line of a report: a block with what was evaluated, or what is wrong."""

    line: int
    block: str  # its kind and id, "" for the lesson as a whole
    text: str
    wrong: bool = False


def check(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> Iterator[CheckLine]:
    """Evaluate everything that *lesson* asserts, on *checkpoint* or the page's."""
    for problem in [*lesson.problems, *style_problems(lesson)]:
        yield CheckLine(problem.line, "", problem.text, wrong=True)
    written_for = lesson.about.get("holds_on", [])
    if checkpoint and written_for and checkpoint not in written_for:
        text = f"written for {', '.join(written_for)}; what it says need not hold on {checkpoint}"
        yield CheckLine(1, "", text)
    computed: dict[str, grading.Facts] = {}  # by link, so that blocks on the same view share one computation
    for block in lesson.blocks:
        name = f"{block.kind} {block.id}"
        try:
            for text in evaluate_block(answerer, block, opening, checkpoint, computed):
                yield CheckLine(block.line, name, text)
        except ExplorerError as error:
            yield CheckLine(block.line, name, str(error), wrong=True)


def style_problems(lesson: ParsedLesson) -> Iterator[LessonProblem]:
    """Problems of style: every lesson has a prediction, something to find out, and feedback for wrong choices."""
    kinds = [block.kind for block in lesson.blocks]
    if "predict" not in kinds:
        yield LessonProblem(1, "No block is a predict; a lesson begins with a prediction.")
    if not set(kinds) & set(DOING):
        yield LessonProblem(1, f"No block is one of {', '.join(DOING)}; a lesson has something to find out.")
    for block in lesson.blocks:
        for item in block.items:
            if block.kind in PICKING and not item.ticked and not item.feedback:
                message = f"{item.text!r:.60} has no feedback; say below it, after >, why people pick it."
                yield LessonProblem(item.line, message)


def evaluate_block(
    answerer: Answerer, block: Block, opening: State, checkpoint: str, computed: dict[str, grading.Facts]
) -> Iterator[str]:
    """Yield a line for each value that *block* takes from the checkpoint. *computed* caches facts by link. Raises
    ExplorerError if the block cannot be used with this checkpoint."""
    if not block.link:
        return
    state = None  # of a recorded run
    if not block.link.startswith(PREFIX):
        state = grading.state_of(answerer, block.link, opening, checkpoint)
    if state and block.kind == "find":
        yield from check_find(answerer, block, state, opening, checkpoint)
        return
    if block.link not in computed:
        computed[block.link] = grading.facts_for(answerer, block.link, opening, checkpoint)
    facts = computed[block.link]
    texts = [block.fields.get(name, "") for name in ("after", "text", "otherwise")]
    texts += [item.feedback for item in block.items]
    for text in texts:
        for source in slots(text):
            yield f"{source} = {format_value(Expression.read(source, facts).value(facts))}"
    if state and block.kind == "click":
        yield from check_click(block, facts, grading.tokens_of(answerer, state))
    elif block.kind in KEYS:
        yield KEYS[block.kind](block, facts)
    if block.kind in CHOOSING and any(item.value for item in block.items):
        yield describe_shares(block, facts)


def check_claim(block: Block, facts: grading.Facts) -> str:
    """Describe a claim that holds. Raises ExplorerError if it does not."""
    condition = block.fields["holds"]
    values = ", ".join(f"{call} = {value}" for call, value in fact_values(condition, facts))
    if not grading.claim(block, facts).holds:
        raise ExplorerError(f"does not hold: {condition} ({values})")
    return f"holds: {condition} ({values})"


def describe_prediction(block: Block, facts: grading.Facts) -> str:
    """Describe the answer, and where the lesson expects another one. Raises ExplorerError if there is no answer."""
    key = block.items[grading.key_of(block, facts)]
    parts = [f"answer: {key.text}"]
    for item in block.items:
        if item.ticked and item is not key:
            parts.append(f"the feedback expects {item.text}, and is not shown")
    return "; ".join(parts)


def describe_number(block: Block, facts: grading.Facts) -> str:
    """Describe the answer. Raises ExplorerError for a tolerance or a range that is not a number, for a tolerance below
    0, and for a range that holds no number."""
    key = grading.number_key(block, facts)
    if grading.tolerance(block, key) < 0:
        given = block.fields["tolerance"]
        raise ExplorerError(f"tolerance: got {given!r:.40}; wanted 0 or more, such as 0.05 or 10 %.")
    for item in block.items:
        low, high = grading.bounds(item)
        if low is not None and high is not None and low > high:
            raise ExplorerError(f"{item.text!r:.40} is an empty range; put the smaller number first.")
    return f"answer: {block.fields['key']} = {key:.4g}"


def describe_shares(block: Block, facts: grading.Facts) -> str:
    """Describe the values of the choices. Raises ExplorerError for one that is not a share of 0 to 1."""
    shares = grading.shares_of(block, facts)
    for item, share in zip(block.items, shares, strict=True):
        if not 0 <= share <= 1:
            raise ExplorerError(f"value: {item.value} = {share:.4g}; wanted a share, 0 to 1.")
    return ", ".join(f"{item.text} {share:.2f}" for item, share in zip(block.items, shares, strict=True))


KEYS: dict[str, Callable[[Block, grading.Facts], str]] = {
    "claim": check_claim,
    "predict": describe_prediction,
    "number": describe_number,
}


def fact_values(source: str, facts: grading.Facts) -> Iterator[tuple[str, str]]:
    """Yield the facts that an expression calls, with their values."""
    for node in ast.walk(Expression.read(source, facts).tree):
        if isinstance(node, ast.Call):
            call = ast.unparse(node)
            yield call, format_value(Expression.read(call, facts).value(facts))


def check_find(answerer: Answerer, block: Block, state: State, opening: State, checkpoint: str) -> Iterator[str]:
    """Check that the starting text of a find is not accepted yet, and that its example is."""
    # 1. Every expression can be read.
    sources = [block.fields["accept"]]
    hints = [block.fields.get("hint", ""), block.fields.get("found", "")]
    for condition, hint in block.near:
        sources.append(condition)
        hints.append(hint)
    for hint in hints:
        sources += slots(hint)
    conclusions = slots(block.fields.get("after", ""))
    names = grading.names_of(block, state)
    for source in [*sources, *conclusions]:
        Expression.read(source, names)

    # 2. The example is accepted.
    example = block.fields.get("example", "")
    if not example:
        return
    facts = grading.facts_of(answerer, example_state(answerer, block, state, opening, checkpoint))
    values = ", ".join(f"{call} = {value}" for call, value in fact_values(block.fields["accept"], facts))
    if not grading.grade(block, None, facts).right:
        raise ExplorerError(f"its own example is not accepted: {block.fields['accept']} ({values})")
    yield f"the example is accepted: {values}"
    for source in conclusions:
        yield f"{source} = {format_value(Expression.read(source, facts).value(facts))}"


def check_click(block: Block, facts: grading.Facts, tokens: list[str]) -> Iterator[str]:
    """List the right tokens of the strip. Raises ExplorerError if there are none, or all are right."""
    distinct = list(dict.fromkeys(tokens))
    right = [token for token in distinct if grading.grade(block, token, facts).right]
    if not right or len(right) == len(distinct):
        raise ExplorerError(f"{len(right)} of {len(distinct)} tokens are right; wanted at least one, but not all.")
    yield f"right: {', '.join(right)}"

"""Grading: compare answers to the questions of a lesson with the output of the checkpoint in use."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.core import compare
from bertexplorer.core.ask import Answerer
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.expressions import Expression, Value, call, fill_slots
from bertexplorer.learn.lesson import RANGE, Block, LessonItem
from bertexplorer.learn.numbers import format_answer, read_number, readings
from bertexplorer.learn.prose import plain
from bertexplorer.learn.recording import PREFIX, facts as recording_facts
from bertexplorer.views import VIEWS
from bertexplorer.views.facts import fact_methods

UNEXPECTED = "The lesson was written for a checkpoint that answers otherwise. What follows is measured on this one."
ATTEMPTS = 2  # before the answer is shown
LINK_NAMES = ("view", "text", "pair", "hidden", "picked", "against", "versus", "checkpoint", "precision")
Facts = Mapping[str, Callable[..., Value]]


@dataclass(frozen=True)
class Grade:
    """The feedback on an answer. *right*: None if the question has no right or wrong answers."""

    right: bool | None
    text: str = ""  # Markdown
    done: bool = True  # whether to reveal the answer: it was right, or no attempt is left
    answer: str = ""  # the right answer as text, once it is revealed
    after: str = ""  # Markdown: the conclusion to draw
    key: int | None = None  # the right choice, from 0
    shares: tuple[float, ...] = ()  # the checkpoint's share for each choice, 0 to 1
    criteria: tuple[str, ...] = field(default=())  # Markdown
    found: tuple[str, ...] = ()  # Markdown: for a find, what was found and what was wanted


def state_of(answerer: Answerer, link: str, opening: State, checkpoint: str = "") -> State:
    """The state that *link* names, of *checkpoint* if one is given. Raises ExplorerError if it does not restore."""
    query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
    if "view" not in query:
        raise ExplorerError(f"{link!r:.80} is not the link of a view; wanted one such as /?view=fill-mask&text=…")
    if checkpoint:
        query["checkpoint"] = checkpoint
    state, message = restore_state(answerer, query, opening)
    unknown = set(query) - set(LINK_NAMES) - set(state.options)
    if unknown:
        message = f"{message} {state.view} has no setting {min(unknown)!r:.40}.".strip()
    if message:
        raise ExplorerError(message)
    return state


def names_of(block: Block, state: State) -> dict[str, Any]:
    """The names that the expressions of *block* may call."""
    names: dict[str, Any] = dict(fact_methods(VIEWS[state.view].analysis.Facts))
    if state.compared:
        names["versus"] = ...
    if block.kind == "click":
        names["clicked"] = ...
    return names


def facts_for(answerer: Answerer, link: str, opening: State, checkpoint: str = "") -> Facts:
    """The facts of what *link* names: a view, or a recorded run; none of "". Raises ExplorerError."""
    if not link:
        return {}
    if link.startswith(PREFIX):
        return recording_facts(link)
    return facts_of(answerer, state_of(answerer, link, opening, checkpoint))


def facts_of(answerer: Answerer, state: State) -> dict[str, Callable[..., Value]]:
    """The facts of the view *state*, by name. If the view compares two inputs or checkpoints, `versus("total")` calls
    a fact of the other side. Raises ExplorerError as the view does."""
    fact_class = VIEWS[state.view].analysis.Facts
    names = fact_methods(fact_class)

    # 1. The facts of the view itself.
    checkpoint = answerer.registry.get(state.checkpoint, state.precision)
    own_facts = fact_class(checkpoint, state.as_text, answerer.analyse(checkpoint, state))
    facts: dict[str, Callable[..., Value]] = {name: getattr(own_facts, name) for name in names}
    if not state.compared:
        return facts

    # 2. Those of the other side.
    others = [side for side in compare.comparison_sides(answerer.registry, state) if side.checkpoint]
    if len(others) != 1:
        raise ExplorerError(f"A lesson compares two; {len(others) + 1} checkpoints were named.")
    other = others[0]
    assert other.checkpoint is not None
    result = answerer.analyse(other.checkpoint, other.state)
    other_facts = fact_class(other.checkpoint, other.state.as_text, result)

    def versus(name: str, *arguments: Any) -> Any:
        if name not in names:
            raise ExplorerError(f"versus names {name!r:.40}; wanted one of {', '.join(names)}.")
        return call(name, getattr(other_facts, name), arguments)

    facts["versus"] = versus
    return facts


def grade(block: Block, answer: object, facts: Facts, attempt: int = 1) -> Grade:
    """Grade *answer*: the index of a choice, a number as typed, shares in points, or the pressed token. A find has no
    answer: its *facts* are those of the view as the learner left it. *attempt* counts from 1; the ATTEMPTS-th is the
    last. Raises ExplorerError for an invalid answer."""
    last = attempt >= ATTEMPTS
    feedback = GRADERS[block.kind](block, answer, facts, last)
    limits: tuple[float, ...] = ()
    if block.kind == "find" and block.fields.get("accept"):
        limits = Expression.read(block.fields["accept"], facts).limits
    after = ""
    if feedback.done:
        after = fill_slots(block.fields.get("after", ""), facts, limits)
    return replace(feedback, text=fill_slots(feedback.text, facts, limits), after=after)


# One function for each kind of question: (block, answer, facts, whether it is the last attempt) -> Grade. Their errors
# are ExplorerErrors about the answer.


def predict(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    chosen = choice_index(block, answer)
    key = key_of(block, facts)
    expected = next((item for item in block.items if item.ticked), block.items[key])
    text = UNEXPECTED
    if expected is block.items[key]:
        text = block.items[chosen].feedback
    return Grade(chosen == key, text, answer=block.items[key].text, key=key)


def choice(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    chosen = choice_index(block, answer)
    key = next(i for i, item in enumerate(block.items) if item.ticked)
    right = chosen == key
    text = block.items[chosen].feedback
    if not right and not last:
        return Grade(right, text, done=False)
    return Grade(right, text, answer=block.items[key].text, key=key)


def number(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    key = number_key(block, facts)
    typed = min(readings(answer, block.prompt), key=lambda reading: abs(reading - key))
    right = abs(typed - key) <= tolerance(block, key) + 1e-12
    text = ""
    if not right:
        text = "Too low." if typed < key else "Too high."
        for item in block.items:
            if item.feedback and within(item, typed):
                text = item.feedback
                break
    if not right and not last:
        return Grade(right, text, done=False)
    return Grade(right, text, answer=format_answer(key, block.prompt))


def find(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    wanted = Expression.read(block.fields["accept"], facts)
    if wanted.holds(facts):
        return Grade(True)
    hint = ""
    for condition, hint_if_near in block.near:
        if Expression.read(condition, facts).holds(facts):
            hint = hint_if_near
            break
    if not hint and last:
        hint = block.fields.get("hint", "")
    example = block.shown_example if last else ""
    return Grade(False, hint, done=False, answer=example, found=what_was_found(block, wanted, facts))


def what_was_found(block: Block, wanted: Expression, facts: Facts) -> tuple[str, ...]:
    """What was found in the place of what was *wanted*, in the words of the lesson if it has any."""
    if "found" in block.fields:
        with suppress(ExplorerError):  # it may name what this text does not have
            return (fill_slots(block.fields["found"], facts, wanted.limits),)
    return tuple(wanted.unmet(facts))


def click(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    if not isinstance(answer, str) or not answer or len(answer) > 100:
        raise ExplorerError("Nothing is pressed. Press a token above.")
    facts_with_click = {**facts, "clicked": lambda: answer}
    right = Expression.read(block.fields["accept"], facts_with_click).holds(facts_with_click)
    if right:
        return Grade(right, answer=answer)
    if last:
        return Grade(right)
    return Grade(right, block.fields.get("hint", ""), done=False)


def say(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    if not isinstance(answer, str) or not answer.strip():
        raise ExplorerError("Nothing is written yet. A sentence is enough.")
    return Grade(None, answer=block.fields["model"], criteria=tuple(item.text for item in block.items))


def share(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    count = len(block.items)
    points: list[float] = answer if isinstance(answer, list) else []
    are_numbers = all(type(x) in (int, float) and abs(x) < 1e6 for x in points)  # rejects NaN
    if len(points) != count or not are_numbers:
        raise ExplorerError(f"Got {answer!r:.60}; wanted {count} numbers of points, one for each line.")
    if min(points) < 0 or abs(sum(points) - 100) > 0.5:
        raise ExplorerError(f"The points add up to {sum(points):g}; share out exactly 100.")
    shares = shares_of(block, facts)
    overlap = sum(min(given / 100, share) for given, share in zip(points, shares, strict=True))
    return Grade(None, f"{100 * overlap:.0f} of your 100 points are where BERT puts them.", shares=shares)


GRADERS: dict[str, Callable[[Block, object, Facts, bool], Grade]] = {
    "predict": predict,
    "choice": choice,
    "number": number,
    "find": find,
    "click": click,
    "say": say,
    "share": share,
}


def choice_index(block: Block, answer: object) -> int:
    """The index of a choice. Raises ExplorerError for anything else."""
    if type(answer) is not int or not 0 <= answer < len(block.items):
        raise ExplorerError(f"Got {answer!r:.40}; wanted the number of a choice, 0 to {len(block.items) - 1}.")
    return answer


def key_of(block: Block, facts: Facts) -> int:
    """The choice that the checkpoint makes, from 0. Raises ExplorerError if no choice matches, or several do."""
    key = block.fields.get("key")
    matches = []
    if key:
        value = Expression.read(key, facts).value(facts)
        for i, item in enumerate(block.items):
            if normalize(plain(item.original or item.text)) == normalize(str(value)):
                matches.append(i)
        reason = f"the view says {value!r:.60}"
    else:
        for i, item in enumerate(block.items):
            if Expression.read(item.when, facts).holds(facts):
                matches.append(i)
        reason = f"{len(matches)} of them hold"
    if len(matches) != 1:
        raise ExplorerError(f"None of the choices is what this checkpoint does, or several are: {reason}.")
    return matches[0]


def normalize(text: str) -> str:
    """*text* for comparisons: in lower case, without the punctuation at the end of a sentence."""
    return text.casefold().strip(" .!?")


def shares_of(block: Block, facts: Facts) -> tuple[float, ...]:
    """The checkpoint's share for each choice; the choice without a value gets the remainder. Empty if no choice has
    a value."""
    if not any(item.value for item in block.items):
        return ()
    values = {}  # by the index of the choice
    for i, item in enumerate(block.items):
        if item.value:
            values[i] = Expression.read(item.value, facts).number(facts)
    remainder = max(0.0, 1 - sum(values.values()))
    return tuple(values.get(i, remainder) for i in range(len(block.items)))


def tokens_of(answerer: Answerer, state: State) -> list[str]:
    """The tokens that can be pressed in the view *state*, in order."""
    checkpoint = answerer.registry.get(state.checkpoint, state.precision)
    encoding = answerer.encode(checkpoint, state)
    return [token for token, special in zip(encoding.tokens, encoding.special, strict=True) if not special]


def tolerance(block: Block, key: float) -> float:
    """How far from *key* an answer may be: "0.05", or "10 %" of the key, which is the default."""
    text = block.fields.get("tolerance", "10 %")
    width = read_number(text)
    if text.strip().endswith("%"):
        width *= abs(key)
    return width


def bounds(item: LessonItem) -> tuple[float | None, float | None]:
    """The lowest and the highest number of the range that *item* names, both included; None where it is open."""
    match = RANGE.match(item.text)
    assert match is not None  # the parser of lessons rejects other ranges
    below, above, low, high = match.groups()
    if below:
        return None, math.nextafter(read_number(below), -math.inf)
    if above:
        return math.nextafter(read_number(above), math.inf), None
    return read_number(low), read_number(high)


def within(item: LessonItem, number: float) -> bool:
    """Whether *number* is in the range that *item* names."""
    low, high = bounds(item)
    return (low is None or low <= number) and (high is None or number <= high)


def number_key(block: Block, facts: Facts) -> float:
    """The checkpoint's answer to a question for a number."""
    return Expression.read(block.fields["key"], facts).number(facts)


@dataclass(frozen=True)
class Claim:
    """Whether a claim of a lesson holds, and the sentence to read: the claim, or what the lesson says instead."""

    holds: bool
    text: str  # Markdown


def claim(block: Block, facts: Facts) -> Claim:
    """Evaluate the claim *block*. Raises ExplorerError if it cannot be evaluated on this checkpoint."""
    condition = Expression.read(block.fields["holds"], facts)
    holds = condition.holds(facts)
    text = block.fields["text"]
    if not holds:
        text = block.fields.get("otherwise", text)
    return Claim(holds, fill_slots(text, facts, condition.limits))

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
    unknown = set(query) - {"view", "text", "pair", "hidden", "picked", "against", "versus", "checkpoint", "precision"}
    if lost := unknown - set(state.options):
        message = f"{message} {state.view} has no setting {min(lost)!r:.40}.".strip()
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
    """The facts of what *link* names: a view, or a recorded run. Raises ExplorerError."""
    if link.startswith(PREFIX):
        return recording_facts(link)
    return facts_of(answerer, state_of(answerer, link, opening, checkpoint)) if link else {}


def facts_of(answerer: Answerer, state: State) -> dict[str, Callable[..., Value]]:
    """The facts of the view *state*, by name. If the view compares two inputs or checkpoints, `versus("total")` calls
    a fact of the other side. Raises ExplorerError as the view does."""
    fact_class = VIEWS[state.view].analysis.Facts
    names = fact_methods(fact_class)
    checkpoint = answerer.registry.get(state.checkpoint, state.precision)
    own_facts = fact_class(checkpoint, state.as_text, answerer.analyse(checkpoint, state))
    facts: dict[str, Callable[..., Value]] = {name: getattr(own_facts, name) for name in names}
    if state.compared:
        others = [side for side in compare.comparison_sides(answerer.registry, state) if side.checkpoint]
        if len(others) != 1:
            raise ExplorerError(f"A lesson compares two; {len(others) + 1} checkpoints were named.")
        other_checkpoint, other_state = others[0].checkpoint, others[0].state
        assert other_checkpoint is not None
        other_facts = fact_class(other_checkpoint, other_state.as_text, answerer.analyse(other_checkpoint, other_state))

        def versus(name: str, *arguments: Any) -> Any:
            if name not in names:
                raise ExplorerError(f"versus names {name!r:.40}; wanted one of {', '.join(names)}.")
            return call(name, getattr(other_facts, name), arguments)

        facts["versus"] = versus
    return facts


def grade(block: Block, answer: object, facts: Facts, attempt: int = 1) -> Grade:
    """Grade *answer*: the index of a choice, a number as typed, shares in points, or the pressed token. A find has no
    answer: its *facts* are those of the view as the learner left it. Raises ExplorerError for an invalid answer."""
    last = attempt >= ATTEMPTS
    feedback = GRADERS[block.kind](block, answer, facts, last)
    condition = block.fields.get("accept", "") if block.kind == "find" else ""
    limits = Expression.read(condition, facts).limits if condition else ()
    after = fill_slots(block.fields.get("after", ""), facts, limits) if feedback.done else ""
    return replace(feedback, text=fill_slots(feedback.text, facts, limits), after=after)


def predict(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    chosen, key = choice_index(block, answer), key_of(block, facts)
    expected = next((item for item in block.items if item.ticked), block.items[key])
    text = block.items[chosen].feedback if expected is block.items[key] else UNEXPECTED
    return Grade(chosen == key, text, True, block.items[key].text, key=key)


def choice(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    chosen = choice_index(block, answer)
    key = next(i for i, item in enumerate(block.items) if item.ticked)
    done = chosen == key or last
    text = block.items[chosen].feedback
    if not done:
        return Grade(chosen == key, text, done)
    return Grade(chosen == key, text, done, block.items[key].text, key=key)


def number(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    key = number_key(block, facts)
    typed = min(readings(answer, block.prompt), key=lambda reading: abs(reading - key))
    right = abs(typed - key) <= tolerance(block, key) + 1e-12
    text = ""
    if not right:
        text = "Too low." if typed < key else "Too high."
        text = next((item.feedback for item in block.items if item.feedback and within(item, typed)), text)
    done = right or last
    return Grade(right, text, done, format_answer(key, block.prompt) if done else "")


def find(block: Block, answer: object, facts: Facts, last: bool) -> Grade:
    wanted = Expression.read(block.fields["accept"], facts)
    if wanted.holds(facts):
        return Grade(True, done=True)
    hint = next((text for condition, text in block.near if Expression.read(condition, facts).holds(facts)), "")
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
    is_done = right or last
    hint = "" if is_done else block.fields.get("hint", "")
    return Grade(right, hint, is_done, answer if right else "")


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
    if key := block.fields.get("key"):
        value = Expression.read(key, facts).value(facts)
        matches = [
            i
            for i, item in enumerate(block.items)
            if normalize(plain(item.original or item.text)) == normalize(str(value))
        ]
        reason = f"the view says {value!r:.60}"
    else:
        matches = [i for i, item in enumerate(block.items) if Expression.read(item.when, facts).holds(facts)]
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
    given = {}
    for place, item in enumerate(block.items):
        if item.value:
            given[place] = Expression.read(item.value, facts).number(facts)
    rest = max(0.0, 1 - sum(given.values()))
    return tuple(given.get(place, rest) for place in range(len(block.items)))


def tokens_of(answerer: Answerer, state: State) -> list[str]:
    """The tokens that can be pressed in the view *state*, in order."""
    encoding = answerer.encode(answerer.registry.get(state.checkpoint, state.precision), state)
    return [token for token, special in zip(encoding.tokens, encoding.special, strict=True) if not special]


def tolerance(block: Block, key: float) -> float:
    """How far from *key* an answer may be: "0.05", or "10 %" of the key, which is the default."""
    text = block.fields.get("tolerance", "10 %")
    return read_number(text) * (abs(key) if text.strip().endswith("%") else 1)


def bounds(item: LessonItem) -> tuple[float | None, float | None]:
    """The lowest and the highest number of the range that *item* names, both included; None where it is open."""
    match = RANGE.match(item.text)
    assert match is not None  # the parser of lessons rejects other ranges
    below, above, low, high = (read_number(x) if x else None for x in match.groups())
    if below is not None:
        return None, math.nextafter(below, -math.inf)
    return (low, high) if above is None else (math.nextafter(above, math.inf), None)


def within(item: LessonItem, number: float) -> bool:
    """Whether *number* is in the range that *item* names."""
    low, high = bounds(item)
    return (low is None or low <= number) and (high is None or number <= high)


def number_key(block: Block, facts: Facts) -> float:
    """The checkpoint's answer to a question for a number."""
    return Expression.read(block.fields["key"], facts).number(facts)


@dataclass(frozen=True)
class Claim:
    """Whether a claim of a lesson holds, and the sentence to read: the claim itself, or what holds instead."""

    holds: bool
    text: str  # Markdown


def claim(block: Block, facts: Facts) -> Claim:
    """Evaluate the claim *block*. Raises ExplorerError if it cannot be evaluated on this checkpoint."""
    condition = Expression.read(block.fields["holds"], facts)
    holds = condition.holds(facts)
    text = block.fields["text"] if holds else block.fields.get("otherwise", block.fields["text"])
    return Claim(holds, fill_slots(text, facts, condition.limits))

"""Grading: an answer to a question of a lesson, judged by what the checkpoint in use does."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.analysis.facts import fact_methods
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.expressions import Expression, Value, filled
from bertexplorer.learn.lesson import RANGE, Block, Item
from bertexplorer.learn.prose import plain
from bertexplorer.learn.recording import PREFIX
from bertexplorer.learn.recording import facts as recording_facts
from bertexplorer.ui import comparing
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.link import followed
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import VIEWS

ATTEMPTS = 2  # before the answer is shown
NUMBER = re.compile(r"\s*([-+]?\d*[.,]?\d+)\s*(%?)\s*")
Facts = Mapping[str, Callable[..., Value]]


@dataclass(frozen=True)
class Feedback:
    """The feedback on an answer. *right*: None if the question has no right or wrong answers."""

    right: bool | None
    text: str = ""  # Markdown
    done: bool = True  # whether the answer is revealed: it was given, or no attempt is left
    answer: str = ""  # the right answer in words, once it is revealed
    after: str = ""  # Markdown: what to take from it
    key: int | None = None  # of the choices, from 0
    shares: tuple[float, ...] = ()  # that the checkpoint gives to each choice, 0 to 1
    criteria: tuple[str, ...] = field(default=())  # Markdown


def state_of(explore: Explore, link: str, opening: State, checkpoint: str = "") -> State:
    """The state that *link* names, of *checkpoint* if one is given. Raises ExplorerError if it does not restore."""
    query = dict(parse_qsl(urlsplit(link).query, keep_blank_values=True))
    if "view" not in query:
        raise ExplorerError(f"{link!r:.80} is not the link of a view; wanted one such as /?view=fill-mask&text=…")
    if checkpoint:
        query["checkpoint"] = checkpoint
    state, message = followed(explore, query, opening)
    unknown = set(query) - {"view", "text", "pair", "hidden", "picked", "against", "versus", "checkpoint", "precision"}
    if lost := unknown - set(state.options):
        message = f"{message} {state.view} has no setting {min(lost)!r:.40}.".strip()
    if message:
        raise ExplorerError(message)
    return state


def names_of(block: Block, state: State) -> dict[str, Any]:
    """What the expressions of *block* may call."""
    names: dict[str, Any] = dict(fact_methods(VIEWS[state.view].analysis.Facts))
    if state.compared:
        names["versus"] = ...
    if block.kind == "click":
        names["clicked"] = ...
    return names


def facts_for(explore: Explore, link: str, opening: State, checkpoint: str = "") -> Facts:
    """The facts of what *link* names: a view, or a recorded run. Raises ExplorerError."""
    if link.startswith(PREFIX):
        return recording_facts(link)
    return facts_of(explore, state_of(explore, link, opening, checkpoint)) if link else {}


def facts_of(explore: Explore, state: State) -> dict[str, Callable[..., Value]]:
    """The facts of the view *state*, ready to be called; with something to compare with, `versus("total")` calls those
    of the other side. Raises ExplorerError as the view does."""
    kind = VIEWS[state.view].analysis.Facts
    names = fact_methods(kind)
    checkpoint = explore.library.get(state.checkpoint, state.precision)
    ours = kind(checkpoint, state.as_text, explore.analyse(checkpoint, state))
    found: dict[str, Callable[..., Value]] = {name: getattr(ours, name) for name in names}
    if state.compared:
        others = [side for side in comparing.sides(explore.library, state) if side.checkpoint]
        if len(others) != 1:
            raise ExplorerError(f"A lesson compares two; {len(others) + 1} checkpoints were named.")
        theirs, other = others[0].checkpoint, others[0].state
        assert theirs is not None
        beside = kind(theirs, other.as_text, explore.analyse(theirs, other))

        def versus(name: str, *given: Any) -> Any:
            if name not in names:
                raise ExplorerError(f"versus names {name!r:.40}; wanted one of {', '.join(names)}.")
            return getattr(beside, name)(*given)

        found["versus"] = versus
    return found


def grade(block: Block, answer: Any, facts: Facts, attempt: int = 1) -> Feedback:
    """Judge *answer*: the number of a choice from 0, a number as typed, shares in points, the token that was pressed,
    or, for a find, nothing: the facts are those of the view as the person left it. Raises ExplorerError for an answer
    of another kind."""
    last = attempt >= ATTEMPTS
    found = GRADERS[block.kind](block, answer, facts, last)
    after = filled(block.fields.get("after", ""), facts) if found.done else ""
    return replace(found, text=filled(found.text, facts), after=after)


def predict(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    chosen, key = picked(block, answer), key_of(block, facts)
    return Feedback(chosen == key, block.items[chosen].feedback, True, block.items[key].text, key=key)


def choice(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    chosen = picked(block, answer)
    key = next(i for i, item in enumerate(block.items) if item.ticked)
    done = chosen == key or last
    return Feedback(
        chosen == key,
        block.items[chosen].feedback,
        done,
        block.items[key].text if done else "",
        key=key if done else None,
    )


def number(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    given, key = typed_number(answer, block.prompt), number_key(block, facts)
    right = abs(given - key) <= tolerance(block, key) + 1e-12
    text = "" if right else next((item.feedback for item in block.items if within(item, given)), "")
    done = right or last
    near = "" if right or text else ("Too low." if given < key else "Too high.")
    return Feedback(right, text or near, done, shown(key, block) if done else "")


def find(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    if Expression.read(block.fields["accept"], facts).holds(facts):
        return Feedback(True, done=True)
    hint = next((text for wanted, text in block.near if Expression.read(wanted, facts).holds(facts)), "")
    if not hint and last:
        hint = block.fields.get("hint", "")
    example = block.fields.get("example", "") if last else ""
    return Feedback(False, hint, False, example)


def click(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    if not isinstance(answer, str) or not answer or len(answer) > 100:
        raise ExplorerError("Nothing is pressed. Press a token above.")
    tried = {**facts, "clicked": lambda: answer}
    right = Expression.read(block.fields["accept"], tried).holds(tried)
    return Feedback(
        right, "" if right or last else block.fields.get("hint", ""), right or last, answer if right else ""
    )


def say(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    if not isinstance(answer, str) or not answer.strip():
        raise ExplorerError("Nothing is written yet. A sentence is enough.")
    return Feedback(None, answer=block.fields["model"], criteria=tuple(item.text for item in block.items))


def share(block: Block, answer: Any, facts: Facts, last: bool) -> Feedback:
    count = len(block.items)
    numbers = isinstance(answer, list) and all(type(x) in (int, float) and abs(x) < 1e6 for x in answer)  # NaN is none
    if not numbers or len(answer) != count:
        raise ExplorerError(f"Got {answer!r:.60}; wanted {count} numbers of points, one for each line.")
    if min(answer) < 0 or abs(sum(answer) - 100) > 0.5:
        raise ExplorerError(f"The points add up to {sum(answer):g}; share out exactly 100.")
    shares = shares_of(block, facts)
    overlap = sum(min(given / 100, share) for given, share in zip(answer, shares, strict=True))
    return Feedback(None, f"{100 * overlap:.0f} of your 100 points are where BERT puts them.", shares=shares)


GRADERS: dict[str, Callable[[Block, Any, Facts, bool], Feedback]] = {
    "predict": predict,
    "choice": choice,
    "number": number,
    "find": find,
    "click": click,
    "say": say,
    "share": share,
}


def picked(block: Block, answer: Any) -> int:
    """The number of a choice. Raises ExplorerError for anything else."""
    if type(answer) is not int or not 0 <= answer < len(block.items):
        raise ExplorerError(f"Got {answer!r:.40}; wanted the number of a choice, 0 to {len(block.items) - 1}.")
    return answer


def key_of(block: Block, facts: Facts) -> int:
    """Which choice the checkpoint makes, from 0. Raises ExplorerError if it is none of them, or several."""
    if key := block.fields.get("key"):
        value = Expression.read(key, facts).value(facts)
        fitting = [
            i for i, item in enumerate(block.items) if bare(plain(item.original or item.text)) == bare(str(value))
        ]
        said = f"the view says {value!r:.60}"
    else:
        fitting = [i for i, item in enumerate(block.items) if Expression.read(item.when, facts).holds(facts)]
        said = f"{len(fitting)} of them hold"
    if len(fitting) != 1:
        raise ExplorerError(f"None of the choices is what this checkpoint does, or several are: {said}.")
    return fitting[0]


def bare(text: str) -> str:
    """*text* in the form for comparisons: in lower case and without the punctuation that ends a sentence."""
    return text.casefold().strip(" .!?")


def shares_of(block: Block, facts: Facts) -> tuple[float, ...]:
    """What the checkpoint gives to each choice; the one without a value has the rest."""
    values = [Expression.read(item.value, facts).number(facts) if item.value else None for item in block.items]
    rest = max(0.0, 1 - sum(value for value in values if value is not None))
    return tuple(rest if value is None else value for value in values)


def tokens_of(explore: Explore, state: State) -> list[str]:
    """The tokens that can be pressed in the view *state*, each once."""
    encoding = explore.read(explore.library.get(state.checkpoint, state.precision), state)
    tokens = [token for token, special in zip(encoding.tokens, encoding.special, strict=True) if not special]
    return list(dict.fromkeys(tokens))


def read_number(answer: Any) -> float:
    """0.13, .13, 0,13 or 13 %. Raises ExplorerError for anything else."""
    found = NUMBER.fullmatch(str(answer)) if isinstance(answer, str | int | float) else None
    if not found:
        raise ExplorerError(f"{answer!r:.40} is not a number; wanted one such as 0.13 or 13 %.")
    return float(found[1].replace(",", ".")) / (100 if found[2] else 1)


def tolerance(block: Block, key: float) -> float:
    """How far from *key* an answer may be: "0.05", or "10 %" of it; a tenth of it if the block does not say."""
    given = block.fields.get("tolerance", "10 %")
    return read_number(given) * (abs(key) if given.strip().endswith("%") else 1)


def bounds(item: Item) -> tuple[float | None, float | None]:
    """The lowest and the highest number of the range that *item* names, both included; None where it is open."""
    found = RANGE.match(item.text)
    assert found is not None  # the reader of the lesson refuses others
    below, above, low, high = (read_number(x) if x else None for x in found.groups())
    if below is not None:
        return None, math.nextafter(below, -math.inf)
    return (low, high) if above is None else (math.nextafter(above, math.inf), None)


def within(item: Item, given: float) -> bool:
    """Whether *given* is in the range that *item* names."""
    low, high = bounds(item)
    return (low is None or low <= given) and (high is None or given <= high)


def in_percent(prompt: str) -> bool:
    """Whether a question asks for per cent."""
    return "%" in prompt


def typed_number(answer: Any, prompt: str) -> float:
    """The number that a person typed for the question *prompt*: where that asks for per cent, 13 means 13 %. Raises
    ExplorerError for what is not a number."""
    given = read_number(answer)
    return given / 100 if in_percent(prompt) and "%" not in str(answer) and abs(given) >= 1 else given


def number_key(block: Block, facts: Facts) -> float:
    """The answer of the checkpoint to a question for a number."""
    return Expression.read(block.fields["key"], facts).number(facts)


def shown(key: float, block: Block) -> str:
    """A number as an answer: a share is in per cent if the question asks for that."""
    if in_percent(block.prompt):
        return f"{100 * key:.1f} %"
    return f"{key:,.0f}" if key == int(key) else f"{key:.3g}"


@dataclass(frozen=True)
class Claim:
    """Whether a claim of a lesson holds, and the sentence to read: the claim itself, or what holds instead."""

    holds: bool
    text: str  # Markdown


def claim(block: Block, facts: Facts) -> Claim:
    """Evaluate the claim *block*. Raises ExplorerError if it cannot be evaluated on this checkpoint."""
    holds = Expression.read(block.fields["holds"], facts).holds(facts)
    text = block.fields["text"] if holds else block.fields.get("otherwise", block.fields["text"])
    return Claim(holds, filled(text, facts))

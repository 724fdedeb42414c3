"""Rows with a question, a passage and its answers -> questions whose answers are located in the passage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bertexplorer.model.text import clean
from bertexplorer.training.data import squad
from bertexplorer.training.data.rows import Problem, Row, Unfit, converted, written

YES = ("true", "yes", "1")
OFFER = "; “Realign” takes the nearest place where it occurs"


class Answer(NamedTuple):
    """A text and the character of the passage at which it starts."""

    text: str
    start: int


@dataclass(frozen=True)
class Question:
    """A question about a passage. No answers: the passage does not contain one."""

    line: int
    question: str
    context: str
    answers: tuple[Answer, ...]


def questions(rows: Sequence[Row], realign: bool) -> tuple[list[Question], list[Problem]]:
    """Rows with "question", "context", "answers" (a list of {"text", "start"}, or just the text, which is then searched
    for) and optionally "impossible". *realign*: also search for an answer that is not at its stated position."""
    return converted(rows, lambda row: question(row, realign))


def question(row: Row, realign: bool) -> Question:
    """Raises Unfit if the row cannot be used."""
    asked, context = (written(row.cells.get(name, "")) for name in ("question", "context"))
    cell, said = row.cells.get("answers", ""), row.cells.get("impossible", "")
    impossible = said is True or written(said).strip().lower() in YES
    if not clean(asked)[0].strip() or not clean(context)[0].strip():
        raise Unfit(f"has no {'passage' if asked.strip() else 'question'}")
    given = [] if impossible else claims(cell)
    if not given and not impossible and cell != []:
        raise Unfit("has no answer, and is not marked as impossible")
    answers = [located(context, text, start, realign) for text, start in given]
    left = clean(context)[0]
    if left != context:
        answers = [Answer(clean(text)[0], len(clean(context[:start])[0])) for text, start in answers]
        if not all(text for text, _ in answers):
            raise Unfit("has an answer without visible characters")
    return Question(row.line, clean(asked)[0].strip(), left, tuple(answers))


def claims(cell: Any) -> list[tuple[str, int | None]]:
    """The answers of a cell without surrounding spaces, each with its stated position, if any."""
    if isinstance(cell, str):
        return [(cell.strip(), None)] if cell.strip() else []
    if isinstance(cell, list) and all(isinstance(text, str) for text in cell):
        return [(text.strip(), None) for text in cell if text.strip()]
    found = squad.flat(cell)
    if not squad.is_answers(found):
        raise Unfit(f"has the answers {written(cell)[:60]}; wanted a text, or a list of {{text, start}}")
    if not all(answer["text"].strip() for answer in found):
        raise Unfit("has an answer without a text")
    lead = [len(answer["text"]) - len(answer["text"].lstrip()) for answer in found]
    return [(answer["text"].strip(), answer["start"] + n) for answer, n in zip(found, lead, strict=True)]


def located(context: str, text: str, start: int | None, realign: bool) -> Answer:
    """The answer with its position: as stated, else as a whole word, else anywhere. *realign*: ignore case and spacing,
    and take the occurrence nearest to the stated position."""
    if start is not None and start >= 0 and context[start : start + len(text)] == text:
        return Answer(text, start)
    exact = re.escape(text)
    loose = r"\s+".join(map(re.escape, text.split()))
    tried = [rf"(?<!\w){exact}(?!\w)", exact, *([rf"(?i:{loose})"] if realign else [])]
    places = next((found for how in tried if (found := list(re.finditer(how, context)))), [])
    if places and (start is None or realign):
        best = min(places, key=lambda place: abs(place.start() - (start or 0)))
        return Answer(best[0], best.start())
    if start is None:
        raise Unfit(f"has the answer “{text[:60]}”, which does not occur in the passage")
    stands = context[max(0, start) : max(0, start) + len(text)][:60]
    raise Unfit(
        f"has the answer “{text[:60]}” at character {start}, where the passage has “{stands}”"
        + (OFFER if places else "; it does not occur in it")
    )

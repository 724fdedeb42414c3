"""Rows with a question, a passage and its answers -> questions whose answers are located in the passage."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from bertexplorer.model.text import clean
from bertexplorer.training.data.jsonl import flatten_answers, is_answers
from bertexplorer.training.data.rows import Problem, Row, UnusableRow, cell_text, convert_rows

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


def read_questions(rows: Sequence[Row], realign: bool) -> tuple[list[Question], list[Problem]]:
    """Rows with "question", "context", "answers" (a list of {"text", "start"}, or just the text, which is then searched
    for) and optionally "impossible". *realign*: also search for an answer that is not at its stated position."""
    return convert_rows(rows, lambda row: read_question(row, realign))


def read_question(row: Row, realign: bool) -> Question:
    """Raises UnusableRow if the row cannot be used."""
    question_text, context = (cell_text(row.cells.get(name, "")) for name in ("question", "context"))
    cell, flag = row.cells.get("answers", ""), row.cells.get("impossible", "")
    impossible = flag is True or cell_text(flag).strip().lower() in YES
    if not clean(question_text)[0].strip() or not clean(context)[0].strip():
        raise UnusableRow(f"has no {'passage' if question_text.strip() else 'question'}")
    claimed = [] if impossible else parse_answers(cell)
    if not claimed and not impossible and cell != []:
        raise UnusableRow("has no answer, and is not marked as impossible")
    answers = [locate_answer(context, text, start, realign) for text, start in claimed]
    cleaned = clean(context)[0]
    if cleaned != context:
        answers = [Answer(clean(text)[0], len(clean(context[:start])[0])) for text, start in answers]
        if not all(text for text, _ in answers):
            raise UnusableRow("has an answer without visible characters")
    return Question(row.line, clean(question_text)[0].strip(), cleaned, tuple(answers))


def parse_answers(cell: Any) -> list[tuple[str, int | None]]:
    """The answers of a cell without surrounding spaces, each with its stated position, if any."""
    if isinstance(cell, str):
        return [(cell.strip(), None)] if cell.strip() else []
    if isinstance(cell, list) and all(isinstance(text, str) for text in cell):
        return [(text.strip(), None) for text in cell if text.strip()]
    answers = flatten_answers(cell)
    if not is_answers(answers):
        raise UnusableRow(f"has the answers {cell_text(cell)[:60]}; wanted a text, or a list of {{text, start}}")
    if not all(answer["text"].strip() for answer in answers):
        raise UnusableRow("has an answer without a text")
    indents = [len(answer["text"]) - len(answer["text"].lstrip()) for answer in answers]
    return [(answer["text"].strip(), answer["start"] + indent) for answer, indent in zip(answers, indents, strict=True)]


def locate_answer(context: str, text: str, start: int | None, realign: bool) -> Answer:
    """The answer with its position: as stated, else as a whole word, else anywhere. *realign*: ignore case and spacing,
    and take the occurrence nearest to the stated position."""
    if start is not None and start >= 0 and context[start : start + len(text)] == text:
        return Answer(text, start)
    exact = re.escape(text)
    loose = r"\s+".join(map(re.escape, text.split()))
    patterns = [rf"(?<!\w){exact}(?!\w)", exact, *([rf"(?i:{loose})"] if realign else [])]
    matches = next((hits for pattern in patterns if (hits := list(re.finditer(pattern, context)))), [])
    if matches and (start is None or realign):
        best = min(matches, key=lambda match: abs(match.start() - (start or 0)))
        return Answer(best[0], best.start())
    if start is None:
        raise UnusableRow(f"has the answer “{text[:60]}”, which does not occur in the passage")
    actual = context[max(0, start) : max(0, start) + len(text)][:60]
    raise UnusableRow(
        f"has the answer “{text[:60]}” at character {start}, where the passage has “{actual}”"
        + (OFFER if matches else "; it does not occur in it")
    )

"""Collect: the files that students hand in, graded again from the lesson, a row for each file.

A file has the answers as data beside what a person reads. Whoever edits the file can change them, which cannot be
detected; but right and wrong are never read from it. They are computed here, on the checkpoint of the lesson."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.lesson import Block, ParsedLesson

META = "bertexplorer-answers"  # the name of the element that holds them
MAX_BYTES = 50_000_000  # of a file, most of which are pictures
MAX_FILES = 2_000
MAX_NAME = 100  # characters of a student's name


@dataclass(frozen=True)
class HandIn:
    """What one file says. *problem*: why it cannot be graded."""

    file: str
    lesson: str = ""
    version: str = ""  # of the lesson, see ParsedLesson.version
    checkpoint: str = ""  # that answered; "" for the page's own
    student: str = ""  # as typed
    saved: str = ""  # when, by the clock of the student's machine
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # question -> {"answer", "attempt", "link"}
    problem: str = ""


class Reader(HTMLParser):
    """Finds the answers in a page."""

    def __init__(self) -> None:
        super().__init__()
        self.answers = ""  # JSON

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        if tag == "meta" and attributes.get("name") == META:
            self.answers = attributes.get("content") or ""


def read_hand_in(path: Path) -> HandIn:
    """The content of one file; of one that cannot be read, the *problem*."""
    try:
        if path.exists() and not path.is_file():  # reading a pipe would wait for ever
            return HandIn(path.name, problem="it is a folder, a pipe or a device; wanted a file")
        if path.stat().st_size > MAX_BYTES:
            return HandIn(path.name, problem=f"it has more than {MAX_BYTES // 1_000_000} MB")
        reader = Reader()
        reader.feed(path.read_text("utf-8"))
    except OSError as error:
        return HandIn(path.name, problem=f"it cannot be read: {error.strerror}")
    except UnicodeDecodeError:
        return HandIn(path.name, problem="it is not UTF-8 text")
    except (AssertionError, ValueError, RecursionError):  # Python's parser gives up on some malformed pages
        return HandIn(path.name, problem="it is not a page that can be read; ask for the file again")
    if not reader.answers:
        return HandIn(path.name, problem="it has no answers of BERT Explorer; wanted a file saved with “Hand in”")
    try:
        saved = json.loads(reader.answers)
        texts = {name: saved.get(name, "") for name in ("lesson", "version", "checkpoint", "student", "saved")}
        answers = saved["answers"]
        if not all(isinstance(text, str) for text in texts.values()) or not isinstance(answers, dict):
            raise ValueError
        texts["student"] = texts["student"][:MAX_NAME]
        return HandIn(path.name, **texts, answers={id: dict(answer) for id, answer in answers.items()})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return HandIn(path.name, problem="its answers cannot be read; ask for the file again")


def collect(
    answerer: Answerer, catalogue: LessonCatalogue, paths: Sequence[Path], opening: State
) -> Iterator[dict[str, object]]:
    """A row for each file: student, lesson, how many questions are right, and a column for each question, which is 1
    (right), 0 (wrong) or empty (no answer, or a question without right and wrong). *problem* says what to know about
    a file, such as that it was made from another version of the lesson."""
    known: dict[tuple[str, str, str], grading.Facts] = {}
    for path in paths:
        hand_in = read_hand_in(path)
        row: dict[str, object] = {"file": hand_in.file, "student": hand_in.student, "lesson": hand_in.lesson}
        row |= {"saved": hand_in.saved, "right": "", "of": "", "problem": hand_in.problem}
        if not hand_in.problem:
            try:
                lesson = catalogue.lesson(hand_in.lesson)
                row |= graded(answerer, lesson, hand_in, opening, known)
            except ExplorerError as error:
                row["problem"] = str(error)
            except Exception as error:  # one file must not end the grading of all others
                row["problem"] = f"it cannot be graded ({type(error).__name__}); ask for the file again"
        yield row


def graded(
    answerer: Answerer,
    lesson: ParsedLesson,
    hand_in: HandIn,
    opening: State,
    known: dict[tuple[str, str, str], grading.Facts],
) -> dict[str, object]:
    """The columns of a file whose lesson is known. *known*: facts that were computed for other files."""
    marks: dict[str, object] = {}
    problems = []
    if hand_in.version != lesson.version:
        problems.append("made from another version of the lesson; graded by this one")
    for block in lesson.questions:
        column = f"{lesson.slug}/{block.id}"
        marks[column] = ""
        if block.id in hand_in.answers:
            try:
                right = is_right(answerer, lesson, block, hand_in, opening, known)
                marks[column] = "" if right is None else int(right)
            except ExplorerError as error:
                problems.append(f"{block.id}: {error}")
    unknown = sorted(set(hand_in.answers) - {block.id for block in lesson.questions})
    if unknown:
        problems.append(f"answers to unknown questions: {', '.join(unknown)[:80]}")
    gradable = [block for block in lesson.questions if block.kind not in ("say", "share")]
    num_right = sum(mark == 1 for mark in marks.values())
    return {"right": num_right, "of": len(gradable), "problem": "; ".join(problems), **marks}


def is_right(
    answerer: Answerer,
    lesson: ParsedLesson,
    block: Block,
    hand_in: HandIn,
    opening: State,
    known: dict[tuple[str, str, str], grading.Facts],
) -> bool | None:
    """Whether the answer to *block* is right; None where no answer is. *known*: as in `graded`, which grows. Raises
    ExplorerError for an answer that cannot be graded."""
    given = hand_in.answers[block.id]
    checkpoint = hand_in.checkpoint
    if block.kind == "find":
        own = grading.state_of(answerer, block.link, opening, checkpoint)
        state = grading.state_of(answerer, str(given.get("link", "")), opening, own.checkpoint)
        if state.view != own.view:
            raise ExplorerError(f"The answer shows the view {state.view}; wanted {own.view}.")
        facts = grading.facts_of(answerer, state)
    else:
        key = (lesson.slug, block.id, checkpoint)
        if key not in known:
            known[key] = grading.facts_for(answerer, block.link, opening, checkpoint)
        facts = dict(known[key])
    return grading.grade(block, given.get("answer"), facts, grading.ATTEMPTS).right

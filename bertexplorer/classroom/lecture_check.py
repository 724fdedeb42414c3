"""Lecture check: a lecture can be given if its views answer, its lessons exist, and the class can vote in it."""

from __future__ import annotations

from collections.abc import Iterator

from bertexplorer.classroom.lecture import Lecture, Step, check_names
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.check import CheckLine
from bertexplorer.learn.prose import quoted
from bertexplorer.learn.recording import PREFIX, recording


def check_lecture(
    answerer: Answerer, catalogue: LessonCatalogue, lecture: Lecture, opening: State, checkpoint: str = ""
) -> Iterator[CheckLine]:
    """Evaluate each step of *lecture* on *checkpoint* or the page's: its view answers, its lesson exists, the class can
    vote on its question."""
    yield from (CheckLine(problem.line, "", problem.text, True) for problem in lecture.problems)
    for step in lecture.steps:
        try:
            yield CheckLine(step.line, step.name, describe_step(answerer, catalogue, step, opening, checkpoint))
        except ExplorerError as error:
            yield CheckLine(step.line, step.name, str(error), True)


def describe_step(answerer: Answerer, catalogue: LessonCatalogue, step: Step, opening: State, checkpoint: str) -> str:
    """What *step* shows. Raises ExplorerError if it cannot be shown."""
    check_names(catalogue, step)
    if step.view.startswith(PREFIX):
        return recording(step.view).title
    if step.kind == "view":
        state = grading.state_of(answerer, step.view, opening, checkpoint)
        answer = answerer.answer(state)
        if answer.error:
            raise ExplorerError(answer.error)
        return f"{state.view}: {answer.said}"
    lesson = catalogue.lesson(step.lesson)
    if step.kind == "lesson":
        return f"{lesson.title}, {len(lesson.questions)} questions"
    return quoted(lesson.block(step.question).prompt)

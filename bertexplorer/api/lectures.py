"""Lectures: list them, and read one with its notes."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from fastapi import APIRouter
from starlette.responses import Response

from bertexplorer.api.admission import json_reply, to_response
from bertexplorer.api.problems import Route
from bertexplorer.classroom.lecture import Lecture, Step, find_lecture, lectures
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.prose import inline, plain, quoted, tree


def routes(catalogue: LessonCatalogue) -> APIRouter:
    """GET /api/v1/lectures and GET /api/v1/lectures/{slug}."""
    router = APIRouter(prefix="/api/v1/lectures", route_class=Route, tags=["Lessons"])

    @router.get("", operation_id="list-lectures", summary="List lectures")
    def listed() -> Response:
        """The lectures in order. A file in which no step can be used is left out."""
        found = [find_lecture(catalogue, slug) for slug in lectures(catalogue)]
        return to_response(json_reply([summary(lecture) for lecture in found if lecture.steps]))

    @router.get("/{slug}", operation_id="read-lecture", summary="Read a lecture")
    def read(slug: str) -> Response:
        """A lecture: its steps in order, each with its minutes and the notes for the teacher."""
        lecture = find_lecture(catalogue, slug)
        problems = [f"Line {problem.line}: {problem.text}" for problem in lecture.problems]
        steps = [{**step_json(step), "title": title_of(catalogue, step)} for step in lecture.steps]
        content = {**summary(lecture), "opening": tree(lecture.opening), "problems": problems, "steps": steps}
        return to_response(json_reply(content))

    return router


def summary(lecture: Lecture) -> dict[str, Any]:
    """The entry of a lecture in the list."""
    can = inline(str(lecture.about.get("can", "")))
    about = {"slug": lecture.slug, "title": lecture.title, "minutes": lecture.minutes, "can": can}
    return {**about, "votes": len(lecture.votes)}


def title_of(catalogue: LessonCatalogue, step: Step) -> str:
    """What the teacher's plan calls *step*: its text, the title of its lesson, or its question; "" for the view's
    title."""
    if step.kind == "view":
        return plain(step.prompt)
    try:
        lesson = catalogue.lesson(step.lesson)
        question = quoted(lesson.block(step.question).prompt) if step.question else ""
    except ExplorerError as error:
        return str(error)
    return f"Vote: {question}" if question else lesson.title


def step_json(step: Step) -> dict[str, Any]:
    """A step with its texts as nested elements."""
    return {**asdict(step), "prompt": tree(step.prompt), "notes": tree(step.notes)}

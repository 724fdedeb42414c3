"""Lesson calls: what a checkpoint answers for lessons and classes, as calls that any process can perform."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict
from typing import Any

import orjson

from bertexplorer.api.admission import JSON, Reply, json_reply
from bertexplorer.api.calls import Call
from bertexplorer.api.view import read_state
from bertexplorer.classroom.questions import reveal_answer, suggest_question
from bertexplorer.classroom.room import ClassQuestion
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import check, export, grading, qti
from bertexplorer.learn.answer_keys import answer_keys
from bertexplorer.learn.catalogue import views_of
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.learn.prose import inline, tree
from bertexplorer.views import VIEWS

EXPORTS: Mapping[str, Callable[..., str | bytes]] = {
    "gift": export.gift,
    "moodle": export.moodle,
    "qti": qti.package,
    "csv": export.question_table,
    "keys": lambda *given: orjson.dumps(answer_keys(*given)).decode(),
}


def lesson_call(name: str, owner: str, *, slow: bool = False, **given: Any) -> Call:
    """A call of `perform_lesson`. *given*: blocks and lessons as dataclasses, the rest as JSON."""
    return Call("lesson", name, owner, {key: plain(value) for key, value in given.items()}, slow)


def plain(value: Any) -> Any:
    """*value* as JSON; what a front matter has beyond JSON, such as dates, becomes text."""
    return (
        json.loads(json.dumps(asdict(value), default=str))
        if isinstance(value, ParsedLesson | Block | ClassQuestion)
        else value
    )


def is_slow(block: Block) -> bool:
    """Whether the view of *block* waits in the slow queue."""
    return any(VIEWS[view].slow for view in views_of(block) & set(VIEWS))


def perform_lesson(answerer: Answerer, opening: State, call: Call) -> Reply:
    """The reply to a call of the kind "lesson". *answerer*: that of its owner. Raises ExplorerError as grading does."""
    name, given = call.name, call.given
    if name == "grade":
        return json_reply(grade_answer(answerer, Block.of(given["block"]), given["fields"], opening))
    if name == "suggest":
        return json_reply(suggest_question(answerer, given["link"], opening))
    if name == "reveal":
        block = Block.of(given["block"]) if given["block"] else None
        return json_reply(reveal_answer(answerer, ClassQuestion.of(given["question"]), block, opening))
    lesson, checkpoint = ParsedLesson.of(given["lesson"]), given["checkpoint"]
    if name == "check":
        problems = [f"Line {problem.line}: {problem.text}" for problem in lesson.problems]
        checked = [asdict(line) for line in check.check(answerer, lesson, opening, checkpoint)]
        return json_reply({"slug": lesson.slug, "problems": problems, "checked": checked})
    content = EXPORTS[name](answerer, lesson, opening, checkpoint)
    media = {"keys": JSON, "qti": "application/zip"}.get(name, "text/plain; charset=utf-8")
    return Reply(
        content.encode() if isinstance(content, str) else content,
        media,
        headers={"x-file-name": f"{lesson.slug}.{name}"},
    )


def grade_answer(answerer: Answerer, block: Block, fields: Any, opening: State) -> dict[str, Any]:
    """Grade the answer in *fields*, the JSON of a request. Raises ExplorerError."""
    if not isinstance(fields, dict):
        raise ExplorerError('The request is not a JSON object. Send {"answer": …}.')
    if unknown := sorted(set(fields) - {"answer", "attempt", "state", "checkpoint"}):
        raise ExplorerError(f"The request has {unknown[0]!r:.40}; wanted answer, attempt, state, checkpoint.")
    attempt, checkpoint = fields.get("attempt", 1), fields.get("checkpoint", "")
    if type(attempt) is not int or attempt < 1:
        raise ExplorerError(f"attempt: got {attempt!r:.40}; wanted a whole number, 1 or more.")
    if not isinstance(checkpoint, str):
        raise ExplorerError(f"checkpoint: got {checkpoint!r:.40}; wanted text.")
    facts: grading.Facts = {}
    if block.kind == "find" and fields.get("state") is not None:
        facts = grading.facts_of(answerer, read_state(fields["state"], opening))
    else:
        facts = grading.facts_for(answerer, block.link, opening, checkpoint)
    if block.kind == "claim":
        claim = grading.claim(block, facts)
        return {"holds": claim.holds, "text": inline(claim.text)}
    if not block.is_question:
        raise ExplorerError(f"{block.id} is a {block.kind} and has no question. Answer another part.")
    grade = grading.grade(block, fields.get("answer"), facts, attempt)
    prose = {"text": tree(grade.text), "answer": inline(grade.answer), "after": tree(grade.after)}
    lists = {"criteria": [inline(one) for one in grade.criteria], "found": [inline(one) for one in grade.found]}
    return {**asdict(grade), **prose, **lists}

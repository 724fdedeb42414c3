"""Lessons: list them, read one without its answers, and have an answer judged."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import orjson
from fastapi import APIRouter, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Admission, Reply, SendLine, json_reply, parse_json, to_response
from bertexplorer.api.models import TEXT, body
from bertexplorer.api.problems import Route
from bertexplorer.api.view import STATE, read_state
from bertexplorer.errors import ExplorerError
from bertexplorer.figures import learning
from bertexplorer.learn import export as exports
from bertexplorer.learn import grading
from bertexplorer.learn.keys import keys
from bertexplorer.learn.lesson import Block, Lesson
from bertexplorer.learn.prose import inline, tree
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.learn.shelf import Shelf, views_of
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import VIEWS

EXPORTS = {
    "gift": exports.gift,
    "csv": exports.table,
    "keys": lambda *given: orjson.dumps(keys(*given)).decode(),
}
ANSWERED = body(
    (),
    {"answer": 0, "attempt": 1},
    answer={"description": "The number of a choice from 0, a number as typed, points for each choice, or a token."},
    attempt={"type": "integer", "minimum": 1, "description": "Which attempt it is, from 1."},
    state={**STATE, "description": "For a find: the view as the person left it."},
    checkpoint={**TEXT, "description": "Instead of the one that the page opens with."},
)


def routes(explore: Explore, admission: Admission, shelf: Shelf, opening: State) -> APIRouter:
    """GET /api/v1/lessons, GET /api/v1/lessons/{slug}, POST /api/v1/lessons/{slug}/{block}."""
    router = APIRouter(prefix="/api/v1/lessons", route_class=Route, tags=["Lessons"])

    def spoken(slug: str, lang: str) -> str:
        """The language in which the lesson is shown."""
        return lang if (slug, lang) in shelf.translations else "en"

    @router.get("", operation_id="list-lessons", summary="List lessons")
    def lessons(lang: str = "") -> Response:
        """The lessons in their order, with what each is about and the views that it uses; *lang*: a language, where a
        lesson is translated."""
        return to_response(
            json_reply([{**listed(shelf.lesson(slug, lang)), "language": spoken(slug, lang)} for slug in shelf.files])
        )

    @router.post("/own", operation_id="keep-lesson", summary="Upload a lesson")
    def keep(request: Request, file: UploadFile) -> Response:
        """Store a lesson of your own. Its address is known to you and to those whom you give it."""
        content, own = file.file.read(), explore.of(request.scope["state"]["owner"])
        own.quota.check(own.owner, len(content))
        slug = shelf.keep(content)
        problems = [f"Line {problem.line}: {problem.text}" for problem in shelf.lesson(slug).problems]
        return to_response(json_reply({"slug": slug, "problems": problems}))

    @router.get("/runs/{name}", operation_id="read-recording", summary="Read a recorded run")
    def recorded(name: str) -> Response:
        """A run that lessons replay: its figure, the figure in a sentence, what was trained and the command for it."""
        held = recording(PREFIX + name)
        figure = orjson.Fragment(learning.draw(held.curves).to_json())
        said = learning.say(held.curves, higher=held.higher)
        about = {"title": held.title, "card": held.card, "command": held.command}
        return to_response(json_reply({**about, "said": said, "figure": figure}))

    @router.get("/{slug}", operation_id="read-lesson", summary="Read a lesson")
    def lesson(slug: str, lang: str = "") -> Response:
        """A lesson without its answers: prose as nested elements, and its questions, claims and figures."""
        held = shelf.lesson(slug, lang)
        return to_response(
            json_reply({**shown(held), "language": spoken(slug, lang), "languages": shelf.languages(slug)})
        )

    answers(router, explore, admission, shelf, opening)
    return router


def answers(router: APIRouter, explore: Explore, admission: Admission, shelf: Shelf, opening: State) -> None:
    """Add what is computed: answers judged, and all of them for other systems."""

    @router.get("/{slug}/{kind}", operation_id="export-lesson", summary="Export a lesson")
    async def export(request: Request, slug: str, kind: str, checkpoint: str = "") -> Response:
        """The questions with their answers: gift or csv for other systems, keys for a copy that needs no server."""
        held, own = shelf.lesson(slug), explore.of(request.scope["state"]["owner"])
        if kind not in EXPORTS:
            raise ExplorerError(f"There is no export {kind!r:.40}; wanted one of {', '.join(EXPORTS)}.")

        def write(send_line: SendLine) -> Reply:
            content = EXPORTS[kind](own, held, opening, checkpoint).encode()
            return Reply(content, "text/plain; charset=utf-8", headers={"x-file-name": f"{slug}.{kind}"})

        return admission.respond(request, write, slow=True)

    @router.post("/{slug}/{part}", operation_id="answer-lesson", summary="Answer a lesson", openapi_extra=ANSWERED)
    async def answer(request: Request, slug: str, part: str, lang: str = "") -> Response:
        """What is said of an answer to a question; of a claim, whether it holds on the checkpoint."""
        block, given = shelf.lesson(slug, lang).block(part), parse_json(await request.body())
        own = explore.of(request.scope["state"]["owner"])

        def judge(send_line: SendLine) -> Reply:
            return json_reply(judged(own, block, given, opening))

        return admission.respond(
            request, judge, slow=any(VIEWS[view].slow for view in views_of(block) & set(VIEWS)), queued=bool(block.link)
        )


def listed(lesson: Lesson) -> dict[str, Any]:
    """A lesson in the list."""
    about = {name: lesson.about.get(name, "") for name in ("topic", "minutes")}
    about |= {name: inline(str(lesson.about.get(name, ""))) for name in ("question", "can")}
    views = sorted({view for block in lesson.blocks for view in views_of(block)})
    return {"slug": lesson.slug, "title": lesson.title, **about, "views": views, "questions": len(lesson.questions)}


def shown(lesson: Lesson) -> dict[str, Any]:
    """A lesson as it is read."""
    parts = [
        part_of(part) if isinstance(part, Block) else {"kind": "prose", "text": tree(part)} for part in lesson.parts
    ]
    misreading, _, instead = str(lesson.about.get("guards", "")).partition(". ")
    more: dict[str, Any] = {"misreading": inline(misreading.rstrip(".") + "."), "instead": inline(instead)}
    more["sources"] = [str(source) for source in lesson.about.get("sources", [])]
    problems = [f"Line {problem.line}: {problem.text}" for problem in lesson.problems]
    return {**listed(lesson), **more, "parts": parts, "problems": problems}


def part_of(block: Block) -> dict[str, Any]:
    """A block without what gives its answer away."""
    out: dict[str, Any] = {"kind": block.kind, "id": block.id, "prompt": tree(block.prompt), "link": block.shown}
    if block.kind in ("predict", "choice", "share"):
        out["choices"] = [inline(item.text) for item in block.items]
    if block.kind == "figure":
        out["text"] = inline(block.fields.get("text", ""))
    return out


def judged(explore: Explore, block: Block, given: Any, opening: State) -> dict[str, Any]:
    """What is said of the answer in *given*, the JSON of a request. Raises ExplorerError."""
    if not isinstance(given, dict):
        raise ExplorerError('The request is not JSON, or no object. Send {"answer": …}.')
    if unknown := sorted(set(given) - {"answer", "attempt", "state", "checkpoint"}):
        raise ExplorerError(f"The request has {unknown[0]!r:.40}; wanted answer, attempt, state, checkpoint.")
    attempt, checkpoint = given.get("attempt", 1), given.get("checkpoint", "")
    if type(attempt) is not int or attempt < 1:
        raise ExplorerError(f"attempt: got {attempt!r:.40}; wanted a whole number, 1 or more.")
    if not isinstance(checkpoint, str):
        raise ExplorerError(f"checkpoint: got {checkpoint!r:.40}; wanted text.")
    facts: grading.Facts = {}
    if block.kind == "find" and given.get("state") is not None:
        facts = grading.facts_of(explore, read_state(given["state"], opening))
    else:
        facts = grading.facts_for(explore, block.link, opening, checkpoint)
    if block.kind == "claim":
        claim = grading.claim(block, facts)
        return {"holds": claim.holds, "text": inline(claim.text)}
    if not block.is_question:
        raise ExplorerError(f"{block.id} is a {block.kind} and asks nothing.")
    found = grading.grade(block, given.get("answer"), facts, attempt)
    read = {"text": tree(found.text), "answer": inline(found.answer), "after": tree(found.after)}
    return {**asdict(found), **read, "criteria": [inline(one) for one in found.criteria]}

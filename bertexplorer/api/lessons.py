"""Lessons: list them, read one without its answers, and grade an answer."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, UploadFile
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import Admission, json_reply, parse_json, task_response, to_response
from bertexplorer.api.calls import Backend
from bertexplorer.api.lesson_calls import EXPORTS, is_slow, lesson_call, perform_lesson
from bertexplorer.api.models import TEXT, body, of_type
from bertexplorer.api.problems import Route
from bertexplorer.api.view import state_schema
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue, views_of
from bertexplorer.learn.lesson import Block, ParsedLesson, is_for_class
from bertexplorer.learn.prose import inline, tree
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.runs import learning


def answer_schema() -> dict[str, Any]:
    """The body of an answer in the OpenAPI document."""
    about = "The number of a choice from 0, a number as typed, points for each choice, or a token."
    return body(
        (),
        {"answer": 0, "attempt": 1},
        answer={"description": about},
        attempt={"type": "integer", "minimum": 1, "description": "Which attempt it is, from 1."},
        state={**state_schema(), "description": "For a find: the view as the person left it."},
        checkpoint={**TEXT, "description": "Instead of the one that the page opens with."},
    )


def routes(
    answerer: Answerer, admission: Admission, catalogue: LessonCatalogue, opening: State, backend: Backend
) -> APIRouter:
    """GET /api/v1/lessons, GET /api/v1/lessons/{slug}, POST /api/v1/lessons/{slug}/{block}. *backend*: where answers
    are graded, and lessons checked and exported."""
    router = APIRouter(prefix="/api/v1/lessons", route_class=Route, tags=["Lessons"])

    def shown_language(slug: str, lang: str) -> str:
        """The language in which the lesson is shown."""
        return lang if (slug, lang) in catalogue.translations else "en"

    @router.get("", operation_id="list-lessons", summary="List lessons")
    def lessons(lang: str = "") -> Response:
        """The lessons in order, with their topics and the views that they use. *lang*: the language, where a
        translation exists. A file in which no block can be used is left out."""
        return to_response(
            json_reply(
                [
                    {**summary(catalogue.lesson(slug, lang)), "language": shown_language(slug, lang)}
                    for slug in catalogue.files
                    if catalogue.lessons[slug].blocks
                ]
            )
        )

    @router.post("/own", operation_id="keep-lesson", summary="Upload a lesson")
    def keep(request: Request, file: UploadFile, checkpoint: str = "") -> Response:
        """Store a lesson of your own, and evaluate everything that it asserts on *checkpoint*, or the one that the page
        opens with. *checked* lists it, with its answers. Only people with its address can open the lesson."""
        content, own = file.file.read(), answerer.for_owner(request.scope["state"]["owner"])
        own.quota.check(own.owner, len(content))
        slug = catalogue.save_upload(content)
        asked = lesson_call("check", own.owner, slow=True, lesson=catalogue.lesson(slug), checkpoint=checkpoint)
        return task_response(request, backend.task(asked))

    @router.get("/runs/{name}", operation_id="read-recording", summary="Read a recorded run")
    def recorded(name: str) -> Response:
        """A run that lessons replay: its figure, a sentence about it, what was trained, and the command."""
        run = recording(PREFIX + name)
        figure = learning.draw(run.curves).parts()
        said = learning.say(run.curves, higher=run.higher)
        about = {"title": run.title, "card": run.card, "command": run.command}
        return to_response(json_reply({**about, "said": said, "figure": figure}))

    @router.get("/{slug}", operation_id="read-lesson", summary="Read a lesson")
    def lesson(slug: str, lang: str = "") -> Response:
        """A lesson without its answers: prose as nested elements, questions, claims and figures."""
        content = lesson_json(catalogue.lesson(slug, lang))
        return to_response(
            json_reply({**content, "language": shown_language(slug, lang), "languages": catalogue.languages(slug)})
        )

    add_answer_routes(router, answerer, admission, catalogue, opening, backend)
    return router


def add_answer_routes(
    router: APIRouter,
    answerer: Answerer,
    admission: Admission,
    catalogue: LessonCatalogue,
    opening: State,
    backend: Backend,
) -> None:
    """Add the routes that compute: grading, and exports with all answers."""

    @router.get("/{slug}/{kind}", operation_id="export-lesson", summary="Export a lesson", **of_type("text/plain"))
    async def export(request: Request, slug: str, kind: str, checkpoint: str = "", lang: str = "") -> Response:
        """The questions with their answers: gift, moodle (its XML), qti (a package of QTI 2.1) or csv for other
        systems, keys for a copy that needs no server. *lang*: the language, where a translation exists."""
        if kind not in EXPORTS:
            raise ExplorerError(f"There is no export {kind!r:.40}; wanted one of {', '.join(EXPORTS)}.")
        owner, lesson = request.scope["state"]["owner"], catalogue.lesson(slug, lang)
        return task_response(
            request, backend.task(lesson_call(kind, owner, slow=True, lesson=lesson, checkpoint=checkpoint))
        )

    @router.post(
        "/{slug}/{part}", operation_id="answer-lesson", summary="Answer a lesson", openapi_extra=answer_schema()
    )
    async def answer(request: Request, slug: str, part: str, lang: str = "") -> Response:
        """Grade the answer to a question. For a claim: whether it holds on the checkpoint."""
        block, fields = catalogue.lesson(slug, lang).block(part), parse_json(await request.body())
        asked = lesson_call("grade", request.scope["state"]["owner"], slow=is_slow(block), block=block, fields=fields)
        if not block.link:  # no checkpoint is asked, so nothing waits in a queue
            own = answerer.for_owner(asked.owner)
            return admission.respond(request, lambda send_line: perform_lesson(own, opening, asked), queued=False)
        return task_response(request, backend.task(asked))


def summary(lesson: ParsedLesson) -> dict[str, Any]:
    """The entry of a lesson in the list."""
    about = {name: lesson.about.get(name, "") for name in ("topic", "minutes")}
    about |= {name: inline(str(lesson.about.get(name, ""))) for name in ("question", "can")}
    views = sorted({view for block in lesson.blocks for view in views_of(block)})
    return {"slug": lesson.slug, "title": lesson.title, **about, "views": views, "questions": len(lesson.questions)}


def lesson_json(lesson: ParsedLesson) -> dict[str, Any]:
    """A lesson for readers, without its answers."""
    parts = [
        part_of(part) if isinstance(part, Block) else {"kind": "prose", "text": tree(part)} for part in lesson.parts
    ]
    misreading, _, instead = str(lesson.about.get("guards", "")).partition(". ")
    more: dict[str, Any] = {
        "version": lesson.version,
        "misreading": inline(misreading.rstrip(".") + "."),
        "instead": inline(instead),
    }
    more["sources"] = [str(source) for source in lesson.about.get("sources", [])]
    problems = [f"Line {problem.line}: {problem.text}" for problem in lesson.problems]
    return {**summary(lesson), **more, "parts": parts, "problems": problems}


def part_of(block: Block) -> dict[str, Any]:
    """A block without fields that reveal its answer."""
    out: dict[str, Any] = {"kind": block.kind, "id": block.id, "prompt": tree(block.prompt), "link": block.shown}
    out |= {"class": True} if is_for_class(block) else {}
    if block.kind in ("predict", "choice", "share"):
        out["choices"] = [inline(item.text) for item in block.items]
    if block.kind == "figure":
        out["text"] = inline(block.fields.get("text", ""))
    return out

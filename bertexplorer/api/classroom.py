"""Classroom: open a room, vote in it, move it on. Phones poll the state of a room, and mostly get 204."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from fastapi import APIRouter
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import URL
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import (
    Admission,
    Reply,
    SendLine,
    computed,
    json_reply,
    parse_json,
    task_response,
    to_response,
)
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.lesson_calls import lesson_call
from bertexplorer.api.models import TEXT, body, of_type
from bertexplorer.api.problems import Route
from bertexplorer.api.public_address import OWN_NAMES, public_address, qr_code, unreachable
from bertexplorer.classroom.classroom import Classroom, require_teacher
from bertexplorer.classroom.questions import parse_questions
from bertexplorer.classroom.room import ROUND, Room
from bertexplorer.classroom.votes import advice, summary, vote_table
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.numbers import in_percent, read_number
from bertexplorer.learn.prose import inline, tree

CLOSED = ("closed1", "discuss", "closed2")  # phases between a vote and BERT's answer
OPENED = body(
    (),
    {"lesson": "next-sentence"},
    lesson={**TEXT, "description": "A lesson whose questions are asked in order."},
    checkpoint={**TEXT, "description": "The checkpoint that answers the lesson; without it, the page's."},
    language={**TEXT, "description": "The language to ask in, where the lesson has a translation; else English."},
    first={**TEXT, "description": "The block of the lesson to begin with; without it, the first question."},
    lecture={**TEXT, "description": "Instead of a lesson: a lecture, whose votes are asked in order."},
    question={"type": "object", "description": "Instead of a lesson: prompt, choices, and the link of a view."},
)
SUGGESTED = body(("link",), {"link": "/?view=fill-mask&text=The+cat+[MASK]."}, link=TEXT)
VOTED = body(("question", "round", "choice"), {"question": 0, "round": 1, "choice": 2})
REJOINED = body(
    ("number", "letters"),
    {"number": 7, "letters": "ABCD"},
    number={"type": "integer", "description": "It stood below the last vote."},
    letters={**TEXT, "description": "They stood beside the number."},
)
DOOR = body(("open",), {"open": False})
STEPPED = body(
    ("question", "phase", "to"),
    {"question": 0, "phase": "lobby", "to": "vote1"},
    at={"type": "integer", "description": "The later question that next goes to; without it, the following one."},
)


def routes(
    answerer: Answerer,
    admission: Admission,
    catalogue: LessonCatalogue,
    rooms: Classroom,
    opening: State,
    backend: Backend,
) -> APIRouter:
    """POST /api/v1/class, GET /api/v1/class/{code}, its qr.svg, advice, summary and votes.csv, and POST …/vote, …/step,
    …/door, …/code, …/end."""
    router = APIRouter(prefix="/api/v1/class", route_class=Route, tags=["Class"])

    add_phone_routes(router, answerer, rooms)
    add_step_routes(router, catalogue, rooms, backend)
    add_door_routes(router, rooms)

    @router.post("", operation_id="open-class", summary="Open a class", openapi_extra=OPENED)
    async def open_class(request: Request) -> Response:
        """A room with a code of six letters, for the questions of a lesson, of a lecture, or one of your own."""
        fields = parse_json(await request.body())
        own_explore = answerer.for_owner(request.scope["state"]["owner"])

        def open_room(send_line: SendLine) -> Reply:
            plan = parse_questions(own_explore, catalogue, fields, opening)
            about = plan.lesson, plan.language, plan.lecture, plan.checkpoint, request.scope["state"].get("network", "")
            room = rooms.open(own_explore.owner, plan.questions, *about)
            return json_reply({"code": room.code})

        return admission.respond(request, open_room, queued=False)

    @router.post("/suggest", operation_id="suggest-question", summary="Suggest a question", openapi_extra=SUGGESTED)
    async def suggest(request: Request) -> Response:
        """A question about a view, which the teacher may change before asking the class."""
        link = str(fields(parse_json(await request.body()), "link")["link"])
        return task_response(request, backend.task(lesson_call("suggest", request.scope["state"]["owner"], link=link)))

    @router.get(
        "/{code}/votes.csv", operation_id="class-votes", summary="Download the votes of a class", **of_type("text/csv")
    )
    def votes(request: Request, code: str) -> Response:
        """For the teacher: the votes on all questions whose answer was shown, both rounds and the moves, as CSV."""
        room, owner = find_room(rooms, request, code)
        require_teacher(room, owner)
        return votes_csv(room)

    @router.get("/{code}/summary", operation_id="class-summary", summary="Summarise a class")
    def summarise(request: Request, code: str) -> Response:
        """For the teacher: of each question whose answer was shown, how many were right in both votes, and the
        checkpoint's answer."""
        room, owner = find_room(rooms, request, code)
        require_teacher(room, owner)
        return to_response(json_reply({"questions": summary(room)}))

    @router.post("/{code}/end", operation_id="end-class", summary="End a class")
    def end(request: Request, code: str) -> Response:
        """End the class and delete its votes."""
        room, owner = find_room(rooms, request, code)
        rooms.end(room, owner)
        return to_response(json_reply({"ended": room.code}))

    return router


def add_step_routes(router: APIRouter, catalogue: LessonCatalogue, rooms: Classroom, backend: Backend) -> None:
    """Add the routes with which a teacher moves on."""

    async def answer(request: Request, room: Room, owner: str) -> Reply:
        """The checkpoint's answer to the current question."""
        try:
            return await computed(backend.task(reveal_call(catalogue, room, owner)), request.receive)
        except ExplorerError as error:  # the lesson is gone, but the class continues
            return json_reply({"link": room.questions[room.at].link, "problem": str(error)})

    @router.get("/{code}/advice", operation_id="class-advice", summary="Advise on a vote")
    async def advise(request: Request, code: str) -> Response:
        """For the teacher, once a vote has closed: how many were right, and whether a discussion pays. It does not say
        which answer is right."""
        room, owner = find_room(rooms, request, code)
        require_teacher(room, owner)
        if room.phase not in CLOSED:  # not yet, or not any more: the class may go on while the board asks
            return to_response(json_reply({"advice": ""}))
        step = room.at, room.phase
        reply = await answer(request, room, owner)
        if reply.status != 200:
            return to_response(reply)
        unchanged = (room.at, room.phase) == step  # while the checkpoint answered
        return to_response(json_reply({"advice": advice(room, json.loads(reply.body)) if unchanged else ""}))

    @router.post("/{code}/step", operation_id="step-class", summary="Advance a class", openapi_extra=STEPPED)
    async def step(request: Request, code: str) -> Response:
        """The teacher's next step, from the phase that the teacher sees; a double press does nothing."""
        room, owner = find_room(rooms, request, code)
        given = {"at": None, **fields(parse_json(await request.body()), "question", "phase", "to", may=("at",))}
        at = None if given["at"] is None else integer(given, "at")
        question = integer(given, "question")
        phase = str(given["phase"])
        to = str(given["to"])
        require_teacher(room, owner)
        reveal = None
        if to == "reveal" and (room.at, room.phase) == (question, phase):
            reply = await answer(request, room, owner)
            if reply.status != 200:
                return to_response(reply)
            reveal = json.loads(reply.body)
        await run_in_threadpool(rooms.step, room, owner, question, phase, to, reveal, at)
        return to_response(json_reply(snapshot(room, owner)))


def add_phone_routes(router: APIRouter, answerer: Answerer, rooms: Classroom) -> None:
    """Add the routes for phones."""

    @router.get("/{code}", operation_id="read-class", summary="Read a class")
    async def state(request: Request, code: str, v: int = -1, peek: bool = False) -> Response:
        """The room as this browser may see it; 204 if it has not changed since version *v*. *peek*: for the teacher,
        the counts of a vote that has closed."""
        room, owner = find_room(rooms, request, code)
        if owner == room.teacher:
            record_address(answerer, request, rooms, room)
            return to_response(
                json_reply(
                    {**snapshot(room, owner), **teacher_fields(room, peek), **join_fields(answerer, request, room)}
                )
            )
        rooms.record_poll(room, owner)
        headers = {"cache-control": "no-store", "poll-ms": str(room.poll_ms)}
        if v == room.changes:
            return Response(status_code=204, headers=headers)
        return to_response(replace(json_reply(snapshot(room, owner)), headers=headers))

    @router.get("/{code}/qr.svg", operation_id="class-code", summary="A class's QR code", **of_type("image/svg+xml"))
    def code_of(request: Request, code: str) -> Response:
        """The address of the class as a QR code."""
        room, _ = find_room(rooms, request, code)
        return qr_code(address(answerer, request, room.code))

    @router.post("/{code}/vote", operation_id="vote", summary="Vote", openapi_extra=VOTED)
    async def vote(request: Request, code: str) -> Response:
        """One vote for each browser, question and round. It can be changed until the vote closes."""
        room, owner = find_room(rooms, request, code)
        given = fields(parse_json(await request.body()), "question", "round", "choice")
        vote = integer(given, "question"), integer(given, "round"), parse_choice(room, given)
        await run_in_threadpool(rooms.vote, room, owner, *vote)
        return to_response(json_reply({"saved": given["choice"], **own_number(room, owner)}))

    @router.post("/{code}/rejoin", operation_id="rejoin-class", summary="Rejoin a class", openapi_extra=REJOINED)
    async def rejoin(request: Request, code: str) -> Response:
        """After the address of the server has changed: be the phone that had this number and these letters, so that its
        votes count once."""
        room, owner = find_room(rooms, request, code)
        given = fields(parse_json(await request.body()), "number", "letters")
        network = request.scope["state"].get("network", "")
        rooms.rejoin(room, owner, integer(given, "number"), str(given["letters"]), network)
        return to_response(json_reply(snapshot(room, owner)))


def add_door_routes(router: APIRouter, rooms: Classroom) -> None:
    """Add the routes with which a teacher keeps strangers out."""

    @router.post("/{code}/door", operation_id="class-door", summary="Close the door of a class", openapi_extra=DOOR)
    async def door(request: Request, code: str) -> Response:
        """Close the door to phones that have not joined, or open it again."""
        room, owner = find_room(rooms, request, code)
        is_open = fields(parse_json(await request.body()), "open")["open"]
        if type(is_open) is not bool:
            raise ExplorerError(f"open: got {is_open!r:.40}; wanted true or false.")
        rooms.set_door(room, owner, is_open)
        return to_response(json_reply({"open": room.door_open}))

    @router.post("/{code}/code", operation_id="change-class-code", summary="Change the code of a class")
    def change_code(request: Request, code: str) -> Response:
        """Give the class another code, which its phones must enter; the votes of an open round are deleted."""
        room, owner = find_room(rooms, request, code)
        rooms.change_code(room, owner)
        return to_response(json_reply({"code": room.code}))


def reveal_call(catalogue: LessonCatalogue, room: Room, owner: str) -> Call:
    """The call for the checkpoint's answer to the current question of *room*."""
    question = room.questions[room.at]
    lesson = question.lesson or room.lesson
    block = catalogue.lesson(lesson, room.language).block(question.block) if question.block else None
    return lesson_call("reveal", owner, question=question, block=block)


def votes_csv(room: Room) -> Response:
    headers = {"content-disposition": f'attachment; filename="class-{room.code}.csv"', "cache-control": "no-store"}
    return Response(as_csv(vote_table(room)), media_type="text/csv; charset=utf-8", headers=headers)


def find_room(rooms: Classroom, request: Request, code: str) -> tuple[Room, str]:
    """Return (room, owner). Raises ExplorerError for a wrong code, and for a browser without cookies."""
    state = request.scope["state"]
    if not state["known"]:
        raise ExplorerError("This browser blocks cookies, so its votes cannot be recognised. Allow them.")
    return rooms.room(code, state["owner"]), state["owner"]


def snapshot(room: Room, owner: str) -> dict[str, Any]:
    """The room as a phone shows it, with only its own votes until the answer is revealed."""
    question, voter = room.questions[room.at], room.voter(owner)
    out: dict[str, Any] = {
        "v": room.changes,
        "code": room.code,
        "language": room.language or "en",
        "phase": "ended" if room.ended else room.phase,
        "round": ROUND.get(room.phase),
        "question": room.at,
        "of": len(room.questions),
        "prompt": tree(question.prompt),
        "percent": in_percent(question.prompt),
        "choices": [inline(text) for text in question.choices],
        **own_number(room, owner),
        "own": [None, *(room.votes.get((room.at, round), {}).get(voter) for round in (1, 2))],  # by the round
    }
    if room.has_moved:
        out["moved"] = True
    return {**out, "reveal": room.reveals.get(room.at), **results(room)} if room.phase == "reveal" else out


def own_number(room: Room, owner: str) -> dict[str, Any]:
    """The number of the phone *owner* and the letters that prove it; None before its first vote."""
    voter = room.voter(owner)
    number = room.voters.get(voter)
    return {"number": number, "letters": room.letters(voter) if number else None}


def results(room: Room) -> dict[str, Any]:
    """The votes of both rounds, and the moves between choices."""
    if not room.questions[room.at].choices:
        return {"numbers": [room.numbers(room.at, round) for round in (1, 2)]}
    return {"counts": [room.counts(room.at, round) for round in (1, 2)], "moves": room.transitions(room.at)}


def teacher_fields(room: Room, peek: bool) -> dict[str, Any]:
    """Further fields for the teacher: the lesson, how many are present and have voted; with *peek*, the counts of a
    closed vote."""
    round = 2 if room.phase in ("vote2", "closed2") or room.votes.get((room.at, 2)) else 1
    out = {
        "teacher": True,
        "lesson": room.lesson,
        "lecture": room.lecture,
        "checkpoint": room.checkpoint,
        "here": room.present(),
        "door": room.door_open,
        "voted": len(room.votes.get((room.at, round), {})),
    }
    return {**out, **results(room)} if peek and room.phase in CLOSED else out


def join_fields(answerer: Answerer, request: Request, room: Room) -> dict[str, str]:
    """The address for phones, and what to do if they cannot reach it."""
    note = unreachable(answerer.registry.settings, request.url, "Phones cannot join yet", "This class stays open.")
    return {"address": address(answerer, request, room.code), "note": note}


def record_address(answerer: Answerer, request: Request, rooms: Classroom, room: Room) -> None:
    """Record how phones reach the class now. Without a network there is no such address, and nothing changes."""
    now = address(answerer, request, room.code)
    if URL(now).hostname in OWN_NAMES and not answerer.registry.settings.loopback:
        return
    with suppress(ExplorerError):  # the disk is full: the board is shown all the same
        rooms.record_address(room, now)


def address(answerer: Answerer, request: Request, code: str) -> str:
    """The address of a room with a host name that works on a phone."""
    return public_address(answerer.registry.settings, request.url, f"/j/{code}")


def fields(given: Any, *names: str, may: Sequence[str] = ()) -> dict[str, Any]:
    """Raises ExplorerError unless *given* is an object with just the fields *names*, and perhaps those of *may*."""
    if not isinstance(given, dict) or set(given) - set(may) != set(names):
        raise ExplorerError(f"Send an object with {', '.join(names)}.")
    return given


def integer(given: dict[str, Any], name: str) -> int:
    if type(given[name]) is not int:
        raise ExplorerError(f"{name}: got {given[name]!r:.40}; wanted a whole number.")
    return int(given[name])


def parse_choice(room: Room, given: dict[str, Any]) -> float:
    """The number of a choice, or a typed number. Raises ExplorerError."""
    question = room.questions[room.at]
    if question.choices:
        return integer(given, "choice")
    number = read_number(given["choice"], question.prompt)
    if not math.isfinite(number) or abs(number) > 1e12:
        raise ExplorerError(f"choice: got {given['choice']!r:.40}; wanted a number of ordinary size.")
    return number

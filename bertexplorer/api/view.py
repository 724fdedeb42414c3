"""View: the route of the Explore page. A request contains the whole state of the page, the reply all that it shows."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from typing import Any
from urllib.parse import parse_qsl

import orjson
from fastapi import APIRouter, UploadFile
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.answers.readout import kind_of
from bertexplorer.api.admission import (
    Admission,
    Reply,
    error_reply,
    json_reply,
    parse_json,
    problem,
    task_response,
)
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import TEXT, body, of_type
from bertexplorer.api.page import page_schema
from bertexplorer.api.page_models import PageModel, ViewAnswerModel
from bertexplorer.api.problems import Route
from bertexplorer.api.upload_turns import UploadTurns
from bertexplorer.core import provenance
from bertexplorer.core.ask import Answer, Answerer
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import COMPARISONS, SPANS, State, read_spans, write_spans
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.model.text import Span
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.store.text_uploads import Uploads
from bertexplorer.views import VIEWS
from bertexplorer.views.protocols import Drawing

EXPORT_KINDS = ("csv", "json", "python")


def fields() -> dict[str, tuple[str, ...] | None]:
    """The fields of a state -> their allowed values, None for any text."""
    texts = dict.fromkeys(("text", "pair", "hidden", "picked", "checkpoint"))
    return {"view": tuple(VIEWS), **texts, "precision": PRECISIONS, "against": COMPARISONS, "other": None}


def state_schema() -> dict[str, Any]:
    """A state in the OpenAPI document."""
    return {
        "type": "object",
        "properties": {
            **{name: {**TEXT, "enum": values} if values else TEXT for name, values in fields().items()},
            "options": {"type": "object", "description": "Settings of the view, as GET /api/v1/page lists them."},
        },
        "additionalProperties": False,
    }


def request_schema() -> dict[str, Any]:
    """The body of a request in the OpenAPI document."""
    return body(
        (),
        {"link": "?view=fill-mask&text=The+cat+[MASK]+on+the+mat."},
        state=state_schema(),
        link={**TEXT, "description": "Instead of a state: the query of a link to the page."},
        counted_in={
            "type": "object",
            "properties": {"text": TEXT, "pair": TEXT},
            "description": "The texts in which the hidden and picked spans count, if they were edited since.",
        },
        fill={**TEXT, "description": "A typed mask, such as 0:4-10, in whose place the best answer is wanted."},
    )


def routes(
    answerer: Answerer, admission: Admission, opening: State, catalogue: LessonCatalogue, backend: Backend
) -> APIRouter:
    """The routes that the page uses. *backend*: where views are computed."""
    router, request_body = APIRouter(prefix="/api/v1", route_class=Route, tags=["Page"]), request_schema()

    @router.get("/page", operation_id="page", summary="The page", responses={200: {"model": PageModel}})
    def page(request: Request) -> Response:
        """The views with their settings and examples, and the state with which the page opens."""
        page = {**page_schema(answerer.registry.settings), "opening": state_json(opening), "lessons": catalogue.by_view}
        return Response(orjson.dumps(page), media_type="application/json")

    @router.post(
        "/view",
        operation_id="show-view",
        summary="Show a view",
        openapi_extra=request_body,
        responses={200: {"model": ViewAnswerModel}},
    )
    async def view(request: Request) -> Response:
        """The answer to a state, or to the link of one."""
        return await respond(request)

    @router.post(
        "/view/{kind}",
        operation_id="export-view",
        summary="Export a view",
        openapi_extra=request_body,
        **of_type("text/plain"),
    )
    async def export(request: Request, kind: str) -> Response:
        """The numbers of a state as a file: csv, json, or the Python that repeats them."""
        return await respond(request, kind)

    async def respond(request: Request, kind: str = "") -> Response:
        owner, given = request.scope["state"]["owner"], parse_json(await request.body())
        call = Call("export" if kind else "view", kind, owner, given, is_slow(given))
        return task_response(request, backend.task(call))

    add_upload_routes(router, answerer, admission)
    return router


def add_upload_routes(router: APIRouter, answerer: Answerer, admission: Admission) -> None:
    """Add the routes that store files for views."""

    turns = UploadTurns()

    @router.post("/lines", operation_id="keep-lines", summary="Upload lines")
    async def lines(request: Request, file: UploadFile) -> Response:
        """Store the lines of a file for views that search them; their key is a setting of those views."""
        return await store(request, file, "lines", answerer.lines)

    @router.post("/rows", operation_id="keep-rows", summary="Upload rows")
    async def rows(request: Request, file: UploadFile) -> Response:
        """Store the rows of a table for a suite or a probe; their key is a setting of these views."""
        return await store(request, file, "rows", answerer.rows)

    @router.post("/vectors", operation_id="keep-vectors", summary="Upload vectors")
    async def vectors(request: Request, file: UploadFile) -> Response:
        """Store texts with the vectors of another program, lines of JSON; their key is a setting of the view that
        compares them."""
        return await store(request, file, "vectors", answerer.vectors)

    async def store(request: Request, file: UploadFile, what: str, uploads: Uploads[Any]) -> Response:
        own = answerer.for_owner(request.scope["state"]["owner"])
        try:
            async with turns.turn(own.owner):
                content = await file.read()
                key, notice = await run_in_threadpool(own.save_upload, uploads, content, file.filename or f"{what}.csv")
            reply = json_reply({what: key, "notice": notice})
        except ExplorerError as error:
            reply = error_reply(error)
        return admission.respond(request, lambda send_line: reply, queued=False)


def export_reply(answerer: Answerer, state: State, kind: str) -> Reply:
    """A file of EXPORT_KINDS, its name in a header. Raises ExplorerError as the view does."""
    if kind not in EXPORT_KINDS:
        raise ExplorerError(f"There is no export {kind!r:.40}; wanted one of {', '.join(EXPORT_KINDS)}.")
    name, content = answerer.export(state, kind)
    return Reply(content.encode(), "text/plain; charset=utf-8", headers={"x-file-name": name})


def is_slow(body: Any) -> bool:
    """Whether the JSON of a request names a slow view."""
    state = body.get("state") if isinstance(body, dict) else None
    name = state.get("view") if isinstance(state, dict) else None
    return isinstance(name, str) and name in VIEWS and VIEWS[name].slow


def parse_request(answerer: Answerer, body: Any, opening: State) -> tuple[State, str]:
    """Return (state, message about it). *body*: the JSON of a request. Raises ExplorerError.

    body: {"link": "?view=…"} or {"state": {…}, "counted_in": {"text": …, "pair": …}, "fill": "0:4-10"}. *counted_in*:
    the texts to which the hidden and picked spans refer, if the texts were edited since. *fill*: a typed mask that the
    best answer should replace."""
    if not isinstance(body, dict):
        raise ExplorerError("The request is not a JSON object. Send an object with a state or a link.")
    unknown = sorted(set(body) - {"state", "link", "counted_in", "fill"})
    if unknown:
        raise ExplorerError(f"The request has {unknown[0]!r:.40}; wanted state or link, counted_in, fill.")
    if (link := body.get("link")) is not None:
        if not isinstance(link, str):
            raise ExplorerError(f"link: got {link!r:.60}; wanted the query of a link to the page.")
        return restore_state(answerer, dict(parse_qsl(link.removeprefix("?"), keep_blank_values=True)), opening)
    state = read_state(body.get("state"), opening)
    state = replace(state, options=asdict(answerer.options(state)))
    if (before := body.get("counted_in")) is not None:
        if not isinstance(before, dict) or not all(
            name in ("text", "pair") and isinstance(text, str) for name, text in before.items()
        ):
            raise ExplorerError(f"counted_in: got {before!r:.60}; wanted an object with the texts text and pair.")
        text, pair = before.get("text", ""), before.get("pair", "")
        state = answerer.with_edited_text(replace(state, text=text, pair=pair), state.text, state.pair)
    if fill := parse_spans(body, "fill"):
        state = answerer.with_mask_filled(state, fill[0])
    return state, ""


def read_state(given: Any, opening: State) -> State:
    """A State from JSON. Missing texts are empty, other missing fields are those of *opening*. Raises ExplorerError
    with the name of the field."""
    if not isinstance(given, dict):
        raise ExplorerError("The request has no state. Send an object with a state or a link.")
    known = fields()
    unknown = sorted(set(given) - {*known, "options"})
    if unknown:
        raise ExplorerError(f"The state has {unknown[0]!r:.40}; wanted {', '.join(known)}, options.")
    values: dict[str, Any] = {}
    for name, allowed in known.items():
        value = given.get(name, "" if name in ("text", "pair", "against", "other") else None)
        if value is None:
            continue
        if not isinstance(value, str) or (allowed and value not in allowed):
            wanted = f"one of {', '.join(choice or 'nothing' for choice in allowed)}" if allowed else "text"
            raise ExplorerError(f"{name}: got {value!r:.60}; wanted {wanted}.")
        values[name] = value
    values |= {name: parse_spans(given, name) for name in ("hidden", "picked")}
    view = values.get("view", opening.view)
    options = given.get("options", {})
    if not isinstance(options, dict):
        raise ExplorerError(f"options: got {options!r:.60}; wanted an object of settings.")
    return replace(opening, **{**values, "view": view, "options": options})


def parse_spans(fields: dict[str, Any], name: str) -> tuple[Span, ...]:
    """Raises ExplorerError for anything but spans."""
    value = fields.get(name, "")
    if not isinstance(value, str) or not SPANS.fullmatch(value):
        raise ExplorerError(f"{name}: got {value!r:.60}; wanted spans such as 0:4-11,1:0-3.")
    return read_spans(value)


def state_json(state: State) -> dict[str, Any]:
    """A state as JSON."""
    return {**vars(state), "hidden": write_spans(state.hidden), "picked": write_spans(state.picked)}


def view_reply(answerer: Answerer, state: State, notice: str) -> Reply:
    """The reply to a state. If it depends on the text alone and the view is quick, it is cached with the passes of the
    checkpoint, because a class opens the same examples."""
    view, cache = VIEWS[state.view], None
    if not (view.needs or view.slow or state.compared or notice):
        with suppress(ExplorerError):  # the answer reports it
            cache = answerer.registry.get(state.checkpoint, state.precision).cache
    if cache is None:
        return answer_reply(answerer.answer(state), notice)
    key = ("view", orjson.dumps(state_json(state), option=orjson.OPT_SORT_KEYS))
    cached: Reply | None = cache.peek(key)
    if cached is None:
        answer = answerer.answer(state)
        cached = answer_reply(answer, notice)
        if cached.status == 200 and not answer.series:  # series change with downloads
            cache.get(key, lambda: cached, lambda reply: len(reply.body))
    return cached


def answer_reply(answer: Answer, notice: str) -> Reply:
    """All that the page shows for a state. *notice*: a message about parts of a link that could not be followed."""
    state, checkpoint = answer.state, answer.checkpoint
    out: dict[str, Any] = {"state": state_json(state), "strip": answer.strip, "notice": notice}
    if checkpoint is not None:
        out["checkpoint"] = {
            "label": f"{answer.title} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {checkpoint.precision}",
            "facts": provenance.checkpoint_facts(checkpoint),
            "layers": checkpoint.config.num_layers,
            "heads": checkpoint.config.num_heads,
            "kind": kind_of(checkpoint) or "",
            "series": [[saved.name, saved.label, saved.megabytes] for saved in answer.series],
        }
    if answer.error:
        missing = {"missing": answer.missing} if answer.missing else {}
        status, title = (500, "Internal error") if answer.failed else (422, "Invalid request")
        return problem(status, title, answer.error, **missing, **out)
    assert checkpoint is not None
    out |= {"said": answer.said, "receipt": provenance.answer_provenance(checkpoint, answer.took_ms, answer.title)}
    out |= figure_json(answer.figure)
    if isinstance(answer.figure, str):
        out["height"] = answer.height
    if answer.cases:
        out["cases"] = answer.cases
    if answer.comparison:
        comparison = answer.comparison
        out["beside"] = {
            "name": comparison.name,
            "ours": state.text if state.against == "another text" else comparison.own_title,
            "said": comparison.said,
            "difference": figure_json(comparison.difference).get("figure"),
            **figure_json(comparison.figure),
        }
    return json_reply(out)


def figure_json(figure: Drawing | None) -> dict[str, Any]:
    """A figure for the page: marks, the data of a picture, or an HTML document."""
    if isinstance(figure, str):
        return {"document": figure}
    return {"figure": orjson.Fragment(figure.to_json()) if figure is not None else None}

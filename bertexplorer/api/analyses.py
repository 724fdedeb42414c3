"""Analyses: a route for each, with the same names and options as the page, the command line and the MCP tools."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, cast

import orjson
from fastapi import APIRouter, Body, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.api.admission import task_response
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import AnswerModel, example, question_model
from bertexplorer.api.problems import Route
from bertexplorer.api.view import figure_json
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import VERSION, Figure
from bertexplorer.charts.picture import Picture
from bertexplorer.core.ask import Answerer
from bertexplorer.core.export import provenance, tables
from bertexplorer.core.state import State
from bertexplorer.model.text import Span
from bertexplorer.views import VIEWS
from bertexplorer.views.protocols import Drawing
from bertexplorer.views.view import View

SPANS = ("hidden", "picked")
COMMON = ("text", "pair", *SPANS, "checkpoint", "precision")  # fields that all analyses share


def routes(backend: Backend, checkpoint: str) -> APIRouter:
    """POST /api/v1/NAME for every view. *backend*: where it is computed. *checkpoint*: the default."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Analyses"])
    for view in VIEWS.values():
        add_route(router, view, backend, question_model(view, checkpoint))
    return router


def add_route(router: APIRouter, view: View, backend: Backend, model: type[BaseModel]) -> None:
    """Add the route of one analysis."""

    @router.post(
        f"/{view.slug}",
        operation_id=view.slug,
        name=view.slug,
        summary=f"{view.title}: {view.question}",
        description=view.note,
        responses={200: {"model": AnswerModel, "description": "The answer"}},
    )
    async def ask(
        request: Request,
        body: Annotated[model, Body(examples=[example(view)])],  # type: ignore[valid-type]
        figure: Annotated[
            Literal["plotly", "marks"] | None,
            Query(description="Whether the figure comes with the answer, and as what: plotly's JSON, or marks"),
        ] = None,
    ) -> Response:
        owner, fields = request.scope["state"]["owner"], cast(BaseModel, body).model_dump(mode="json")
        call = Call("analysis", view.slug, owner, fields, view.slow, figure or "")
        return task_response(request, backend.task(call))


def state_of(view: str, fields: dict[str, Any]) -> State:
    """The state of the page that asks the same question. *fields*: those of the view's model."""
    spans = {kind: tuple(Span(**span) for span in fields[kind]) for kind in SPANS}
    options = {name: value for name, value in fields.items() if name not in COMMON}
    common: dict[str, Any] = {name: fields[name] for name in COMMON if name not in SPANS}
    return State(**common, hidden=spans["hidden"], picked=spans["picked"], view=view, options=options)


def figure_reply(drawn: Drawing, kind: str) -> dict[str, Any]:
    """What a view has drawn, as *kind*: "plotly" or "marks". A picture or a document, which plotly cannot draw, is the
    one mark of a figure."""
    if isinstance(drawn, Figure):
        return {"figure": orjson.Fragment((chart(drawn) if kind == "plotly" else drawn).to_json())}
    if kind == "plotly":
        return figure_json(drawn)
    if isinstance(drawn, Picture):
        mark = {"kind": "picture", "picture": orjson.Fragment(drawn.to_json())}
    else:
        mark = {"kind": "document", "document": drawn}
    return {"figure": {"marks": VERSION, "panels": [{"marks": [mark]}]}}


def answer(answerer: Answerer, state: State, figure: str = "") -> dict[str, Any]:
    """Rows, a sentence and provenance as orjson can serialize them. *figure*: "plotly" or "marks", if the figure is
    wanted too. Raises ExplorerError as the analysis does."""
    view, text = VIEWS[state.view], state.as_text
    checkpoint = answerer.registry.get(state.checkpoint, state.precision)
    result = answerer.analyse(checkpoint, state)
    shown = figure_reply(view.figure.draw(result), figure) if figure else {}
    return {
        "analysis": state.view,
        "text": text.first,
        "pair": text.second,
        **{kind: [span._asdict() for span in getattr(text, kind)] for kind in SPANS},
        "options": asdict(answerer.options(state)),
        "provenance": provenance(checkpoint, answerer.registry.title(state.checkpoint)),
        **tables(view, result),
        "rows": view.analysis.rows(result),
        "said": view.figure.say(result),
        **shown,
    }

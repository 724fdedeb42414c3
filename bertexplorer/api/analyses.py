"""Analyses: a route for each, with the names and options of the page, the command line and the MCP tools."""

from dataclasses import asdict
from typing import Annotated, Any, Literal, cast

from fastapi import APIRouter, Body, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.analysis.export import provenance
from bertexplorer.api.admission import task_response
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import Answered, example, question
from bertexplorer.api.problems import Route
from bertexplorer.api.view import drawn
from bertexplorer.model.text import Span
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import VIEWS
from bertexplorer.ui.view import View

SPANS = ("hidden", "picked")
OWN = ("text", "pair", *SPANS, "checkpoint", "precision")  # fields of a question that are not settings


def routes(backend: Backend, checkpoint: str) -> APIRouter:
    """POST /api/v1/NAME for every view. *backend*: where it is computed; *checkpoint*: the default."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Analyses"])
    for view in VIEWS.values():
        add(router, view, backend, question(view, checkpoint))
    return router


def add(router: APIRouter, view: View, backend: Backend, model: type[BaseModel]) -> None:
    """The route of one analysis."""

    @router.post(
        f"/{view.slug}",
        operation_id=view.slug,
        name=view.slug,
        summary=f"{view.title}: {view.question}",
        description=view.note,
        responses={200: {"model": Answered, "description": "The answer"}},
    )
    async def ask(
        request: Request,
        asked: Annotated[model, Body(examples=[example(view)])],  # type: ignore[valid-type]
        figure: Annotated[
            Literal["plotly"] | None, Query(description="Whether the figure comes with the answer")
        ] = None,
    ) -> Response:
        owner, given = request.scope["state"]["owner"], cast(BaseModel, asked).model_dump(mode="json")
        call = Call("analysis", view.slug, owner, given, view.slow, figure is not None)
        return task_response(request, backend.task(call))


def state_of(view: str, given: dict[str, Any]) -> State:
    """The state that the page would have. *given*: the fields of the view's model."""
    spans = {kind: tuple(Span(**span) for span in given[kind]) for kind in SPANS}
    options = {name: value for name, value in given.items() if name not in OWN}
    marked: dict[str, Any] = {name: given[name] for name in OWN if name not in SPANS}
    return State(**marked, hidden=spans["hidden"], picked=spans["picked"], view=view, options=options)


def answer(explore: Explore, state: State, figure: bool = False) -> dict[str, Any]:
    """Rows, sentence and provenance, as orjson takes them; with the *figure* if wanted. Raises ExplorerError as the
    analysis does."""
    view, text = VIEWS[state.view], state.as_text
    checkpoint = explore.library.get(state.checkpoint, state.precision)
    result = explore.analyse(checkpoint, state)
    return {
        "analysis": state.view,
        "text": text.first,
        "pair": text.second,
        **{kind: [span._asdict() for span in getattr(text, kind)] for kind in SPANS},
        "options": asdict(explore.options(state)),
        "provenance": provenance(checkpoint, explore.library.title(state.checkpoint)),
        "rows": view.analysis.rows(result),
        "said": view.figure.say(result),
        **(drawn(view.figure.draw(result)) if figure else {}),
    }

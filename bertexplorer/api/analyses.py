"""Analyses: a route for each, with the names and options of the page, the command line and the MCP tools."""

from dataclasses import asdict
from typing import Annotated, Any, Literal

import orjson
from fastapi import APIRouter, Body, Query
from pydantic import BaseModel
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.analysis.export import provenance
from bertexplorer.api.admission import JSON, Admission, Reply, Tell
from bertexplorer.api.models import Answered, example, question
from bertexplorer.api.problems import Route
from bertexplorer.api.view import drawn
from bertexplorer.errors import ExplorerError, in_words_of
from bertexplorer.model.text import Span
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State
from bertexplorer.ui.tabs import VIEWS
from bertexplorer.ui.view import View

SPANS = ("hidden", "picked")
OWN = ("text", "pair", *SPANS, "checkpoint", "precision")  # fields of a question that are not settings


def routes(explore: Explore, admission: Admission, checkpoint: str) -> APIRouter:
    """POST /api/v1/NAME for every view. *checkpoint*: the default."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Analyses"])
    for view in VIEWS.values():
        add(router, view, explore, admission, question(view, checkpoint))
    return router


def add(router: APIRouter, view: View, explore: Explore, admission: Admission, model: type[BaseModel]) -> None:
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
        own, state = explore.of(request.scope["state"]["owner"]), state_of(view.slug, asked)

        def compute(tell: Tell) -> Reply:
            try:
                return Reply(orjson.dumps(answer(own, state, figure is not None)), JSON)
            except ExplorerError as error:
                raise ExplorerError(in_words_of("http", str(error)), missing=error.missing) from error

        return admission.answer(request, compute, slow=view.slow)


def state_of(view: str, asked: Any) -> State:
    """The state that the page would have. *asked*: an instance of the view's model."""
    given = asked.model_dump()
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
        "provenance": provenance(checkpoint, explore.library.called(state.checkpoint)),
        "rows": view.analysis.rows(result),
        "said": view.figure.say(result),
        **(drawn(view.figure.draw(result)) if figure else {}),
    }

"""Vectors of sentences, for the page that teaches a classifier on them."""

from collections import Counter
from typing import Annotated, Any, cast

from fastapi import APIRouter
from pydantic import BaseModel, Field, create_model
from starlette.requests import Request
from starlette.responses import Response

from bertexplorer.answers.encoding import Options, encode_texts
from bertexplorer.api.admission import Reply, json_reply, task_response
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import StrictModel
from bertexplorer.api.problems import Route
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import scrub
from bertexplorer.wording import counted

MOST_TEXTS = 300
LONGEST = 2000  # characters of a text
QUICK = 10_000  # characters of all texts, up to which they are not in the way of others


class EncoderModel(BaseModel):
    """What made the vectors."""

    checkpoint: str
    revision: str


class VectorsModel(BaseModel):
    """Vectors of texts."""

    vectors: list[list[float]] = Field(description="One for each text, in their order.")
    notes: list[str] = Field(description="Which texts were cut, or cannot be read well, as sentences.")
    encoder: EncoderModel


def request_model(checkpoint: str) -> Any:
    """The model of a request. *checkpoint*: the default."""
    texts = Annotated[
        list[Annotated[str, Field(min_length=1, max_length=LONGEST)]],
        Field(min_length=1, max_length=MOST_TEXTS, examples=[["Paris", "London"]]),
    ]
    return create_model(
        "EncodeRequest",
        __base__=StrictModel,
        texts=(texts, ...),
        checkpoint=(Annotated[str, Field(max_length=500)], checkpoint),
        precision=(Annotated[str, Field(max_length=10)], "auto"),
    )


def routes(backend: Backend, checkpoint: str) -> APIRouter:
    """POST /api/v1/encode. *checkpoint*: the default."""
    router = APIRouter(prefix="/api/v1", route_class=Route, tags=["Analyses"])
    model = request_model(checkpoint)

    @router.post(
        "/encode",
        operation_id="encode",
        summary="Vectors of sentences",
        responses={200: {"model": VectorsModel, "description": "The vectors"}},
    )
    async def encode(request: Request, body: model) -> Response:  # type: ignore[valid-type]
        """A vector for each text, as the sentence encoder in the checkpoint's files makes it, or the mean over all
        tokens if there is none. No prompt is put before the texts."""
        owner = request.scope["state"]["owner"]
        given = cast(BaseModel, body).model_dump()
        slow = sum(map(len, given["texts"])) > QUICK
        return task_response(request, backend.task(Call("encode", "", owner, given, slow)))

    return router


def perform_encode(answerer: Answerer, given: dict[str, Any]) -> Reply:
    """The reply to a call of the kind "encode". Raises ExplorerError."""
    checkpoint = answerer.registry.get(given["checkpoint"], given["precision"])
    texts = [scrub(text) for text in given["texts"]]
    vectors, notes = encode_texts(checkpoint, texts, "", Options())
    odd = Counter[str]()
    for text in texts:
        odd.update(checkpoint.tokenizer.encode(text).notes)
    notes += [f"{counted(times, 'sentence')}: {note}" for note, times in odd.items()]
    encoder = {"checkpoint": answerer.registry.title(given["checkpoint"]), "revision": checkpoint.revision}
    return json_reply({"vectors": vectors.round(6), "notes": notes, "encoder": encoder})

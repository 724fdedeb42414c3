"""Models: requests and answers of the API as pydantic models, made from the Options of the analyses."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema, create_model, model_validator
from starlette.responses import Response

from bertexplorer.core.state import read_spans
from bertexplorer.model.text import MAX_CHARACTERS, TOKENS
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.views.view import View

TEXT = {"type": "string"}
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)
MAX_SPANS = 600


class StrictModel(BaseModel):
    """The base of all requests: no unknown fields, no text for a number."""

    model_config = STRICT


class SpanModel(StrictModel):
    """Characters *start* up to, not including, *end* of a text."""

    side: Annotated[int, Field(ge=0, le=TOKENS, description="0: the text, 1: the pair, 2: tokens of both, counted")]
    start: Annotated[int, Field(ge=0, le=999_999)]
    end: Annotated[int, Field(ge=0, le=999_999)]

    @model_validator(mode="after")
    def ordered(self) -> "SpanModel":
        if self.start >= self.end:
            raise ValueError("a start before the end")
        return self


DRAWING = {"type": "object", "additionalProperties": True, "title": "Figure"}
Drawing = Annotated[dict[str, Any], WithJsonSchema(DRAWING)]  # the JSON of a figure
Spans = Annotated[list[SpanModel], Field(max_length=MAX_SPANS)]


class AnswerModel(BaseModel):
    """The answer of an analysis."""

    analysis: str
    text: str
    pair: str
    hidden: list[SpanModel]
    picked: list[SpanModel]
    options: dict[str, Any] = Field(description="All settings, those left out at their defaults.")
    provenance: dict[str, str] = Field(description="Checkpoint, revision, precision and versions behind the numbers.")
    rows: list[dict[str, Any]] = Field(description="The numbers, a row for each thing that the analysis is about.")
    said: str = Field(description="The result in a sentence.")
    summary: list[dict[str, Any]] | None = Field(None, description="Suite only: the score, overall and by category.")
    mistakes: list[dict[str, Any]] | None = Field(None, description="Probe only: held-out rows that a layer got wrong.")
    figure: dict[str, Any] | None = Field(
        None, description="With ?figure=plotly: data and layout for plotly.js. With ?figure=marks: panels of marks."
    )
    document: str | None = Field(None, description="With ?figure=plotly, BertViz only: an HTML page.")


class CheckpointModel(BaseModel):
    """A checkpoint that may be chosen."""

    name: str
    label: str
    here: bool = Field(description="Whether it is on this disk; else POST /api/v1/checkpoints downloads it.")
    about: str | None = None
    parameters_m: float | None = Field(None, description="Millions of parameters.")
    megabytes: float | None = None
    heads: list[str] | None = None
    licence: str | None = None


def option_fields(options: type, defaults: dict[str, Any] | None = None) -> dict[str, Any]:
    """name -> (type, default) of each setting of an Options class, for create_model. *defaults* override its own."""
    overrides = defaults or {}
    return {
        setting.name: (field_type(setting), overrides.get(setting.name, setting.default))
        for setting in option_specs(options)
    }


def field_type(setting: OptionSpec) -> Any:
    """The type of a setting with its bounds, choices and descriptions."""
    option = setting.option
    plain_type = one_of(setting.choices) if setting.choices else setting.kind
    return Annotated[
        plain_type, Field(title=option.label, description=option.info or None, ge=option.low, le=option.high)
    ]


def one_of(choices: tuple[str, ...]) -> Any:
    """The type of a field that is one of *choices*."""
    return Literal[choices]


def question_model(view: View, checkpoint: str) -> type[BaseModel]:
    """The model of a request to *view*. *checkpoint*: the default."""
    text = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A sentence; [MASK] stands for a hidden word.")]
    pair = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A second sentence, read as segment B.")]
    hidden = Annotated[Spans, Field(description="Words to hide, in addition to the masks in the text.")]
    picked = Annotated[Spans, Field(description="Words that the analysis is about, if it is about words.")]
    name = Annotated[str, Field(max_length=500, description="A name that GET /api/v1/checkpoints lists.")]
    return create_model(
        "".join(part.title() for part in view.slug.split("-")),
        __base__=StrictModel,
        __config__=None,
        __doc__=f"{view.title}: {view.question}",
        text=(text, ... if view.text else ""),
        pair=(pair, ""),
        hidden=(hidden, []),
        picked=(picked, []),
        checkpoint=(name, checkpoint),
        precision=(one_of(PRECISIONS), "auto"),
        **option_fields(view.analysis.Options),
    )


def example(view: View) -> dict[str, Any]:
    """The view's first example as a request."""
    first = view.examples[0]
    picked = [span._asdict() for span in read_spans(first.picked)]
    fields = {"text": first.text, "pair": first.pair, "picked": picked, **first.options}
    return {name: value for name, value in fields.items() if value not in ("", [])}


def of_type(media: str) -> dict[str, Any]:
    """The parameters of a route whose answer is not JSON but *media*."""
    return {"response_class": Response, "responses": {200: {"content": {media: {"schema": {"type": "string"}}}}}}


def body(required: tuple[str, ...], example: dict[str, Any], **properties: Any) -> dict[str, Any]:
    """The OpenAPI entry of a request body that has no pydantic model."""
    schema = {"type": "object", "required": required, "properties": properties, "additionalProperties": False}
    schema["examples"] = [example]
    return {"requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}

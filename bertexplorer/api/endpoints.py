"""Endpoints: what gradio's clients call. An analysis takes the arguments that it takes in Python, and answers as over
HTTP. Four more are not analyses: `encode`, `encode_tokens`, `similarity` and `checkpoints`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import orjson
from pydantic import BaseModel, Field, ValidationError, create_model

from bertexplorer.answers.encoding import Options
from bertexplorer.answers.multi_vectors import encode_tokens
from bertexplorer.answers.vectors import cut_note
from bertexplorer.api.admission import Reply, computed, json_reply
from bertexplorer.api.analyses import answer
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import StrictModel, field_type, one_of
from bertexplorer.api.problems import describe
from bertexplorer.core.ask import Answerer
from bertexplorer.core.export import provenance
from bertexplorer.core.provenance import offered_checkpoints
from bertexplorer.core.state import State, read_spans, scrub
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import MAX_CHARACTERS
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.python.arguments import check_texts, check_words
from bertexplorer.python.bert import encode_texts, join_list, similarity_of, spans
from bertexplorer.python.describe import ARGUMENTS, LISTS, explain, signature
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.views import VIEWS
from bertexplorer.views.view import View

MAX_TEXTS = 1000  # of one call
MAX_TOKEN_TEXTS = 50  # whose tokens get vectors in one call
MAX_CELLS = 100_000  # of a table of similarities
MAX_WORDS = 600  # of mask and of pick
WORDS = ("mask", "pick")
TEXT = Annotated[str, Field(max_length=MAX_CHARACTERS)]
TEXTS = Annotated[list[TEXT], Field(max_length=MAX_TEXTS)]
ABOUT = {  # what an endpoint says of its arguments, where it is not what Python says
    "checkpoint": "a name that the endpoint checkpoints lists",
    "precision": '"fp32", "bf16" or "auto"',
    "mask": "a word to hide, or a list of words, or of spans [side, start, end]",
    "pick": "the word that the analysis is about, or a list of words, or of spans [side, start, end]",
    "lines": "the key of an upload of lines, as POST /api/v1/lines returns it",
    "rows": "the key of an upload of rows, as POST /api/v1/rows returns it",
    "vectors": "the key of an upload of vectors, as POST /api/v1/vectors returns it",
    "figure": "whether the figure, as plotly's JSON, comes with the answer",
    "texts": f"a list of texts, {MAX_TEXTS:,} at most",
    "first": f"a list of texts, {MAX_TEXTS:,} at most",
    "second": f"a list of texts, so that there are {MAX_CELLS:,} pairs at most",
    "prompt": "the name of a prompt in the checkpoint's files; null: its default one; an empty text: none",
    "first_prompt": "the prompt of the first texts, as in encode",
    "second_prompt": "the prompt of the second texts, as in encode",
}


@dataclass(frozen=True)
class Parameter:
    """One argument of an endpoint.

    *kind*: its type, as gradio's clients show it. *checked*: the same with its bounds, for pydantic; None for words.
    *default*: ... if it has none. *example*: a value with which the endpoint answers."""

    name: str
    kind: Any
    checked: Any
    default: Any
    about: str
    example: Any


@dataclass(frozen=True)
class Endpoint:
    """What gradio's clients call by *name*. *slow*: a call waits in the slow queue."""

    name: str
    about: str
    parameters: tuple[Parameter, ...]
    slow: bool = False

    @cached_property
    def model(self) -> type[BaseModel]:
        """The model of the arguments other than words."""
        fields: dict[str, Any] = {
            one.name: (one.checked, one.default) for one in self.parameters if one.checked is not None
        }
        return create_model("Arguments", __base__=StrictModel, __config__=None, **fields)

    def check(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments, those that were not *given*, or given as null, at their defaults. Raises ExplorerError."""
        words = {}
        others = {}
        for name, value in given.items():
            if value is None:
                continue
            if name in WORDS:
                words[name] = check_number_of_words(name, value)
            elif name in LISTS and isinstance(value, list):
                others[name] = join_list(name, check_texts(name, value))
            else:
                others[name] = value
        try:
            return {**self.model.model_validate(others).model_dump(), **words}
        except ValidationError as error:
            raise ExplorerError(describe(error.errors()[0], documented=False)) from error


def check_number_of_words(name: str, value: Any) -> Any:
    """*value*, words or spans of the argument *name*. Raises ExplorerError for anything else, and for too many."""
    if len(check_words(name, value)) > MAX_WORDS:
        raise ExplorerError(f"{name}: got more than {MAX_WORDS} words. Name those that matter.")
    return value


def make_endpoints(checkpoint: str) -> dict[str, Endpoint]:
    """The endpoints by name. *checkpoint*: the default."""
    common = (
        Parameter("checkpoint", str, str, checkpoint, ABOUT["checkpoint"], checkpoint),
        Parameter("precision", one_of(PRECISIONS), one_of(PRECISIONS), "auto", ABOUT["precision"], "auto"),
    )
    made = [of_view(view, common) for view in VIEWS.values()]
    made += [encoding(common), encoding_of_tokens(common), similarity(common)]
    made += [Endpoint("checkpoints", "The checkpoints to choose from, with their sizes.", ())]
    return {endpoint.name: endpoint for endpoint in made}


def of_view(view: View, common: tuple[Parameter, ...]) -> Endpoint:
    """The endpoint of an analysis: its arguments in Python, and whether the figure comes with the answer."""
    settings = {setting.name: setting for setting in option_specs(view.analysis.Options)}
    first = view.examples[0]
    picked = [list(span) for span in read_spans(first.picked)]
    examples = {"text": first.text, "pair": first.pair, "pick": picked, **first.options}
    parameters = []
    for argument in signature(view.name, method=True).parameters.values():
        name = argument.name
        if name in settings:
            made = of_setting(settings[name])
        elif name in WORDS:
            made = Parameter(name, str | list[Any], None, [], ABOUT[name], [])
        else:
            default = ... if argument.default is argument.empty else argument.default
            made = Parameter(name, str, TEXT, default, ARGUMENTS[name], default)
        parameters.append(replace(made, example=examples.get(name, made.example)))
    parameters += [*common, Parameter("figure", bool, bool, False, ABOUT["figure"], False)]
    return Endpoint(view.name, f"{view.title}: {view.question} {view.note}", tuple(parameters), view.slow)


def of_setting(setting: OptionSpec) -> Parameter:
    """A setting of an analysis as an argument."""
    kind: Any = setting.kind
    if setting.choices:
        kind = one_of(setting.choices)
    elif setting.name in LISTS:
        kind = str | list[str]
    about = ABOUT.get(setting.name) or explain(setting)
    return Parameter(setting.name, kind, field_type(setting), setting.default, about, setting.default)


def encoding(common: tuple[Parameter, ...]) -> Endpoint:
    """The endpoint encode."""
    settings = [of_setting(setting) for setting in option_specs(Options)]
    parameters = (
        Parameter("texts", list[str], TEXTS, ..., ABOUT["texts"], ["Paris", "London"]),
        Parameter("prompt", str | None, str | None, None, ABOUT["prompt"], None),
        *settings,
        *common,
    )
    about = "A vector for each text, and notes on what was cut or departs from the checkpoint's own sentence encoder."
    return Endpoint("encode", about, parameters)


def encoding_of_tokens(common: tuple[Parameter, ...]) -> Endpoint:
    """The endpoint encode_tokens."""
    texts = Annotated[list[TEXT], Field(max_length=MAX_TOKEN_TEXTS)]
    said = f"a list of texts, {MAX_TOKEN_TEXTS} at most"
    task = one_of(("query", "document"))
    parameters = (
        Parameter("texts", list[str], texts, ..., said, ["Paris", "London"]),
        Parameter("task", task, task, "query", "what the texts are read as", "query"),
        *common,
    )
    about = "A vector for each token of each text, of a checkpoint for late interaction such as a ColBERT."
    return Endpoint("encode_tokens", about, parameters)


def similarity(common: tuple[Parameter, ...]) -> Endpoint:
    """The endpoint similarity."""
    parameters = (
        Parameter("first", list[str], TEXTS, ..., ABOUT["first"], ["A cat sleeps."]),
        Parameter("second", list[str], TEXTS, ..., ABOUT["second"], ["A kitten naps.", "The bank lends money."]),
        Parameter("first_prompt", str | None, str | None, None, ABOUT["first_prompt"], None),
        Parameter("second_prompt", str | None, str | None, None, ABOUT["second_prompt"], None),
        *common,
    )
    about = "How similar each of the first texts is to each of the second, by the measure in the checkpoint's files."
    return Endpoint("similarity", about, parameters)


class EndpointCalls:
    """Answers the calls of endpoints. *backend*: where they are computed. *checkpoint*: the default."""

    def __init__(self, answerer: Answerer, backend: Backend, checkpoint: str) -> None:
        self.answerer = answerer
        self.backend = backend
        self.endpoints = make_endpoints(checkpoint)

    async def __call__(self, name: str, given: Mapping[str, Any], owner: str) -> bytes:
        """The answer of the endpoint called *name* as JSON. Raises ExplorerError. If the call is cancelled, the
        computation stops."""
        endpoint = self.endpoints[name]
        fields = endpoint.check(given)
        if name == "checkpoints":
            registry = self.answerer.for_owner(owner).registry
            return orjson.dumps(await asyncio.to_thread(offered_checkpoints, registry))
        reply = await computed(self.backend.task(Call("endpoint", name, owner, fields, endpoint.slow)), None)
        if reply.status != 200:
            raise ExplorerError(orjson.loads(reply.body)["detail"])
        return reply.body


def perform_endpoint(answerer: Answerer, call: Call) -> Reply:
    """The reply to a call of the kind "endpoint". *answerer*: that of its owner. Raises ExplorerError."""
    others = {"encode": perform_encode, "encode_tokens": perform_encode_tokens, "similarity": perform_similarity}
    perform = others.get(call.name)
    value = perform(answerer, call.given) if perform else perform_analysis(answerer, call.name, call.given)
    return json_reply(value)


def perform_analysis(answerer: Answerer, name: str, given: dict[str, Any]) -> dict[str, Any]:
    """The answer of an analysis, as over HTTP."""
    options = dict(given)
    text = scrub(options.pop("text", ""))
    pair = scrub(options.pop("pair", ""))
    checkpoint, precision = options.pop("checkpoint"), options.pop("precision")
    figure = "plotly" if options.pop("figure") else ""
    tokenizer = answerer.registry.get(checkpoint, precision).tokenizer
    found = {word: spans(tokenizer, text, pair, options.pop(word, []), word) for word in WORDS}
    state = State(
        text,
        pair,
        hidden=found["mask"],
        picked=found["pick"],
        checkpoint=checkpoint,
        precision=precision,
        view=name.replace("_", "-"),
        options=options,
    )
    return answer(answerer, state, figure)


def perform_encode(answerer: Answerer, given: dict[str, Any]) -> dict[str, Any]:
    """The vectors of texts, and what to know about them."""
    checkpoint = answerer.registry.get(given["checkpoint"], given["precision"])
    texts = [scrub(text) for text in given["texts"]]
    settings = {setting.name: given[setting.name] for setting in option_specs(Options)}
    vectors, notes = encode_texts(checkpoint, texts, given["prompt"], **settings)
    title = answerer.registry.title(given["checkpoint"])
    return {"vectors": vectors, "notes": notes, "provenance": provenance(checkpoint, title)}


def perform_encode_tokens(answerer: Answerer, given: dict[str, Any]) -> dict[str, Any]:
    """The tokens of texts that have a vector, their vectors, and what to know about them."""
    checkpoint = answerer.registry.get(given["checkpoint"], given["precision"])
    texts = [scrub(text) for text in given["texts"]]
    tokens = []
    vectors = []
    encodings = []
    for text in encode_tokens(checkpoint, texts, given["task"]):
        tokens.append([text.encoding.tokens[i] for i in text.positions])
        vectors.append(text.vectors)
        encodings.append(text.encoding)
    cut = cut_note(encodings, "text")
    title = answerer.registry.title(given["checkpoint"])
    return {
        "tokens": tokens,
        "vectors": vectors,
        "notes": [cut] if cut else [],
        "provenance": provenance(checkpoint, title),
    }


def perform_similarity(answerer: Answerer, given: dict[str, Any]) -> dict[str, Any]:
    """The table of similarities, with the name of the measure, and what to know about it."""
    first = [scrub(text) for text in given["first"]]
    second = [scrub(text) for text in given["second"]]
    if len(first) * len(second) > MAX_CELLS:
        raise ExplorerError(
            f"{len(first):,} by {len(second):,} texts are more than {MAX_CELLS:,} pairs. Compare fewer at once."
        )
    checkpoint = answerer.registry.get(given["checkpoint"], given["precision"])
    prompts = (given["first_prompt"], given["second_prompt"])
    table, measure, notes = similarity_of(checkpoint, first, second, prompts)
    title = answerer.registry.title(given["checkpoint"])
    return {"similarity": table, "measure": measure, "notes": notes, "provenance": provenance(checkpoint, title)}

"""Tool calls: the result of a tool for MCP clients, as a call that any process can perform."""

from typing import Any

import orjson
from pydantic import BaseModel, Field

from bertexplorer.api.admission import Reply
from bertexplorer.api.analyses import answer
from bertexplorer.api.calls import Call
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State, find_word_spans, scrub
from bertexplorer.views import VIEWS
from bertexplorer.views.view import View


class ToolAnswer(BaseModel):
    """The result of a tool."""

    said: str = Field(description="The result in a sentence.")
    rows: list[dict[str, Any]] = Field(description="The numbers, at most most_rows rows.")
    left_out: int = Field(description="How many more rows there are.")
    note: str = Field(description="How not to misread it.")
    provenance: dict[str, str] = Field(description="Checkpoint, revision, precision and versions behind the numbers.")


def analyse(view: View, answerer: Answerer, arguments: dict[str, Any]) -> ToolAnswer:
    """The result of a view's tool. Raises ExplorerError."""
    given = dict(arguments)
    text, pair, pick, most_rows = (given.pop(name) for name in ("text", "pair", "pick", "most_rows"))
    common = {name: given.pop(name) for name in ("checkpoint", "precision")}
    tokenizer = answerer.registry.get(common["checkpoint"], common["precision"]).tokenizer
    picked = find_word_spans(tokenizer, scrub(text), scrub(pair), pick)
    state = State(scrub(text), scrub(pair), picked=picked, view=view.slug, options=given, **common)
    result = answer(answerer, state)
    return ToolAnswer(
        said=result["said"],
        rows=result["rows"][:most_rows],
        left_out=max(0, len(result["rows"]) - most_rows),
        note=view.note,
        provenance=result["provenance"],
    )


def perform_tool(answerer: Answerer, call: Call) -> Reply:
    """The reply to a call of the kind "tool". *answerer*: that of its owner. Raises ExplorerError."""
    result = analyse(VIEWS[call.name], answerer, call.given)
    return Reply(orjson.dumps(result.model_dump(), option=orjson.OPT_SERIALIZE_NUMPY))

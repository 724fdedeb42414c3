"""Tools: analyses for MCP clients, over stdio or at /mcp. Needs the MCP SDK, which the extra mcp installs."""

from __future__ import annotations

import asyncio
import json
import logging
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from io import TextIOWrapper
from typing import Annotated, Any, TextIO

import orjson
from pydantic import BaseModel, Field, ValidationError, create_model
from starlette.requests import Request
from starlette.types import ASGIApp

from bertexplorer.api.admission import Admission, computed
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.models import CheckpointModel, StrictModel, field_type, one_of
from bertexplorer.api.perform import InProcess
from bertexplorer.api.problems import describe
from bertexplorer.api.tool_calls import ToolAnswer
from bertexplorer.core import provenance
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.core.state import scrub
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.errors import ExplorerError, not_installed, unforeseen
from bertexplorer.model.text import MAX_CHARACTERS
from bertexplorer.options import option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.registry import PRECISIONS, CheckpointRegistry
from bertexplorer.version import __version__
from bertexplorer.views import VIEWS
from bertexplorer.views.view import View

TOOLS = (
    "fill-mask",
    "pseudo-likelihood",
    "contrast",
    "next-sentence",
    "tokenization",
    "nearest-pieces",
    "attention",
    "word-in-context",
    "layers",
    "saliency",
)
ABOUT = (
    "BERT Explorer shows how BERT-like encoders work. Each tool runs one analysis on a text, [MASK] standing for a "
    "hidden word, and returns the result in a sentence with its numbers as rows. The tool checkpoints lists the "
    "checkpoints that may be asked."
)
DEFAULT_ROWS, MAX_ROWS = 20, 200
MISSING = (
    'The MCP SDK is not installed. Run: pip install "bertexplorer[mcp]" (in a checkout: '
    "pip install -r requirements-mcp.txt)"
)
log = logging.getLogger(__name__)


class ListedCheckpoint(CheckpointModel):
    here: bool = Field(description="Whether it is on this disk; tools do not download the others.")


class CheckpointList(BaseModel):
    """The checkpoints to choose from."""

    checkpoints: list[ListedCheckpoint]


@dataclass(frozen=True)
class Tool:
    """What a tool is for, and the models of its arguments and its result."""

    title: str
    about: str
    arguments: type[BaseModel]
    result: type[BaseModel]
    view: View | None = None  # None: the tool checkpoints


def installed() -> bool:
    """Whether the MCP SDK is installed."""
    return not not_installed("mcp")


def make_tools(checkpoint: str) -> dict[str, Tool]:
    """The tools by name. *checkpoint*: the default."""
    tools = {}
    for name in TOOLS:
        view = VIEWS[name]
        about = f"{view.question} {view.analysis.__doc__.splitlines()[0]}"
        tools[name.replace("-", "_")] = Tool(view.title, about, arguments_model(view, checkpoint), ToolAnswer, view)
    about = "The checkpoints on this disk and those that the app can download, with their sizes."
    tools["checkpoints"] = Tool("Checkpoints", about, StrictModel, CheckpointList)
    return tools


def arguments_model(view: View, checkpoint: str) -> type[BaseModel]:
    """The model of the arguments of a view's tool: a text, and the settings that a person would set."""
    text = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A sentence; [MASK] stands for a hidden word.")]
    pair = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A second sentence, read as segment B.")]
    pick = Annotated[str, Field(description="A word of the text that the analysis is about, where it is about one.")]
    name = Annotated[str, Field(description="The name of a checkpoint that is here, as the tool checkpoints lists it.")]
    most = Annotated[int, Field(ge=1, le=MAX_ROWS, description="How many rows to return at most.")]
    settings: dict[str, Any] = {
        setting.name: (field_type(setting), setting.default)
        for setting in option_specs(view.analysis.Options)
        if not setting.option.by_page
    }
    return create_model(
        "Arguments",
        __base__=StrictModel,
        __config__=None,
        text=(text, ...),
        pair=(pair, ""),
        pick=(pick, ""),
        **settings,
        checkpoint=(name, checkpoint),
        precision=(one_of(PRECISIONS), "auto"),
        most_rows=(most, DEFAULT_ROWS),
    )


def list_checkpoints(answerer: Answerer) -> CheckpointList:
    """The result of the tool checkpoints."""
    offered = provenance.offered_checkpoints(answerer.registry)
    return CheckpointList(checkpoints=[ListedCheckpoint(**checkpoint) for checkpoint in offered])


class ToolCalls:
    """Answers the calls of tools. *backend*: where their views are computed."""

    def __init__(self, tools: dict[str, Tool], answerer: Answerer, backend: Backend) -> None:
        self.tools = tools
        self.answerer = answerer
        self.backend = backend

    async def __call__(self, name: str, arguments: dict[str, Any], request: Request | None) -> dict[str, Any]:
        """The result of the tool called *name*. Raises ExplorerError. *request*: if it came over HTTP; if its client
        disconnects, which the SDK does not always notice, the tool stops, as it does if the call is cancelled."""
        if name not in self.tools:
            raise ExplorerError(f"There is no tool {name!r:.60}. There are {', '.join(self.tools)}.")
        tool = self.tools[name]
        try:
            given = tool.arguments.model_validate(arguments).model_dump()
        except ValidationError as error:
            raise ExplorerError(describe(error.errors()[0], documented=False)) from error
        if tool.view is None:
            return list_checkpoints(self.answerer.for_owner(owner(request))).model_dump()
        call = Call("tool", tool.view.slug, owner(request), given, tool.view.slow)
        reply = await computed(self.backend.task(call), request.receive if request else None)
        result: dict[str, Any] = orjson.loads(reply.body)
        if reply.status != 200:
            raise ExplorerError(result["detail"])
        return result


def create_server(answerer: Answerer, backend: Backend, checkpoint: str) -> Any:
    """Create the SDK's Server with the tools. *backend*: where they are computed. *checkpoint*: the default."""
    from mcp import types
    from mcp.server.lowlevel import Server

    tools = make_tools(checkpoint)
    call = ToolCalls(tools, answerer, backend)
    read_only = types.ToolAnnotations(read_only_hint=True, open_world_hint=False)
    listed = types.ListToolsResult(
        tools=[
            types.Tool(
                name=name,
                title=tool.title,
                description=tool.about,
                input_schema=tool.arguments.model_json_schema(),
                output_schema=tool.result.model_json_schema(),
                annotations=read_only,
            )
            for name, tool in tools.items()
        ]
    )

    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return listed

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            result = await call(params.name, params.arguments or {}, context.request)
            text, wrong = orjson.dumps(result).decode(), False
        except ExplorerError as error:
            text, wrong = scrub(str(error)), True
        except Exception:
            text, wrong = unforeseen(log, "a tool failed"), True
        content = [types.TextContent(type="text", text=text)]
        return types.CallToolResult(
            content=content, structured_content=None if wrong else orjson.loads(text), is_error=wrong
        )

    return Server(
        "BERT Explorer", version=__version__, instructions=ABOUT, on_list_tools=list_tools, on_call_tool=call_tool
    )


def owner(request: Request | None) -> str:
    """The owner: the browser or program behind an HTTP request; "" on stdio, which has only one user."""
    return str(request.scope["state"]["owner"]) if request else ""


def mcp_app(answerer: Answerer, backend: Backend, checkpoint: str) -> tuple[ASGIApp, Callable[..., Any]]:
    """(the app that answers /mcp, its lifespan). It does not check hosts and origins, as the request filter does."""
    from mcp.server.transport_security import TransportSecuritySettings

    server = create_server(answerer, backend, checkpoint)
    open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)

    @asynccontextmanager
    async def lifespan(parent: Any) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    return app, lifespan


async def serve_stdio(server: Any) -> None:
    from mcp.server.stdio import stdio_server

    lines: Any = readable_lines(TextIOWrapper(sys.stdin.buffer, "utf-8", "replace"))
    async with stdio_server(lines) as (received, sent):
        await server.run(received, sent, server.create_initialization_options())


async def readable_lines(lines: TextIO) -> AsyncIterator[str]:
    """The lines of a client, without lone surrogates, as the SDK would leave a line with one unanswered."""
    while line := await asyncio.to_thread(lines.readline):
        try:
            yield scrub(json.dumps(json.loads(line), ensure_ascii=False)) if r"\u" in line else line
        except (ValueError, RecursionError):
            yield line


def main(library: CheckpointRegistry, settings: Settings) -> int:
    """Serve the tools over stdio until the client disconnects. Raises ExplorerError without the SDK."""
    if not installed():
        raise ExplorerError(MISSING)
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl+C would wait for the thread that reads the next line
    answerer = Answerer(library)
    backend = InProcess(answerer, Admission(RequestQueues(limit=settings.tokens)), opening(settings))
    server = create_server(answerer, backend, settings.checkpoint)
    asyncio.run(serve_stdio(server))
    return 0

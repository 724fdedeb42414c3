"""Tools: analyses for MCP clients, over stdio or at /mcp. Needs the MCP SDK, which the extra mcp installs."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Any

from pydantic import BaseModel, Field
from starlette.types import ASGIApp

from bertexplorer.api.admission import SPARE_THREADS
from bertexplorer.api.analyses import answer
from bertexplorer.api.models import CheckpointOf, field_type, one_of
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.errors import ExplorerError, in_words_of, not_installed
from bertexplorer.model.text import MAX_CHARACTERS
from bertexplorer.options import option_specs
from bertexplorer.settings import Settings
from bertexplorer.store.registry import PRECISIONS, CheckpointRegistry
from bertexplorer.ui import facts
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.state import State, find_word_spans, scrub
from bertexplorer.ui.tabs import VIEWS
from bertexplorer.ui.view import View

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
    "hidden word, and returns the result in a sentence with its numbers as rows. A checkpoint is a name that the tool "
    "checkpoints lists."
)
DEFAULT_ROWS, MAX_ROWS = 20, 200
MISSING = (
    'The MCP SDK is not installed. Run: pip install "bertexplorer[mcp]" (in a checkout: '
    "pip install -r requirements-mcp.txt)"
)


class ToolAnswer(BaseModel):
    """The result of a tool."""

    said: str = Field(description="The result in a sentence.")
    rows: list[dict[str, Any]] = Field(description="The numbers.")
    left_out: int = Field(description="Rows beyond most_rows.")
    note: str = Field(description="How not to misread it.")
    provenance: dict[str, str]


class Listed(BaseModel):
    """The checkpoints to choose from."""

    checkpoints: list[CheckpointOf]


def installed() -> bool:
    """Whether the MCP SDK is installed."""
    return not not_installed("mcp")


def create_server(explore: Explore, queues: RequestQueues, checkpoint: str) -> Any:
    """Create an MCPServer with the tools. *checkpoint*: the default."""
    from mcp.server.mcpserver import Context, MCPServer
    from mcp_types import ToolAnnotations

    threads = ThreadPoolExecutor(queues.max_requests + SPARE_THREADS, "tool")
    server = MCPServer("BERT Explorer", instructions=ABOUT, log_level="WARNING")
    read_only = ToolAnnotations(read_only_hint=True, open_world_hint=False)
    for name in TOOLS:
        tool, view = make_tool(name, explore, queues, threads), VIEWS[name]
        set_signature(tool, [parameter("context", Context), *parameters(view, checkpoint)], ToolAnswer)
        about = f"{view.question} {view.analysis.__doc__.splitlines()[0]}"
        server.add_tool(tool, name.replace("-", "_"), title=view.title, description=about, annotations=read_only)

    def checkpoints(context: Any) -> Listed:
        own = explore.for_owner(owner(context))
        return Listed(
            checkpoints=[CheckpointOf(**checkpoint) for checkpoint in facts.offered_checkpoints(own.registry)]
        )

    set_signature(checkpoints, [parameter("context", Context)], Listed)
    server.add_tool(checkpoints, description="The checkpoints to choose from, and their sizes.", annotations=read_only)
    return server


def make_tool(view: str, explore: Explore, queues: RequestQueues, threads: Executor) -> Callable[..., Any]:
    """Create the function behind the tool of *view*."""

    async def ask(context: Any, text: str, pair: str, pick: str, most_rows: int, **given: Any) -> ToolAnswer:
        work = queues.new_work()

        def compute() -> ToolAnswer:
            own = explore.for_owner(owner(context))
            with queues.turn(work, slow=VIEWS[view].slow):
                common = {name: given.pop(name) for name in ("checkpoint", "precision")}
                picked = find_word_spans(text, pair, pick)
                state = State(scrub(text), scrub(pair), picked=picked, view=view, options=given, **common)
                return tool_answer(VIEWS[view], answer(own, state), most_rows)

        try:
            return await asyncio.get_running_loop().run_in_executor(threads, compute)
        except asyncio.CancelledError:
            queues.stop(work)
            raise
        except ExplorerError as error:
            from mcp.server.mcpserver.exceptions import ToolError

            raise ToolError(in_words_of("http", str(error))) from error

    return ask


def tool_answer(view: View, answer: dict[str, Any], max_rows: int) -> ToolAnswer:
    rows = answer["rows"]
    return ToolAnswer(
        said=answer["said"],
        rows=rows[:max_rows],
        left_out=max(0, len(rows) - max_rows),
        note=view.note,
        provenance=answer["provenance"],
    )


def parameters(view: View, checkpoint: str) -> list[inspect.Parameter]:
    """The parameters of the tool of a view: a text, and the settings that a person would set."""
    text = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A sentence; [MASK] stands for a hidden word.")]
    pair = Annotated[str, Field(max_length=MAX_CHARACTERS, description="A second sentence, read as segment B.")]
    pick = Annotated[str, Field(description="A word of the text that the analysis is about, where it is about one.")]
    name = Annotated[str, Field(description="A name that the tool checkpoints lists.")]
    most = Annotated[int, Field(ge=1, le=MAX_ROWS, description="Rows to return.")]
    settings = [
        parameter(setting.name, field_type(setting), setting.default)
        for setting in option_specs(view.analysis.Options)
        if not setting.option.by_page
    ]
    return [
        parameter("text", text),
        parameter("pair", pair, ""),
        parameter("pick", pick, ""),
        *settings,
        parameter("checkpoint", name, checkpoint),
        parameter("precision", one_of(PRECISIONS), "auto"),
        parameter("most_rows", most, DEFAULT_ROWS),
    ]


def parameter(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def set_signature(function: Callable[..., Any], parameters: list[inspect.Parameter], returns: type) -> None:
    """Give *function* the signature from which the SDK makes its schema."""
    function.__signature__ = inspect.Signature(parameters, return_annotation=returns)  # type: ignore[attr-defined]
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters} | {"return": returns}


def owner(context: Any) -> str:
    """The owner: the browser or program behind an HTTP request; "" on stdio, which has only one user."""
    request = context.request_context.request
    return str(request.scope["state"]["owner"]) if request is not None else ""


def mcp_app(explore: Explore, queues: RequestQueues, checkpoint: str) -> tuple[ASGIApp, Callable[..., Any]]:
    """(the app that answers /mcp, its lifespan). It does not check hosts and origins, as the request filter does."""
    from mcp.server.transport_security import TransportSecuritySettings

    server = create_server(explore, queues, checkpoint)
    open_to_all = TransportSecuritySettings(enable_dns_rebinding_protection=False)
    app = server.streamable_http_app(stateless_http=True, json_response=True, transport_security=open_to_all)

    @asynccontextmanager
    async def lifespan(parent: Any) -> AsyncIterator[None]:
        async with server.session_manager.run():
            yield

    return app, lifespan


def main(library: CheckpointRegistry, settings: Settings) -> int:
    """Serve the tools over stdio until the client disconnects. Raises ExplorerError without the SDK."""
    if not installed():
        raise ExplorerError(MISSING)
    server = create_server(Explore(library), RequestQueues(limit=settings.tokens), settings.checkpoint)
    asyncio.run(server.run_stdio_async())
    return 0

"""Calls: the layer around gradio that answers the calls of endpoints, in the protocol of gradio's clients (sse_v3)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from itertools import chain
from typing import Any
from urllib.parse import parse_qs
from uuid import uuid4

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.api.admission import JSON, parse_json, wait_for_disconnect
from bertexplorer.api.endpoints import Endpoint, EndpointCalls
from bertexplorer.core.state import scrub
from bertexplorer.errors import ExplorerError
from bertexplorer.web.callers import BUSY, Caller, Callers

PAGE = "gradio"  # the address of the page that gradio draws
INFO = "/gradio_api/info"
JOIN = "/gradio_api/queue/join"
DATA = "/gradio_api/queue/data"
CANCEL = "/gradio_api/cancel"
CALL = re.compile(r"/gradio_api/call(?P<v2>/v2)?/(?P<name>\w+)(/(?P<event>[0-9a-f]{32}))?")
CALLER = re.compile(r"[\w-]{1,64}")  # what gradio calls a session
MAX_DEPTH = 3  # of lists in an argument
MAX_ITEMS = 5000  # of the lists in an argument
HEARTBEAT_S = 15.0
STREAM = [(b"content-type", b"text/event-stream; charset=utf-8"), (b"cache-control", b"no-store")]
NO_CALL = "The request is no call of an endpoint. Use gradio_client, or POST to /api/v1/NAME."
NOTHING = "There is nothing to read here: ask first, and read within a minute."


class Refused(ExplorerError):
    """Raised for what is no call. *status*: of the response. *parameter*: what it is about."""

    def __init__(self, detail: str, status: int = 422, parameter: str = "call") -> None:
        super().__init__(detail)
        self.status = status
        self.parameter = parameter

    def response(self) -> Response:
        """The response, as gradio's clients read it."""
        detail: Any = scrub(str(self))
        if self.status == 422:
            about = {"__type__": "validate", "is_valid": False, "parameter_name": self.parameter}
            detail = [{**about, "message": detail}]
        headers = {"retry-after": "2"} if self.status == 503 else {}
        return Response(orjson.dumps({"detail": detail}), self.status, headers, JSON)


class Calls:
    """Answers the calls of endpoints, and lets gradio answer what describes them."""

    def __init__(self, app: ASGIApp, calls: EndpointCalls) -> None:
        """*app*: gradio's, in which the endpoints have the numbers of their order."""
        self.app = app
        self.calls = calls
        self.order = tuple(calls.endpoints.values())
        self.callers = Callers()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = ""
        if scope["type"] == "http":
            path = scope["path"].removeprefix(scope.get("root_path", ""))
        named = CALL.fullmatch(path)
        if path == INFO:  # that of all pages keeps the address by which it was asked for first
            scope = {**scope, "query_string": f"page={PAGE}".encode()}
        if not (named or path in (JOIN, DATA, CANCEL)):
            await self.app(scope, receive, send)
            return
        try:
            if scope["method"] == "POST":
                body = await Request(scope, receive).body()
                request = parse_json(body)
                if path == CANCEL:
                    answer = self.cancel(request)
                else:
                    answer = self.ask(named, request, size=len(body), state=scope["state"])
                await Response(orjson.dumps(answer), media_type=JSON)(scope, receive, send)
            else:
                await self.read_answers(self.reader(scope, named), receive, send, plain=bool(named))
        except Refused as refused:
            await refused.response()(scope, receive, send)

    def ask(self, named: re.Match[str] | None, given: Any, *, size: int, state: Mapping[str, Any]) -> dict[str, Any]:
        """Begin a call of *size* bytes: of the endpoint that is *named* in the path, else of that in *given*. *state*:
        the owner and the network of the request. Raises Refused."""
        # 1. What is asked.
        if named and named["name"] not in self.calls.endpoints:
            raise Refused(f"There is no endpoint {named['name']:.60}. /gradio_api/info lists what there is.", 404)
        if not isinstance(given, dict):
            raise Refused(NO_CALL)
        if named:
            endpoint = self.calls.endpoints[named["name"]]
            values = arguments(endpoint, given) if named["v2"] else given.get("data")
        else:
            endpoint = self.order[number_of(given, len(self.order))]
            values = given.get("data")
        asked = check_values(endpoint, values)
        # 2. For whom. Who calls over plain HTTP is a new caller each time.
        call = uuid4().hex
        caller = call if named else caller_of(given)

        async def compute() -> bytes:
            return await self.calls(endpoint.name, asked, state["owner"])

        if not self.callers.ask(caller, call, network=state["network"], size=size, compute=compute):
            raise Refused(BUSY, 503)
        return {"event_id": call}

    def cancel(self, given: Any) -> dict[str, Any]:
        """Stop a call. Raises Refused."""
        if not isinstance(given, dict):
            raise Refused(NO_CALL)
        return {"success": self.callers.cancel(caller_of(given), str(given.get("event_id")))}

    def reader(self, scope: Scope, named: re.Match[str] | None) -> Caller:
        """Who reads. Raises Refused if there is nothing for them."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        name = named["event"] if named else query.get("session_hash", [""])[0]
        caller = self.callers.callers.get(name or "")
        if caller is None:
            raise Refused(NOTHING, 404)
        return caller

    async def read_answers(self, caller: Caller, receive: Receive, send: Send, *, plain: bool) -> None:
        """Send the answers of *caller*. If they leave before the last one, what is computed for them stops. *plain*: as
        programs like curl read them, not as gradio's clients do."""

        async def write(content: bytes, more: bool = True) -> None:
            await send({"type": "http.response.body", "body": content, "more_body": more})

        # 1. The newest stream of a caller has the answers; an older one ends.
        stream = caller.reader = object()
        caller.news.set()
        self.callers.expect_reader(caller)
        disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
        try:
            # 2. The answers, as they come.
            await send({"type": "http.response.start", "status": 200, "headers": STREAM})
            while caller.reader is stream and not disconnect.done():
                if caller.answers:
                    answer = caller.answers.popleft()
                    await write(answer.plain() if plain else answer.message())
                    caller.held -= len(answer.content)
                elif caller.tasks:
                    await self.wait_for_news(caller, disconnect)
                    if not (caller.news.is_set() or disconnect.done()):
                        await write(b"event: heartbeat\ndata: null\n\n" if plain else b'data: {"msg":"heartbeat"}\n\n')
                else:
                    self.callers.forget(caller)  # before the end is sent: a further call makes a new caller
                    break
            # 3. The end.
            await write(b"" if plain else b'data: {"msg":"close_stream","event_id":null}\n\n', more=False)
        finally:
            disconnect.cancel()
            if caller.reader is stream:
                self.callers.forget(caller)

    async def wait_for_news(self, caller: Caller, disconnect: asyncio.Future[None]) -> None:
        """Wait for an answer for *caller*, until they disconnect, or until a proxy may think that nobody is there."""
        caller.news.clear()
        news = asyncio.ensure_future(caller.news.wait())
        await asyncio.wait((news, disconnect), timeout=HEARTBEAT_S, return_when=asyncio.FIRST_COMPLETED)
        news.cancel()


def caller_of(given: Mapping[str, Any]) -> str:
    """The caller that a call names. Raises Refused."""
    caller = given.get("session_hash")
    if not isinstance(caller, str) or not CALLER.fullmatch(caller):
        raise Refused("session_hash: wanted a name of up to 64 letters, digits, - and _.")
    return caller


def number_of(given: Mapping[str, Any], count: int) -> int:
    """The number of the endpoint that a call names, of *count*. Raises Refused."""
    number = given.get("fn_index")
    if type(number) is not int or not 0 <= number < count:
        raise Refused("fn_index: wanted the number of an endpoint, as /config lists them.")
    return number


def arguments(endpoint: Endpoint, given: Mapping[str, Any]) -> list[Any]:
    """The values of arguments *given* by name, in the order of the endpoint's. Raises Refused."""
    names = [parameter.name for parameter in endpoint.parameters]
    if unknown := sorted(set(given) - set(names)):
        raise Refused(f"{endpoint.name} has no argument {unknown[0]:.60}; it has {', '.join(names)}.")
    return [given.get(name) for name in names]


def check_values(endpoint: Endpoint, values: Any) -> dict[str, Any]:
    """*values* as arguments of *endpoint*, by name. Raises Refused for too many or too few, and for what can be no
    argument."""
    names = [parameter.name for parameter in endpoint.parameters]
    if not isinstance(values, list) or len(values) != len(names):
        got = f"{len(values)} values" if isinstance(values, list) else "no list of values"
        raise Refused(f"{endpoint.name}: got {got}; wanted {len(names)}: {', '.join(names)}.")
    for parameter, value in zip(endpoint.parameters, values, strict=True):
        if problem := problem_of(value):
            raise Refused(f"{parameter.name}: got {problem}; wanted {parameter.about}.", parameter=parameter.name)
    return dict(zip(names, values, strict=True))


def problem_of(value: Any) -> str:
    """Why *value* can be no argument, "" if it can: they are text, numbers, true, false, null and lists of these."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        if any(isinstance(item, dict) for item in level):
            return "an object"
        lists = [item for item in level if isinstance(item, list)]
        level = list(chain.from_iterable(lists))
        if len(level) > MAX_ITEMS:
            return f"more than {MAX_ITEMS:,} items"
    return "lists in lists in lists in lists" if level else ""

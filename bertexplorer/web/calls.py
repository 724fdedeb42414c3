"""Calls: the layer around gradio that lets the calls of endpoints in, checked and reduced to what they need."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qs

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bertexplorer.api.admission import parse_json, wait_for_disconnect
from bertexplorer.api.endpoints import Endpoint
from bertexplorer.core.state import scrub
from bertexplorer.errors import ExplorerError
from bertexplorer.web.callers import Callers

JOIN = "/gradio_api/queue/join"
DATA = "/gradio_api/queue/data"
CANCEL = "/gradio_api/cancel"
CALL = re.compile(r"/gradio_api/call(?P<v2>/v2)?/(?P<name>\w+)(/(?P<event>[0-9a-f]{32}))?")
CALLER = re.compile(r"[\w-]{1,64}")  # what gradio calls a session
EVENT = re.compile(r"[0-9a-f]{32}")
MAX_DEPTH = 3  # of lists in an argument
MAX_ITEMS = 5000  # of all lists of a call
NO_CALL = "The request is no call of an endpoint. Use gradio_client, or POST to /api/v1/NAME."
NOTHING = "There is nothing to read here: ask first, and read within a minute."
COMPLETED = (b'data: {"msg":"process_completed"', b"event: complete", b"event: error")


class Refused(ExplorerError):
    """Raised for a call that gradio does not get to see. *status*: of the response. *parameter*: what it is about."""

    def __init__(self, detail: str, status: int = 422, parameter: str = "call") -> None:
        super().__init__(detail)
        self.status = status
        self.parameter = parameter


class Calls:
    """Checks calls, and follows who reads the answers."""

    def __init__(self, app: ASGIApp, endpoints: Mapping[str, Endpoint], callers: Callers) -> None:
        """*app*: gradio's, in which the endpoints have the numbers of their order."""
        self.app = app
        self.endpoints = endpoints
        self.order = tuple(endpoints.values())
        self.callers = callers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"].removeprefix(scope.get("root_path", "")) if scope["type"] == "http" else ""
        named = CALL.fullmatch(path)
        try:
            if scope["type"] != "http" or not (named or path in (JOIN, DATA, CANCEL)):
                await self.app(scope, receive, send)
            elif scope["method"] == "POST":
                if path != CANCEL and self.callers.full(scope["state"]["network"]):
                    raise Refused("Busy: many answers wait to be read. Read them, then ask again.", 503)
                body = self.checked(path, named, parse_json(await Request(scope, receive).body()))
                await self.pass_on(scope, named, body, receive, send)
            else:
                await self.read_answers(scope, self.reader(scope, named), receive, send)
        except Refused as refused:
            detail = [{"__type__": "validate", "is_valid": False, "parameter_name": refused.parameter}]
            detail[0]["message"] = scrub(str(refused))
            content = {"detail": detail if refused.status == 422 else str(refused)}
            await Response(orjson.dumps(content), refused.status, media_type="application/json")(scope, receive, send)

    def checked(self, path: str, named: re.Match[str] | None, given: Any) -> dict[str, Any]:
        """What gradio gets of the call *given*. Raises Refused."""
        if named and named["name"] not in self.endpoints:
            raise Refused(f"There is no endpoint {named['name']:.60}. /gradio_api/info lists what there is.", 404)
        if not isinstance(given, dict):
            raise Refused(NO_CALL)
        if path == CANCEL:
            return {"session_hash": caller_of(given), "fn_index": number_of(given), "event_id": event_of(given)}
        if named:
            endpoint = self.endpoints[named["name"]]
            values = arguments(endpoint, given) if named["v2"] else given.get("data")
            return {"data": check_values(endpoint, values)}
        number = number_of(given)
        if not 0 <= number < len(self.order):
            raise Refused(f"fn_index: got {number}; wanted that of an endpoint, as /config lists them.")
        values = check_values(self.order[number], given.get("data"))
        return {"data": values, "fn_index": number, "session_hash": caller_of(given)}

    async def pass_on(
        self, scope: Scope, named: re.Match[str] | None, body: dict[str, Any], receive: Receive, send: Send
    ) -> None:
        """Hand gradio the call with this *body*."""
        content = orjson.dumps(body)
        headers = [pair for pair in scope["headers"] if pair[0] not in (b"content-length", b"content-type")]
        headers += [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
        path = f"{scope.get('root_path', '')}/gradio_api/call/{named['name']}" if named else scope["path"]
        sent = False

        async def receive_content() -> Message:
            nonlocal sent
            if sent:
                return await receive()
            sent = True
            return {"type": "http.request", "body": content, "more_body": False}

        self.callers.wake()
        await self.app({**scope, "headers": headers, "path": path, "raw_path": path.encode()}, receive_content, send)

    def reader(self, scope: Scope, named: re.Match[str] | None) -> str:
        """Who reads. Raises Refused if there is nothing for them."""
        query = parse_qs(scope["query_string"].decode("latin-1"))
        asked = named["event"] if named else query.get("session_hash", [""])[0]
        if not self.callers.knows(asked):
            raise Refused(NOTHING, 404)
        return asked

    async def read_answers(self, scope: Scope, caller: str, receive: Receive, send: Send) -> None:
        """Send the answers of *caller*. If they leave before the last one, what is computed for them stops at once;
        gradio would notice it later, and compute on."""

        async def receive_nothing() -> Message:
            await asyncio.Event().wait()
            return {"type": "http.disconnect"}

        async def send_and_count(message: Message) -> None:
            if message.get("body", b"").startswith(COMPLETED):
                self.callers.delivered(caller)
            await send(message)

        with self.callers.reading(caller):
            answers = asyncio.ensure_future(self.app(scope, receive_nothing, send_and_count))
            disconnect = asyncio.ensure_future(wait_for_disconnect(receive))
            try:
                await asyncio.wait((answers, disconnect), return_when=asyncio.FIRST_COMPLETED)
            finally:
                disconnect.cancel()
                left = answers.cancel()
            if left:
                await asyncio.wait((answers,))
                self.callers.leave(caller)
            else:
                answers.result()


def caller_of(given: Mapping[str, Any]) -> str:
    """The caller that a call names. Raises Refused."""
    caller = given.get("session_hash")
    if not isinstance(caller, str) or not CALLER.fullmatch(caller):
        raise Refused("session_hash: wanted a name of up to 64 letters, digits, - and _.")
    return caller


def number_of(given: Mapping[str, Any]) -> int:
    """The number of the endpoint that a call names. Raises Refused."""
    number = given.get("fn_index")
    if type(number) is not int:
        raise Refused("fn_index: wanted the number of an endpoint, as /config lists them.")
    return number


def event_of(given: Mapping[str, Any]) -> str:
    """The call that a request to cancel names. Raises Refused."""
    event = given.get("event_id")
    if not isinstance(event, str) or not EVENT.fullmatch(event):
        raise Refused("event_id: wanted the one that the call returned.")
    return event


def arguments(endpoint: Endpoint, given: Mapping[str, Any]) -> list[Any]:
    """The values of arguments *given* by name, in the order of the endpoint's. Raises Refused."""
    names = [parameter.name for parameter in endpoint.parameters]
    if unknown := sorted(set(given) - set(names)):
        raise Refused(f"{endpoint.name} has no argument {unknown[0]:.60}; it has {', '.join(names)}.")
    for parameter in endpoint.parameters:
        if parameter.default is ... and parameter.name not in given:
            raise Refused(f"{parameter.name}: got nothing; wanted {parameter.about}.", parameter=parameter.name)
    return [given.get(parameter.name, parameter.default) for parameter in endpoint.parameters]


def check_values(endpoint: Endpoint, values: Any) -> list[Any]:
    """*values* as arguments of *endpoint*. Raises Refused for too many or too few, and for what no argument can be."""
    wanted = len(endpoint.parameters)
    if not isinstance(values, list) or len(values) != wanted:
        got = f"{len(values)} values" if isinstance(values, list) else "no list of values"
        raise Refused(f"{endpoint.name}: got {got}; wanted {wanted}, in the order that /gradio_api/info lists them.")
    for parameter, value in zip(endpoint.parameters, values, strict=True):
        if not is_plain(value, MAX_DEPTH):
            raise Refused(f"{parameter.name}: got an object; wanted {parameter.about}.", parameter=parameter.name)
    if sum(map(count_items, values)) > MAX_ITEMS:
        raise Refused(f"{endpoint.name}: got lists with more than {MAX_ITEMS:,} items. Ask about fewer at once.")
    return values


def is_plain(value: Any, depth: int) -> bool:
    """Whether *value* is text, a number, true, false, null or a list of these, *depth* lists deep at most. Gradio takes
    an object for a file."""
    if isinstance(value, list):
        return depth > 0 and all(is_plain(item, depth - 1) for item in value)
    return not isinstance(value, dict)


def count_items(value: Any) -> int:
    """How many values *value* holds. Empty lists take much more memory than they take to send."""
    return 1 + sum(map(count_items, value)) if isinstance(value, list) else 1

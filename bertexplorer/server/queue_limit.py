"""Queue limit: limits the number of pending gradio events, and ends a stream at once if it has nothing to send."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import reply

JSON = "application/json"
CLOSED = 'data: {"msg": "close_stream", "event_id": null}\n\n'  # gradio ends a stream of answers with this
RETRY_S = 2  # after which the page repeats a rejected event, see assets/answers.js


@dataclass(frozen=True)
class Events:
    """The events that gradio has accepted and not answered yet.

    *count*: their number. *is_awaited*: whether a page has any of them, or answers that it has not read yet. *inputs*:
    how many values the event with a given number takes; None if there is no such event."""

    count: Callable[[], int] = lambda: 0
    is_awaited: Callable[[str], bool] = lambda page: True
    inputs: Callable[[int], int | None] = lambda number: None

    def problem(self, event: Any) -> str:
        """What is wrong with the JSON of an event, "" if it is valid.

        Gradio would fail on invalid JSON and write text from users to stderr."""
        if not isinstance(event, dict):
            return "The request is not an event. Reload the page."
        number, values = event.get("fn_index"), event.get("data")
        wanted = self.inputs(number) if type(number) is int else None
        if wanted is None:
            return f"There is no event number {number!r:.20} here. Reload the page."
        if not isinstance(values, list) or len(values) != wanted:
            given = f"{len(values):,} values" if isinstance(values, list) else "no list of values"
            return f"The event came with {given}; wanted {wanted}. Reload the page."
        return ""


class QueueLimit:
    """Rejects events while *limit* others are pending, and ends streams that have nothing to send.

    A page may open a stream after it has read all its answers. Gradio would keep it open, and a browser has only six
    connections for all its tabs."""

    def __init__(self, app: ASGIApp, events: Events, limit: int) -> None:
        self.app, self.events, self.limit = app, events, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        if route == "join" and self.events.count() >= self.limit:
            detail = (
                f"Busy: {self.limit} events are already waiting. What you entered is kept; try again in {RETRY_S} s."
            )
            await reply(send, 503, json.dumps({"detail": detail}), [("retry-after", str(RETRY_S))], JSON)
        elif route == "stream" and not self.events.is_awaited(scope["state"]["page"]):
            await reply(send, 200, CLOSED, media="text/event-stream")
        else:
            await self.app(scope, receive, send)

"""Queue limit: limits how many gradio events wait, and ends a stream at once if nobody waits for it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from bertexplorer.server.asgi import reply

JSON = "application/json"
CLOSED = 'data: {"msg": "close_stream", "event_id": null}\n\n'  # gradio ends a stream of answers with this
AGAIN_S = 2  # seconds after which a rejected event is sent again, see assets/answers.js


@dataclass(frozen=True)
class Events:
    """The events that gradio has accepted and not answered yet.

    *going*: how many they are. *awaited*: whether a page has any of them, or has answers that it has not read yet.
    *inputs*: how many values the event with a given number takes; None if there is no such event."""

    going: Callable[[], int] = lambda: 0
    awaited: Callable[[str], bool] = lambda page: True
    inputs: Callable[[int], int | None] = lambda number: None

    def fault(self, asked: Any) -> str:
        """A sentence that says what is wrong with the JSON of an event; "" if nothing is.

        Gradio would fail on such JSON and write what people typed to stderr."""
        if not isinstance(asked, dict):
            return "The request is not an event. Reload the page."
        number, values = asked.get("fn_index"), asked.get("data")
        wanted = self.inputs(number) if type(number) is int else None
        if wanted is None:
            return f"There is no event number {number!r:.20} here. Reload the page."
        if not isinstance(values, list) or len(values) != wanted:
            found = f"{len(values):,} values" if isinstance(values, list) else "no list of values"
            return f"The event came with {found}; wanted {wanted}. Reload the page."
        return ""


class QueueLimit:
    """Rejects events beyond *most* pending ones, and ends streams that have nothing to send.

    Such is a stream that a page opens after it has read all its answers. Gradio would keep it open, and a browser
    has six connections for all its tabs."""

    def __init__(self, app: ASGIApp, events: Events, most: int) -> None:
        self.app, self.events, self.most = app, events, most

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        route = scope["state"]["route"] if scope["type"] == "http" else ""
        if route == "join" and self.events.going() >= self.most:
            detail = (
                f"Busy: {self.most} events are already waiting. What you entered is kept; try again in {AGAIN_S} s."
            )
            await reply(send, 503, json.dumps({"detail": detail}), [("retry-after", str(AGAIN_S))], JSON)
        elif route == "stream" and not self.events.awaited(scope["state"]["page"]):
            await reply(send, 200, CLOSED, kind="text/event-stream")
        else:
            await self.app(scope, receive, send)

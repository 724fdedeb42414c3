"""Perform: answers a call. The same function is used in the server, in workers and on a cluster."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import orjson

from bertexplorer.api.admission import JSON, Admission, LocalTask, Reply, json_reply
from bertexplorer.api.analyses import answer, state_of
from bertexplorer.api.calls import Call, ReplicaStatus
from bertexplorer.api.encode import perform_encode
from bertexplorer.api.endpoints import perform_endpoint
from bertexplorer.api.lesson_calls import perform_lesson
from bertexplorer.api.tool_calls import perform_tool
from bertexplorer.api.view import export_reply, parse_request, view_reply
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.engine.queues import Busy
from bertexplorer.errors import Channel, ExplorerError


def perform(answerer: Answerer, opening: State, call: Call) -> Reply:
    """The reply to *call*. *answerer*: that of its owner. Raises ExplorerError as the analysis does."""
    if call.kind == "analysis":
        with worded_for("http"):
            return Reply(orjson.dumps(answer(answerer, state_of(call.name, call.given), call.figure)), JSON)
    if call.kind == "tool":
        with worded_for("mcp"):
            return perform_tool(answerer, call)
    if call.kind == "endpoint":
        with worded_for("python"):
            return perform_endpoint(answerer, call)
    if call.kind == "encode":
        return perform_encode(answerer, call.given)
    if call.kind == "lesson":
        return perform_lesson(answerer, opening, call)
    if call.kind == "load":
        answerer.registry.get(call.given["checkpoint"], call.given["precision"])
        return json_reply({"name": call.given["checkpoint"]})
    state, notice = parse_request(answerer, call.given, opening)
    if call.kind == "export":
        return export_reply(answerer, state, call.name)
    return view_reply(answerer, state, notice)


@contextmanager
def worded_for(channel: Channel) -> Iterator[None]:
    """Errors in the words of *channel*."""
    try:
        yield
    except Busy:
        raise
    except ExplorerError as error:
        raise ExplorerError(error.render(channel), code=error.code) from error


class InProcess:
    """The backend of a server that answers by itself, with its own threads and queues."""

    def __init__(self, answerer: Answerer, admission: Admission, opening: State) -> None:
        self.answerer = answerer
        self.admission = admission
        self.opening = opening

    def task(self, call: Call) -> LocalTask:
        answerer = self.answerer.for_owner(call.owner)
        return self.admission.task(lambda send_line: perform(answerer, self.opening, call), slow=call.slow)

    def warm_up(self) -> str:
        return self.answerer.answer(self.opening).error

    def replicas(self) -> Sequence[ReplicaStatus]:
        return ()

    def close(self) -> None:
        """There are no other processes to end."""

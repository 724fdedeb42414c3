"""Callers: who calls endpoints, what is computed for each, and the answers that wait to be read.

Gradio's own queue keeps answers for callers who never read them, computes on for those who have left, and loses a place
for each call that is cancelled before it begins. So calls are answered here, in messages that gradio's clients read."""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import orjson

from bertexplorer.core.state import scrub
from bertexplorer.errors import ExplorerError, unforeseen

AT_ONCE, SHARE_AT_ONCE = 40, 20  # calls that are computed: in all, of one network; the others wait for their turn
MAX_CALLS, SHARE_CALLS = 200, 100  # calls that wait, are computed or have an answer to be read
MAX_HELD, HELD_SHARE = 64_000_000, 32_000_000  # bytes of such calls and their answers
UNREAD_S = 60.0  # after which a caller is forgotten whose answers nobody reads
log = logging.getLogger(__name__)
BUSY = "Busy: many calls wait. Read your answers, and ask again in a few seconds."


@dataclass(frozen=True)
class CallAnswer:
    """The answer to a *call*, or an error, as JSON. *content* is empty for a call that was cancelled."""

    call: str
    success: bool
    content: bytes

    def message(self) -> bytes:
        """As gradio's clients read it."""
        output = b""
        if self.content and self.success:
            output = b'"data":[%b],"is_generating":false' % self.content
        elif self.content:
            output = b'"error":%b,"duration":10,"visible":true,"title":"Error"' % self.content
        about = b'"msg":"process_completed","event_id":"%b"' % self.call.encode()
        success = b"true" if self.success else b"false"
        return b'data: {%b,"output":{%b},"success":%b}\n\n' % (about, output, success)

    def plain(self) -> bytes:
        """As programs read it that called over plain HTTP."""
        if self.success:
            return b"event: complete\ndata: [%b]\n\n" % self.content
        return b'event: error\ndata: {"error": %b}\n\n' % self.content


class Caller:
    """One caller, by the name that they gave: what gradio calls a session."""

    def __init__(self, name: str, network: str) -> None:
        self.name = name
        self.network = network
        self.tasks: dict[str, asyncio.Task[None]] = {}  # call -> its computation
        self.answers: deque[CallAnswer] = deque()  # to be read
        self.held = 0  # bytes of calls and answers
        self.reader: object | None = None  # the stream that sends the answers
        self.news = asyncio.Event()  # for that stream
        self.expiry: asyncio.TimerHandle | None = None

    @property
    def calls(self) -> int:
        """How many calls are computed or have an answer to be read."""
        return len(self.tasks) + len(self.answers)


class Callers:
    """All callers with something to compute or to read. Used by coroutines of one event loop only."""

    def __init__(self) -> None:
        self.callers: dict[str, Caller] = {}
        self.turns = asyncio.Semaphore(AT_ONCE)
        self.turns_of: dict[str, asyncio.Semaphore] = {}  # of each network with callers

    def of_network(self, network: str) -> tuple[Counter[str], Counter[str]]:
        """(all, those of *network*): how many calls there are, and the bytes that they hold."""
        every: Counter[str] = Counter()
        own: Counter[str] = Counter()
        for caller in self.callers.values():
            size = {"calls": caller.calls, "held": caller.held}
            every.update(size)
            if caller.network == network:
                own.update(size)
        return every, own

    def ask(self, name: str, call: str, network: str, size: int, compute: Callable[[], Awaitable[bytes]]) -> bool:
        """Begin to compute the *call* of the caller *name*, unless there are too many; return whether it begins.
        *size*: bytes of the call."""
        every, own = self.of_network(network)
        if every["calls"] >= MAX_CALLS or own["calls"] >= SHARE_CALLS or is_full(every, own, size):
            return False
        caller = self.callers.setdefault(name, Caller(name, network))
        caller.held += size
        task = caller.tasks[call] = asyncio.ensure_future(self.run(caller, call, compute))

        def done(task: asyncio.Task[None]) -> None:
            caller.tasks.pop(call, None)
            caller.held -= size
            caller.news.set()

        task.add_done_callback(done)  # a task may be cancelled before it begins
        self.expect_reader(caller)
        return True

    async def run(self, caller: Caller, call: str, compute: Callable[[], Awaitable[bytes]]) -> None:
        """Compute, and put the answer where *caller* reads it."""
        turns = self.turns_of.setdefault(caller.network, asyncio.Semaphore(SHARE_AT_ONCE))
        try:
            async with turns, self.turns:
                content = await compute()
            if is_full(*self.of_network(caller.network), len(content)):
                raise ExplorerError(BUSY)
            answer = CallAnswer(call, success=True, content=content)
        except ExplorerError as error:
            answer = CallAnswer(call, success=False, content=orjson.dumps(scrub(str(error))))
        except Exception:
            answer = CallAnswer(call, success=False, content=orjson.dumps(unforeseen(log, "an endpoint failed")))
        self.put(caller, answer)

    def put(self, caller: Caller, answer: CallAnswer) -> None:
        """Let *caller* read an answer, unless they were forgotten meanwhile."""
        if self.callers.get(caller.name) is caller:
            caller.answers.append(answer)
            caller.held += len(answer.content)
            caller.news.set()
            self.expect_reader(caller)

    def cancel(self, name: str, call: str) -> bool:
        """Stop a call of the caller *name*; return whether there is one to stop."""
        caller = self.callers.get(name)
        task = caller.tasks.get(call) if caller else None
        if caller is None or task is None or not task.cancel():
            return False
        del caller.tasks[call]
        self.put(caller, CallAnswer(call, success=True, content=b""))
        return True

    def expect_reader(self, caller: Caller) -> None:
        """Forget *caller* after a while, unless they begin to read."""
        if caller.expiry:
            caller.expiry.cancel()
        caller.expiry = None
        if caller.reader is None:
            caller.expiry = asyncio.get_running_loop().call_later(UNREAD_S, self.forget, caller)

    def forget(self, caller: Caller) -> None:
        """Stop what is computed for *caller*, and drop their answers."""
        if self.callers.get(caller.name) is caller:
            del self.callers[caller.name]
        if caller.expiry:
            caller.expiry.cancel()
        for task in caller.tasks.values():
            task.cancel()
        if not any(other.network == caller.network for other in self.callers.values()):
            self.turns_of.pop(caller.network, None)


def is_full(every: Counter[str], own: Counter[str], size: int) -> bool:
    """Whether *size* bytes more are too much, beside those of *every* call and of the network's *own*."""
    return every["held"] + size > MAX_HELD or own["held"] + size > HELD_SHARE

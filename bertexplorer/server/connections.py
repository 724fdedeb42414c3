"""Connections: limits how many wait for a whole request, and how long a head may take; uvicorn limits neither.

The body of a request has a deadline of its own, see `body`."""

import asyncio
import ipaddress
from contextlib import suppress
from typing import Any

import h11
from starlette.types import Scope
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S = 10.0  # in which the head of a request must arrive
MAX_OF_ADDRESS = 2048  # connections of one address without a whole request: a lecture hall may share one address
OPEN_FILES = 16_384  # to request from the system, as each connection is one
HOUSEHOLD_BITS = 64  # of an IPv6 address; anyone can change the other bits of their own address


class WaitingConnections:
    """The connections that wait for a whole request, of each address and of all, the oldest first.

    Adding one may close the oldest. This does not lock out a class behind one address: browsers reopen a closed
    connection."""

    def __init__(self, most: int) -> None:
        """*most*: how many may wait, of all addresses together."""
        self.most = most
        self.all: dict[Connection, None] = {}
        self.of_address: dict[str, dict[Connection, None]] = {}

    def add(self, connection: "Connection") -> None:
        """Count *connection* as the newest of those that wait."""
        self.remove(connection)
        own = self.of_address.setdefault(connection.address, {})
        self.all[connection] = own[connection] = None
        while len(own) > MAX_OF_ADDRESS:
            self.close_oldest(own)
        while len(self.all) > self.most:
            self.close_oldest(self.all)

    def close_oldest(self, waiting: "dict[Connection, None]") -> None:
        oldest = next(iter(waiting))
        self.remove(oldest)
        oldest.transport.abort()

    def remove(self, connection: "Connection") -> None:
        """Count *connection* no longer, if it was counted."""
        self.all.pop(connection, None)
        own = self.of_address.get(connection.address, {})
        own.pop(connection, None)
        if not own:
            self.of_address.pop(connection.address, None)


class Connection(H11Protocol):
    """A connection of uvicorn that closes if the head of a request does not arrive in time, or if too many others wait
    for a whole request."""

    timer: asyncio.TimerHandle | None = None
    address = ""

    def __init__(self, *given: Any, waiting: WaitingConnections, **more: Any) -> None:
        super().__init__(*given, **more)
        self.waiting = waiting

    @property
    def is_idle(self) -> bool:
        """Whether the head of a request is still to come."""
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """The head of the first request is to come."""
        super().connection_made(transport)
        self.address = network(self.client[0] if self.client else "")
        self.set_timer()
        self.waiting.add(self)

    def data_received(self, data: bytes) -> None:
        """The head may be here now, or the whole request."""
        super().data_received(data)
        if not self.is_idle:
            self.cancel_timer()
        elif self.timer is None:
            self.set_timer()
        if self.conn.their_state not in (h11.IDLE, h11.SEND_BODY):
            self.waiting.remove(self)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.is_idle and not self.transport.is_closing():
            self.waiting.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.cancel_timer()
        self.waiting.remove(self)
        super().connection_lost(exc)

    def set_timer(self) -> None:
        self.timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.abort)

    def cancel_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None


def network_of(scope: Scope) -> str:
    """The network from which a request comes, "" if that is not known."""
    address, _ = scope.get("client") or ("", 0)
    return network(address)


def network(address: str) -> str:
    """*address*, or for IPv6 its network, all of which counts as one address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    if ip.version == 4:
        return address
    return str(ipaddress.ip_network((ip, HOUSEHOLD_BITS), strict=False))


def raise_file_limit() -> int:
    """Raise the limit of open files, as the default, often 1,024, is too low for many connections; return it."""
    with suppress(ImportError, OSError, ValueError):  # there is no such limit on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft == resource.RLIM_INFINITY:
            return OPEN_FILES
        if soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
        return max(soft, limit)
    return OPEN_FILES

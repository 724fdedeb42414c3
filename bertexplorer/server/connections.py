"""Connections: limits how many wait for the head of a request, and how long; uvicorn limits neither."""

import asyncio
import ipaddress
import time
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_TIMEOUT_S = 10.0  # in which the head of a request must arrive
MAX_IDLE = 256  # connections of one address without a request in progress; beyond this the oldest are closed
OPEN_FILES = 16_384  # to request from the system, as each connection is one
HOUSEHOLD_BITS = 64  # of an IPv6 address; anyone can change the other bits of their own address


class Connection(H11Protocol):
    """A connection of uvicorn that closes if the head of a request does not arrive in time, or if its address opens
    too many others.

    This does not lock out a class behind one address: browsers reopen a closed connection."""

    timer: asyncio.TimerHandle | None = None
    since = 0.0

    @property
    def is_idle(self) -> bool:
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since, self.address = time.monotonic(), network(self.client[0] if self.client else "")
        self.set_timer()
        others = [other for other in self.connections if isinstance(other, Connection)]
        idle = [other for other in others if other.address == self.address and other.is_idle]
        for oldest in sorted(idle, key=lambda connection: connection.since)[:-MAX_IDLE]:
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.is_idle:
            self.since = time.monotonic()
            self.cancel_timer()
        elif self.timer is None:
            self.set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.cancel_timer()
        super().connection_lost(exc)

    def set_timer(self) -> None:
        self.timer = self.loop.call_later(HEAD_TIMEOUT_S, self.transport.abort)

    def cancel_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None


def network(address: str) -> str:
    """*address*, or for IPv6 its network, all of which counts as one address."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((ip, HOUSEHOLD_BITS), strict=False)) if ip.version == 6 else address


def raise_file_limit() -> None:
    """Raise the limit of open files, as the default, often 1,024, is too low for many connections."""
    with suppress(ImportError, OSError, ValueError):  # there is no such limit on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))

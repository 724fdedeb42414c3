"""Connections: how many may wait for the head of a request, and for how long; uvicorn limits neither."""

import asyncio
import ipaddress
import time
from contextlib import suppress

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD_S = 10.0  # seconds in which the head of a request must arrive
WAITING = 256  # connections of one address without a request in progress; beyond this the oldest are closed
FILES = 16_384  # open files to request from the system, as each connection is one
HOME = 64  # leading bits of an IPv6 address that identify a household or an attacker, who can change the others at will


class Connection(H11Protocol):
    """A connection of uvicorn that is closed if the head of a request does not arrive in time, or if its address has
    since opened too many others.

    A class behind one address is not locked out: browsers reopen a closed connection."""

    timer: asyncio.TimerHandle | None = None
    since = 0.0

    @property
    def waiting(self) -> bool:
        """Whether no request is in progress."""
        return self.conn.their_state is h11.IDLE

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.since, self.address = time.monotonic(), network(self.client[0] if self.client else "")
        self.set_timer()
        alike = [one for one in self.connections if isinstance(one, Connection) and one.address == self.address]
        waiting = sorted((one for one in alike if one.waiting), key=lambda one: one.since)
        for oldest in waiting[:-WAITING]:
            oldest.transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if not self.waiting:
            self.since = time.monotonic()
            self.drop_timer()
        elif self.timer is None:
            self.set_timer()

    def connection_lost(self, exc: Exception | None) -> None:
        self.drop_timer()
        super().connection_lost(exc)

    def set_timer(self) -> None:
        self.timer = self.loop.call_later(HEAD_S, self.transport.abort)

    def drop_timer(self) -> None:
        if self.timer:
            self.timer.cancel()
            self.timer = None


def network(address: str) -> str:
    """The network of *address*, which counts as one address."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, HOME), strict=False)) if found.version == 6 else address


def allow_many() -> None:
    """Raise the limit of open files; the default is often 1,024, too few for many connections."""
    with suppress(ImportError, OSError, ValueError):  # there is no such limit on Windows
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        most = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
        if soft != resource.RLIM_INFINITY and soft < most:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))

"""Request heads that do not arrive: their connections are closed, and others are answered meanwhile."""

import resource
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bertexplorer.server import body, connections
from bertexplorer.server.connections import MAX_OF_ADDRESS, WaitingConnections, network, raise_file_limit
from tests.runs.running import until

HALF = b"GET / HTTP/1.1\r\nhost: localhost\r\nx-slow: "


class Held:
    """Connections that are kept open."""

    def __init__(self, url: str) -> None:
        self.address = url.removeprefix("http://").split(":")
        self.all: list[socket.socket] = []

    def open(self, sent: bytes = HALF) -> socket.socket:
        connection = socket.create_connection((self.address[0], int(self.address[1])), timeout=20)
        self.all.append(connection)
        connection.sendall(sent)
        return connection


@pytest.fixture
def held(running: Any) -> Iterator[Held]:
    connections = Held(running.url)
    yield connections
    for item in connections.all:
        item.close()


def closed(one: socket.socket) -> bool:
    try:
        return one.recv(1000) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("sent", [b"", b"G", HALF])
def test_the_head_of_a_request_has_a_time_limit(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.05)
    assert closed(held.open(sent))


def test_a_head_sent_byte_by_byte_gets_no_more_time(running: Any, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.3)
    slow = held.open()
    slow.settimeout(0.02)
    for _ in range(500):
        try:
            slow.sendall(b"a")
            if slow.recv(1000) == b"":
                break
        except TimeoutError:
            continue
        except OSError:
            break
    else:
        pytest.fail("it was never closed")


def test_the_next_head_of_a_connection_has_a_time_limit_too(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    connection = held.open(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    message = b""
    while not message.endswith(b"\r\n\r\nok"):
        message += connection.recv(1000)
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.05)
    connection.sendall(HALF)
    assert closed(connection)


def test_a_request_in_progress_may_take_longer(running: Any, monkeypatch: pytest.MonkeyPatch, held: Held) -> None:
    monkeypatch.setattr(connections, "HEAD_TIMEOUT_S", 0.05)
    connection = held.open(b"POST /code HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\na")
    connection.settimeout(0.3)
    with pytest.raises(TimeoutError):
        connection.recv(1000)
    connection.sendall(b"bc")
    connection.settimeout(20)
    assert connection.recv(1000).startswith(b"HTTP/1.1 ")


def waiting(running: Any) -> int:
    return len(running.server.config.http.keywords["waiting"].all)


BODY = b"POST /api/v1/class/ABCDEF/vote HTTP/1.1\r\nhost: localhost\r\ncontent-length: 50\r\n\r\n"


@pytest.mark.slow
@pytest.mark.parametrize("sent", [HALF, BODY])
def test_thousands_of_incomplete_requests_lock_nobody_out(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 256)
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_file_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(4096, before[1])
    with httpx.Client(base_url=running.url, timeout=20) as working:
        for _ in range(1100):
            held.open(sent)
        assert working.get("/healthz").text == "ok"
    assert closed(held.all[0]) and waiting(running) <= 256


@pytest.mark.parametrize("sent", [HALF, BODY])
def test_the_oldest_of_too_many_connections_from_one_address_are_closed(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """A request whose body is still to come waits as one whose head is still to come. Connections that were open before
    the limit fell, such as those that a browser keeps, are closed first."""
    for _ in range(8):
        held.open(b"")
    until(lambda: waiting(running) >= 8)
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 3)
    first, *_, last = [held.open(sent) for _ in range(5)]
    assert closed(first)
    until(lambda: waiting(running) <= 3)
    last.sendall(b"\r\n\r\n" if sent is HALF else b"1" * 50)
    assert last.recv(1000).startswith(b"HTTP/1.1 ")


def test_a_connection_waits_again_after_its_response(running: Any, held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 3)
    for _ in range(5):
        connection = held.open(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
        message = b""
        while not message.endswith(b"\r\n\r\nok"):
            message += connection.recv(1000)
    assert closed(held.all[0]) and closed(held.all[1])
    until(lambda: waiting(running) == 3)


def test_a_body_that_does_not_arrive_closes_its_connection(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "BODY_S", 0.1)
    connection = held.open(BODY)
    assert connection.recv(20).startswith(b"HTTP/1.1 408 ")
    while connection.recv(1000):
        continue  # until it is closed


class FakeConnection:
    """What WaitingConnections knows of a connection."""

    def __init__(self, address: str) -> None:
        self.address, self.transport, self.aborted = address, self, False

    def abort(self) -> None:
        self.aborted = True


def test_connections_that_wait_are_bounded_per_address_and_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    assert MAX_OF_ADDRESS > 1000 and network("2001:db8::1") == network("2001:db8::2")
    monkeypatch.setattr(connections, "MAX_OF_ADDRESS", 2)
    waiting: Any = WaitingConnections(4)
    a, b, c = [[FakeConnection(name) for _ in range(3)] for name in "abc"]
    for connection in [*a, *b[:2]]:
        waiting.add(connection)
    assert [item.aborted for item in a] == [True, False, False], "three of one address"
    waiting.add(c[0])
    assert [item.aborted for item in a] == [True, True, False], "five in all"
    waiting.remove(b[0])
    waiting.add(c[1])
    assert not any(item.aborted for item in [*b, *c]) and set(waiting.of_address) == {"a", "b", "c"}
    for connection in [*a, *b, *c]:
        waiting.remove(connection)
    assert not waiting.all and not waiting.of_address

"""Request heads that do not arrive: their connections are closed, and others are answered meanwhile."""

import resource
import socket
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bertexplorer.server import connections
from bertexplorer.server.connections import MAX_IDLE, raise_file_limit
from tests.model.test_scheduler import until

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
    return sum(item.is_idle for item in list(running.server.server_state.connections))


@pytest.mark.slow
def test_thousands_of_incomplete_heads_lock_nobody_out(running: Any, held: Held) -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    raise_file_limit()
    assert resource.getrlimit(resource.RLIMIT_NOFILE)[0] >= min(4096, before[1])
    with httpx.Client(base_url=running.url, timeout=20) as working:
        for _ in range(1100):
            held.open()
        assert working.get("/healthz").text == "ok"
    assert closed(held.all[0]) and waiting(running) <= MAX_IDLE
    newest = held.all[-1]
    newest.sendall(b"\r\n\r\n")
    assert newest.recv(1000).startswith(b"HTTP/1.1 200")


def test_the_oldest_of_too_many_connections_from_one_address_are_closed(
    running: Any, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_IDLE", 3)
    under_way = held.open(b"POST /code HTTP/1.1\r\nhost: localhost\r\ncontent-length: 3\r\n\r\na")
    port = under_way.getsockname()[1]  # other connections, of other tests, are idle too
    there = running.server.server_state.connections
    until(lambda: any(not item.is_idle and item.client and item.client[1] == port for item in list(there)))
    first, *_, last = [held.open() for _ in range(5)]
    assert closed(first)
    until(lambda: waiting(running) <= 3)
    last.sendall(b"\r\n\r\n")
    assert last.recv(1000).startswith(b"HTTP/1.1 200")
    under_way.sendall(b"bc")
    assert under_way.recv(1000).startswith(b"HTTP/1.1 ")

"""A server that is asked for vectors: what it is sent, and what it cannot do to us."""

import json
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

import bertexplorer as bx
from bertexplorer.cli import main
from bertexplorer.diagnosis import server
from bertexplorer.errors import ExplorerError
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

SEEN: list[tuple[str, dict[str, Any], str]] = []


class Handler(BaseHTTPRequestHandler):
    bert: bx.Bert
    stop = threading.Event()

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        SEEN.append((self.path, body, self.headers.get("authorization", "")))
        kind = self.path.split("/")[1]
        if kind == "moved":
            self.send_response(307)
            self.send_header("location", "/good/embed")
            self.end_headers()
            return
        self.send_response(500 if kind == "broken" else 200)
        self.end_headers()
        if kind == "hangs":
            self.stop.wait(20)
        elif kind == "large":
            while not self.stop.is_set():
                self.wfile.write(b" " * 1_000_000)
        elif kind == "odd":
            self.wfile.write(b"<html>")
        elif kind == "few":
            self.wfile.write(b"[[1, 2]]")
        elif kind == "good":
            texts = body.get("inputs") or body["input"]
            vectors = self.bert.encode(texts).tolist()
            data = {"data": [{"index": i, "embedding": row} for i, row in enumerate(vectors)]}
            self.wfile.write(json.dumps(vectors if "inputs" in body else data).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def folder(tiny_copy: Tiny) -> Path:
    return write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    Handler.bert, Handler.stop = bx.load(folder, precision="fp32"), threading.Event()
    listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    listening.daemon_threads = True
    threading.Thread(target=listening.serve_forever, daemon=True).start()
    SEEN.clear()
    yield f"http://127.0.0.1:{listening.server_address[1]}"
    Handler.stop.set()
    listening.shutdown()


TEXTS = ["paris is a city", "a cat", "good money"]


@pytest.mark.filterwarnings("ignore:.*cut")
@pytest.mark.parametrize("path", ["/good/embed", "/good/v1/embeddings"])
def test_both_kinds_of_servers(
    path: str, address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(server.KEY, "secret-1")
    assert bx.doctor(folder, TEXTS, url=address + path, served="own").as_files
    sent, body, key = SEEN[-1]
    assert sent == path and key == "Bearer secret-1" and (body.get("inputs") or body["input"]) == TEXTS
    assert main(["doctor", str(folder), "--url", address + path]) == 0
    out, err = capsys.readouterr()
    assert err.startswith(f"Sends 10 texts, those of `bertexplorer doctor texts`, to {address}{path}.")
    assert "secret-1" not in out + err


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/moved/embed", "redirects to another address, which is not followed: status 307"),
        ("/broken/embed", "refused: status 500"),
        ("/odd/embed", "not JSON"),
        ("/few/embed", "1 vectors for 3 texts"),
        ("/large/embed", "longer than 8,000,000 bytes"),
        ("/hangs/embed", "within 1 s"),
        ("/other", "is not known; wanted /v1/embeddings"),
    ],
)
def test_servers_that_do_not_answer_as_they_should(
    path: str, said: str, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "SECONDS", 1.0 if "hangs" in path else 30.0)
    started = time.monotonic()
    with pytest.raises(ExplorerError, match=said):
        server.fetch(address + path, TEXTS)
    assert time.monotonic() - started < 10
    assert len(SEEN) <= 1  # no second address was asked


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://a/embed", "http:///embed", "nonsense", "http://a:b@c/embed"]
)
def test_addresses_that_are_not_asked(url: str) -> None:
    with pytest.raises(ExplorerError, match="The address"):
        server.fetch(url, TEXTS)


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(ExplorerError, match="cannot be reached"):
        server.fetch("http://127.0.0.1:9/embed", TEXTS)

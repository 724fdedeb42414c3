"""The configurations of nginx and Caddy in docs/serving.md, tried with both."""

import re
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.conftest import ROOT
from tests.runs.running import until
from tests.server.conftest import Running
from tests.server.test_launch import free

pytestmark = pytest.mark.slow
NAME = "bert.example.org"


def configuration(language: str) -> str:
    """The first block of docs/serving.md in this language."""
    blocks = re.findall(rf"```{language}\n(.*?)```", (ROOT / "docs/serving.md").read_text("utf-8"), re.DOTALL)
    return str(blocks[0])


@pytest.fixture(scope="module")
def app(running: Running, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    made = Running(running.settings.models_dir, tmp_path_factory.mktemp("data"), hosts=(NAME,), proxies=("127.0.0.1",))
    yield made
    made.close()


@pytest.fixture(params=["nginx", "caddy"])
def proxied(request: pytest.FixtureRequest, app: Any, tmp_path: Path) -> Iterator[int]:
    """The port of a proxy before the app, configured as the documentation says, with a shorter time limit."""
    name = request.param
    if shutil.which(name) is None:
        pytest.skip(f"{name} is not installed")
    port, target = free(), app.url.removeprefix("http://")
    written = configuration(name).replace("127.0.0.1:7860", target)
    file = tmp_path / name
    if name == "nginx":
        server = written.replace("listen 80", f"listen 127.0.0.1:{port}").replace("body_timeout 10s", "body_timeout 1s")
        kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        folders = "".join(f"{kind}_temp_path {tmp_path}/{kind};" for kind in kinds)
        start = f"daemon off; pid {tmp_path}/pid; error_log stderr; events {{}}"
        file.write_text(f"{start} http {{ access_log off; {folders} {server} }}")
        command = ["nginx", "-c", str(file), "-p", str(tmp_path)]
    else:
        written = written.replace(f"{NAME} {{", f"http://{NAME}:{port} {{").replace("read_body 120s", "read_body 1s")
        file.write_text("{\n    admin off\n" + written.removeprefix("{\n"))
        command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
    process = subprocess.Popen(command, stderr=(tmp_path / "log").open("w"), cwd=tmp_path)
    try:
        until(lambda: answers(port))
        yield port
    finally:
        process.terminate()
        process.wait(20)


def answers(port: int) -> bool:
    with socket.socket() as connection:
        return connection.connect_ex(("127.0.0.1", port)) == 0


def test_the_page_answers_behind_the_proxy(proxied: int) -> None:
    host = {"host": f"{NAME}:{proxied}"}
    with httpx.Client(base_url=f"http://127.0.0.1:{proxied}", headers=host, timeout=30) as page:
        assert page.get("/").status_code == 200
        origin = {"origin": f"http://{NAME}:{proxied}"}
        answer = page.post("/api/v1/fill-mask", json={"text": "a great [MASK]"}, headers=origin)
        assert answer.status_code == 200, answer.text
        large = page.post("/api/v1/lines", files={"file": ("a.txt", b"a" * 30_000_000)}, headers=origin)
        assert large.status_code in (413, 502), "Caddy before 2.7 answers 502"


def test_a_body_that_does_not_arrive_is_closed_by_the_proxy(proxied: int, app: Any) -> None:
    before = len(app.server.server_state.connections)
    with socket.create_connection(("127.0.0.1", proxied), timeout=30) as connection:
        head = f"POST /api/v1/view HTTP/1.1\r\nhost: {NAME}:{proxied}\r\ncontent-length: 50\r\n\r\n"
        connection.sendall(head.encode())
        begun = time.monotonic()
        connection.recv(1000)
        assert time.monotonic() - begun < 8, "the app itself waits for ten seconds"
    assert len(app.server.server_state.connections) <= before + 1

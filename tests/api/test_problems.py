"""Every layer reports errors as a problem with a clear detail, and 503 with Retry-After."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.api import tools
from bertexplorer.cli import main
from bertexplorer.engine.progress import Work
from bertexplorer.server import access_code
from tests.api.conftest import Served, settled

TEXT = {"text": "Paris is the [MASK] of France."}
CODE = "class of 26"


def problem(answer: httpx.Response, status: int, said: str) -> dict[str, Any]:
    body = answer.json()
    assert (answer.status_code, body["status"]) == (status, status), answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert said in body["detail"] and body["detail"].endswith((".", "kept.")) and body["title"], body
    assert answer.headers.get("x-content-type-options") == "nosniff" or status == 500
    return body


@pytest.mark.parametrize(
    ("method", "path", "headers", "status", "message"),
    [
        ("GET", "/nowhere", {}, 404, "There is no /api/v1/nowhere here."),
        ("GET", "/%2e%2e/secret", {}, 404, "."),
        ("GET", "/fill-mask", {}, 405, "answers POST only, not GET"),
        ("PUT", "/fill-mask", {}, 405, "answers GET and HEAD and POST only"),
        ("DELETE", "/fill-mask", {}, 405, "answers GET and HEAD and POST only"),
        ("DELETE", "/runs", {}, 405, "answers GET and HEAD and POST only"),
        ("POST", "/runs/abc", {}, 405, "answers GET and HEAD and DELETE only"),
        ("POST", "/fill-mask", {"host": "evil.example"}, 400, "evil.example"),
        ("POST", "/fill-mask", {"origin": "https://evil.example"}, 403, "another site"),
        ("DELETE", "/runs/abc", {"origin": "https://evil.example"}, 403, "another site"),
        ("DELETE", "/runs/abc", {"sec-fetch-site": "cross-site"}, 403, "another site"),
        ("DELETE", "/runs/abc", {}, 404, "There is no run 'abc' here"),
    ],
)
def test_a_rejection_is_a_problem_document(
    method: str, path: str, headers: dict[str, str], status: int, message: str, browser: httpx.Client
) -> None:
    answer = browser.request(method, path, json=TEXT if method == "POST" else None, headers=headers)
    problem(answer, status, message)
    assert (status == 405) == ("allow" in answer.headers)


def test_the_response_to_head_has_no_body(browser: httpx.Client) -> None:
    answer = browser.head("/nowhere")
    assert (answer.status_code, answer.content) == (404, b"")


def test_errors_outside_the_api_stay_plain_text(served: Served) -> None:
    answer = httpx.get(f"{served.url}/nowhere")
    assert answer.status_code == 404 and answer.headers["content-type"].startswith("text/plain")


def test_an_unexpected_error_is_a_problem(
    served: Served, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*given: Any) -> None:
        raise RuntimeError("secret")

    monkeypatch.setattr("bertexplorer.core.ask.Answerer.analyse", fails)
    monkeypatch.setattr("bertexplorer.core.provenance.offered_checkpoints", fails)
    for answer in (browser.post("/fill-mask", json=TEXT), browser.get("/checkpoints")):
        problem(answer, 500, "Internal error (number ")
        assert "secret" not in answer.text


def test_a_failing_layer_gives_a_problem(models: Path, tmp_path: Path) -> None:
    async def broken(scope: Any, receive: Any, send: Any) -> None:
        raise RuntimeError("secret")

    answer = settled(broken, tmp_path, "GET", "/api/v1/page")
    assert "secret" not in answer.text
    problem(answer, 500, "Internal error (number ")


def test_a_request_beyond_the_queue_limit_gets_503_with_retry_after(
    served: Served, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(served.queues.quick, "capacity", 1)
    monkeypatch.setattr(served.queues.quick, "max_waiting", 0)
    with served.queues.turn(Work()):
        answer = browser.post("/fill-mask", json=TEXT)
    body = problem(answer, 503, "Busy: 0 others are already waiting.")
    assert int(answer.headers["retry-after"]) == body["retry_after"] >= 1
    monkeypatch.undo()
    assert browser.post("/fill-mask", json=TEXT).status_code == 200


def test_a_client_that_disconnects_releases_its_place(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    work = Work()
    with served.queues.turn(work):
        monkeypatch.setattr(served.queues.quick, "capacity", 1)
        with served.browser() as browser, pytest.raises(httpx.ReadTimeout):
            browser.post("/fill-mask", json=TEXT, timeout=0.5)
        end = time.monotonic() + 5
        while served.queues.quick.waiting and time.monotonic() < end:
            time.sleep(0.02)
        assert not served.queues.quick.waiting


def test_work_beyond_the_limit_is_rejected(models: Path, tmp_path: Path) -> None:
    server = Served(models, tmp_path, tokens=100)
    with server.browser() as browser:
        problem(browser.post("/pseudo-likelihood", json={"text": "the cat sat on " * 4}), 422, "the limit is 100")
    server.close()


def test_a_missing_mcp_sdk_is_reported(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(tools, "installed", lambda: False)
    monkeypatch.setenv("BERTEXPLORER_DATA", str(tmp_path))
    assert main(["mcp"]) == 2 and "pip install -r requirements-mcp.txt" in capsys.readouterr().err
    server = Served(models, tmp_path)
    problem(httpx.post(f"{server.url}/mcp", json={}), 404, "pip install -r requirements-mcp.txt")
    server.close()


@pytest.fixture(scope="module")
def closed(models: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    server = Served(models, tmp_path_factory.mktemp("closed"), code=CODE, upload_s=1)
    yield server
    server.close()


def test_the_class_code_is_accepted_as_a_bearer_token_or_a_cookie(closed: Served) -> None:
    with closed.browser() as browser:
        answer = browser.post("/fill-mask", json=TEXT)
        problem(answer, 401, "The access code is required.")
        assert answer.headers["www-authenticate"] == "Bearer"
        for wrong in ("Bearer class of 27", "Bearer", "Bearer é"):
            sent = browser.post("/fill-mask", json=TEXT, headers=[(b"authorization", wrong.encode())])
            problem(sent, 401, "Wrong access code")
        problem(browser.get("/runs", headers={"authorization": f"Basic {CODE}"}), 401, "The access code is required.")
        good = browser.post("/fill-mask", json=TEXT, headers={"authorization": f"Bearer {CODE}"})
        assert good.status_code == 200
        assert browser.get("/runs").status_code == 401, "a code said once is not kept"
        browser.post(f"{closed.url}/code", data={"code": CODE})
        assert browser.get("/runs").status_code == 200


def test_repeated_wrong_codes_are_locked_out(models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access_code, "MAX_WAITING", 0)
    server = Served(models, tmp_path, code=CODE)
    with server.browser() as browser:
        for number in range(30):
            assert browser.get("/runs", headers={"authorization": f"Bearer {number}"}).status_code == 401
        late = browser.get("/runs", headers={"authorization": f"Bearer {CODE}"})
        problem(late, 429, "Too many wrong codes")
        assert int(late.headers["retry-after"]) > 0
    server.close()


def test_an_incomplete_request_times_out(closed: Served) -> None:
    def slowly() -> Iterator[bytes]:
        yield b'{"text":'
        time.sleep(1.5)
        yield b'"a"}'

    body = {"content-type": "application/json", "authorization": f"Bearer {CODE}"}
    with closed.browser() as browser:
        problem(browser.post("/fill-mask", content=slowly(), headers=body), 408, "took longer than 1 seconds")

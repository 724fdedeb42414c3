"""Rejected requests: unknown hosts, foreign origins, and routes that no page uses, in any spelling."""

from collections.abc import Callable
from typing import Any

import pytest

from bertexplorer.server.request_filter import route_of, without_gradio_parameters
from tests.server.conftest import settle
from tests.server.talk import FILES, PREVIEW, VIEW
from tests.server.test_whole import gradio_of

STATE = b'{"state": {}}'
JOIN = "/gradio_api/queue/join"
FILE_POLICY = "default-src 'none'; sandbox"


def ask(alone: Any, method: str, path: str, **more: Any) -> Any:
    async def go() -> Any:
        async with alone.browser() as browser:
            return await browser.request(method, path, **more)

    return settle(go())


@pytest.mark.parametrize("host", ["localhost", "localhost:7860", "127.0.0.1:1", "[::1]:7860", "LOCALHOST"])
def test_requests_to_names_of_this_machine_are_answered(alone: Callable[..., Any], host: str) -> None:
    assert ask(alone(), "GET", "/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:7860", "localhost.evil.example", "127.0.0.1.evil.example", "", "10.0.0.7"]
)
def test_another_host_name_is_rejected_with_advice(alone: Callable[..., Any], host: str) -> None:
    answer = ask(alone(), "GET", "/", headers={"host": host})
    assert answer.status_code == 400 and "BERTEXPLORER_HOSTS" in answer.text and "set-cookie" not in answer.headers


def test_host_names_can_be_added_and_networks_use_addresses(alone: Callable[..., Any]) -> None:
    far = alone(host="0.0.0.0", public=True, hosts=("bert.school.example",))
    assert ask(far, "GET", "/", headers={"host": "bert.school.example"}).status_code == 200
    assert ask(far, "GET", "/", headers={"host": "10.0.0.7:7860"}).status_code == 200, "an address cannot be rebound"
    assert ask(far, "GET", "/", headers={"host": "evil.example"}).status_code == 400


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost:7860.evil.example"]
)
def test_pages_of_other_sites_are_rejected(alone: Callable[..., Any], origin: str) -> None:
    for path in (VIEW, FILES, PREVIEW, "/api/v1/runs/a/stop", "/api/v1/lines", "/code", "/mcp", JOIN):
        answer = ask(alone(), "POST", path, headers={"origin": origin}, content=b"{}")
        assert answer.status_code == 403 and "another site" in answer.text


def test_pages_of_this_server_are_accepted(alone: Callable[..., Any]) -> None:
    own = {"origin": "http://localhost:7860"}
    assert ask(alone(), "POST", VIEW, headers=own, content=STATE).status_code == 200
    assert ask(alone(), "POST", VIEW, content=STATE).status_code == 200, "a program says no origin"
    assert ask(alone(), "POST", VIEW, headers={"sec-fetch-site": "cross-site"}, content=b"{}").status_code == 403
    assert ask(alone(), "OPTIONS", VIEW, headers={"origin": "http://evil.example"}).status_code == 405


@pytest.mark.parametrize(
    "path",
    [
        "/gradio_api/queue/status",
        "/gradio_api/upload",
        "/gradio_api/upload_progress",
        "/gradio_api/upload_progress?upload_id=a",
        "/gradio_api/reset",
        "/gradio_api/heartbeat/a",
        "/gradio_api/file=a.csv",
        "/gradio_api/file=/tmp/a b/ü.zip",
        "/gradio_api/file=C:/a/b.zip",
        "/gradio_api/login_check",
        "/gradio_api/theme.css/",
        "/gradio_api/info/x",
        "/gradio_api",
        "/gradio_api/",
        "/queue/join",
        "/upload",
        "/file=/tmp/a",
        "/gradio_api/run/fill_mask",
        "/gradio_api/run/predict",
        "/gradio_api/queue/join/",
        "/gradio_api/queue/data/",
        "/gradio_api/call",
        "/gradio_api/call/",
        "/gradio_api/call/a/b/c",
        "/gradio_api/api/x",
        "/monitoring",
        "/monitoring/summary",
        "/openapi.json",
        "/gradio_api/openapi.json",
        "/gradio_api/proxy=https://x.hf.space/",
        "/gradio_api/file=http://example.com/a",
        "/gradio_api/file=HTTPS://example.com/a",
        "/gradio_api/file=//example.com/a",
        "/gradio_api/file=%68ttp://example.com/a",
        "/gradio_api/file=%2568ttp://example.com/a",
        "/gradio_api/file=/tmp/%252e%252e/etc/passwd",
        "/gradio_api/file=/tmp/%2e%2e/etc/passwd",
        "/gradio_api/file=data:text/html,x",
        "/gradio_api/file/etc/passwd",
        "//gradio_api/run/predict",
        "/gradio_api//run/predict",
        "/%67radio_api/run/predict",
        "/gradio_api%2Frun%2Fpredict",
        "/gradio_api/%70roxy=https://x.hf.space/",
        "/gradio_api/vibe-code",
        "/gradio_api/run-history/records",
        "/gradio_api/component_server",
        "/gradio_api/stream/1",
        "/dev/reload",
        "/line",
        "/api",
        "/api/v1",
        "/api/v1/",
        "/api/v2/view",
        "/api/v1/view/",
        "/api/v1/view//csv",
        "/api/v1/../config",
        "/api/v1/a%252fb",
    ],
)
def test_routes_that_no_page_needs_do_not_exist(alone: Callable[..., Any], path: str) -> None:
    for method in ("GET", "POST"):
        assert ask(alone(), method, path).status_code == 404


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/", "page"),
        ("/train", "page"),
        ("/pretrain/", "page"),
        ("/api/v1/files", "upload"),
        ("/api/v1/lines", "upload"),
        ("/api/v1/rows", "upload"),
        ("/api/v1/vectors", "upload"),
        ("/api/v1/lessons/own", "upload"),
        ("/api/v1/files/tmp0_a-b", "file"),
        ("/api/v1/runs/0123abc/events", "events"),
        ("/api/v1/runs/preview", "api"),
        ("/api/v1/runs/0123abc", "api"),
        ("/api/v1/runs/0123abc/try", "api"),
        ("/api/v1/trials/0123abc/stop", "api"),
        ("/mcp", "mcp"),
        ("/theme.css", "asset"),
        ("/gradio_api/theme.css", "asset"),
        ("/config", "config"),
        ("/gradio_api/info", "config"),
        ("/gradio_api/app_id", "config"),
        ("/gradio", "page"),
        ("/gradio_api/queue/join", "call"),
        ("/gradio_api/cancel", "call"),
        ("/gradio_api/call/fill_mask", "call"),
        ("/gradio_api/call/v2/fill_mask", "call"),
        ("/gradio_api/queue/data", "answers"),
        ("/gradio_api/call/fill_mask/0123456789abcdef0123456789abcdef", "answers"),
        ("/assets/a.js", "asset"),
        ("/scripts/0123456789ab/explore.js", "asset"),
        ("/api/v1/view", "api"),
        ("/api/v1/view/csv", "api"),
    ],
)
def test_routes_that_pages_need_exist(path: str, route: str) -> None:
    assert route_of(path)[0] == route


@pytest.mark.parametrize("query", ["page=nowhere", "%70age=x", "deep_link=..", "a=1&page=x&page=y"])
def test_gradio_parameters_of_a_link_are_removed(query: str) -> None:
    assert without_gradio_parameters(query.encode()) in (b"", b"a=1")
    assert without_gradio_parameters(b"text=a+page&view=x&&pages=1") == b"text=a+page&view=x&&pages=1"


CROOKED = [
    "/api/v1/files/../etc/passwd",
    "/api/v1/files/a/../b",
    "/assets/../config",
    "/assets/a\n",
    "/assets//a",
    "/assets/a%2eb",  # it was encoded twice
    "/assets/%252e%252e/config",
    "/..",
    "\\..\\a",
]


@pytest.mark.parametrize("path", CROOKED)
def test_a_malformed_path_has_no_route(path: str) -> None:
    assert route_of(path) == ("none", ())


def test_every_answer_has_the_security_headers(alone: Callable[..., Any]) -> None:
    for path in ("/", "/nowhere", "/healthz", VIEW, "/api/v1/nothing/"):
        got = ask(alone(), "GET", path, headers={"origin": "http://evil.example"}).headers
        assert not [name for name in got if name.startswith("access-control-")], "echo sends one; it must not come out"
        assert "frame-ancestors 'self'" in got["content-security-policy"] and got["x-content-type-options"] == "nosniff"
        assert "unsafe-eval" not in got["content-security-policy"]


@pytest.mark.parametrize("path", ["/train", "/train/", "/pretrain", "/learn", "/j/ABCD", "/config", VIEW])
def test_no_page_may_evaluate_text(alone: Callable[..., Any], path: str) -> None:
    policy = ask(alone(), "POST" if path == VIEW else "GET", path).headers["content-security-policy"]
    assert "script-src 'self' 'unsafe-inline';" in policy and "unsafe-eval" not in policy


def test_a_file_has_a_policy_of_its_own(alone: Callable[..., Any]) -> None:
    for method in ("GET", "HEAD"):
        assert ask(alone(), method, f"{FILES}/a").headers["content-security-policy"] == FILE_POLICY


def test_only_what_endpoints_need_of_gradio_is_reachable(running: Any) -> None:
    paths = [path for path in gradio_of(running).openapi()["paths"] if path.startswith("/gradio_api")]
    assert len(paths) > 50, "as it describes itself"
    names = {path: route_of(path.replace("{", "").replace("}", ""))[0] for path in paths}
    opened = {path.rstrip("/") for path, name in names.items() if name != "none"}
    calls = {"/gradio_api/call/{api_name}", "/gradio_api/call/v2/{api_name}"}
    queue = {"/gradio_api/queue/join", "/gradio_api/queue/data", "/gradio_api/cancel"}
    assert opened == {"/gradio_api/info", "/gradio_api/app_id", "/gradio_api/theme.css"} | calls | queue

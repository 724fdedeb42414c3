"""The access code: asked for once, protected from guessing, and required wherever others can reach the page."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import httpx
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.server import access_code
from bertexplorer.server.access_code import MAX_WRONG, form, safe_target
from bertexplorer.server.connections import network
from bertexplorer.server.launch import check_access, server_config
from bertexplorer.settings import Settings
from tests.server.conftest import settle
from tests.server.talk import FILES, PREVIEW, VIEW

CODE = "robin-2026"


@pytest.fixture
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    """Codes that would have to wait are refused at once."""
    monkeypatch.setattr(access_code, "MAX_WAITING", 0)


def test_the_code_is_asked_for_only_once(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        app = alone(code=CODE)
        async with app.browser() as browser:
            response = await browser.get("/train?text=a")
            assert (
                response.status_code == 401
                and "Access code" in response.text
                and 'value="/train?text=a"' in response.text
            )
            for path in ("/config", "/assets/a.js", "/gradio_api/info", f"{FILES}/a", "/api/v1/runs/a/events"):
                assert (await browser.get(path)).status_code == 401
            for path in (VIEW, FILES, PREVIEW, "/mcp"):
                assert (await browser.post(path, content=b"{}")).status_code == 401
            assert (await browser.get("/healthz")).status_code == 200
            wrong = await browser.post("/code", data={"code": "Robin-2026", "page": "/train"})
            assert wrong.status_code == 401 and "Wrong code" in wrong.text
            right = await browser.post("/code", data={"code": f" {CODE} ", "page": "/train?text=a"})
            assert right.status_code == 303 and right.headers["location"] == "/train?text=a"
            assert (await browser.get("/train")).status_code == 200
            proof = {name: value for name, value in browser.cookies.items() if name.endswith("-code")}
        async with app.browser(cookies=proof) as thief:
            assert (await thief.get("/")).status_code == 401, "the proof is of one browser"

    settle(go())


def test_repeated_wrong_codes_slow_down_their_address(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The right code is admitted all the same: one pupil must not lock out the others of a school."""
    monkeypatch.setattr(access_code, "TURN_S", 0.05)
    monkeypatch.setattr(access_code, "MAX_WAITING", 4)

    async def go() -> None:
        app = alone(code=CODE)
        async with app.browser("10.0.0.7") as guesser, app.browser("10.0.0.8") as other:
            for _ in range(MAX_WRONG):
                assert (await guesser.post("/code", data={"code": "x"})).status_code == 401
            begun = time.monotonic()
            codes = ("x", "x", CODE, "x", "x", "x")
            answers = await asyncio.gather(*(guesser.post("/code", data={"code": code}) for code in codes))
            assert [answer.status_code for answer in answers] == [401, 401, 303, 401, 429, 429]
            assert time.monotonic() - begun > 0.2, "one after the other"
            assert "Try again in" in answers[-1].text and answers[-1].headers["retry-after"] == "60"
            assert (await other.post("/code", data={"code": CODE})).status_code == 303
            assert (await other.post("/code", data={"code": "x" * 9000})).status_code == 413

    settle(go())


async def guess(app: Any, client: str, code: str, said: str = "") -> int:
    """The status of a code sent from the address *client*, with *said* as its X-Forwarded-For."""
    transport = httpx.ASGITransport(app, client=(client, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost:7860") as browser:
        heads = {"x-forwarded-for": said} if said else {}
        return (await browser.post("/code", data={"code": code}, headers=heads)).status_code


def test_wrong_codes_slow_down_only_the_addresses_that_sent_them(alone: Callable[..., Any], no_waiting: None) -> None:
    async def go() -> None:
        app = alone(code=CODE).app
        for address in range(11):
            result = [await guess(app, f"10.0.1.{address}", "x") for _ in range(MAX_WRONG)]
            assert result == [401] * MAX_WRONG and await guess(app, f"10.0.1.{address}", CODE) == 429
        assert await guess(app, "10.0.0.1", CODE) == 303

    settle(go())


@pytest.mark.parametrize(("client", "proxies"), [("127.0.0.1", ()), ("10.0.0.7", ("127.0.0.1",))])
def test_an_address_claimed_by_a_stranger_is_ignored(
    alone: Callable[..., Any], no_waiting: None, client: str, proxies: tuple[str, ...]
) -> None:
    app = alone(code=CODE, proxies=proxies)
    served = server_config(app.app, app.settings)
    served.load()

    async def go() -> None:
        for number in range(MAX_WRONG):
            assert await guess(served.loaded_app, client, "x", f"10.0.2.{number}") == 401
        assert await guess(served.loaded_app, client, "x", "10.0.3.1") == 429

    settle(go())


def test_an_address_passed_on_by_a_named_proxy_is_used(alone: Callable[..., Any], no_waiting: None) -> None:
    app = alone(code=CODE, proxies=("10.0.0.0/24",))
    served = server_config(app.app, app.settings)
    served.load()

    async def go() -> None:
        for number in range(MAX_WRONG):  # a client may send any addresses; the proxy appends the one that it sees
            assert await guess(served.loaded_app, "10.0.0.7", "x", f"10.9.9.{number}, 192.0.2.1") == 401
        assert await guess(served.loaded_app, "10.0.0.7", CODE, "192.0.2.1") == 429
        assert await guess(served.loaded_app, "10.0.0.7", CODE, "192.0.2.2") == 303

    settle(go())


def test_one_household_counts_as_one_address() -> None:
    assert network("2001:db8:1:2:aaaa::1") == network("2001:db8:1:2:bbbb::9") != network("2001:db8:1:3::1")
    assert network("10.0.0.7") != network("10.0.0.8") and network("") == ""


@pytest.mark.parametrize("page", ["//evil.example", "http://evil.example", "/\\evil.example", "/x", "", "javascript:1"])
def test_the_code_page_redirects_only_to_pages_of_this_server(page: str) -> None:
    assert safe_target(page) == "/"


def test_markup_in_the_target_link_stays_text() -> None:
    link = safe_target("/", b'text="><script>TOLD&view=x\r\nset-cookie: a')
    assert "\r" not in link and "<" not in link and link.startswith("/?text=")
    assert "<script>" not in form(link, "<b>told") and "&lt;b&gt;told" in form(link, "<b>told")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.4", "bert.example"])
def test_a_page_open_to_others_requires_a_code_or_public(host: str) -> None:
    settings = Settings(host=host)
    with pytest.raises(ExplorerError, match="BERTEXPLORER_CODE.*--public"):
        check_access(settings)
    check_access(replace(settings, public=True))
    check_access(replace(settings, code=CODE))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_a_page_for_this_machine_alone_requires_no_code(host: str) -> None:
    check_access(Settings(host=host))

"""The class code: asked once, not to be guessed, and wanted wherever others can reach the page."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.server.gate import TRIES, form, wanted
from bertexplorer.server.launch import check
from bertexplorer.settings import Settings
from tests.server.conftest import settle

CODE = "robin-2026"


def test_the_code_opens_the_page_once_and_for_all(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        made = alone(code=CODE)
        async with made.browser() as browser:
            asked = await browser.get("/train?text=a")
            assert asked.status_code == 401 and "Class code" in asked.text and 'value="/train?text=a"' in asked.text
            for path in ("/config", "/assets/a.js", "/gradio_api/queue/data", "/gradio_api/file=/tmp/a"):
                assert (await browser.get(path)).status_code == 401
            assert (await browser.post("/gradio_api/queue/join", content=b"{}")).status_code == 401
            assert (await browser.get("/healthz")).status_code == 200
            wrong = await browser.post("/code", data={"code": "Robin-2026", "page": "/train"})
            assert wrong.status_code == 401 and "not the code" in wrong.text
            right = await browser.post("/code", data={"code": f" {CODE} ", "page": "/train?text=a"})
            assert right.status_code == 303 and right.headers["location"] == "/train?text=a"
            assert (await browser.get("/train")).status_code == 200
            proof = {name: value for name, value in browser.cookies.items() if name.endswith("-code")}
        async with made.browser(cookies=proof) as thief:
            assert (await thief.get("/")).status_code == 401, "the proof is of one browser"

    settle(go())


def test_it_cannot_be_tried_out(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        made = alone(code=CODE)
        async with made.browser("10.0.0.7") as one, made.browser("10.0.0.8") as two:
            for _ in range(TRIES):
                assert (await one.post("/code", data={"code": "x"})).status_code == 401
            late = await one.post("/code", data={"code": CODE})
            assert late.status_code == 429 and "Try again in" in late.text and late.headers["retry-after"]
            assert (await two.post("/code", data={"code": CODE})).status_code == 303
            assert (await two.post("/code", data={"code": "x" * 9000})).status_code == 413

    settle(go())


@pytest.mark.parametrize("page", ["//evil.example", "http://evil.example", "/\\evil.example", "/x", "", "javascript:1"])
def test_it_leads_nowhere_else(page: str) -> None:
    assert wanted(page) == "/"


def test_the_link_that_it_leads_to_is_only_text() -> None:
    asked = wanted("/", b'text="><script>TOLD&view=x\r\nset-cookie: a')
    assert "\r" not in asked and "<" not in asked and asked.startswith("/?text=")
    assert "<script>" not in form(asked, "<b>told") and "&lt;b&gt;told" in form(asked, "<b>told")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.0.4", "bert.example"])
def test_a_page_for_others_wants_a_code_or_to_be_public(host: str) -> None:
    settings = Settings(host=host)
    with pytest.raises(ExplorerError, match="BERTEXPLORER_CODE.*--public"):
        check(settings)
    check(replace(settings, public=True))
    check(replace(settings, code=CODE))


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "127.8.8.8"])
def test_one_for_this_machine_wants_none(host: str) -> None:
    check(Settings(host=host))

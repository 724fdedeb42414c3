"""Each browser has an identity that it cannot choose. A page belongs to the browser that opened it."""

import json
import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.server.cookie_signing import CookieSigner, load_signer
from tests.server.conftest import SIGNER, settle

JOIN = "/gradio_api/queue/join"


def test_each_browser_keeps_its_own_identity(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        app = alone()
        async with app.browser() as one, app.browser() as two:
            first = await one.get("/")
            owner = first.json()["owner"]
            assert re.fullmatch("[0-9a-f]{32}", owner)
            given = first.headers["set-cookie"]
            assert "HttpOnly" in given and "SameSite=Lax" in given and "Secure" not in given
            assert (await one.get("/config")).json()["owner"] == owner
            assert (await two.get("/")).json()["owner"] != owner

    settle(go())


@pytest.mark.parametrize(
    "mark", ["", "0" * 64, CookieSigner(b"t" * 32).sign("owner", "a" * 32), SIGNER.sign("code", "a" * 32)]
)
def test_an_owner_cookie_needs_a_valid_signature(alone: Callable[..., Any], mark: str) -> None:
    async def go() -> None:
        async with alone().browser() as browser:
            got = await browser.get("/config", headers={"cookie": f"{SIGNER.name}={'a' * 32}.{mark}"})
            assert got.json()["owner"] != "a" * 32 and "set-cookie" in got.headers
            right = f"{SIGNER.name}=x; {SIGNER.name}={'a' * 32}.{SIGNER.sign('owner', 'a' * 32)}"
            assert (await browser.get("/config", headers={"cookie": right})).json()["owner"] == "a" * 32

    settle(go())


def test_a_page_belongs_to_the_browser_that_opened_it(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        app = alone()
        mine = json.dumps({"session_hash": "mine"}).encode()
        async with app.browser() as first, app.browser() as second, app.browser() as three:
            for browser in (first, second):
                await browser.get("/")
            assert (await first.post(JOIN, content=mine)).status_code == 200
            assert (await first.get("/gradio_api/queue/data?session_hash=mine")).status_code == 200
            for thief in (second, three):
                for refused in (
                    await thief.get("/gradio_api/queue/data?session_hash=mine"),
                    await thief.post("/gradio_api/cancel", content=mine),
                    await thief.post(JOIN, content=mine),
                ):
                    assert refused.status_code == 403 and "another browser" in refused.text

    settle(go())


@pytest.mark.parametrize(
    "query",
    [
        "session_hash=own&session_hash=mine",  # gradio reads the last one
        "session_hash=mine&session_hash=own",
        "session_hash=own&session_hash=",
        "session_hash=own&session%5Fhash=mine",
        "session_hash=own&x=1;a&session_hash=mine",
    ],
)
def test_a_request_may_name_only_one_page(alone: Callable[..., Any], query: str) -> None:
    async def go() -> None:
        app = alone()
        async with app.browser() as first, app.browser() as second:
            for browser, page in ((first, "mine"), (second, "own")):
                await browser.get("/")
                assert (await browser.post(JOIN, json={"session_hash": page})).status_code == 200
            got = await second.get(f"/gradio_api/queue/data?{query}")
            assert got.status_code == 400 and "names 2 pages; wanted one" in got.text

    settle(go())


def test_without_cookies_the_page_still_works(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        app = alone()
        for path in (JOIN, "/gradio_api/cancel", JOIN):
            async with app.browser() as browser:  # no cookie is kept from one request to the next
                assert (await browser.post(path, content=b'{"session_hash": "s"}')).status_code == 200

    settle(go())


def test_the_secret_is_persistent_and_private(tmp_path: Path) -> None:
    signer = load_signer(tmp_path)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert load_signer(tmp_path).secret == signer.secret and load_signer(tmp_path / "other").secret != signer.secret
    assert load_signer(tmp_path / "other").name != signer.name, "two servers of one machine share its cookies"
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(ExplorerError, match="Delete it"):
        load_signer(tmp_path)

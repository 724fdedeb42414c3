"""Each browser has an identity that it cannot choose."""

import re
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.server.cookie_signing import CookieSigner, load_signer
from tests.server.conftest import SIGNER, settle
from tests.server.talk import PREVIEW, VIEW


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


def test_a_browser_is_known_once_it_has_sent_its_cookie(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        async with alone().browser() as browser:
            assert [(await browser.get(path)).json()["known"] for path in ("/", "/config", "/")] == [False, True, True]
        async with alone().browser(cookies={SIGNER.name: f"{'a' * 32}.{'0' * 64}"}) as browser:
            assert (await browser.get("/config")).json()["known"] is False

    settle(go())


def test_without_cookies_the_page_still_works(alone: Callable[..., Any]) -> None:
    async def go() -> None:
        app = alone()
        owners = set()
        for path in (VIEW, PREVIEW, VIEW):
            async with app.browser() as browser:  # no cookie is kept from one request to the next
                answer = await browser.post(path, content=b'{"state": {}}')
                assert answer.status_code == 200 and "set-cookie" in answer.headers
                owners.add(answer.json()["owner"])
        assert len(owners) == 3

    settle(go())


def test_the_secret_is_persistent_and_private(tmp_path: Path) -> None:
    signer = load_signer(tmp_path)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert load_signer(tmp_path).secret == signer.secret and load_signer(tmp_path / "other").secret != signer.secret
    assert load_signer(tmp_path / "other").name != signer.name, "two servers of one machine share its cookies"
    (tmp_path / "secret").write_bytes(b"short")
    with pytest.raises(ExplorerError, match="Delete it"):
        load_signer(tmp_path)

"""Scripts, styles and fonts: compressed once for everyone, complete, and cached without cookies."""

import gzip
from pathlib import Path
from typing import Any

import brotli
import gradio
import httpx
import pytest

from bertexplorer.server.compression import AssetCache
from bertexplorer.web.page import STATIC, scripts
from tests.server.conftest import Running, settle

FRONTEND = Path(gradio.__file__).parent / "templates" / "frontend"
BROWSER = "gzip, deflate, br, zstd"
HEADERS = [(b"ETag", b"1"), (b"Set-Cookie", b"who=ann"), (b"Cache-Control", b"no-store"), (b"Content-Length", b"9")]
UNPACK = {"br": brotli.decompress, "gzip": gzip.decompress, "identity": bytes}


class Origin:
    """Answers each request with its path, its encoding and its number; “odd” paths with a 404, “cut” paths with half
    an answer."""

    def __init__(self) -> None:
        self.asked = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.asked += 1
        packed = dict(scope["headers"]).get(b"accept-encoding", b"").decode()
        status = 404 if "odd" in scope["path"] else 200
        await send({"type": "http.response.start", "status": status, "headers": HEADERS})
        await send({"type": "http.response.body", "body": f"{scope['path']} {packed} ".encode(), "more_body": True})
        if "cut" not in scope["path"]:
            await send({"type": "http.response.body", "body": str(self.asked).encode()})


def get(assets: AssetCache, path: str, accepted: str = BROWSER, route: str = "asset", **more: str) -> httpx.Response:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await assets({**scope, "state": {"route": route}}, receive, send)

    async def go() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await client.request(more.pop("method", "GET"), path, headers={"accept-encoding": accepted, **more})

    response: httpx.Response = settle(go())
    return response


def test_each_file_is_compressed_once_per_encoding() -> None:
    assets = AssetCache(Origin())
    for _ in range(2):
        assert get(assets, "/assets/a.js").text == "/assets/a.js br 1"
        assert get(assets, "/assets/a.js", "br").text == "/assets/a.js br 1"
        assert get(assets, "/assets/a.js", "deflate, gzip").text == "/assets/a.js gzip 2"
        assert get(assets, "/assets/a.js", "zstd").text == "/assets/a.js identity 3"
        assert get(assets, "/static/b").text == "/static/b br 4"
        assert get(assets, "/scripts/1/a.js").text == "/scripts/1/a.js gzip 5", "ours are packed with gzip only"
    headers = get(assets, "/static/b").headers
    assert dict(headers) == {"etag": "1", "content-length": "14", "cache-control": "private, max-age=86400"}


@pytest.mark.parametrize(
    ("path", "more"),
    [
        ("/assets/odd.js", {}),
        ("/assets/a.js", {"method": "HEAD"}),
        ("/assets/a.js", {"if-none-match": "1"}),
        ("/config", {"route": "config"}),
    ],
)
def test_other_responses_are_passed_through(path: str, more: dict[str, str]) -> None:
    assets = AssetCache(origin := Origin())
    for times in (1, 2):
        response = get(assets, path, **more)
        assert origin.asked == times and response.headers["cache-control"] == "no-store"
    assert not assets.cache


def test_only_complete_responses_are_cached_within_a_limit() -> None:
    assets = AssetCache(Origin())
    for _ in range(2):
        with pytest.raises(AssertionError):  # raised by httpx, as no answer arrived
            get(assets, "/assets/cut.js")
    assert not assets.cache
    assets = AssetCache(Origin(), free_bytes=30)
    answers = [get(assets, path).text for path in ("/assets/1", "/assets/2", "/assets/3") * 2]
    assert answers == [f"/assets/{i} br {n}" for i, n in zip((1, 2, 3) * 2, (1, 2, 3, 1, 2, 4), strict=True)]
    assert sum(len(item.body) for item in assets.cache.values()) + assets.free_bytes == 30


@pytest.mark.parametrize("packed", UNPACK)
def test_files_equal_those_on_the_disk(running: Running, packed: str) -> None:
    """The largest script, the first style and a font, as two browsers get them."""
    files = [max(FRONTEND.glob("assets/*.js"), key=lambda file: file.stat().st_size)]
    files += [next(FRONTEND.glob("assets/*.css")), next(FRONTEND.glob("static/fonts/**/*.woff2"))]
    for file in files:
        path = file.relative_to(FRONTEND)
        owners = set()
        for _ in range(2):
            with httpx.stream(
                "GET", f"{running.url}/{path.as_posix()}", headers={"accept-encoding": packed}
            ) as response:
                body = b"".join(response.iter_raw())
            assert response.status_code == 200 and len(body) == int(response.headers["content-length"])
            applied = response.headers.get("content-encoding", "identity")
            assert applied == ("identity" if file.suffix == ".woff2" else packed)
            assert UNPACK[applied](body) == file.read_bytes()
            assert response.headers["cache-control"].startswith("private, max-age=")
            assert ("immutable" in response.headers["cache-control"]) == (path.parts[0] == "assets")
            owners.add(response.headers["set-cookie"])
        assert len(owners) == 2


@pytest.mark.parametrize("packed", ["gzip", "identity"])
def test_the_scripts_of_explore_have_an_address_that_changes_with_their_content(running: Running, packed: str) -> None:
    folder = scripts()
    client = httpx.Client(base_url=running.url)  # one for all: to make one takes 30 ms
    assert f'"{folder}/' in client.get("/").text
    for file in [*STATIC.glob("*.js"), *STATIC.glob("vendor/*")]:
        path = file.relative_to(STATIC).as_posix()
        got = client.get(f"/{folder}/{path}", headers={"accept-encoding": packed})
        assert got.status_code == 200 and got.content == file.read_bytes()
        assert got.headers["cache-control"].endswith("immutable")
        assert got.headers.get("content-encoding", "identity") == (packed if len(got.content) > 1000 else "identity")
    assert client.get(f"/{folder}/nothing.js").status_code == 404

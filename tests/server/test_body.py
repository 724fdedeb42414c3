"""Request bodies: their size is counted while they arrive, and JSON with lone surrogates is repaired."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from bertexplorer.server import access_code, body
from bertexplorer.server.body import clean_json
from tests.server.conftest import settle
from tests.server.talk import FILES, VIEW


def post(alone: Any, path: str, **more: Any) -> Any:
    async def go() -> Any:
        async with alone.browser() as browser:
            return await browser.post(path, **more)

    return settle(go())


async def pieces(count: int, size: int) -> AsyncIterator[bytes]:
    """A body without a content length."""
    for _ in range(count):
        yield b" " * size


def test_a_request_within_the_limits_arrives_completely(alone: Callable[..., Any]) -> None:
    text = json.dumps({"data": ["é 日 😀"]}, ensure_ascii=False).encode()
    assert json.loads(post(alone(), VIEW, content=text).json()["body"])["data"] == ["é 日 😀"]

    async def slow() -> AsyncIterator[bytes]:
        for part in (b'{"state"', b': "s"}'):
            await asyncio.sleep(0.1)
            yield part

    assert json.loads(post(alone(upload_s=2), VIEW, content=slow()).json()["body"]) == {"state": "s"}


def test_json_has_a_limit_with_or_without_content_length(alone: Callable[..., Any]) -> None:
    small = alone(request_kb=10)
    assert post(small, VIEW, content=b'{"state": {"text": ""}}' + b" " * 9_970).status_code == 200
    for content in (b" " * 10_001, pieces(11, 1000), pieces(1000, 1000), b" " * 1_000_000):
        answer = post(small, VIEW, content=content)
        assert answer.status_code == 413 and "10 kB" in answer.text


def test_an_upload_has_a_limit_for_all_its_files(alone: Callable[..., Any]) -> None:
    small = alone(upload_mb=1)
    file = ("a.txt", b"x" * 700_000)
    assert post(small, FILES, files=[("file", file)]).json()["size"] > 700_000
    answer = post(small, FILES, files=[("file", file), ("file", file)])
    assert answer.status_code == 413 and "limit is 1 MB" in answer.text
    kind = {"content-type": "multipart/form-data; boundary=x"}
    answer = post(small, FILES, content=pieces(30, 100_000), headers=kind)
    assert answer.status_code == 413 and "more than 1 MB" in answer.text


def test_an_upload_has_a_limited_number_of_files(alone: Callable[..., Any]) -> None:
    files = [("file", (f"{i}.txt", b"x" * i * 1000)) for i in range(9)]
    assert post(alone(), FILES, files=files[:8]).status_code == 200
    answer = post(alone(), FILES, files=files)
    assert answer.status_code == 413 and "More than 8 files" in answer.text
    assert post(alone(), FILES, content=b"x").status_code == 400, "no form"


@pytest.mark.parametrize("path", [VIEW, FILES, "/code"])
def test_a_slow_request_times_out(alone: Callable[..., Any], path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    async def dripping() -> AsyncIterator[bytes]:
        for _ in range(100):
            yield b" "
            await asyncio.sleep(0.05)

    monkeypatch.setattr(access_code, "FORM_TIMEOUT_S", 1)
    kind = {"content-type": "multipart/form-data; boundary=x"}
    begun = time.monotonic()
    answer = post(alone(upload_s=1, code="robin-2026" * (path == "/code")), path, content=dripping(), headers=kind)
    assert time.monotonic() - begun < 3
    assert answer.status_code == 408 and "longer than 1 seconds" in answer.text
    assert answer.headers["connection"] == "close", "or the rest would go on coming"


def test_bodies_that_arrive_take_a_bounded_amount_of_memory(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "MAX_HELD", 10_000)
    app = alone()
    content = b'{"state": {"text": ""}}' + b" " * 9_000
    assert [post(app, VIEW, content=content).status_code for _ in range(3)] == [200] * 3, "one after the other"
    answer = post(app, VIEW, content=content + b" " * 1_000)
    assert answer.status_code == 503 and "many requests are arriving" in answer.text


def test_uploads_leave_the_disk_some_room(alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "RESERVE_BYTES", 10**18)
    answer = post(alone(), FILES, files=[("file", ("a.txt", b"x"))])
    assert answer.status_code == 507 and "GB are free" in answer.text and "Make room" in answer.text


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "\\udc00\\ud800"])
def test_a_lone_surrogate_is_replaced(half: str) -> None:
    got = json.loads(clean_json(f'{{"data": ["a{half}b", {{"{half}": 1}}]}}'.encode()))
    assert got["data"][0][0] == "a" and got["data"][0].isprintable() and "\ufffd" in got["data"][0]
    assert list(got["data"][1])[0].startswith("\ufffd")


@pytest.mark.parametrize("path", [VIEW, "/api/v1/runs/a/try", "/mcp"])
def test_a_lone_surrogate_in_a_request_is_replaced(alone: Callable[..., Any], path: str) -> None:
    answer = post(alone(), path, content=b'{"row": {"text\\udc00": "a\\ud800b"}}').json()
    assert json.loads(answer["body"]) == {"row": {"text\ufffd": "a\ufffdb"}} and answer["route"] in ("api", "mcp")


def test_complete_characters_and_uploaded_files_are_unchanged(alone: Callable[..., Any]) -> None:
    assert json.loads(clean_json(b'["\\ud83d\\ude00", "\\u00e9", 1.5, null]')) == ["😀", "é", 1.5, None]
    assert clean_json(b'["plain"]') == b'["plain"]'
    assert "\ufffd" in clean_json(b'["\xed\xa0\x80"]').decode(), "as UTF-8 would write a half, if it did"
    answer = post(alone(), FILES, files=[("file", ("a.json", b'["\\ud800"]'))]).json()
    assert b'["\\ud800"]' in answer["body"].encode() and answer["route"] == "upload"


@pytest.mark.parametrize(
    "content",
    ['["\\ud800"]'.encode("utf-16-le"), b'["caf\xe9"]', b'["\\u', b"[" * 100_000 + b"\\u0041"],
)
def test_invalid_json_is_rejected(alone: Callable[..., Any], content: bytes) -> None:
    assert post(alone(), VIEW, content=content).status_code == 400

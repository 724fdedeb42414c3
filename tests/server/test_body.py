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


class Half:
    """A request to *app* whose second half comes when the block ends."""

    def __init__(self, alone: Any, address: str, path: str, content: bytes) -> None:
        self.browser = alone.browser(address)
        self.path, self.content = path, content
        self.sent, self.rest = asyncio.Event(), asyncio.Event()

    async def parts(self) -> AsyncIterator[bytes]:
        yield self.content[:-10]
        self.sent.set()
        await self.rest.wait()
        yield self.content[-10:]

    async def __aenter__(self) -> Any:
        kind = {"content-type": "multipart/form-data; boundary=x", "content-length": str(len(self.content))}
        self.task = asyncio.ensure_future(self.browser.post(self.path, content=self.parts(), headers=kind))
        await asyncio.wait({self.task, asyncio.ensure_future(self.sent.wait())}, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(0.05)  # the server takes what was sent
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.rest.set()
        self.answer = await self.task
        await self.browser.aclose()


def form(size: int) -> bytes:
    head = b'--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n\r\n'
    return head + b"a" * size + b"\r\n--x--\r\n"


@pytest.mark.parametrize(
    ("path", "content", "limits"),
    [
        (FILES, form(9_000), ("MAX_UPLOADING", "UPLOADING_SHARE")),
        (VIEW, b'{"state": {"text": ""}}' + b" " * 9_000, ("MAX_HELD", "HELD_SHARE")),
    ],
)
def test_half_sent_requests_of_one_address_leave_others_their_memory(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, path: str, content: bytes, limits: tuple[str, str]
) -> None:
    monkeypatch.setattr(body, limits[0], 40_000)
    monkeypatch.setattr(body, limits[1], 20_000)
    app = alone()

    async def go() -> None:
        async with Half(app, "192.0.2.1", path, content) as first, Half(app, "192.0.2.1", path, content) as second:
            async with Half(app, "192.0.2.1", path, content) as third:
                pass
            assert third.answer.status_code == 503 and "Busy: many" in third.answer.text
            async with Half(app, "192.0.2.2", path, content) as other:
                pass
            assert other.answer.status_code == 200
        assert [first.answer.status_code, second.answer.status_code] == [200, 200]
        async with Half(app, "192.0.2.1", path, content) as later:
            pass
        assert later.answer.status_code == 200, "what has been answered takes no room any more"

    settle(go())


def test_nothing_of_a_rejected_upload_is_kept_while_its_rest_is_discarded(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    held: list[Any] = []
    drain = body.UploadLimits.drain

    async def looked(upload: Any) -> None:
        held.append(upload.rejected.__traceback__)  # its frames would hold all that had arrived
        await drain(upload)

    monkeypatch.setattr(body.UploadLimits, "drain", looked)
    answer = post(alone(upload_mb=1), FILES, files=[("file", ("a.txt", b"x" * 1_300_000))])
    assert answer.status_code == 413 and held == [None]


def test_only_what_an_upload_keeps_in_memory_counts_as_memory(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(body, "UPLOADING_SHARE", 2 * body.SPOOL_BYTES + 1000)
    assert post(alone(), FILES, files=[("file", ("a.txt", b"x" * 5_000_000))]).status_code == 200


def test_uploads_on_their_way_count_against_the_disk(
    alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    class Usage:
        free = body.RESERVE_BYTES + 50_000

    monkeypatch.setattr(body.shutil, "disk_usage", lambda folder: Usage)
    app, content = alone(), form(9_000)

    async def go() -> None:
        async with Half(app, "192.0.2.1", FILES, content), Half(app, "192.0.2.1", FILES, content):
            async with Half(app, "192.0.2.2", FILES, content) as third:
                pass
            assert third.answer.status_code == 507
            assert "the uploads on their way may take 0.00 GB; they must leave 1 GB free" in third.answer.text
        async with Half(app, "192.0.2.2", FILES, content) as later:
            pass
        assert later.answer.status_code == 200

    settle(go())


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

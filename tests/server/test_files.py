"""Each browser can read and use only its own uploads, which count for its quota."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.server import body
from bertexplorer.store import uploads
from tests.server.conftest import settle
from tests.server.talk import Page

FILE, UPLOAD = "/gradio_api/file=", "/gradio_api/upload"
ROWS = b"text,label\na,b\nc,d\n"


def upload(page: Page, *names: str, content: bytes = ROWS) -> list[str]:
    sent = page.client.post(UPLOAD, files=[("files", (name, content)) for name in names])
    assert sent.status_code == 200, sent.text
    return list(sent.json())


def look_at(page: Page, path: str) -> tuple[int, dict[str, Any]]:
    named = {"path": path, "orig_name": "a.csv", "meta": {"_type": "gradio.FileData"}}
    return page.join(page.number("check", "click"), "classification", "tiny", "my file", named)


def test_another_browser_can_read_neither_an_upload_nor_its_rows(running: Any) -> None:
    own, yours = Page(running.url, "/train", "files-mine"), Page(running.url, "/train", "files-yours")
    (path,) = upload(own, "a.csv")
    assert own.client.get(FILE + path).content == ROWS and look_at(own, path)[1]["success"]
    assert yours.client.get(FILE + path).status_code == 403 and look_at(yours, path)[0] == 403
    assert upload(yours, "a.csv") == [path], "the same content"
    assert yours.client.get(FILE + path).content == ROWS and look_at(yours, path)[1]["success"]


def test_uploads_with_a_long_answer_can_be_read(running: Any) -> None:
    page = Page(running.url, "/train", "files-long")
    paths = upload(page, *(f"{'a' * 60}{i}.csv" for i in range(8)))
    assert len(paths) == 8 and all(page.client.get(FILE + path).content == ROWS for path in paths)


def test_uploads_count_for_their_owner(alone: Callable[..., Any]) -> None:
    small = alone(quota_mb=1)

    async def go() -> None:
        async with small.browser() as own, small.browser() as yours:
            await own.get("/")
            owner = next(iter(own.cookies.values())).partition(".")[0]
            uploads.new_file(small.settings.uploads_dir, "a.txt", owner).write_bytes(b"x" * 1_100_000)
            kind = {"files": ("a.txt", b"x")}
            refused = await own.post(UPLOAD, files=kind)
            assert refused.status_code == 507 and "0.00 GB that each person has" in refused.text
            assert (await yours.post(UPLOAD, files=kind)).status_code == 200

    settle(go())


def test_uploads_are_rejected_on_a_full_disk(alone: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "RESERVE_BYTES", 10**18)

    async def go() -> None:
        async with alone().browser() as browser:
            refused = await browser.post(UPLOAD, files={"files": ("a.txt", b"x")})
            assert refused.status_code == 507 and "GB are free" in refused.text

    settle(go())


def test_files_outside_the_uploads_folder_have_no_owner(tmp_path: Path) -> None:
    folder, owner = tmp_path / "tmp", "a" * 32
    file = uploads.new_file(folder, "a.txt", owner)
    uploads.add_owner(tmp_path / "outside" / "b.txt", owner)
    assert uploads.is_owner(file, folder, owner) and not uploads.is_owner(file, folder, "b" * 32)
    for path in ("", "\0", "x" * 5000, tmp_path / "outside" / "b.txt", folder / ".." / "outside" / "b.txt"):
        assert not uploads.is_owner(path, folder, owner)
    assert uploads.folders_of(folder, owner) == [file.parent] and not uploads.folders_of(folder, "b" * 32)

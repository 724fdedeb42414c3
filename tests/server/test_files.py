"""Each browser can read and use only its own uploads, which count for its quota."""

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.store import uploads
from bertexplorer.store.uploads import Quota
from tests.server.conftest import Running, settle
from tests.server.talk import FILES, ROWS, Browser

SMALL = {"file": ("a.txt", b"x")}


def is_refused(answer: httpx.Response) -> bool:
    """Whether a preview found no file."""
    return answer.status_code == 422 and "There is no file" in answer.json()["detail"]


def test_another_browser_can_read_neither_an_upload_nor_its_rows(running: Running) -> None:
    own, yours = Browser(running.url), Browser(running.url)
    file = own.upload()
    assert own.get(f"{FILES}/{file}").content == ROWS and own.preview(file=file).json()["columns"] == ["text", "label"]
    assert own.preview(dev_file=file).status_code == 200
    for thief in (yours, httpx.Client(base_url=running.url, timeout=60)):
        answer = thief.get(f"{FILES}/{file}")
        assert answer.status_code == 404 and "no file" in answer.json()["detail"] and ROWS not in answer.content
    assert is_refused(yours.preview(file=file)) and is_refused(yours.preview(dev_file=file))
    same = yours.upload()
    assert same != file, "the same content of another browser is another file"
    assert yours.get(f"{FILES}/{same}").content == ROWS and yours.preview(file=same).status_code == 200
    assert own.get(f"{FILES}/{same}").status_code == 404


def test_a_text_of_another_browser_starts_no_experiment(running: Running) -> None:
    own, yours = Browser(running.url), Browser(running.url)
    file = own.upload("a.txt", b"one\n")
    wanted = {"experiment": "floor", "minutes": 1, "file": file}
    answer = own.post("/api/v1/trials", json=wanted)
    assert answer.status_code == 422 and "different documents" in answer.json()["detail"], "it is read"
    assert is_refused(yours.post("/api/v1/trials", json=wanted)) and yours.get("/api/v1/trials").json() == []


def test_many_uploads_with_long_names_can_be_read(running: Running) -> None:
    browser = Browser(running.url)
    files = [browser.upload(f"{'a' * 60}{i}.csv", ROWS + b"%d," % i) for i in range(8)]
    assert len(set(files)) == 8
    assert all(browser.get(f"{FILES}/{file}").content == ROWS + b"%d," % i for i, file in enumerate(files))


def test_an_upload_of_yesterday_is_gone(running: Running) -> None:
    browser = Browser(running.url)
    file = browser.upload()
    old = time.time() - uploads.DAY_S - 10
    os.utime(running.settings.uploads_dir / file, (old, old))
    browser.upload()
    assert browser.get(f"{FILES}/{file}").status_code == 404 and is_refused(browser.preview(file=file))


def test_uploads_count_for_their_owner(alone: Callable[..., Any]) -> None:
    small = alone(quota_mb=1)

    async def go() -> None:
        async with small.browser() as own, small.browser() as yours:
            await own.get("/")
            owner = next(iter(own.cookies.values())).partition(".")[0]
            uploads.new_file(small.settings.uploads_dir, "a.txt", owner).write_bytes(b"x" * 1_100_000)
            refused = await own.post(FILES, files=SMALL)
            assert refused.status_code == 507 and "0.00 GB that each person has" in refused.json()["detail"]
            assert (await yours.post(FILES, files=SMALL)).status_code == 200

    settle(go())


def test_an_upload_that_would_exceed_the_quota_is_not_kept(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running.service.quota, "max_bytes", 1_000_000)
    own, yours = Browser(running.url), Browser(running.url)
    own.upload(content=b"x" * 700_000)
    kept = set(running.settings.uploads_dir.iterdir())
    for more in (400_000, 300_001):
        refused = own.post(FILES, files={"file": ("b.txt", b"x" * more)})
        assert refused.status_code == 422 and "that each person has" in refused.json()["detail"], refused.text
    assert set(running.settings.uploads_dir.iterdir()) == kept
    own.upload(content=b"x" * 300_000)
    yours.upload(content=b"x" * 400_000)
    assert own.post(FILES, files=SMALL).status_code == 422


def test_a_file_that_cannot_be_written_is_reported(running: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*given: Any) -> None:
        raise OSError(28, "No space left on device", "/srv/data/tmp/a")

    browser = Browser(running.url)
    monkeypatch.setattr("bertexplorer.api.files.shutil.copyfileobj", full)
    answer = browser.post(FILES, files=SMALL)
    assert answer.status_code == 507 and "No space left on device. Make room" in answer.json()["detail"]
    assert "/srv" not in answer.text


def test_files_outside_the_uploads_folder_are_never_found(tmp_path: Path) -> None:
    folder, owner, other = tmp_path / "tmp", "a" * 32, "b" * 32
    file = uploads.new_file(folder, "a.txt", owner)
    file.touch()
    for outside in (tmp_path, tmp_path / "outside", folder, file.parent / "inner"):
        outside.mkdir(exist_ok=True)
        (outside / "b.txt").touch()
        uploads.owner_mark(outside, owner).touch()
    id = file.parent.name
    assert uploads.find(folder, id, owner).parent == file.parent
    nowhere = ("", ".", "..", "/", "\0", "../outside", str(tmp_path / "outside"), f"{id}/inner", f"{id}/../../outside")
    for wrong in nowhere:
        with pytest.raises(ExplorerError, match="There is no file"):
            uploads.find(folder, wrong, owner)
    for stranger in (other, "", owner[:-1]):
        with pytest.raises(ExplorerError, match="There is no file"):
            uploads.find(folder, id, stranger)
    assert uploads.folders_of(folder, owner) == [file.parent] and not uploads.folders_of(folder, other)


@pytest.mark.parametrize(
    "id",
    ["..", "%2e%2e", ".", "..%2foutside", "..%5coutside", "%00", "a%00", "x" * 5000, "x" * 41, "a b", "%2ftmp", "-"],
)
def test_an_id_that_is_none_is_not_found(running: Running, id: str) -> None:
    browser = Browser(running.url)
    assert browser.get(f"{FILES}/{id}").status_code in (404, 405), "405 is the route of uploads itself"
    assert browser.preview(file=id).status_code == 422


def test_the_quota_counts_uploads_of_their_owner_alone(alone: Callable[..., Any]) -> None:
    settings = alone(quota_mb=1).settings
    quota, owner = Quota(settings), "a" * 32
    uploads.new_file(settings.uploads_dir, "a.txt", owner).write_bytes(b"x" * 600_000)
    assert quota.used_bytes(owner) == 600_000 and not quota.used_bytes("b" * 32) and not quota.used_bytes("")
    quota.check(owner, 400_000)
    with pytest.raises(ExplorerError, match="each person has"):
        quota.check(owner, 400_001)

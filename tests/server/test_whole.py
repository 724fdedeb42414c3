"""The whole server: pages open, events are answered, and two browsers see only their own runs."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from gradio.routes import App
from starlette.routing import Mount

from bertexplorer.errors import ExplorerError
from bertexplorer.store.jobs import Jobs
from bertexplorer.web.gradio_patches import Pages
from tests.server.talk import VIEW, Page, state


def run_of(jobs: Jobs, owner: str, name: str) -> str:
    """A stopped run, as nothing is to be trained."""
    with jobs.lock:
        run = jobs.accept(owner, name, {"kind": "finetuning", "task": "classification"})
        jobs.stop(run.id, owner)
    return run.id


def owner_of(page: Page) -> str:
    return next(iter(page.client.cookies.values())).partition(".")[0]


def gradio_of(running: Any) -> App:
    """Gradio's own app, which is mounted next to the scripts of Explore."""
    mounts = [route for route in running.mounted.routes if isinstance(route, Mount)]
    return next(route.app for route in mounts if isinstance(route.app, App))


def test_gradio_uses_our_store_of_pages(running: Any) -> None:
    """It rebuilds nothing that an answer leaves unchanged, and forgets the oldest pages."""
    assert isinstance(gradio_of(running).state_holder, Pages)


@pytest.mark.parametrize("path", ["/", "/train", "/pretrain"])
def test_pages_open_with_less_than_60_kb(running: Any, path: str) -> None:
    with httpx.stream("GET", f"{running.url}{path}", headers={"accept-encoding": "gzip"}, timeout=60) as got:
        assert got.status_code == 200 and got.headers["content-encoding"] == "gzip"
        assert sum(map(len, got.iter_raw())) < 60_000


def test_a_lone_surrogate_does_not_end_the_stream(running: Any) -> None:
    page = Page(running.url, "/train", "half")
    rename = page.number("rename", "submit")
    for name in ("\ud800 no such", "tiny"):
        message = page.ask(rename, "x", name)
        assert message["msg"] == "process_completed" and message["success"], "and the page goes on"


def test_a_lone_surrogate_becomes_a_replacement_character(running: Any) -> None:
    client = Page(running.url).client
    body = b'{"state": {"text": "a \\ud800 great [MASK]", "options": {"words": "b\\udfff"}}}'
    answer = client.post(VIEW, content=body)
    assert answer.status_code == 200 and answer.json()["state"]["text"] == "a \ufffd great [MASK]"
    assert answer.json()["state"]["options"]["words"] == "b\ufffd"
    assert client.post(VIEW, json=state()).status_code == 200


def test_runs_are_visible_only_to_the_browser_that_started_them(running: Any) -> None:
    pages = [Page(running.url, "/train", f"runs-{i}") for i in range(2)]
    ids = [run_of(running.service.jobs, owner_of(page), f"run of {i}") for i, page in enumerate(pages)]
    before = run_of(running.service.jobs, "", "run from before")
    loads = [at for at in range(9) if running_load(pages[0], at)]
    seen = [str(page.ask(page.number("", "load", loads[0]), "classification", "")) for page in pages]
    for i in range(2):
        assert f"run of {i}" in seen[i] and f"run of {1 - i}" not in seen[i] and ids[1 - i] not in seen[i]
        assert "run from before" in seen[i], "it is everyone's on this machine alone"
    for id in (*ids, before):
        running.service.jobs.delete(id, None)


def running_load(page: Page, at: int) -> bool:
    """Whether this is the load event of the page Train."""
    try:
        inputs = page.number("", "load", at)["inputs"]
    except IndexError:
        return False
    return any(page.props[id].get("elem_id") == "task" for id in inputs)


def test_checkpoints_of_other_owners_do_not_exist(running: Any) -> None:
    jobs, library = running.service.jobs, running.library
    id = run_of(jobs, "a" * 32, "mine")
    best = jobs.run(id, None).folder / "commits" / "step-000000001"
    for owner, visible in (("a" * 32, True), ("b" * 32, False), ("", False)):
        assert (
            library.for_owner(owner).may_open(f"run:{id}") is visible
            and library.for_owner(owner).may_open(f"run:{id}@0") is visible
        )
        if not visible:
            assert (
                library.for_owner(owner).find(f"run:{id}") is None
                and library.for_owner(owner).series(f"run:{id}") == []
            )
            with pytest.raises(ExplorerError, match="This run is not here"):
                library.for_owner(owner).get(f"run:{id}")
    assert not best.exists()
    jobs.delete(id, None)


def test_files_outside_the_uploads_folder_are_not_served(running: Any) -> None:
    page = Page(running.url)
    for path in ("/etc/passwd", str(running.settings.data_dir / "secret"), str(Path(__file__))):
        assert page.client.get(f"/gradio_api/file={path}").status_code in (403, 404)


def test_an_upload_can_be_read_by_anyone_with_its_key(running: Any) -> None:
    page = Page(running.url)
    (path,) = page.client.post("/gradio_api/upload", files=[("files", ("a.txt", b"one\n"))]).json()
    assert Path(path).is_relative_to(running.settings.uploads_dir) and Path(path).read_bytes() == b"one\n"
    got = page.client.get(f"/gradio_api/file={path}")
    assert got.text == "one\n" and "sandbox" in got.headers["content-security-policy"]


def test_health_readiness_and_metrics_are_reported(running: Any) -> None:
    assert httpx.get(f"{running.url}/healthz", timeout=60).text == "ok"
    assert httpx.get(f"{running.url}/readyz", timeout=60).text == "ready"
    numbers = httpx.get(f"{running.url}/metrics", timeout=60).text
    for wanted in ('requests_total{route="page",status="200"}', "request_seconds_bucket", "resident_memory", "pages"):
        assert wanted in numbers

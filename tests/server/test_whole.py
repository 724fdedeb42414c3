"""The whole server: pages open, requests are answered, and two browsers see only their own runs."""

from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from gradio.routes import App
from starlette.routing import Mount

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.jobs import Jobs
from tests.server.talk import FILES, VIEW, Browser, state


def run_of(jobs: Jobs, owner: str, name: str) -> str:
    """A stopped run, as nothing is to be trained."""
    with jobs.lock:
        run = jobs.accept(owner, name, {"kind": "finetuning", "task": "classification"})
        jobs.stop(run.id, owner)
    return run.id


def gradio_mount(running: Any) -> Mount:
    """Where gradio's app is mounted, below the pages and the API."""
    return next(route for route in running.mounted.routes if isinstance(route, Mount) and not route.path)


def gradio_of(running: Any) -> App:
    """Gradio's own app, below the layer that lets the calls of endpoints in."""
    app: App = gradio_mount(running).app.app
    return app


def test_no_page_of_ours_has_an_event_of_gradio(running: Any) -> None:
    """Only the page that gradio draws has endpoints, so its uploads and its components stay closed."""
    for page in ("?page=train", "?page=pretrain", "?page=learn"):
        assert httpx.get(f"{running.url}/config{page}", timeout=60).json()["page"].keys() == {"", "gradio"}
    functions = gradio_of(running).get_blocks().fns.values()
    assert functions and all(function.api_name and not function.targets for function in functions)


@pytest.mark.parametrize("path", ["/", "/train", "/pretrain", "/learn"])
def test_pages_open_with_less_than_2_kb(running: Any, path: str) -> None:
    got = httpx.get(f"{running.url}{path}", timeout=60)
    assert got.status_code == 200 and "<main>" in got.text and len(got.content) < 2000


def test_a_lone_surrogate_in_a_name_is_replaced(running: Any) -> None:
    browser, jobs = Browser(running.url), running.service.jobs
    id = run_of(jobs, browser.owner, "half")
    for content, name in ((b'{"name": "\\ud800 no such"}', "\ufffd no such"), (b'{"name": "tiny"}', "tiny")):
        kind = {"content-type": "application/json"}
        answer = browser.post(f"/api/v1/runs/{id}/rename", content=content, headers=kind)
        assert answer.status_code == 200 and answer.json()["name"] == name, "and the page goes on"
        assert [run["name"] for run in browser.get("/api/v1/runs").json() if run["id"] == id] == [name]
    jobs.delete(id, None)


def test_a_lone_surrogate_becomes_a_replacement_character(running: Any) -> None:
    client = Browser(running.url)
    body = b'{"state": {"text": "a \\ud800 great [MASK]", "options": {"words": "b\\udfff"}}}'
    answer = client.post(VIEW, content=body)
    assert answer.status_code == 200 and answer.json()["state"]["text"] == "a \ufffd great [MASK]"
    assert answer.json()["state"]["options"]["words"] == "b\ufffd"
    assert client.post(VIEW, json=state()).status_code == 200


def test_runs_are_visible_only_to_the_browser_that_started_them(running: Any) -> None:
    browsers = [Browser(running.url) for _ in range(2)]
    ids = [run_of(running.service.jobs, browser.owner, f"run of {i}") for i, browser in enumerate(browsers)]
    before = run_of(running.service.jobs, "", "run from before")
    seen = [browser.get("/api/v1/runs").text for browser in browsers]
    for i in range(2):
        assert f"run of {i}" in seen[i] and f"run of {1 - i}" not in seen[i] and ids[1 - i] not in seen[i]
        assert "run from before" in seen[i], "it is everyone's on this machine alone"
    for id in (*ids, before):
        running.service.jobs.delete(id, None)


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
    browser = Browser(running.url)
    for path in ("/etc/passwd", str(running.settings.data_dir / "secret"), str(Path(__file__))):
        assert browser.get(f"{FILES}/{path}").status_code == 404
        assert browser.get(f"{FILES}/{quote(path, safe='')}").status_code == 404
        assert browser.preview(file=path[-40:]).status_code == 422


def test_an_upload_can_be_read_by_the_browser_that_sent_it(running: Any) -> None:
    browser = Browser(running.url)
    file = browser.upload("a.txt", b"one\n")
    assert (running.settings.uploads_dir / file / "a.txt").read_bytes() == b"one\n"
    got = browser.get(f"{FILES}/{file}")
    assert got.text == "one\n" and "sandbox" in got.headers["content-security-policy"]
    assert got.headers["content-disposition"] == 'attachment; filename="a.txt"'
    assert got.headers["content-type"] == "application/octet-stream"


def test_health_readiness_and_metrics_are_reported(running: Any) -> None:
    assert httpx.get(f"{running.url}/healthz", timeout=60).text == "ok"
    assert httpx.get(f"{running.url}/readyz", timeout=60).text == "ready"
    numbers = httpx.get(f"{running.url}/metrics", timeout=60).text
    pages = 'requests_total{route="page",status="200"}'
    for wanted in (pages, "request_seconds_bucket", "resident_memory", "open_requests"):
        assert wanted in numbers

"""Runs over HTTP: started, followed to their end, stopped; those of other owners are not found."""

import json
import threading
import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from bertexplorer.api import runs
from bertexplorer.training.checkpointing import flush
from tests.api.conftest import Served

TASK = {"task": "classification", "settings": {"epochs": 0.2, "seed": 7}}
ROWS = [{"what": f"{'a great film' if i % 2 else 'a bad film'} {i}", "label": "pn"[i % 2]} for i in range(40)]


@pytest.fixture
def other(served: Served) -> Iterator[httpx.Client]:
    """Another person known to the server."""
    with served.browser() as browser:
        browser.get("/page")
        yield browser


def events(answer: httpx.Response) -> Iterator[tuple[str, dict[str, Any], str]]:
    """(kind, data, id) of a stream of server-sent events."""
    fields: dict[str, str] = {}
    for line in answer.iter_lines():
        name, _, value = line.partition(": ")
        if not line:
            if fields:
                yield fields["event"], json.loads(fields["data"]), fields.get("id", "")
            fields = {}
        elif name:
            fields[name] = value


def write(served: Served, id: str, *message: dict[str, Any]) -> None:
    """Write the events of a run."""
    path = served.service.jobs.folder / id / "events.jsonl"
    with path.open("a", encoding="utf-8") as log:
        log.writelines(json.dumps(item) + "\n" for item in message)
    flush(path)


def started(browser: httpx.Client, **more: Any) -> dict[str, Any]:
    answer = browser.post("/runs", json={**TASK, "key": str(time.monotonic_ns()), **more})
    assert answer.status_code == 202, answer.text
    assert answer.headers["location"] == f"/api/v1/runs/{answer.json()['id']}"
    return dict(answer.json())


def test_a_run_is_queued_with_the_requested_settings(served: Served, browser: httpx.Client) -> None:
    run = started(browser, name="mine")
    assert (run["name"], run["state"], run["kind"], run["best"]) == ("mine", "queued", "finetuning", "")
    assert run["spec"]["tuning"]["epochs"] == 0.2 and run["spec"]["data"]["train"] == 360
    assert browser.get(f"/runs/{run['id']}").json() == run
    assert [item["id"] for item in browser.get("/runs").json()] == [run["id"]]
    assert "/" not in json.dumps(run["spec"]), "where it lies is nobody's business"


def test_omitted_settings_have_the_defaults_of_the_task(browser: httpx.Client) -> None:
    run = started(browser, task="similarity", settings={})
    assert (run["spec"]["tuning"]["epochs"], run["spec"]["tuning"]["batch"]) == (4.0, 16)


def test_rows_in_the_request_are_stored_in_the_run_alone(served: Served, browser: httpx.Client) -> None:
    run = started(browser, rows=ROWS, dev=ROWS[:6], mapping={"text": "what", "label": "label"})
    assert (run["spec"]["data"]["train"], run["spec"]["data"]["dev"]) == (40, 6)
    stored = (served.service.jobs.folder / run["id"] / "data" / "train.jsonl").read_text("utf-8").splitlines()
    assert sorted(json.loads(line)["cells"]["text"] for line in stored) == sorted(row["what"] for row in ROWS)
    left = [path.name for path in served.service.jobs.folder.iterdir() if path.name.startswith("tmp")]
    assert not left, "the rows lie in the run alone"


def test_a_repeated_key_starts_one_run_and_each_seed_its_own_run(browser: httpx.Client) -> None:
    first, repeated = (browser.post("/runs", json={**TASK, "key": "k"}).json() for _ in range(2))
    assert first["id"] == repeated["id"]
    lead = started(browser, seeds=3, name="s")
    group = [run for run in browser.get("/runs").json() if run["group"] == lead["group"]]
    assert sorted(run["spec"]["tuning"]["seed"] for run in group) == [7, 8, 9]


def test_runs_of_other_owners_are_not_found(browser: httpx.Client, other: httpx.Client) -> None:
    run = started(browser)
    for method, path in (("GET", ""), ("GET", "/events"), ("DELETE", "")):
        answer = other.request(method, f"/runs/{run['id']}{path}")
        assert answer.status_code == 404 and "There is no run" in answer.json()["detail"]
    assert other.get("/runs").json() == []
    wrong = other.post("/fill-mask", json={"text": "[MASK]", "checkpoint": f"run:{run['id']}"})
    assert wrong.status_code == 422
    assert browser.get(f"/runs/{run['id']}").json()["state"] == "queued", "nothing changed"


def test_a_run_is_stopped_by_its_owner(browser: httpx.Client) -> None:
    run = started(browser)
    evil = browser.delete(f"/runs/{run['id']}", headers={"origin": "https://evil.example"})
    assert evil.status_code == 403 and browser.get(f"/runs/{run['id']}").json()["state"] == "queued"
    assert [browser.delete(f"/runs/{run['id']}").json()["state"] for _ in range(2)] == ["stopped", "stopped"]


def test_events_are_followed_until_the_run_ends(served: Served, browser: httpx.Client) -> None:
    id = started(browser)["id"]
    write(served, id, {"event": "begun", "step": 0})

    def goes_on() -> None:
        time.sleep(0.8)
        write(served, id, {"event": "steps", "step": 1, "loss": 0.5})
        served.service.supervisor.stop(id, None)

    threading.Thread(target=goes_on).start()
    with browser.stream("GET", f"/runs/{id}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        result = list(events(answer))
    assert [kind for kind, _, _ in result] == ["begun", "steps", "end"]
    assert result[1][1] == {"event": "steps", "step": 1, "loss": 0.5} and result[2][1]["state"] == "stopped"
    with browser.stream("GET", f"/runs/{id}/events", headers={"last-event-id": result[0][2]}) as answer:
        assert [kind for kind, _, _ in events(answer)] == ["steps", "end"], "it goes on where it was cut off"
    with browser.stream("GET", f"/runs/{id}/events", headers={"last-event-id": "-1"}) as answer:
        assert len(list(events(answer))) == 3


def test_a_number_that_json_lacks_is_null_in_an_event(served: Served, browser: httpx.Client) -> None:
    id = started(browser)["id"]
    write(served, id, {"event": "evaluated", "step": 1, "metrics": {"loss": float("nan"), "norms": [float("inf"), 2]}})
    served.service.supervisor.stop(id, None)
    with browser.stream("GET", f"/runs/{id}/events") as answer:
        (_, evaluated, _), (last, _, _) = list(events(answer))
    assert evaluated["metrics"] == {"loss": None, "norms": [None, 2]} and last == "end"


def test_a_client_that_disconnects_gets_no_more_events(
    served: Served, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = started(browser)["id"]
    write(served, id, {"event": "begun", "step": 0})
    monkeypatch.setattr(runs, "POLL_S", 0.1)
    looks: list[str] = []
    read = runs.Streams.read
    monkeypatch.setattr(runs.Streams, "read", lambda self, *asked: (looks.append(asked[0]), read(self, *asked))[1])
    with browser.stream("GET", f"/runs/{id}/events") as answer:
        assert next(events(answer))[0] == "begun"
    time.sleep(0.5)
    seen = len(looks)
    time.sleep(0.5)
    assert seen and len(looks) == seen


def test_the_number_of_followed_runs_is_limited(browser: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    id = started(browser)["id"]
    monkeypatch.setattr(runs, "MAX_STREAMS", 0)
    answer = browser.get(f"/runs/{id}/events")
    assert answer.status_code == 503 and answer.headers["retry-after"] == str(answer.json()["retry_after"])


@pytest.mark.slow
def test_a_run_learns_and_its_checkpoint_answers(served: Served, browser: httpx.Client) -> None:
    for job in served.service.jobs.queued():  # of the tests before
        served.service.supervisor.stop(job.id, None)
    id = started(browser)["id"]
    try:
        served.service.supervisor.slots = 1
        with browser.stream("GET", f"/runs/{id}/events", timeout=120) as answer:
            result = list(events(answer))
    finally:
        served.service.supervisor.slots = 0
    kinds = [kind for kind, _, _ in result]
    assert kinds[0] == "begun" and kinds[-2:] == ["finished", "end"] and "evaluated" in kinds
    run = result[-1][1]
    assert (run["state"], run["progress"], run["best"]) == ("finished", 1.0, f"run:{id}")
    body = {"text": "The capital is here.", "checkpoint": run["best"]}
    assert browser.post("/tokenization", json=body).json()["provenance"]["checkpoint"] == run["best"]

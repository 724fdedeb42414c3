"""Before and after a run over HTTP: a file is uploaded, previewed and read once; results, actions, exports."""

import io
import json
import os
import time
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from bertexplorer.runs import prepare
from bertexplorer.training.finetuning import preflight
from tests.api.conftest import Served
from tests.api.test_runs import events, other, started  # noqa: F401 - a fixture

LINES = [
    f"{'ein großartiger Film' if i % 2 else 'ein übler Film'} {i};{'gut' if i % 2 else 'schlecht'}" for i in range(60)
]
CSV = "\n".join(["Satz;Urteil", *LINES, "eins;zwei;drei"]).encode("cp1252")


def uploaded(browser: httpx.Client, content: bytes = CSV, name: str = "meine Sätze.csv") -> dict[str, str]:
    answer = browser.post("/files", files={"file": (name, content)})
    assert answer.status_code == 200, answer.text
    return dict(answer.json())


def test_a_file_is_previewed_and_then_started_without_reading_it_again(
    served: Served, browser: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[Any] = []
    read, make = prepare.read_table, preflight.usable_rows
    monkeypatch.setattr(prepare, "read_table", lambda path: (parsed.append(path), read(path))[1])
    made: list[Any] = []
    monkeypatch.setattr(preflight, "usable_rows", lambda *given: (made.append(given), make(*given))[1])
    file, before = uploaded(browser), {*served.service.prepared.folder.glob("*/*")}
    assert file["name"] == "meine Sätze.csv"
    body = {"task": "classification", "file": file["file"]}
    found = browser.post("/runs/preview", json=body).json()
    assert "semicolons" in found["summary"] and found["mapping"] == {"text": "Satz", "label": "Urteil"}
    assert found["reasons"]["text"] and found["columns"] == ["Satz", "Urteil"]
    assert (found["train"], found["dev"], found["unusable"]) == (54, 6, 1) and found["problems"][0]["line"] == 62
    assert found["rows"][0]["text"].startswith("ein ") and len(found["rows"]) == 5
    again = browser.post("/runs/preview", json={**body, "name": "another name"}).json()
    run = browser.post("/runs", json={**body, "name": "mine", "seeds": 2}).json()
    assert again == found and len(parsed) == len(made) == 1
    runs = [one for one in browser.get("/runs").json() if one["group"] == run["group"]]
    for one in runs:
        folder = served.service.jobs.folder / one["id"] / "data"
        assert len((folder / "train.jsonl").read_text("utf-8").splitlines()) == 54
    assert {*served.service.prepared.folder.glob("*/*")} <= before, "the last run has moved the rows"


def test_a_small_file_gets_enough_epochs_to_learn(browser: httpx.Client) -> None:
    body: dict[str, Any] = {"task": "classification", "file": uploaded(browser)["file"]}
    found = browser.post("/runs/preview", json=body).json()
    assert (found["epochs"], found["steps"], found["enough_epochs"]) == (20, 40, 20)
    assert any("would be 6 steps, too few to learn much, so the run has more." in note for note in found["notes"])
    chosen = browser.post("/runs/preview", json={**body, "settings": {"epochs": 3}}).json()
    assert (chosen["epochs"], chosen["steps"], chosen["enough_epochs"]) == (3, 6, 20)
    large = browser.post("/runs/preview", json={"task": "classification"}).json()
    assert (large["epochs"], large["steps"], large["enough_epochs"]) == (3, 36, 3)
    run = browser.post("/runs", json=body).json()
    assert run["spec"]["tuning"]["epochs"] == 20


def test_a_preview_is_short_whatever_the_rows_are(browser: httpx.Client) -> None:
    rows = [{"text": f"{i} {'x' * 1500}", "label": f"label {i % 150}"} for i in range(300)]
    found = browser.post("/runs/preview", json={"task": "classification", "rows": rows}).json()
    assert (len(found["labels"]), found["label_count"]) == (100, 150)
    assert {len(row["text"]) for row in found["rows"]} == {1001} and found["rows"][0]["text"].endswith("…")


def test_files_of_others_do_not_exist(browser: httpx.Client, other: httpx.Client) -> None:  # noqa: F811
    file = uploaded(browser)["file"]
    assert browser.get(f"/files/{file}").content == CSV
    assert other.get(f"/files/{file}").status_code == 404
    for id in (file, "nothing", "-"):
        answer = other.post("/runs/preview", json={"task": "classification", "file": id})
        assert answer.status_code == 422 and "no file" in answer.json()["detail"], answer.text


@pytest.mark.parametrize(
    "name", ["../../evil.csv", "/etc/passwd", "", "a\x00b.csv", "x" * 300 + ".csv", "..", "CON:1.csv"]
)
def test_the_name_of_a_file_is_never_a_path(served: Served, browser: httpx.Client, name: str) -> None:
    answer = browser.post("/files", files={"file": (name or "x", CSV)})
    if answer.status_code != 200:
        assert answer.status_code in (400, 422)
        return
    folder = served.settings.uploads_dir / answer.json()["file"]
    (path,) = [path for path in folder.iterdir() if not path.name.startswith(".of-")]
    assert path.parent == folder and path.read_bytes() == CSV and answer.json()["name"] == path.name


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"file": "x", "rows": [{"text": "a", "label": "b"}]}, "no file"),
        ({"hub": "a/b", "rows": [{"text": "a", "label": "b"}]}, "a data set and rows of your own"),
        ({"mapping": {"text": "a"}}, "wanted rows to go with them"),
        ({"checkpoint": "nowhere"}, "not on this disk"),
        ({"settings": {"epochs": "x"}}, "settings.epochs"),
        ({"rows": [{"text": f"a {i}", "label": "b"} for i in range(4)], "mapping": {"text": "gone"}}, "gone"),
    ],
)
def test_a_preview_says_what_is_wrong(browser: httpx.Client, body: dict[str, Any], words: str) -> None:
    answer = browser.post("/runs/preview", json={"task": "classification", **body})
    assert answer.status_code == 422 and words in answer.json()["detail"], answer.text


def test_a_run_that_cannot_start_is_previewed_with_the_reason(browser: httpx.Client) -> None:
    body = {"task": "distillation"}
    found = browser.post("/runs/preview", json=body).json()
    assert any("A teacher with the labels" in reason for reason in found["stops"])
    answer = browser.post("/runs", json=body)
    assert answer.status_code == 422 and "A teacher with the labels" in answer.json()["detail"]


def test_the_tasks_are_listed_with_their_columns_and_settings(browser: httpx.Client) -> None:
    found = browser.get("/tasks").json()
    task = next(task for task in found["tasks"] if task["name"] == "classification")
    assert [column["name"] for column in task["columns"]] == ["text", "label"] and task["about"] and task["features"]
    assert {"epochs", "rate", "seed"} <= {setting["name"] for setting in found["settings"]}


def test_a_run_is_renamed_deleted_restored_and_repeated(browser: httpx.Client, other: httpx.Client) -> None:  # noqa: F811
    id = started(browser)["id"]
    assert browser.post(f"/runs/{id}/rename", json={"name": "<b>films</b>"}).json()["name"] == "<b>films</b>"
    assert browser.post(f"/runs/{id}/rename", json={"name": "<b>films</b>"}).status_code == 200
    assert browser.post(f"/runs/{id}/rename", json={"name": " "}).status_code == 422
    assert browser.post(f"/runs/{id}/stop").json()["state"] == "stopped"
    assert browser.post(f"/runs/{id}/resume").json()["state"] == "queued"
    assert browser.post(f"/runs/{id}/stop").json()["state"] == "stopped"
    again = browser.post(f"/runs/{id}/again", json={"settings": {"epochs": 7}}).json()
    assert again["id"] != id and again["spec"]["tuning"] == {**again["spec"]["tuning"], "epochs": 7, "seed": 7}
    wrong = browser.post(f"/runs/{id}/again", json={"settings": {"epochs": 5000}})
    assert wrong.status_code == 422 and "epochs" in wrong.json()["detail"]
    assert browser.post(f"/runs/{id}/delete").json()["state"] == "deleted"
    assert id not in [run["id"] for run in browser.get("/runs").json()]
    assert id in [run["id"] for run in browser.get("/runs?deleted=true").json()]
    assert browser.post(f"/runs/{id}/restore").json()["state"] == "stopped"
    assert browser.post(f"/runs/{id}/explode").status_code == 404
    for action in ("stop", "resume", "delete", "restore", "suspects"):
        assert other.post(f"/runs/{id}/{action}").status_code == 404
    for action, body in (("rename", {"name": "x"}), ("again", {}), ("try", {"row": {}}), ("export", {})):
        assert other.post(f"/runs/{id}/{action}", json=body).status_code == 404
    assert other.get(f"/runs/{id}/report").status_code == 404


def test_only_the_newest_previews_of_an_owner_stay(served: Served, browser: httpx.Client) -> None:
    for seed in range(6):
        body = {"task": "classification", "settings": {"seed": seed + 100}}
        assert browser.post("/runs/preview", json=body).status_code == 200
    kept = sorted(len(list(own.iterdir())) for own in served.service.prepared.folder.iterdir())
    assert kept[-1] == prepare.MAX_PREPARED
    folder = next(own for own in served.service.prepared.folder.iterdir() if len(list(own.iterdir())) == 3)
    old = time.time() - prepare.DAY_S - 10
    for path in folder.iterdir():
        os.utime(path, (old, old))
    prepare.PreparedRuns(served.service.jobs.folder)
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_from_a_file_to_what_was_learned(served: Served, browser: httpx.Client) -> None:
    """What docs/http.md shows with curl."""
    for job in served.service.jobs.queued():  # of the tests before
        served.service.supervisor.stop(job.id, None)
    body: dict[str, Any] = {
        "task": "classification",
        "file": uploaded(browser)["file"],
        "settings": {"rate": 3e-3, "snapshots": 2},
    }
    timed = browser.post("/runs/preview", json={**body, "timed": True}).json()
    assert timed["seconds"] > 0 and timed["memory_mb"] > 50
    id = browser.post("/runs", json={**body, "name": "Filme"}).json()["id"]
    assert served.service.jobs.run(id, None).seconds == timed["seconds"], "the line knows how long it will take"
    try:
        served.service.supervisor.slots = 1
        with browser.stream("GET", f"/runs/{id}/events", timeout=120) as answer:
            assert [kind for kind, _, _ in events(answer)][-2:] == ["finished", "end"]
    finally:
        served.service.supervisor.slots = 0
    report = browser.get(f"/runs/{id}/report").json()
    assert report["run"]["status"] == "finished" and report["chart"]["panels"] and "at its best" in report["said"]
    assert report["best"]["metrics"][0]["metric"] == "Accuracy" and "--task classification" in report["best"]["command"]
    assert report["confusion"]["panels"] and report["texts"] == [{"name": "text", "label": "Text"}]
    assert {"again", "delete", "try", "influence", "suspects", "export", "share"} == set(report["can"])
    assert any("attention" in link["title"] for link in report["links"])
    labels = browser.post(f"/runs/{id}/try", json={"row": {"text": "ein großartiger Film"}}).json()["labels"]
    assert {line["label"] for line in labels} == {"gut", "schlecht"}
    traced = browser.post(f"/runs/{id}/influence", json={"row": {"text": "ein großartiger Film"}}).json()
    assert traced["title"].startswith("Which rows taught it") and traced["tables"][0]["rows"][0]["line"]
    suspects = browser.post(f"/runs/{id}/suspects").json()
    assert len(suspects["tables"][0]["rows"]) == 20
    cell = browser.get(f"/runs/{id}/rows", params={"gold": "gut", "predicted": "gut"}).json()
    assert "taken for" in cell["title"]
    file = browser.post(f"/runs/{id}/export", json={"kind": "zip"}).json()
    assert file["name"] == "Filme.zip"
    names = zipfile.ZipFile(io.BytesIO(browser.get(f"/files/{file['file']}").content)).namelist()
    assert "model.safetensors" in names and "predictions.jsonl" not in names
    twice = started(browser, name="other")["id"]
    compared = browser.get(f"/runs/{id}/report", params={"beside": twice}).json()
    assert compared["compared"]["rows"] and twice in [one["id"] for one in compared["comparable"]]
    lost = browser.get(f"/runs/{id}/report", params={"beside": "0" * 32})
    assert lost.status_code == 422 and "There is no run" in lost.json()["detail"]
    assert json.dumps(report).count(str(Path.cwd())) == 0

"""The service: previews of rows, runs that continue without the page, and checkpoints of runs."""

import json
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import export, service as module
from bertexplorer.runs.prepare import RunRequest
from bertexplorer.runs.report import command
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunService
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.checkpointing import commit, list_commits
from bertexplorer.training.finetuning.spec import Tuning
from tests.conftest import Tiny
from tests.tolerance import of_sum

EVIL = "</script><img src=x onerror=1>"
ROWS = [f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}" for i in range(60)]


@pytest.fixture
def service(tiny: Tiny, tmp_path: Path) -> Iterator[RunService]:
    shutil.copytree(tiny("bert"), tmp_path / "models" / "tiny")
    settings = Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data")
    (tmp_path / "data").mkdir()
    run_service = RunService(CheckpointRegistry(settings), settings)
    yield run_service
    run_service.close()


def processes() -> list[str]:
    """The command lines of all processes."""
    return [path.read_bytes().replace(b"\0", b" ").decode() for path in Path("/proc").glob("[0-9]*/cmdline")]


def file(folder: Path, *more: str) -> str:
    path = folder / "rows.csv"
    path.write_text("\n".join(["sentence;what", *ROWS, *more]) + "\n", "utf-8")
    return str(path)


@pytest.mark.slow
def test_the_preview_shows_rows_unchanged(service: RunService, tmp_path: Path) -> None:
    run_request = RunRequest(
        "classification", "tiny", file(tmp_path, "one;two;three", f"{EVIL};pos", "a great film 1;neg"), name="n"
    )
    preview = service.preview(run_request)
    assert (preview.train, preview.dev) == (56, 6) and preview.mapping["text"] == "sentence"
    assert preview.problems[0]["line"] == 62 and preview.labels["neg"] == 28
    assert any("another label" in note for note in preview.notes)
    words: list[str] = []
    timed = service.prepared.time(run_request, "", words.append, lambda: None)
    assert words[0] == "Loading the checkpoint…" and "Timing step 1 of 3…" in words
    assert timed.seconds > 0 and timed.memory_mb > 50
    assert service.start(run_request, "").seconds == timed.seconds, "the line knows how long it will take"


@pytest.mark.slow
def test_a_trial_ends_when_nobody_waits_for_it_any_more(service: RunService, tmp_path: Path) -> None:
    run_request = RunRequest("classification", "tiny", file(tmp_path))
    service.preview(run_request)
    looks = iter(range(2))

    def check() -> None:
        if next(looks, None) is None:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        service.prepared.time(run_request, "", lambda words: None, check)
    assert not [line for line in processes() if "--trial" in line and str(tmp_path) in line]


@pytest.mark.parametrize(
    ("run_request", "message"),
    [
        (RunRequest("classification", "nowhere"), "not on this disk"),
        (RunRequest("nonsense", "tiny"), "no task"),
        (RunRequest("classification", "tiny", values={"epochs": "x"}), "Epochs"),
        (RunRequest("classification", "tiny", "/nowhere.csv"), "cannot be read"),
    ],
)
def test_invalid_requests_are_rejected(run_request: RunRequest, message: str, service: RunService) -> None:
    with pytest.raises(ExplorerError, match=message):
        service.start(run_request, "")


def test_an_unsuitable_teacher_is_rejected_before_the_start(service: RunService) -> None:
    run_request = RunRequest("distillation", "tiny")
    preview = service.preview(run_request)
    assert any("A teacher with the labels" in stop for stop in preview.stops) and preview.train
    with pytest.raises(ExplorerError, match="A teacher with the labels"):
        service.start(run_request, "")
    assert not service.runs("")


def test_rows_that_are_no_longer_prepared_are_an_error_for_people(service: RunService) -> None:
    with pytest.raises(ExplorerError, match="Preview them again"):
        service.prepared.spec(RunRequest("classification", "tiny"), "")


def test_a_checkpoint_can_be_replaced_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for step in (1, 2):
        commit(tmp_path / "best", f"step-{step}", lambda into: (into / "task.json").write_text("{}") and None, keep=2)
    commits = iter([[tmp_path / "best" / "gone"], list_commits(tmp_path / "best")])
    monkeypatch.setattr(module, "list_commits", lambda folder: next(commits))
    assert module.read_best(Run("a", folder=tmp_path), "task.json") == (tmp_path / "best" / "step-2", "{}")


def test_a_second_press_does_not_start_a_second_run(service: RunService, tmp_path: Path) -> None:
    run_request = RunRequest("classification", "tiny", file(tmp_path), name="films")
    first = service.start(run_request, "")
    assert (
        service.start(replace(run_request, name=""), "").id
        == first.id
        != service.start(replace(run_request, name="other"), "").id
    )


@pytest.mark.slow
def test_a_run_starts_once_and_finishes_with_its_results(service: RunService, tmp_path: Path) -> None:
    values = {"epochs": 3, "rate": 3e-3, "batch": 8, "snapshots": 2, "max_tokens": 32}
    run_request = RunRequest("classification", "tiny", file(tmp_path, "one;two;three"), name=EVIL, values=values)
    with pytest.raises(ExplorerError, match="cannot be used: 1"):
        service.start(RunRequest("classification", "tiny", run_request.file, skip=False), "")
    runs = {service.start(run_request, "", key="same").id for _ in range(3)}
    (id,) = runs
    until = time.monotonic() + 90
    while service.detail(id, "").run.state not in ("finished", "failed") and time.monotonic() < until:
        time.sleep(0.2)
    detail = service.detail(id, "")
    assert detail.run.state == "finished" and detail.about and len(service.predictions(detail)) == 6
    labels = service.answer(detail, {"text": "a great film"})["labels"]
    assert {line["label"] for line in labels} == {"pos", "neg"}
    assert sum(x["probability"] for x in labels) == pytest.approx(1, abs=of_sum(2))
    names = [saved.name for saved in service.registry.series(f"run:{id}")]
    assert names[0] == f"run:{id}@0" and names[-1] == f"run:{id}" and len(names) == 4
    for name in names:
        assert service.registry.get(name).tokenizer.vocab_size > 0
    words = command(detail.run.spec or {})
    assert "--task classification" in words and "--batch 8" in words


@pytest.mark.parametrize(
    ("task", "extra", "head"), [("similarity", False, ""), ("retrieval", True, ""), ("tagging", False, None)]
)
def test_an_onnx_file_has_the_head_that_the_run_learned(
    task: str, extra: bool, head: str | None, tiny: Tiny, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[str | None] = []
    monkeypatch.setattr("bertexplorer.model.onnx.export_onnx", lambda checkpoint, file, *, head: given.append(head))
    export.write_onnx(run_with(task, extra, tiny, tmp_path), tmp_path, "")
    assert given == [head]


@pytest.mark.parametrize(("task", "extra"), [("tagging", True), ("sequence", False), ("next-word", False)])
def test_a_run_that_an_onnx_file_cannot_hold_is_refused(task: str, extra: bool, tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="Export the ZIP"):
        export.write_onnx(run_with(task, extra, tiny, tmp_path), tmp_path, "")


def run_with(task: str, extra: bool, tiny: Tiny, folder: Path) -> Any:
    """What an export needs of a run of *task*; *extra*: whether it has parts that transformers does not know."""
    best = Path(shutil.copytree(tiny("bert"), folder / "best"))
    (best / "task.json").write_text(json.dumps({"task": task}), "utf-8")
    if extra:
        (best / "task.safetensors").touch()
    return SimpleNamespace(best=best, run=SimpleNamespace(name="a run"))


def test_a_server_for_others_reports_runs_nowhere(service: RunService, tmp_path: Path, monkeypatch) -> None:
    """Neither a new run nor one that is run again, whatever a request says."""
    request = RunRequest("classification", "tiny", file(tmp_path), values={"report_to": "tensorboard"})
    run = Run("mine", spec={"tuning": asdict(Tuning())})
    monkeypatch.setattr(service.jobs, "run", lambda id, owner: run)
    monkeypatch.setattr(service.jobs, "retry", lambda id, owner, **more: more["tuning"])
    assert service.again("mine", "", {"report_to": "tensorboard"})["report_to"] == "tensorboard"
    with pytest.raises(ExplorerError, match="no tracker 'nonsense'"):
        service.again("mine", "", {"report_to": "nonsense"})
    service.settings = replace(service.settings, hosts=("bert.example.org",))
    for asked in (lambda: service.preview(request), lambda: service.again("mine", "", {"report_to": "tensorboard"})):
        with pytest.raises(ExplorerError, match="This server reports runs nowhere else"):
            asked()
    run.spec["tuning"]["report_to"] = "tensorboard"  # from a time when the server was local
    with pytest.raises(ExplorerError, match="reports runs nowhere else"):
        service.again("mine", "", {})

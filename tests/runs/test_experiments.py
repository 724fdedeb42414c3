"""Experiments: start, progress, stop and delete, with what the page shows of them."""

import json
import lzma
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bertexplorer.api.experiments import experiment_json, report, trial_json
from bertexplorer.api.run_models import status
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.experiments import FAIRY_TALES, MAX_UNPACKED_MB, Arm, ExperimentService
from bertexplorer.runs.service import RunService
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.pretraining.experiments import BY_NAME, EXPERIMENTS
from bertexplorer.training.pretraining.run import pretrain
from bertexplorer.training.pretraining.sentences import read_documents

FLOOR = BY_NAME["floor"]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ExperimentService]:
    training = RunService(CheckpointRegistry(), Settings(data_dir=tmp_path))
    training.supervisor.close()  # nothing is started: the runs stay queued
    yield ExperimentService(training)
    training.jobs.close()


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"Sentence {i}. Another sentence.\n\n" for i in range(50)), "utf-8")
    return str(path)


def evaluated(arm: Arm, *values: float) -> None:
    """Log these values for the run and finish it."""
    lines = [
        {"event": "evaluated", "step": i, "time": time.time(), "hours": i / 60, "share": 1.0, "tokens": 10**6 * i}
        | {"probe": value, "pairs_accuracy": value / 2}
        for i, value in enumerate(values)
    ]
    lines.append({"event": "finished", "step": len(values), "time": time.time(), "share": 1.0})
    (arm.run.folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_no_run_starts_whose_text_cannot_travel_to_its_node(service: ExperimentService, text: str) -> None:
    service.training.settings = replace(service.training.settings, runs_url="s3://bucket/runs")
    with pytest.raises(ExplorerError, match="object storage.*python -m bertexplorer pretrain"):
        service.start("tasks", 2.0, text, "one")
    assert not service.jobs.runs("one")


def test_starting_queues_every_arm_once(service: ExperimentService, text: str) -> None:
    group = service.start("tasks", 2.0, text, "one")
    assert service.start("tasks", 2.0, text, "one") == group  # an impatient second press
    trial = service.find(group, "one")
    assert trial.run.state == "queued" and trial_json(trial)["status"] == "queued: 0 of 3 runs finished"
    assert [arm.name for arm in trial.arms] == [arm.name for arm in BY_NAME["tasks"].arms]
    assert trial.live and {arm.run.state for arm in trial.arms} == {"queued"}
    spec = trial.arms[2].run.spec["stretches"][0]
    assert spec["running"]["objective"] == "causal" and spec["running"]["minutes"] == 2.0
    assert spec["running"]["heldout_documents"] == 5  # a tenth of them
    copy = Path(spec["text"][0])
    assert copy.read_bytes() == Path(text).read_bytes() and copy != Path(text)  # the upload is deleted
    assert [trial.group for trial in service.trials("one")] == [group] and service.trials("another") == []


def test_a_text_counts_for_its_owner_and_is_kept_with_its_runs(
    service: ExperimentService, text: str, tmp_path: Path
) -> None:
    group = service.start("floor", 1.0, text, "one")
    trial = service.find(group, "one")
    (copy,) = (tmp_path / "corpora" / "one").iterdir()
    assert service.training.quota.used_bytes("one") > copy.stat().st_size
    for arm in trial.arms:
        service.jobs.stop(arm.run.id, "one")
        service.jobs.delete(arm.run.id, "one")
    service.delete_unused_texts("one")
    assert copy.is_file(), "deleted runs can be brought back"
    for arm in trial.arms:
        service.jobs.erase(arm.run.id, "one")
    service.delete_unused_texts("another")
    assert copy.is_file()
    service.delete_unused_texts("one")
    assert not copy.exists()


def test_a_decompression_bomb_is_rejected(service: ExperimentService, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.txt.xz"
    with lzma.open(bomb, "wb", preset=0) as opened:
        for _ in range(MAX_UNPACKED_MB + 1):
            opened.write(b"a" * 1_000_000)
    assert bomb.stat().st_size < 100_000
    with pytest.raises(ExplorerError, match=f"unpacks to more than {MAX_UNPACKED_MB} MB"):
        service.start("floor", 2.0, str(bomb), "one")


def test_reading_a_text_does_not_block_other_users(
    service: ExperimentService, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reading, go = threading.Event(), threading.Event()

    def slow(path: Path) -> int:
        if "one" in path.parts:
            reading.set()
            go.wait(20)
        return 50

    monkeypatch.setattr("bertexplorer.runs.experiments.count_documents", slow)
    groups: list[str] = []
    threads = [threading.Thread(target=lambda: groups.append(service.start("floor", 2.0, text, "one")))]
    threads[0].start()
    assert reading.wait(10)
    threads.append(
        threading.Thread(target=lambda: groups.append(service.start("floor", 2.0, text, "two")), daemon=True)
    )
    threads[1].start()
    threads[1].join(10)
    try:
        assert len(groups) == 1 and service.find(groups[0], "two"), "while the text of one is still read"
    finally:
        go.set()
        for thread in threads:
            thread.join(20)
    assert len(groups) == 2


def test_other_users_experiments_are_not_visible(service: ExperimentService, text: str) -> None:
    group = service.start("floor", 1.0, text, "me")
    for action in ("stop", "resume", "delete", "restore"):
        with pytest.raises(ExplorerError, match="no longer exists"):
            service.act(action, group, "you")
    assert service.find(group, "me").live and service.trials("you") == []


@pytest.mark.parametrize(("name", "minutes", "message"), [("nothing", 1.0, "Pick one"), ("floor", 0.0, "wanted up to")])
def test_invalid_experiments_are_rejected(
    service: ExperimentService, text: str, name: str, minutes: float, message: str
) -> None:
    with pytest.raises(ExplorerError, match=message):
        service.start(name, minutes, text, "")
    with pytest.raises(ExplorerError, match="Upload it again"):
        service.start("floor", 1.0, text + ".gone", "")
    assert service.trials("") == []


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"", "0 different documents; wanted at least 20"), (b"A text.\n\n" * 30, "1 different documents"),
     (b"\x00\x01" * 99, "binary"), (b"caf\xe9 noir " * 40, "UTF-8")],
)  # fmt: skip
def test_an_invalid_text_is_rejected_before_the_run_starts(
    service: ExperimentService, tmp_path: Path, content: bytes, message: str
) -> None:
    (tmp_path / "odd.txt").write_bytes(content)
    with pytest.raises(ExplorerError, match=message):
        service.start("tasks", 1.0, str(tmp_path / "odd.txt"), "")
    assert service.trials("") == []


def test_final_results_are_compared_with_published_ones(service: ExperimentService, text: str) -> None:
    group = service.start("floor", 1.0, text, "")
    nothing, learnt = service.find(group, "").arms
    evaluated(nothing, 0.4, 0.41)
    evaluated(learnt, 0.4, 0.5, 0.6)
    for arm in (nothing, learnt):
        service.jobs.mark_started(arm.run.id)
        service.jobs.mark_ended(arm.run.id, "")
    trial = service.find(group, "")
    assert trial.run.state == "finished" and trial.run.progress == 1.0 and trial.run.message == "2 runs"
    assert not trial.live and trial.final_measures() == {nothing.name: 0.41, learnt.name: 0.6}
    found = report(trial)
    assert "is better than random weights here (60.0 % and 41.0 %), as published" in " ".join(found["verdicts"])
    assert found["arms"][1]["measured"] == {**found["arms"][1]["measured"], "hidden words": 0.3, "tokens": 2_000_000}
    assert found["chart"] and "now 60 %" in found["said"] and found["can"] == ["delete"]


def test_stop_and_delete_apply_to_all_runs(service: ExperimentService, text: str) -> None:
    group = service.start("floor", 1.0, text, "")
    stopped = service.act("stop", group, "")
    assert {arm.run.state for arm in stopped.arms} == {"stopped"} and not stopped.live
    assert stopped.run.state == "stopped"
    service.act("delete", group, "")
    assert service.trials("") == []
    assert [trial.group for trial in service.trials("", deleted=True)] == [group]
    service.act("restore", group, "")
    assert service.trials("", deleted=True) == []
    with pytest.raises(ExplorerError, match="no longer exists"):
        service.act("restore", group, "")
    assert len(service.find(group, "").arms) == 2


def test_a_stopped_experiment_is_resumed(service: ExperimentService, text: str) -> None:
    group = service.start("floor", 1.0, text, "")
    arms = service.find(group, "").arms
    assert not service.find(group, "").resumable
    evaluated(arms[0], 0.4)
    service.jobs.mark_started(arms[0].run.id)
    service.jobs.mark_ended(arms[0].run.id, "")
    stopped = service.act("stop", group, "")
    assert [arm.run.state for arm in stopped.arms] == ["finished", "stopped"] and stopped.resumable
    assert report(stopped)["can"] == ["resume", "delete"]
    resumed = service.act("resume", group, "")
    assert [arm.run.state for arm in resumed.arms] == ["finished", "queued"]
    assert report(resumed)["can"] == ["stop"]


def test_an_experiment_is_listed_while_its_text_is_read(service: ExperimentService, text: str) -> None:
    with service.reading("floor", "one"):
        reading = service.reading_now("one")
        assert reading and reading.name == "No pretraining" and status(reading) == "queued: its text is being read"
        assert service.trials("one") == [] and service.reading_now("two") is None
    assert service.reading_now("one") is None
    with pytest.raises(ExplorerError), service.reading("floor", "one"):
        service.start("floor", 1.0, text + ".gone", "one")
    assert service.reading_now("one") is None


def test_the_fairy_tales_are_the_text_without_an_upload(service: ExperimentService) -> None:
    arm = service.find(service.start("floor", 1.0, "", "one"), "one").arms[0]
    assert arm.run.spec["stretches"][0]["text"] == [str(FAIRY_TALES)]
    assert arm.run.spec["stretches"][0]["running"]["heldout_documents"] == 27  # a tenth of 278
    stories = [*read_documents(FAIRY_TALES)]
    assert len(stories) == 278 and sum(len(line) for story in stories for line in story) > 3_000_000
    assert FAIRY_TALES.stat().st_size < 1_100_000


def test_a_run_on_the_manuals_of_earlier_versions_opens(service: ExperimentService, text: str, tmp_path: Path) -> None:
    group = service.start("floor", 1.0, text, "one")
    for arm in service.find(group, "one").arms:
        spec = arm.run.folder / "spec.json"
        fields = json.loads(spec.read_text())
        fields["stretches"][0]["text"] = [str(tmp_path / "corpora" / "manuals.txt")]
        spec.write_text(json.dumps(fields))
        evaluated(arm, 0.4, 0.5)
        service.jobs.mark_started(arm.run.id)
        service.jobs.mark_ended(arm.run.id, "")
    trial = service.find(group, "one")
    assert trial.run.state == "finished" and "now 50 %" in report(trial)["said"]
    events = pretrain(trial.arms[0].run.folder)
    with pytest.raises(ExplorerError, match=r"no text at .*manuals\.txt.*put it back"):
        list(events)


def test_the_training_page_does_not_list_experiments(service: ExperimentService, text: str) -> None:
    group = service.start("floor", 1.0, text, "")
    assert service.training.runs("") == [] and service.jobs.runs("")
    service.act("stop", group, "")
    service.act("delete", group, "")
    assert service.training.runs("", deleted=True) == []


def test_every_experiment_has_a_description() -> None:
    for experiment in EXPERIMENTS:
        shown = experiment_json(experiment)
        assert shown["question"] and shown["source"] and shown["published"] and shown["measure"]
        assert shown["arms"] == [arm.name for arm in experiment.arms]
    assert experiment_json(BY_NAME["tasks"])["published"][0]["MNLI"] == 84.4

"""The laboratory: an experiment started, watched, stopped, deleted; what its page says at each point."""

import json
import lzma
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.pretraining.experiments import BY_NAME, EXPERIMENTS
from bertexplorer.ui.laboratory import pieces
from bertexplorer.ui.laboratory.desk import MOST_UNPACKED_MB, Arm, Desk
from bertexplorer.ui.training.desk import Desk as Training

FLOOR = BY_NAME["floor"]


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    training = Training(CheckpointRegistry(), Settings(data_dir=tmp_path))
    training.supervisor.close()  # nothing is started: the runs stay in line
    yield Desk(training)
    training.jobs.close()


@pytest.fixture
def text(tmp_path: Path) -> str:
    path = tmp_path / "mine.txt"
    path.write_text("".join(f"Sentence {i}. Another sentence.\n\n" for i in range(50)), "utf-8")
    return str(path)


def evaluated(arm: Arm, *values: float) -> None:
    """The run has told so much and finished."""
    lines = [
        {"event": "evaluated", "step": i, "time": time.time(), "hours": i / 60, "share": 1.0, "tokens": 10**6 * i}
        | {"probe": value, "pairs_accuracy": value / 2}
        for i, value in enumerate(values)
    ]
    lines.append({"event": "finished", "step": len(values), "time": time.time(), "share": 1.0})
    (arm.run.folder / "events.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")


def test_starting_queues_every_arm_once(desk: Desk, text: str) -> None:
    group = desk.start("tasks", 2.0, text, "one")
    assert desk.start("tasks", 2.0, text, "one") == group  # an impatient second press
    trial = desk.trial(group, "one")
    assert [arm.name for arm in trial.arms] == [arm.name for arm in BY_NAME["tasks"].arms]
    assert trial.live and {arm.run.state for arm in trial.arms} == {"queued"}
    spec = trial.arms[2].run.spec["stretches"][0]
    assert spec["running"]["objective"] == "causal" and spec["running"]["minutes"] == 2.0
    assert spec["running"]["heldout_documents"] == 5  # a tenth of them
    kept = Path(spec["text"][0])
    assert kept.read_bytes() == Path(text).read_bytes() and kept != Path(text)  # an upload goes away
    assert [name for _, name in desk.groups("one")] == [group] and desk.groups("another") == []


def test_a_text_counts_for_its_owner_and_stays_as_long_as_its_runs(desk: Desk, text: str, tmp_path: Path) -> None:
    group = desk.start("floor", 1.0, text, "one")
    trial = desk.trial(group, "one")
    (kept,) = (tmp_path / "corpora" / "one").iterdir()
    assert desk.training.quota.used("one") > kept.stat().st_size
    for arm in trial.arms:
        desk.jobs.stop(arm.run.id, "one")
        desk.jobs.delete(arm.run.id, "one")
    desk.tidy("one")
    assert kept.is_file(), "deleted runs can be brought back"
    for arm in trial.arms:
        desk.jobs.erase(arm.run.id, "one")
    desk.tidy("another")
    assert kept.is_file()
    desk.tidy("one")
    assert not kept.exists()


def test_a_text_that_unpacks_to_too_much_is_refused(desk: Desk, tmp_path: Path) -> None:
    bomb = tmp_path / "bomb.txt.xz"
    with lzma.open(bomb, "wb", preset=0) as opened:
        for _ in range(MOST_UNPACKED_MB + 1):
            opened.write(b"a" * 1_000_000)
    assert bomb.stat().st_size < 100_000
    with pytest.raises(ExplorerError, match=f"unpacks to more than {MOST_UNPACKED_MB} MB"):
        desk.start("floor", 2.0, str(bomb), "one")


def test_nobody_waits_for_anothers_text(desk: Desk, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reading, go = threading.Event(), threading.Event()

    def slow(path: Path) -> int:
        if "one" in path.parts:
            reading.set()
            go.wait(20)
        return 50

    monkeypatch.setattr("bertexplorer.ui.laboratory.desk.distinct", slow)
    groups: list[str] = []
    threads = [threading.Thread(target=lambda: groups.append(desk.start("floor", 2.0, text, "one")))]
    threads[0].start()
    assert reading.wait(10)
    threads.append(threading.Thread(target=lambda: groups.append(desk.start("floor", 2.0, text, "two")), daemon=True))
    threads[1].start()
    threads[1].join(10)
    try:
        assert len(groups) == 1 and desk.trial(groups[0], "two"), "while the text of one is still read"
    finally:
        go.set()
        for thread in threads:
            thread.join(20)
    assert len(groups) == 2


def test_another_persons_experiment_is_not_there(desk: Desk, text: str) -> None:
    assert desk.trial(desk.start("floor", 1.0, text, "me"), "you") is None


@pytest.mark.parametrize(("name", "minutes", "told"), [("nothing", 1.0, "Pick one"), ("floor", 0.0, "wanted up to")])
def test_what_cannot_be_started_is_said(desk: Desk, text: str, name: str, minutes: float, told: str) -> None:
    with pytest.raises(ExplorerError, match=told):
        desk.start(name, minutes, text, "")
    with pytest.raises(ExplorerError, match="Upload it again"):
        desk.start("floor", 1.0, text + ".gone", "")
    assert desk.groups("") == []


@pytest.mark.parametrize(
    ("content", "wanted"),
    [(b"", "0 different documents; wanted 20"), (b"A text.\n\n" * 30, "1 different documents"),
     (b"\x00\x01" * 99, "binary"), (b"caf\xe9 noir " * 40, "UTF-8")],
)  # fmt: skip
def test_a_text_that_is_none_is_named_before_a_run_begins(
    desk: Desk, tmp_path: Path, content: bytes, wanted: str
) -> None:
    (tmp_path / "odd.txt").write_bytes(content)
    with pytest.raises(ExplorerError, match=wanted):
        desk.start("tasks", 1.0, str(tmp_path / "odd.txt"), "")
    assert desk.groups("") == []


def test_its_end_is_compared_with_what_was_published(desk: Desk, text: str) -> None:
    group = desk.start("floor", 1.0, text, "")
    nothing, learnt = desk.trial(group, "").arms
    evaluated(nothing, 0.4, 0.41)
    evaluated(learnt, 0.4, 0.5, 0.6)
    for arm in (nothing, learnt):
        desk.jobs.begun(arm.run.id)
        desk.jobs.ended(arm.run.id, "")
    trial = desk.trial(group, "")
    assert not trial.live and trial.reached() == {nothing.name: 0.41, learnt.name: 0.6}
    told = pieces.told(trial)
    assert "is better than random weights, as published (60.0 % and 41.0 %)" in told
    assert told.count("Open in Explore") == 2 and "30 %" in told and "2.0 M" in told


def test_stop_and_delete_take_all_of_it(desk: Desk, text: str) -> None:
    group = desk.start("floor", 1.0, text, "")
    desk.stop(desk.trial(group, "").arms, "")
    stopped = desk.trial(group, "")
    assert {arm.run.state for arm in stopped.arms} == {"stopped"} and not stopped.live
    desk.delete(stopped.arms, "")
    assert desk.trial(group, "") is None and desk.groups("") == []
    assert desk.restore(desk.deleted("")[0].id, "") == group and desk.deleted("") == []
    assert len(desk.trial(group, "").arms) == 2


def test_the_training_page_leaves_them_to_the_laboratory(desk: Desk, text: str) -> None:
    group = desk.start("floor", 1.0, text, "")
    assert desk.training.runs("") == [] and desk.jobs.runs("")
    desk.stop(desk.trial(group, "").arms, "")
    desk.delete(desk.trial(group, "").arms, "")
    assert desk.training.runs("", deleted=True) == []


def test_every_experiment_says_what_it_is_about() -> None:
    for experiment in EXPERIMENTS:
        told = pieces.about(experiment)
        assert experiment.question in told and "far larger models" in told and "None" not in told
        assert all(arm.name in told for arm in experiment.arms)
    assert "84.4" in pieces.about(BY_NAME["tasks"]) and "84.400" not in pieces.about(BY_NAME["tasks"])


def test_the_door_to_a_training_is_there_if_one_is() -> None:
    assert "Watch it learn" not in pieces.doors("") and "tiny%400" in pieces.doors("tiny@0")

"""The desk: rows are looked at, a run goes on without the page, its checkpoints are opened like any other."""

import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.store.runs import Run
from bertexplorer.training.commit import commit, committed
from bertexplorer.ui.training import desk as desks
from bertexplorer.ui.training import pieces
from bertexplorer.ui.training.desk import Desk, Looked, Wish
from tests.tolerance import of_sum

EVIL = "</script><img src=x onerror=1>"
ROWS = [f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}" for i in range(60)]


@pytest.fixture
def desk(tiny: Callable[..., Path], tmp_path: Path) -> Iterator[Desk]:
    shutil.copytree(tiny("bert"), tmp_path / "models" / "tiny")
    settings = Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data")
    (tmp_path / "data").mkdir()
    made = Desk(CheckpointRegistry(settings), settings)
    yield made
    made.close()


def file(folder: Path, *more: str) -> str:
    path = folder / "rows.csv"
    path.write_text("\n".join(["sentence;what", *ROWS, *more]) + "\n", "utf-8")
    return str(path)


@pytest.mark.slow
def test_rows_are_looked_at_and_shown_as_they_are(desk: Desk, tmp_path: Path) -> None:
    looked = desk.look(
        Wish("classification", "tiny", file(tmp_path, "one;two;three", f"{EVIL};pos", "a great film 1;neg"))
    )
    assert (len(looked.found.train), len(looked.found.dev)) == (56, 6) and looked.found.mapping["text"] == "sentence"
    shown = pieces.looked(looked)
    assert "line 62" in shown and "another label" in shown and "<img" not in shown and "“neg”: 28 rows" in shown
    *words, timed = desk.timed(looked)
    assert words[0] == "Loading the checkpoint…" and "Timing step 1 of 3…" in words and isinstance(timed, Looked)
    wish = Wish(
        "classification", "tiny", file(tmp_path, "one;two;three", f"{EVIL};pos", "a great film 1;neg"), name="n"
    )
    assert desk.start(wish, "").seconds == timed.seconds, "the line knows how long it will take"
    assert timed.steps == 6 and timed.seconds > 0 and timed.memory_mb > 50 and "were timed" in pieces.looked(timed)


@pytest.mark.parametrize(
    ("wish", "told"),
    [
        (Wish("classification", "nowhere"), "not on this disk"),
        (Wish("nonsense", "tiny"), "no task"),
        (Wish("classification", "tiny", values={"epochs": "x"}), "Epochs"),
        (Wish("classification", "tiny", "/nowhere.csv"), "cannot be read"),
    ],
)
def test_what_cannot_be_is_said(wish: Wish, told: str, desk: Desk) -> None:
    with pytest.raises(ExplorerError, match=told):
        desk.start(wish, "")


def test_a_teacher_that_cannot_teach_is_refused_before_the_start(desk: Desk) -> None:
    wish = Wish("distillation", "tiny")
    looked = desk.look(wish)
    assert any("A teacher is needed" in what for what in looked.found.stops) and looked.found.train
    with pytest.raises(ExplorerError, match="A teacher is needed"):
        desk.start(wish, "")
    assert not desk.runs("")


def test_a_better_checkpoint_may_take_the_place_of_the_one_that_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (1, 2):
        commit(tmp_path / "best", f"step-{step}", lambda into: (into / "task.json").write_text("{}") and None, keep=2)
    found = iter([[tmp_path / "best" / "gone"], committed(tmp_path / "best")])
    monkeypatch.setattr(desks, "committed", lambda folder: next(found))
    assert desks.kept(Run("a", folder=tmp_path), "task.json") == (tmp_path / "best" / "step-2", "{}")


def test_a_second_press_finds_the_name_gone(desk: Desk, tmp_path: Path) -> None:
    wish = Wish("classification", "tiny", file(tmp_path), name="films")
    first = desk.start(wish, "")
    assert desk.start(replace(wish, name=""), "").id == first.id != desk.start(replace(wish, name="other"), "").id


@pytest.mark.slow
def test_a_run_is_started_once_finishes_and_is_looked_into(desk: Desk, tmp_path: Path) -> None:
    values = {"epochs": 3, "rate": 3e-3, "batch": 8, "snapshots": 2, "max_tokens": 32}
    wish = Wish("classification", "tiny", file(tmp_path, "one;two;three"), name=EVIL, values=values)
    with pytest.raises(ExplorerError, match="cannot be used: 1"):
        desk.start(Wish("classification", "tiny", wish.file, skip=False), "")
    runs = {desk.start(wish, "", key="same").id for _ in range(3)}
    (id,) = runs
    until = time.monotonic() + 90
    while desk.detail(id, "").run.state not in ("finished", "failed") and time.monotonic() < until:
        time.sleep(0.2)
    detail = desk.detail(id, "")
    assert detail.run.state == "finished" and detail.about and len(desk.predictions(detail)) == 6
    assert "<img" not in pieces.headline(detail) + pieces.listed([detail.run], id)
    said = desk.answer(detail, {"text": "a great film"})["labels"]
    assert {line["label"] for line in said} == {"pos", "neg"}
    assert sum(x["probability"] for x in said) == pytest.approx(1, abs=of_sum(2))
    names = [saved.name for saved in desk.library.series(f"run:{id}")]
    assert names[0] == f"run:{id}@0" and names[-1] == f"run:{id}" and len(names) == 4
    for name in names:
        assert desk.library.get(name).tokenizer.vocab_size > 0
    command = pieces.command(detail.run.spec or {})
    assert "--task classification" in command and "--batch 8" in command

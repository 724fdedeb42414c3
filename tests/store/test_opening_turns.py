"""Checkpoints from outside are opened outside the queues of answers, one at a time of each owner and two in all."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer.engine.progress import Work, working
from bertexplorer.engine.queues import Busy, RequestQueues
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import examine, opening_turns, tokenizer_bounds
from bertexplorer.store.opening_turns import OpeningTurns
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.runs.running import until


def in_thread(function: Callable[[], object]) -> threading.Thread:
    thread = threading.Thread(target=function, daemon=True)
    thread.start()
    return thread


def test_one_of_each_owner_and_two_in_all_are_opened() -> None:
    turns, opened, end = OpeningTurns(), [], threading.Event()

    def open_one(owner: str) -> None:
        with turns.turn(owner):
            opened.append(owner)
            end.wait()

    threads = [in_thread(lambda owner=owner: open_one(owner)) for owner in "aabc"]
    until(lambda: len(opened) == 2)
    assert len(set(opened)) == 2
    end.set()
    for thread in threads:
        thread.join()
    assert sorted(opened) == ["a", "a", "b", "c"] and not turns.opening


def test_who_waits_for_a_checkpoint_holds_no_place_in_the_queue() -> None:
    queues, end = RequestQueues(cores=1), threading.Event()
    turns = OpeningTurns()

    def question() -> None:
        work = queues.new_work()
        with queues.turn(work), turns.wait("a"):
            end.wait()

    thread = in_thread(question)
    until(lambda: bool(turns.waiting))
    until(lambda: not queues.quick.active)
    with queues.turn(Work()):
        pass  # another question is answered meanwhile
    end.set()
    thread.join()
    assert not queues.quick.active and not turns.waiting


def test_few_may_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening_turns, "MAX_OWN", 1)
    monkeypatch.setattr(opening_turns, "MAX_WAITING", 2)
    turns = OpeningTurns()
    with turns.wait("a"):
        with pytest.raises(Busy), turns.wait("a"):
            pass
        with turns.wait("b"), turns.wait(None), pytest.raises(Busy), turns.wait("c"):
            pass
    assert not turns.waiting


def test_a_place_is_given_back_once_and_taken_again() -> None:
    queues = RequestQueues(cores=1)
    work = queues.new_work()
    with queues.turn(work):
        with work.on_aside():
            assert not queues.quick.active
        assert len(queues.quick.active) == 1
    assert not queues.quick.active


def test_a_pipe_is_refused(tiny_copy: Tiny, tmp_path: Path) -> None:
    """Opening one waits for a writer, for ever."""
    folder = tiny_copy("bert")
    (folder / "model.safetensors").unlink()
    os.mkfifo(folder / "model.safetensors")
    registry = CheckpointRegistry(Settings(models_dir=folder.parent, data_dir=tmp_path / "data"))
    with pytest.raises(ExplorerError, match="model.safetensors of .* is not a file"):
        registry.get(folder.name)


def test_a_vocabulary_of_too_many_entries_is_refused(tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokenizer_bounds, "MAX_OTHER_WORDS", 5)
    with pytest.raises(ExplorerError, match="The vocabulary has .* entries; wanted 5 at most"):
        examine.open_files(str(tiny_copy("bert")))


def test_work_without_a_queue_needs_no_place() -> None:
    turns = OpeningTurns()
    with working(None), turns.wait("a"):
        assert turns.waiting["a"] == 1

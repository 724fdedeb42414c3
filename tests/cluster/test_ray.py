"""Replicas on a Ray cluster of two small nodes answer as this process does, also while some are killed, and a node."""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.api.perform import InProcess
from bertexplorer.cluster.backends import backend
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from tests.cluster.conftest import CALLS, asked, plain, settle, shown
from tests.cluster.nodes import replace_node, small_cluster

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")
NODE_KILLS = int(os.environ.get("NODE_KILLS", "1"))  # as many replicas and as many nodes
TEXTS = [f"The {word} [MASK] {n}." for word in ("cat", "dog", "man") for n in range(5)]


@pytest.fixture
def cluster() -> Iterator[Any]:
    with small_cluster() as made:
        yield made


def until(holds: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.1)


def pids() -> set[int]:
    """Processes of this machine that are replicas."""
    found = set()
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ServeReplica:bertexplorer:replica" in place.read_bytes():
                found.add(int(place.parent.name))
        except OSError:
            continue
    return found


class Load:
    """Four callers that never pause, and what was wrong or lost."""

    def __init__(self, there: Any, wanted: dict[str, Any]) -> None:
        self.there, self.wanted = there, wanted
        self.over, self.faults, self.answers = threading.Event(), [], 0
        self.threads = ThreadPoolExecutor(4)
        self.going = [self.threads.submit(self.person, 7 * n) for n in range(4)]

    def person(self, n: int) -> None:
        while not self.over.is_set():
            text, n = TEXTS[n % len(TEXTS)], n + 1
            if (found := plain(settle(self.there, asked(text)))) != self.wanted[text]:
                self.faults.append((text, found))
            self.answers += 1

    def end(self) -> None:
        self.over.set()
        for one in self.going:
            one.result(120)
        self.threads.shutdown()


def test_a_cluster_without_tokens_is_refused(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RAY_AUTH_MODE", raising=False)
    with pytest.raises(ExplorerError, match="RAY_AUTH_MODE=token"):
        backend(replace(settings, ray="10.0.0.5:6379"))


def test_replicas_answer_as_this_process_does_and_survive_kills(
    cluster: Any, settings: Settings, here: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    from bertexplorer.cluster import ray_backend

    there = backend(replace(settings, ray=cluster.address, memory_mb=500))
    assert there and there.warm() == ""
    try:
        for call in CALLS:
            assert plain(settle(there, call)) == plain(settle(here, call))
        until(lambda: len(pids()) == 2)
        task = there.task(shown("The cat sat on the mat.", "saliency"))
        task.start(lambda line: None)
        task.stop()
        load = Load(there, {text: plain(settle(here, asked(text))) for text in TEXTS})
        until(lambda: load.answers > 20)
        for _ in range(NODE_KILLS):
            before = pids()
            os.kill(min(before), signal.SIGKILL)
            until(lambda before=before: len(pids()) == 2 and pids() != before)
            time.sleep(8)  # it loads torch
        for number in range(NODE_KILLS):
            gone = cluster.small[number % 2]
            cluster.remove_node(gone, allow_graceful=False)
            until(lambda: len(pids()) == 1)
            answered = load.answers
            until(lambda answered=answered: load.answers > answered + 20)
            replace_node(cluster, gone)
            until(lambda: len(pids()) == 2)
            time.sleep(8 if number + 1 < NODE_KILLS else 0)
        load.end()
        assert not load.faults, load.faults[:3]
        assert sum(one.answered for one in there.replicas()) > 20
        monkeypatch.setattr(ray_backend, "TAKEN_S", 3.0)
        for node in cluster.small:
            cluster.remove_node(node, allow_graceful=False)
        until(lambda: not pids())
        found = settle(there, asked("The cat [MASK] alone."))
        assert found.status == 503 and b"does not answer. Your text is kept" in found.body
        replace_node(cluster, cluster.small[0])
        until(lambda: len(pids()) == 1)
        monkeypatch.undo()
        assert settle(there, asked("The cat [MASK] alone.")).status == 200
    finally:
        there.close()

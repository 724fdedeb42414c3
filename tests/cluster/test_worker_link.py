"""The server's side of workers: one whose process ends without reading, and one that is full."""

import sys
import threading
import time

import orjson
import pytest

from bertexplorer.api.calls import Call
from bertexplorer.cluster.worker_link import WorkerLink
from bertexplorer.cluster.worker_pool import RETRY_AFTER_S, WorkerPool
from bertexplorer.engine.queues import Busy
from bertexplorer.settings import Settings
from tests.runs.running import until

DEAF = (sys.executable, "-c", "import os, time; os.close(0); time.sleep(2)")


def test_a_worker_that_ends_before_it_has_read_a_call_has_been_started(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    link = WorkerLink("0", {"threads": 1}, lambda link, tasks: ended.set(), DEAF)
    time.sleep(1)
    link.frames.put(b"a call")
    assert ended.wait(20)
    link.close()
    assert "a worker ended" in caplog.text and "could not be started" not in caplog.text


def test_a_call_beyond_the_capacity_of_a_worker_is_rejected() -> None:
    pool = WorkerPool(
        Settings(workers=1, worker_cores=1), command=(sys.executable, "-c", "import time; time.sleep(60)")
    )
    pool.max_in_flight = 2
    (link,) = pool.links.values()
    until(lambda: link.alive)
    replies = [pool.task(Call("view", "", "a" * 32, {"n": n})).start(lambda line: None) for n in range(3)]
    assert [reply.done() for reply in replies] == [False, False, True]
    assert replies[2].result().status == 503
    assert orjson.loads(replies[2].result().body)["detail"] == str(Busy(2, RETRY_AFTER_S))
    pool.close()
    assert all(reply.result(5).status == 503 for reply in replies)

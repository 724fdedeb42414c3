"""The server's side of a worker whose process ends without reading."""

import sys
import threading
import time

import pytest

from bertexplorer.cluster.worker_link import WorkerLink

DEAF = (sys.executable, "-c", "import os, time; os.close(0); time.sleep(2)")


def test_a_worker_that_ends_before_it_has_read_a_call_has_been_started(caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    link = WorkerLink("0", {"threads": 1}, lambda link, tasks: ended.set(), DEAF)
    time.sleep(1)
    link.frames.put(b"a call")
    assert ended.wait(20)
    link.close()
    assert "a worker ended" in caplog.text and "could not be started" not in caplog.text

"""A run on a Ray cluster whose node is killed ends on another one, with the weights of a run that was left alone."""

import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.settings import Settings
from bertexplorer.store import runs
from bertexplorer.training.epoch import current
from bertexplorer.training.finetuning.run import finetune
from tests.cluster.nodes import node_of, replace_node, small_cluster
from tests.store.running import until
from tests.training.finetuning.test_killed import OFTEN, digest

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")


KILLS = int(os.environ.get("KILLS", "1"))  # each of a run of its own


def test_a_run_whose_node_is_killed_ends_on_another_one(begin: Callable[..., Path]) -> None:
    from bertexplorer.cluster.ray_runs import RayRuns

    started, quiet = time.monotonic(), begin("quiet", epochs=60)
    assert [event["event"] for event in finetune(quiet)][-1] == "finished"
    seconds, draw = time.monotonic() - started, random.Random(7)
    with small_cluster() as cluster:
        launcher = RayRuns(Settings(ray=cluster.address))
        assert launcher.slots == 2
        for number in range(KILLS):
            killed = begin(f"killed-{number}", epochs=60)
            handle = launcher.start((sys.executable, "-c", OFTEN), killed)
            until(lambda killed=killed: len(list((killed / "commits").glob("step-*"))) > 1, 60)
            time.sleep(draw.uniform(0, 0.7 * seconds))
            assert handle.poll() is None and launcher.find(killed) is not None and current(killed) == 1
            before = node_of(cluster, locks.holder(killed / "process"))
            cluster.remove_node(before, allow_graceful=False)
            assert runs.history(killed)[-1]["event"] != "finished", "it was over before the kill"
            until(lambda handle=handle: handle.poll() is not None, 120)
            assert handle.poll() == 0 and current(killed) == 2 and launcher.find(killed) is None
            events = [event["event"] for event in runs.history(killed)]
            assert events[-1] == "finished" and "failed" not in events
            assert digest(killed) == digest(quiet), f"kill {number}"
            replace_node(cluster, before)

"""A run on a Ray cluster whose node is killed ends on another one, with the weights of a run that was left alone."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from bertexplorer import locks
from bertexplorer.settings import Settings
from bertexplorer.store import runs
from bertexplorer.training.epoch import current
from bertexplorer.training.finetuning.run import finetune
from tests.cluster.nodes import node_of, small_cluster
from tests.store.running import until
from tests.training.finetuning.test_killed import OFTEN, digest

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")


def test_a_run_whose_node_is_killed_ends_on_another_one(begin: Callable[..., Path]) -> None:
    from bertexplorer.cluster.ray_runs import RayRuns

    quiet, killed = begin("quiet", epochs=60), begin("killed", epochs=60)
    assert [event["event"] for event in finetune(quiet)][-1] == "finished"
    with small_cluster() as cluster:
        launcher = RayRuns(Settings(ray=cluster.address))
        assert launcher.slots == 2
        handle = launcher.start((sys.executable, "-c", OFTEN), killed)
        until(lambda: len(list((killed / "commits").glob("step-*"))) > 1, 60)
        assert handle.poll() is None and launcher.find(killed) is not None and current(killed) == 1
        pid = locks.holder(killed / "process")
        cluster.remove_node(node_of(cluster, pid), allow_graceful=False)
        assert runs.history(killed)[-1]["event"] != "finished", "it was over before the kill"
        until(lambda: handle.poll() is not None, 120)
        assert handle.poll() == 0 and current(killed) == 2 and launcher.find(killed) is None
    events = [event["event"] for event in runs.history(killed)]
    assert events[-1] == "finished" and "failed" not in events
    assert digest(killed) == digest(quiet)

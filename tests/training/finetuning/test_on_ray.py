"""A run on a Ray cluster whose node or server is killed ends with the weights of an undisturbed run."""

import json
import os
import random
import shutil
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from bertexplorer import locks
from bertexplorer.cluster.synced_run import FollowedRun
from bertexplorer.runs import run_folder
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.supervisor import JobSupervisor, Launcher
from bertexplorer.settings import Settings
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.ownership import current_epoch
from tests.cluster.nodes import BUSY_S, node_of, replace_node, small_cluster
from tests.runs import running as waiting
from tests.training.conftest import Begin
from tests.training.finetuning.test_killed import OFTEN, digest

pytestmark = pytest.mark.slow
pytest.importorskip("ray", reason="needs Ray: pip install -r requirements-ray.txt")

until = partial(waiting.until, seconds=BUSY_S)

KILLS = int(os.environ.get("KILLS", "1"))  # each of a run of its own
EPOCHS = 30  # 240 steps, each with a commit
GPUS = int(os.environ.get("GPUS", "0"))  # claimed by each node


def outlive_the_server(launchers: Iterator[Launcher], begun: Path, folder: Path) -> Path:
    """Queue the run in *begun*, end the server while it trains, and start another one, which adopts it."""
    jobs, spec = Jobs(folder), json.loads((begun / "spec.json").read_text("utf-8"))
    run = jobs.accept("a" * 32, "adopted", spec, fill=lambda place: shutil.copytree(begun / "data", place / "data"))
    for end in (
        lambda: len(list((run.folder / "commits").glob("step-*"))) > 1,
        lambda: (
            jobs.run(run.id, None).state in run_folder.FINAL_EVENTS and not jobs.started()
        ),  # its actor has left the node
    ):
        assert jobs.run(run.id, None).state not in run_folder.FINAL_EVENTS, "it was over before the server was"
        server = JobSupervisor(jobs, (sys.executable, "-c", OFTEN), launcher=next(launchers))
        until(end)
        server.close()
        for handle in server.children.values():
            if isinstance(handle, FollowedRun):
                handle.close()
    jobs.close()
    return run.folder


def computing() -> list[int]:
    """The processes of runs whose folders arrived over storage."""
    result = [path for path in Path("/proc").glob("[0-9]*/cmdline") if b"bertexplorer-run-" in path.read_bytes()]
    return [int(path.parent.name) for path in result]


def survive_storage_and_node(cluster: Any, folder: Path, store: Path) -> None:
    """Start the run in *folder* with its folder carried over *store*, which fails for some time; then kill its node,
    and wait for the end of the run."""
    from bertexplorer.cluster.ray_runs import RayRuns

    launcher = RayRuns(Settings(ray=cluster.address, runs_url=f"file://{store}"))
    handle = launcher.start((sys.executable, "-c", OFTEN), folder)
    until(lambda: len(list((folder / "commits").glob("step-*"))) > 1)
    store.rename(store.with_name("aside"))
    store.write_text("no folder any more")
    until(lambda: "retries" in run_folder.read(folder).message)
    assert run_folder.read(folder).state in run_folder.ACTIVE_STATES
    store.unlink()
    store.with_name("aside").rename(store)
    (pid,) = computing()
    before = node_of(cluster, pid)
    cluster.remove_node(before, allow_graceful=False)
    assert run_folder.history(folder)[-1]["event"] != "finished", "it was over before the kill"
    until(lambda: handle.poll() is not None)
    assert handle.poll() == 0 and launcher.find(folder) is None and not run_folder.is_alive(folder)
    assert (
        "resumed" in [event["event"] for event in run_folder.read_events(folder)[0]]
        and not run_folder.read(folder).message
    )
    assert not list(store.glob("*")), "the storage is left empty"
    until(lambda: not computing())  # and the orphan of the killed node stops working
    replace_node(cluster, before)


def test_a_run_survives_its_node_and_the_server(begin: Begin, tmp_path: Path) -> None:
    from bertexplorer.cluster.ray_runs import RayRuns

    started, quiet = time.monotonic(), begin("quiet", epochs=EPOCHS)
    assert [event["event"] for event in finetune(quiet)][-1] == "finished"
    seconds, draw = time.monotonic() - started, random.Random(7)
    with small_cluster(num_gpus=GPUS) as cluster:
        launcher = RayRuns(Settings(ray=cluster.address))
        assert (launcher.slots, launcher.gpus) == (2 * max(1, GPUS), min(1, GPUS))
        for number in range(KILLS):
            killed = begin(f"killed-{number}", epochs=EPOCHS)
            handle = launcher.start((sys.executable, "-c", OFTEN), killed)
            until(lambda killed=killed: len(list((killed / "commits").glob("step-*"))) > 1)
            time.sleep(draw.uniform(0, 0.7 * seconds))
            assert handle.poll() is None and launcher.find_actor(killed) is not None and current_epoch(killed) == 1
            before = node_of(cluster, locks.holder_pid(killed / "process"))
            cluster.remove_node(before, allow_graceful=False)
            assert run_folder.history(killed)[-1]["event"] != "finished", "it was over before the kill"
            until(lambda handle=handle: handle.poll() is not None)
            assert handle.poll() == 0 and current_epoch(killed) == 2 and launcher.find(killed) is None
            events = [event["event"] for event in run_folder.history(killed)]
            assert events[-1] == "finished" and "failed" not in events
            assert digest(killed) == digest(quiet), f"kill {number}"
            replace_node(cluster, before)
        launchers = (RayRuns(Settings(ray=cluster.address)) for _ in range(2))
        adopted = outlive_the_server(launchers, begin("adopted", epochs=EPOCHS), tmp_path / "jobs")
        events = [event["event"] for event in run_folder.history(adopted)]
        assert events[-1] == "finished" and events.count("begun") == 1 and "resumed" not in events
        assert current_epoch(adopted) == 1 and digest(adopted) == digest(quiet)
        carried = begin("carried", epochs=EPOCHS)
        survive_storage_and_node(cluster, carried, tmp_path / "store")
        assert digest(carried) == digest(quiet) and run_folder.history(carried)[-1]["event"] == "finished"
        over = Settings(ray=cluster.address, runs_url=f"file://{tmp_path}/store")
        adopted = outlive_the_server(
            (RayRuns(over) for _ in range(2)), begin("over", epochs=EPOCHS), tmp_path / "others"
        )
        events = [event["event"] for event in run_folder.history(adopted)]
        assert events[-1] == "finished" and "resumed" not in events and digest(adopted) == digest(quiet)


def test_a_run_that_waits_for_a_core_says_so_and_can_be_stopped(
    begin: Begin, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ray

    from bertexplorer.cluster import ray_runs

    monkeypatch.setattr(ray_runs, "PATIENCE_S", 2.0)
    begun, jobs = begin("waiting"), Jobs(tmp_path / "jobs")
    spec = json.loads((begun / "spec.json").read_text("utf-8"))
    with small_cluster() as cluster:
        launcher = ray_runs.RayRuns(Settings(ray=cluster.address))
        busy = ray.remote(ray_runs.RunActor).options(num_cpus=1)  # as replicas are
        others = [busy.remote((sys.executable, "-c", ""), str(tmp_path), {}, "unknown://1") for _ in range(2)]
        ray.get([other.poll.remote() for other in others])
        run = jobs.accept("a" * 32, "waits", spec, fill=lambda place: shutil.copytree(begun / "data", place / "data"))
        server = JobSupervisor(jobs, (sys.executable, "-c", OFTEN), launcher=launcher, patience_s=1.0)
        until(lambda: jobs.run(run.id, None).state == "starting")
        until(lambda: jobs.run(run.id, None).message == ray_runs.NO_CORE)
        assert jobs.run(run.id, None).state == "starting"
        server.stop(run.id, None)
        assert jobs.run(run.id, None).state == "stopping"
        until(lambda: jobs.run(run.id, None).state == "stopped")
        jobs.resume(run.id, None)
        until(lambda: jobs.run(run.id, None).state == "starting")
        ray.kill(others[0])
        until(lambda: jobs.run(run.id, None).state == "finished")
        server.close()
    jobs.close()

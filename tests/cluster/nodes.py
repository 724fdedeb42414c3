"""A Ray cluster on this machine: a head without CPUs and two small nodes, each with a raylet of its own.

A process starts one: its threads of gRPC, which stay, can keep the next one from starting."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

BUSY_S = 300.0  # the most that a busy machine needs to start a replica or a run on a node; an idle one needs 10
os.environ.setdefault("RAY_raylet_start_wait_time_s", f"{BUSY_S:.0f}")  # of a node; Ray reads it as it is imported
NODE = {"num_cpus": 1, "memory": 3 << 30, "object_store_memory": 150 << 20}


@contextmanager
def small_cluster(**more: Any) -> Iterator[Any]:
    """Start the cluster; `small` are its two nodes. *more*: resources in addition to those of NODE."""
    import ray
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_AUTH_MODE", "disabled")
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        patch.setenv("BERTEXPLORER_RAY_INSECURE", "1")
        cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "object_store_memory": 150 << 20})
        cluster.node = {**NODE, **more}
        cluster.small = [cluster.add_node(**cluster.node) for _ in range(2)]
        yield cluster
        ray.shutdown()
        cluster.shutdown()


def node_of(cluster: Any, pid: int) -> Any:
    """The small node on which the process *pid* runs."""
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in cluster.small}
    while pid not in raylets:
        pid = int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
        assert pid > 1, "no raylet is its ancestor"
    return raylets[pid]


def replace_node(cluster: Any, removed: Any) -> None:
    """Add a small node instead of the *removed* one."""
    cluster.small[cluster.small.index(removed)] = cluster.add_node(**cluster.node)

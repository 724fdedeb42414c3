"""Backends: where a server computes answers and runs, according to its settings."""

import logging

from bertexplorer.api.calls import Backend
from bertexplorer.cluster.worker_pool import OwnedRuns, WorkerPool
from bertexplorer.errors import ExplorerError
from bertexplorer.runs.supervisor import Launcher
from bertexplorer.settings import Settings

log = logging.getLogger(__name__)


def warn_of_problems(settings: Settings) -> None:
    """Log what is wrong with the nodes of the cluster that *settings* name. Raises ExplorerError if it cannot be
    joined."""
    if settings.ray:
        from bertexplorer.cluster.check import check_cluster

        for name, problem in check_cluster(settings):
            if problem:
                log.warning(f"{name}: {problem}")


def create_backend(settings: Settings, owned_runs: OwnedRuns | None = None) -> Backend | None:
    """Start the backend that *settings* ask for; None: the server itself computes answers. *owned_runs*: see
    WorkerPool. Raises ExplorerError if a cluster cannot be used."""
    if settings.ray:
        from bertexplorer.cluster.ray_backend import RayBackend  # imports Ray, which is optional

        return RayBackend(settings, owned_runs)
    return WorkerPool(settings, owned_runs) if settings.workers else None


def create_launcher(settings: Settings) -> Launcher | None:
    """Create the launcher of runs; None if runs are local processes. Raises ExplorerError if a cluster cannot be
    used."""
    if settings.runs != "ray":
        if settings.runs_url:
            raise ExplorerError(
                "BERTEXPLORER_RUNS_URL is set, but runs are computed on this machine. Set BERTEXPLORER_RUNS=ray."
            )
        return None
    if not settings.ray:
        raise ExplorerError("BERTEXPLORER_RUNS is ray, but no cluster is given. Set BERTEXPLORER_RAY to its address.")
    from bertexplorer.cluster.ray_runs import RayRuns

    return RayRuns(settings)

"""Backends: where a server computes answers and runs, by its settings."""

from bertexplorer.api.calls import Backend
from bertexplorer.cluster.workers import Owned, Workers
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.supervisor import Launcher


def backend(settings: Settings, owned: Owned | None = None) -> Backend | None:
    """The backend that *settings* ask for; None: the process of the server itself. *owned*: see Workers. Raises
    ExplorerError if a cluster cannot be used."""
    if settings.ray:
        from bertexplorer.cluster.ray_backend import RayReplicas  # Ray is imported only if it is asked for

        return RayReplicas(settings, owned)
    return Workers(settings, owned) if settings.workers else None


def launcher(settings: Settings) -> Launcher | None:
    """What starts runs; None: processes of this machine. Raises ExplorerError if a cluster cannot be used."""
    if settings.runs != "ray":
        if settings.runs_url:
            raise ExplorerError("BERTEXPLORER_RUNS_URL is set, and runs are computed here. Set BERTEXPLORER_RUNS=ray.")
        return None
    if not settings.ray:
        raise ExplorerError("BERTEXPLORER_RUNS is ray, and no cluster is named. Set BERTEXPLORER_RAY to its address.")
    from bertexplorer.cluster.ray_runs import RayRuns

    return RayRuns(settings)

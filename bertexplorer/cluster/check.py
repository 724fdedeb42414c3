"""Check: what is wrong with a cluster, node by node, before anyone asks it something."""

import importlib.metadata
import os
import platform
import secrets
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from bertexplorer.cluster.ray_backend import BESIDE_MB, connect
from bertexplorer.cluster.remote_folder import RemoteFolder, probe
from bertexplorer.errors import ExplorerError
from bertexplorer.model.scheduler import available_cores
from bertexplorer.settings import Settings
from bertexplorer.version import __version__

APART_S = 5.0  # by which clocks may differ
WAIT_S = 60.0  # for the facts of a node


@dataclass(frozen=True)
class Facts:
    """What a node says of itself. *seen*: the content of the file that the front wrote into the data folder; *stored*:
    of that on the object storage of runs, if there is one."""

    python: str
    bertexplorer: str
    torch: str
    clock: float
    seen: str
    cores: int
    memory_mb: int
    stored: str = ""


@dataclass(frozen=True)
class Node:
    """A node as Ray counts it."""

    name: str
    id: str
    cpus: float
    memory_mb: int


def facts(file: str, url: str = "") -> dict[str, Any]:
    """The facts of the node that this runs on, as plain data. *file*: a path in the data folder; *url*: a folder on
    the object storage."""
    try:
        seen = Path(file).read_text("utf-8")
    except OSError as error:
        seen = error.strerror or str(error)
    try:
        torch = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch = "not installed"
    pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000 if hasattr(os, "sysconf") else 0
    version = platform.python_version()
    return asdict(
        Facts(version, __version__, torch, time.time(), seen, available_cores(), pages, stored(url) if url else "")
    )


def stored(url: str) -> str:
    """The word below *url*, where this node must also be able to write; or what refuses."""
    try:
        remote = RemoteFolder(url)
        remote.write(f"node-{secrets.token_hex(4)}", b"1")
        return remote.read("word").decode("utf-8", "replace")
    except OSError as error:
        return str(error)


def problems(node: Node, there: Facts, here: Facts, settings: Settings) -> Iterator[str]:
    """What is wrong with *node*, and what to do. *here*: the facts of the front, asked at the same moment."""
    for name in ("python", "bertexplorer", "torch"):
        given, wanted = getattr(there, name), getattr(here, name)
        if name == "python":
            given, wanted = (version.rpartition(".")[0] for version in (given, wanted))
        if given != wanted:
            yield f"{name} is {given}; the server has {wanted}. Use the same image on all nodes."
    if abs(apart := there.clock - here.clock) > APART_S:
        yield f"its clock is {abs(apart):,.0f} s {'ahead' if apart > 0 else 'behind'}. Start its time service (NTP)."
    if there.seen != here.seen:
        yield (
            f"it does not see the data folder {settings.data_dir} of the server ({there.seen[:80]}). Mount it there at "
            "the same path."
        )
    if there.stored != here.stored:
        yield (
            f"it cannot use the storage of runs ({there.stored[:200]}). Give it the library, the network and the "
            f"credentials for {settings.runs_url}."
        )
    threads = settings.worker_cores or 1
    if node.cpus and node.cpus < threads:
        fitting = int(node.cpus) or 1
        yield f"it offers {node.cpus:g} CPUs; a replica wants {threads}. Set BERTEXPLORER_WORKER_CORES={fitting}."
    if node.cpus > there.cores:
        yield f"Ray counts {node.cpus:g} CPUs where {there.cores} are. Start the node with --num-cpus={there.cores}."
    wanted_mb = settings.memory_mb + BESIDE_MB
    if node.cpus and node.memory_mb < wanted_mb:
        yield (
            f"it offers {node.memory_mb:,} MB; a replica wants {wanted_mb:,}. Set BERTEXPLORER_MEMORY_MB to "
            f"{max(100, node.memory_mb - BESIDE_MB):,} at most, or give it more memory."
        )


def nodes() -> list[Node]:
    """The live nodes of the cluster."""
    import ray

    found = []
    for one in (one for one in ray.nodes() if one["Alive"]):
        resources = one["Resources"]
        memory = int(resources.get("memory", 0)) // 1_000_000
        found.append(Node(one["NodeManagerHostname"], one["NodeID"], resources.get("CPU", 0.0), memory))
    return found


def check(settings: Settings) -> Iterator[tuple[str, str]]:
    """(name of a node, what is wrong there) for everything that is wrong, and (name, "") for a node without fault.
    Raises ExplorerError if the cluster cannot be joined, or the data folder not be written."""
    if not settings.ray:
        raise ExplorerError("No cluster is named. Set BERTEXPLORER_RAY to the address of its head, or to local.")
    connect(settings)
    remote = None
    if settings.runs_url:
        probe(settings.runs_url)
        remote = RemoteFolder(f"{settings.runs_url.rstrip('/')}/.check-{secrets.token_hex(4)}")
        remote.write("word", secrets.token_hex(4).encode())
    url = remote.url if remote else ""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    file = settings.data_dir / f".cluster-check-{secrets.token_hex(4)}"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(file.name, "utf-8")
    except OSError as error:
        raise ExplorerError(
            f"{settings.data_dir} cannot be written: {error.strerror}. Set BERTEXPLORER_DATA."
        ) from error
    try:
        ask = ray.remote(facts)
        for node in nodes():
            there = NodeAffinitySchedulingStrategy(node.id, soft=False)
            begun = time.time()
            try:
                got = ray.get(ask.options(num_cpus=0, scheduling_strategy=there).remote(str(file), url), timeout=WAIT_S)
            except ray.exceptions.RayError as error:
                said = str(error).strip().splitlines()[-1][:200]
                yield node.name, f"it does not answer ({said}). Install bertexplorer there as on the server."
                continue
            known = Facts(**got)
            mean = (begun + time.time()) / 2
            faults = list(problems(node, known, Facts(**{**facts(str(file), url), "clock": mean}), settings))
            yield from ((node.name, fault) for fault in faults or [""])
    finally:
        file.unlink(missing_ok=True)
        if remote:
            remote.remove()

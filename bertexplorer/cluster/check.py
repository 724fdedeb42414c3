"""Cluster check: finds what is wrong with the nodes of a cluster before the server uses them."""

import importlib.metadata
import os
import platform
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from bertexplorer.cluster.ray_backend import BASE_MB
from bertexplorer.cluster.ray_connection import connect
from bertexplorer.cluster.remote_folder import RemoteFolder
from bertexplorer.errors import ExplorerError
from bertexplorer.model.scheduler import available_cores
from bertexplorer.settings import Settings
from bertexplorer.version import __version__
from bertexplorer.views import plugins
from bertexplorer.wording import counted

MAX_CLOCK_DIFFERENCE_S = 5.0
TIMEOUT_S = 60.0  # for the facts of a node
MARKER = "word"  # name of the marker file on the object storage


@dataclass(frozen=True)
class NodeFacts:
    """What a node reports about itself. *data_marker* and *storage_marker*: the content of the marker files that the
    server has written to the data folder and to the object storage of runs, or why they cannot be read."""

    python: str  # this and the next two: versions
    bertexplorer: str
    torch: str
    clock: float  # unix seconds
    data_marker: str
    cores: int
    memory_mb: int
    storage_marker: str = ""
    views: Sequence[str] = ()  # the names of the views that other packages bring


@dataclass(frozen=True)
class Node:
    """A node and its resources according to Ray."""

    name: str
    id: str
    cpus: float
    memory_mb: int


def node_facts(marker: str, url: str = "") -> dict[str, Any]:
    """The NodeFacts of this machine as plain data. *marker*: a file in the data folder. *url*: a folder on the object
    storage."""
    try:
        data_marker = Path(marker).read_text("utf-8")
    except OSError as error:
        data_marker = error.strerror or str(error)
    try:
        torch = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        torch = "not installed"
    memory_mb = 0
    if hasattr(os, "sysconf"):
        memory_mb = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1_000_000
    facts = NodeFacts(
        python=platform.python_version(),
        bertexplorer=__version__,
        torch=torch,
        clock=time.time(),
        data_marker=data_marker,
        cores=available_cores(),
        memory_mb=memory_mb,
        storage_marker=read_storage_marker(url) if url else "",
        views=tuple(plugins.installed()),
    )
    return asdict(facts)


def read_storage_marker(url: str) -> str:
    """The marker below *url*, where this node must also be able to write; or the error."""
    try:
        remote = RemoteFolder(url)
        remote.write(f"node-{secrets.token_hex(4)}", b"1")
        return remote.read(MARKER).decode("utf-8", "replace")
    except OSError as error:
        return str(error)


def node_problems(node: Node, facts: NodeFacts, server: NodeFacts, settings: Settings) -> Iterator[str]:
    """What is wrong with *node*, and what to do. *server*: the facts of the server at the same moment."""
    versions = (
        ("python", minor_version(facts.python), minor_version(server.python)),
        ("bertexplorer", facts.bertexplorer, server.bertexplorer),
        ("torch", facts.torch, server.torch),
    )
    for name, version, wanted in versions:
        if version != wanted:
            yield f"{name} is {version}; the server has {wanted}. Use the same image on all nodes."
    ahead_s = facts.clock - server.clock
    if abs(ahead_s) > MAX_CLOCK_DIFFERENCE_S:
        direction = "ahead" if ahead_s > 0 else "behind"
        yield f"its clock is {abs(ahead_s):,.0f} s {direction}. Start its time service (NTP)."
    if facts.data_marker != server.data_marker:
        yield (
            f"it does not see the server's data folder {settings.data_dir} ({facts.data_marker[:80]}). Mount it at the "
            "same path."
        )
    if facts.storage_marker != server.storage_marker:
        yield (
            f"it cannot use the storage of runs ({facts.storage_marker[:200]}). Give it the library, the network and "
            f"the credentials for {settings.runs_url}."
        )
    yield from missing_views(facts, settings)
    threads = settings.worker_cores or 1
    if node.cpus and node.cpus < threads:
        worker_cores = int(node.cpus) or 1
        yield f"it offers {node.cpus:g} CPUs; a replica needs {threads}. Set BERTEXPLORER_WORKER_CORES={worker_cores}."
    if node.cpus > facts.cores:
        yield (
            f"Ray counts {node.cpus:g} CPUs, but the node has {facts.cores}. Start it with --num-cpus={facts.cores}."
        )
    needed_mb = settings.memory_mb + BASE_MB
    if node.cpus and node.memory_mb < needed_mb:
        yield (
            f"it offers {node.memory_mb:,} MB; a replica needs {needed_mb:,}. Set BERTEXPLORER_MEMORY_MB to "
            f"{max(100, node.memory_mb - BASE_MB):,} at most, or give it more memory."
        )


def minor_version(version: str) -> str:
    """3.11 of 3.11.4."""
    return version.rpartition(".")[0]


def missing_views(facts: NodeFacts, settings: Settings) -> Iterator[str]:
    """The views of other packages that the server has and the node lacks."""
    missing = [name for name in settings.plugins or () if name not in facts.views]
    if missing:
        yield f"it lacks views of other packages: {', '.join(missing)}. Install these packages there too."


def room(node: Node, settings: Settings) -> int:
    """How many replicas fit on *node*."""
    by_cores = int(node.cpus) // (settings.worker_cores or 1)
    by_memory = node.memory_mb // (settings.memory_mb + BASE_MB)
    return min(by_cores, by_memory)


def cluster_problems(nodes: Sequence[Node], settings: Settings) -> Iterator[str]:
    """What is wrong with *nodes* together."""
    wanted = settings.workers or 1
    threads = settings.worker_cores or 1
    fitting = sum(room(node, settings) for node in nodes)
    cpus = sum(node.cpus for node in nodes)
    if fitting < wanted:
        yield (
            f"there is room for {fitting} of {wanted} replicas of {counted(threads, 'CPU')} and "
            f"{settings.memory_mb + BASE_MB:,} MB. Add nodes, or lower BERTEXPLORER_WORKERS or BERTEXPLORER_MEMORY_MB."
        )
    elif settings.runs == "ray" and cpus - wanted * threads < 1:
        yield (
            "the replicas reserve all its CPUs, so that runs would wait forever. Add a node or lower "
            "BERTEXPLORER_WORKERS."
        )


def live_nodes() -> list[Node]:
    """The nodes of the cluster that this process has joined, without those that have died."""
    import ray

    nodes = []
    for node in ray.nodes():
        if not node["Alive"]:
            continue
        resources = node["Resources"]
        nodes.append(
            Node(
                name=node["NodeManagerHostname"],
                id=node["NodeID"],
                cpus=resources.get("CPU", 0.0),
                memory_mb=int(resources.get("memory", 0)) // 1_000_000,
            )
        )
    return nodes


def check_cluster(settings: Settings) -> Iterator[tuple[str, str]]:
    """Yield (name of a node, problem) for each problem, and (name, "") for each node without any. Meanwhile, marker
    files lie in the data folder and on the storage of runs. Raises ExplorerError if the cluster cannot be joined, or
    the data folder or the storage cannot be written."""
    if not settings.ray:
        raise ExplorerError("No cluster is given. Set BERTEXPLORER_RAY to the address of its head, or to local.")
    connect(settings)
    # 1. Markers, which each node has to see.
    remote = None
    if settings.runs_url:
        check_storage(settings.runs_url)
        remote = RemoteFolder(f"{settings.runs_url.rstrip('/')}/.check-{secrets.token_hex(4)}")
        remote.write(MARKER, secrets.token_hex(4).encode())
    url = remote.url if remote else ""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    marker = settings.data_dir / f".cluster-check-{secrets.token_hex(4)}"
    try:
        marker.parent.mkdir(parents=True, exist_ok=True)
        marker.write_text(marker.name, "utf-8")
    except OSError as error:
        raise ExplorerError(
            f"{settings.data_dir} cannot be written: {error.strerror}. Set BERTEXPLORER_DATA."
        ) from error
    try:
        # 2. Each node is asked for its facts: all at the same time, as each has to start a process.
        remote_facts = ray.remote(node_facts)
        nodes = live_nodes()
        asked_at = time.time()
        yield from (("the cluster", problem) for problem in cluster_problems(nodes, settings))
        pending = {}  # an answer to come -> its node
        for node in nodes:
            on_node = NodeAffinitySchedulingStrategy(node.id, soft=False)
            node_task = remote_facts.options(num_cpus=0, scheduling_strategy=on_node)
            pending[node_task.remote(str(marker), url)] = node
        # 3. The answers, as they come. Beyond the deadline, what is late counts as no answer.
        deadline = time.monotonic() + TIMEOUT_S
        while pending:
            ready, late = ray.wait(list(pending), timeout=max(0.0, deadline - time.monotonic()))
            received_at = time.time()
            answer = (ready or late)[0]
            node = pending.pop(answer)
            try:
                facts = NodeFacts(**ray.get(answer, timeout=0))
            except ray.exceptions.RayError as error:
                reason = str(error).strip().splitlines()[-1][:200]
                yield node.name, f"it does not answer ({reason}). Install bertexplorer there as on the server."
                continue
            clock = min(max(facts.clock, asked_at), received_at)  # any time between the two may be the server's
            server = replace(NodeFacts(**node_facts(str(marker), url)), clock=clock)
            problems = list(node_problems(node, facts, server, settings))
            yield from ((node.name, problem) for problem in problems or [""])
    finally:
        marker.unlink(missing_ok=True)
        if remote:
            with suppress(OSError):  # what remains of the probe is harmless
                remote.delete()


def check_storage(url: str) -> None:
    """Write, read and delete below *url*. Raises ExplorerError if that fails."""
    word = secrets.token_hex(4)
    try:
        remote = RemoteFolder(f"{url}/.probe-{word}")
        remote.write(word, word.encode())
        content = remote.read(word)
        remote.delete()
    except OSError as error:
        raise ExplorerError(
            f"BERTEXPLORER_RUNS_URL cannot be used: {error}. Give a folder that can be written."
        ) from error
    if content != word.encode():
        raise ExplorerError(
            f"BERTEXPLORER_RUNS_URL is {url}, which returns other content than was written. Give another folder."
        )

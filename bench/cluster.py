"""Workers and Ray replicas compared with this process: the overhead of a call, the gain of two, and the effect of a
kill.

python -m bench.cluster [--ray] [--kills 30] [--calls 200] [--seconds 20]
"""

import argparse
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.common import base_shape, machine
from bertexplorer.api.admission import Admission, Reply
from bertexplorer.api.calls import Backend, Call
from bertexplorer.api.perform import InProcess
from bertexplorer.cluster.worker_pool import WorkerPool
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry

WORDS = ["cat", "dog", "man", "river", "house", "king", "song", "tree", "book", "child"]
PEOPLE = 24  # callers that never pause
UP_S = 120.0
LOADS_S = 8.0


def call(n: int, checkpoint: str = "mini") -> Call:
    """A call; each *n* gives another text of the same length."""
    first, second, third, fourth = (WORDS[n // 10**digit % 10] for digit in range(4))
    text = f"The {first} of the {second} saw the [MASK] and the {third} of the {fourth}."
    marked = {"pair": "", "hidden": [], "picked": [], "checkpoint": checkpoint, "precision": "auto"}
    return Call("analysis", "fill-mask", "a" * 32, {"text": text, **marked})


def ask(backend: Backend, one: Call) -> Reply:
    return backend.task(one).start(lambda line: None).result(120)


def local(settings: Settings) -> InProcess:
    """This process, with as many cores as a worker has."""
    cores = settings.worker_cores
    answerer = Answerer(CheckpointRegistry(settings, shared=True, cores=cores).for_owner(""))
    return InProcess(answerer, Admission(RequestQueues(cores, quick_waiting=settings.waiting)), opening(settings))


@contextmanager
def started(settings: Settings) -> Iterator[Backend]:
    """The workers or replicas requested by *settings*, all ready."""
    if settings.ray:
        from bertexplorer.cluster.ray_backend import RayBackend

        backend: Backend = RayBackend(settings)
    else:
        backend = WorkerPool(settings)
    backend.warm_up()
    until(lambda: all_ready(backend, settings))
    yield backend
    backend.close()


def all_ready(backend: Backend, settings: Settings) -> bool:
    """Whether all replicas are ready."""
    return len([replica for replica in backend.replicas() if replica.ready]) == settings.workers or bool(settings.ray)


def until(holds: Callable[[], bool], seconds: float = UP_S) -> float:
    """Seconds until *holds*."""
    begun = time.monotonic()
    while not holds():
        if time.monotonic() - begun > seconds:
            raise RuntimeError("it has not come to that")
        time.sleep(0.01)
    return time.monotonic() - begun


def overhead(settings: Settings, calls: int) -> str:
    """The time of one caller's calls, alternating with calls to this process."""
    times: dict[str, list[float]] = {"here": [], "there": []}
    with started(settings) as there:
        cases = {"here": local(settings), "there": there}
        for n in range(-20, calls):
            for name, backend in cases.items():
                begun = time.perf_counter()
                assert ask(backend, call(n % 10_000)).status == 200
                if n >= 0:
                    times[name].append(1000 * (time.perf_counter() - begun))
    here, other = (sorted(result) for result in times.values())
    middle, most = calls // 2, calls * 95 // 100
    more = other[middle] - here[middle]
    medians = f"p50 {here[middle]:.1f} ms here, {other[middle]:.1f} ms there: {more:+.1f}"
    return f"{medians}; p95 {here[most]:.1f} and {other[most]:.1f}"


def throughput(settings: Settings, checkpoint: str, seconds: float) -> tuple[float, dict[str, list[float]]]:
    """(answers a second for callers that never pause, processor milliseconds for each answer by name of process)."""
    with started(settings) as backend, ThreadPoolExecutor(PEOPLE) as people:
        list(people.map(lambda n: ask(backend, call(-n, checkpoint)), range(6 * PEOPLE)))  # all load the checkpoint
        end, counts, before = time.monotonic() + seconds, [0] * PEOPLE, processor_time()

        def person(number: int) -> None:
            n = number * 400  # no caller repeats the text of another one
            while time.monotonic() < end:
                assert ask(backend, call(n, checkpoint)).status == 200
                n, counts[number] = n + 1, counts[number] + 1

        list(people.map(person, range(PEOPLE)))
        spent: dict[str, list[float]] = {}
        for (name, pid), ms in processor_time().items():
            spent.setdefault(name, []).append((ms - before.get((name, pid), 0.0)) / sum(counts))
    return sum(counts) / seconds, spent


def processor_time() -> dict[tuple[str, int], float]:
    """(name, pid) -> processor milliseconds so far, of this process and all its children."""
    parents, spent = dict[int, int](), dict[int, float]()
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            fields, pid = path.read_text("utf-8", "replace").rpartition(")")[2].split(), int(path.parent.name)
            parents[pid] = int(fields[1])
            spent[pid] = 1000 * (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    ours = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in ours} - ours:
        ours |= more
    return {(name_of(pid), pid): spent[pid] for pid in ours}


def name_of(pid: int) -> str:
    """The role of a process: the front, a worker, or a process of Ray by its title or program."""
    words: list[str] = []
    with suppress(OSError):
        words = Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").rstrip("\0 ").split("\0")
    if pid == os.getpid() or not words:
        return "front" if words else "ended"
    if words[0].startswith("ray::"):
        return words[0][5:].partition(":")[0].partition(".")[0]
    programs = [Path(word).name for word in words if word.endswith(".py")]
    return "worker" if words[-1] == "worker" else (programs or [Path(words[0]).name])[0]


def in_words(spent: dict[str, list[float]]) -> str:
    """The processes that need at least 0.05 ms, in descending order."""
    lines = sorted(((name, sorted(ms, reverse=True)) for name, ms in spent.items()), key=lambda line: -sum(line[1]))
    return ", ".join(f"{name} {' + '.join(f'{one:.1f}' for one in ms)}" for name, ms in lines if sum(ms) >= 0.05)


def processes(backend: Backend) -> set[int]:
    """The processes of the replicas."""
    if isinstance(backend, WorkerPool):
        return {link.process.pid for link in backend.links.values() if link.process and link.alive}
    result = set()
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            if b"ServeReplica:bertexplorer-" in path.read_bytes():
                result.add(int(path.parent.name))
    return result


def kills(settings: Settings, times: int) -> str:
    """*times* kill -9 of a worker that is computing, each as soon as all are ready again."""
    wanted = {n: ask(local(settings), call(n)).body for n in range(100)}
    over, wrong, lost, took, back = threading.Event(), 0, 0, list[float](), list[float]()
    lock = threading.Lock()

    def person(number: int) -> None:
        nonlocal wrong, lost
        n = number * 13
        while not over.is_set():
            n, begun = (n + 1) % 100, time.perf_counter()
            reply = ask(pool, call(n))
            with lock:
                took.append(time.perf_counter() - begun)
                wrong, lost = wrong + (reply.status == 200 and reply.body != wanted[n]), lost + (reply.status != 200)

    with started(settings) as pool, ThreadPoolExecutor(PEOPLE) as people:
        until(lambda: len(processes(pool)) == settings.workers)
        going = [people.submit(person, number) for number in range(PEOPLE)]
        for n in range(times):
            time.sleep(0.3)
            killed = sorted(processes(pool))[n % settings.workers]
            os.kill(killed, signal.SIGKILL)
            until(lambda killed=killed: killed not in processes(pool))
            back.append(until(lambda: len(processes(pool)) == settings.workers and all_ready(pool, settings)))
            if settings.ray:
                time.sleep(LOADS_S)  # Ray does not report when the new one has loaded torch
        over.set()
        for item in going:
            item.result()
    took.sort()
    return (
        f"{times} kills, {len(took):,} answers, {wrong} wrong, {lost} lost; p50 {1000 * took[len(took) // 2]:.0f} ms, "
        f"p99 {took[len(took) * 99 // 100]:.2f} s, longest {took[-1]:.2f} s; all ready again after "
        f"{sorted(back)[len(back) // 2]:.1f} s, {max(back):.1f} s at most"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ray", action="store_true", help="replicas of Ray Serve instead of workers")
    parser.add_argument("--kills", type=int, default=30)
    parser.add_argument("--calls", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=20)
    given = parser.parse_args()
    with TemporaryDirectory() as folder:
        base_shape(Path(folder) / "models" / "base")
        settings = Settings(
            data_dir=Path(folder) / "data",
            models_dir=Path(folder) / "models",
            worker_cores=1,
            memory_mb=1500,
            ray="local" if given.ray else "",
        )
        print(machine())
        print(f"one caller, fill-mask on mini: {overhead(with_workers(settings, 1), given.calls)}")
        for checkpoint in ("mini", "base"):
            first, second = (throughput(with_workers(settings, n), checkpoint, given.seconds) for n in (1, 2))
            rates = f"{first[0]:.1f} answers a second with one, {second[0]:.1f} with two: {second[0] / first[0]:.2f}x"
            print(f"{PEOPLE} callers, {checkpoint}: {rates}")
            for count, (_, spent) in enumerate((first, second), 1):
                print(f"  processor ms for each answer with {count}: {in_words(spent)}", flush=True)
        if given.kills:
            print(kills(with_workers(settings, 2), given.kills))


def with_workers(settings: Settings, count: int) -> Settings:
    """*settings* with *count* workers, each with the same memory."""
    return replace(settings, workers=count, memory_mb=settings.memory_mb * (1 if settings.ray else count))


if __name__ == "__main__":
    main()

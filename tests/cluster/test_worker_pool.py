"""Workers give the same answers as this process. Killed under load, they lose no call and are restarted."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from bertexplorer.api.perform import InProcess
from bertexplorer.cluster import worker_pool
from bertexplorer.cluster.worker_pool import GAVE_UP, WorkerPool
from bertexplorer.settings import Settings
from bertexplorer.training.checkpointing import MANIFEST
from tests.cluster.conftest import CALLS, OWNER, analysis_call, answer, view_call, without_times
from tests.runs import running as waiting

until = partial(waiting.until, seconds=60)

pytestmark = pytest.mark.slow
KILLS = 3
RUN = "c" * 32
LONG = "The cat sat on the mat and the dog sat on the cat."


@pytest.fixture
def pool(settings: Settings) -> Iterator[WorkerPool]:
    workers = WorkerPool(settings, lambda owner: {RUN} if owner == OWNER else set())
    assert workers.warm_up() == ""
    until(lambda: all(link.ready.is_set() for link in workers.links.values()))
    yield workers
    workers.close()


def test_workers_answer_like_this_process(pool: WorkerPool, in_process: InProcess, settings: Settings) -> None:
    # 1. The same answers, also from a checkpoint that is new, and with an index that one of them has built.
    for call in CALLS * 2:
        assert without_times(answer(pool, call)) == without_times(answer(in_process, call))
    assert answer(pool, analysis_call("A [MASK].", "later")).status == 422
    shutil.copytree(settings.models_dir / "little", settings.models_dir / "later")
    assert answer(pool, analysis_call("A [MASK].", "later")).status == 200
    key, _ = in_process.answerer.for_owner(OWNER).save_upload(
        in_process.answerer.lines, b"One line.\nAnother line.\n", "a.txt"
    )
    search = view_call("A line.", "search", options={"lines": key})
    assert answer(pool, search).status == 200, "this builds the index"
    assert without_times(answer(pool, search)) == without_times(answer(in_process, search))

    # 2. Only its owner can open a run.
    saved = settings.data_dir / "runs" / RUN / "commits" / "1"
    shutil.copytree(settings.models_dir / "little", saved / "model")
    (saved.parents[1] / "spec.json").write_text("{}")
    (saved / MANIFEST).write_text("{}")
    own, others = (answer(pool, analysis_call("A [MASK].", f"run:{RUN}", owner)) for owner in (OWNER, "b" * 32))
    assert others.status == 422 and b"This run is not here" in others.body
    assert own.status == 200

    # 3. Stopped calls are dropped.
    tasks = [pool.task(view_call(f"{LONG} {n}", "saliency")) for n in range(20)]
    for task in tasks:
        task.start(lambda line: None)
    for task in tasks:
        task.stop()
    assert [task.result.result(1).status for task in tasks] == [499] * 20
    assert sum(replica.in_flight for replica in pool.replicas()) == 0
    assert answer(pool, analysis_call("A [MASK].")).status == 200
    assert [(replica.ready, replica.restarts) for replica in pool.replicas()] == [(True, 0), (True, 0)]


def test_workers_killed_under_load_lose_no_call(pool: WorkerPool, in_process: InProcess) -> None:
    texts = [f"The {word} [MASK] {n}." for word in ("cat", "dog", "man") for n in range(10)]
    expected = {text: without_times(answer(in_process, analysis_call(text))) for text in texts}
    over, wrong, texts_sent = threading.Event(), [], []

    def client(number: int) -> None:
        for n in range(number, 1_000_000):
            if over.is_set():
                return
            text = texts[n % len(texts)]
            if (reply := without_times(answer(pool, analysis_call(text)))) != expected[text]:
                wrong.append((text, reply))
            texts_sent.append(text)

    with ThreadPoolExecutor(8) as clients:
        futures = [clients.submit(client, 7 * number) for number in range(8)]
        for n in range(KILLS):
            link = pool.links[str(n % 2)]
            until(lambda link=link: link.ready.is_set() and bool(link.tasks))
            assert link.process
            os.kill(link.process.pid, signal.SIGKILL)
            until(lambda link=link, n=n: link.restarts == n // 2 + 1)
            until(lambda: all(replica.ready for replica in pool.replicas()))
        over.set()
        for future in futures:
            future.result()
    assert not wrong and len(texts_sent) > 50
    assert sum(replica.restarts for replica in pool.replicas()) == KILLS


def test_a_silent_worker_is_killed_and_another_one_answers_its_call(
    settings: Settings, in_process: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_pool, "SILENCE_S", 10.0)
    monkeypatch.setattr(worker_pool, "CHECK_INTERVAL_S", 0.2)
    workers = WorkerPool(settings)
    try:
        until(lambda: all(link.ready.is_set() for link in workers.links.values()))
        task = workers.task(analysis_call("A [MASK] that waits."))
        home = workers.links[workers.router.pick(*task.routing_key, dict.fromkeys(workers.links, 0.0))]
        assert home.process
        os.kill(home.process.pid, signal.SIGSTOP)
        started_at = time.monotonic()
        reply = task.start(lambda line: None).result(60)
        assert without_times(reply) == without_times(answer(in_process, analysis_call("A [MASK] that waits.")))
        assert time.monotonic() - started_at > 5 and [link.restarts for link in workers.links.values()].count(1) == 1
        until(lambda: home.ready.is_set())
    finally:
        workers.close()


def test_a_call_that_ends_two_workers_fails(pool: WorkerPool) -> None:
    links = list(pool.links.values())
    for link in links:
        assert link.process
        os.kill(link.process.pid, signal.SIGSTOP)  # they get the call and do not answer
    task = pool.task(analysis_call("A [MASK] c."))
    result = task.start(lambda line: None)
    for deaths in (1, 2):
        until(lambda: task.link is not None and task.link.alive)
        assert task.link
        task.link.kill()
        until(lambda deaths=deaths: task.deaths == deaths)
    assert GAVE_UP.encode() in result.result(5).body and result.result().status == 503
    until(lambda: all(link.ready.is_set() for link in links))
    assert answer(pool, analysis_call("A [MASK] c.")).status == 200

"""Workers answer as this process does; killed under load they lose nothing, and are there again."""

import os
import shutil
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bertexplorer.api.perform import InProcess
from bertexplorer.cluster import workers
from bertexplorer.cluster.workers import GIVEN_UP, Workers
from bertexplorer.settings import Settings
from bertexplorer.training.checkpointing import MANIFEST
from tests.cluster.conftest import CALLS, OWNER, asked, plain, settle, shown

pytestmark = pytest.mark.slow
KILLS = 5
RUN = "c" * 32
LONG = "The cat sat on the mat and the dog sat on the cat."


def until(holds: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it has not come to that"
        time.sleep(0.02)


@pytest.fixture
def pool(settings: Settings) -> Iterator[Workers]:
    made = Workers(settings, lambda owner: {RUN} if owner == OWNER else set())
    assert made.warm() == ""
    until(lambda: all(link.ready.is_set() for link in made.links.values()))
    yield made
    made.close()


def test_they_answer_as_this_process_does_and_see_what_is_added(
    pool: Workers, here: InProcess, settings: Settings
) -> None:
    for call in CALLS * 2:
        assert plain(settle(pool, call)) == plain(settle(here, call))
    assert settle(pool, asked("A [MASK].", "later")).status == 422
    shutil.copytree(settings.models_dir / "little", settings.models_dir / "later")
    assert settle(pool, asked("A [MASK].", "later")).status == 200
    key, _ = here.explore.of(OWNER).keep(here.explore.lines, b"One line.\nAnother line.\n", "a.txt")
    search = shown("A line.", "search", options={"lines": key})
    assert settle(pool, search).status == 200, "which builds the index"
    assert plain(settle(pool, search)) == plain(settle(here, search))
    assert [one.ready for one in pool.replicas()] == [True, True] and sum(one.restarts for one in pool.replicas()) == 0


def test_a_run_is_opened_for_its_owner_only(pool: Workers, settings: Settings) -> None:
    saved = settings.data_dir / "runs" / RUN / "commits" / "1"
    shutil.copytree(settings.models_dir / "little", saved / "model")
    (saved.parents[1] / "spec.json").write_text("{}")
    (saved / MANIFEST).write_text("{}")
    mine, others = (settle(pool, asked("A [MASK].", f"run:{RUN}", owner)) for owner in (OWNER, "b" * 32))
    assert others.status == 422 and b"This run is not here" in others.body
    assert mine.status == 200


def test_who_leaves_is_forgotten(pool: Workers) -> None:
    tasks = [pool.task(shown(f"{LONG} {n}", "saliency")) for n in range(20)]
    for task in tasks:
        task.start(lambda line: None)
    for task in tasks:
        task.stop()
    assert [task.result.result(1).status for task in tasks] == [499] * 20
    assert sum(one.in_flight for one in pool.replicas()) == 0
    assert settle(pool, asked("A [MASK].")).status == 200


def test_killed_under_load_none_is_wrong_and_none_is_lost(pool: Workers, here: InProcess) -> None:
    texts = [f"The {word} [MASK] {n}." for word in ("cat", "dog", "man") for n in range(10)]
    wanted = {text: plain(settle(here, asked(text))) for text in texts}
    over, wrong, asked_for = threading.Event(), [], []

    def person(number: int) -> None:
        for n in range(number, 1_000_000):
            if over.is_set():
                return
            text = texts[n % len(texts)]
            if (found := plain(settle(pool, asked(text)))) != wanted[text]:
                wrong.append((text, found))
            asked_for.append(text)

    with ThreadPoolExecutor(8) as people:
        going = [people.submit(person, 7 * number) for number in range(8)]
        for n in range(KILLS):
            link = pool.links[str(n % 2)]
            until(lambda link=link: link.ready.is_set() and bool(link.tasks))
            assert link.process
            os.kill(link.process.pid, signal.SIGKILL)
            until(lambda link=link, n=n: link.restarts == n // 2 + 1)
            until(lambda: all(one.ready for one in pool.replicas()))
        over.set()
        for one in going:
            one.result()
    assert not wrong and len(asked_for) > 50
    assert sum(one.restarts for one in pool.replicas()) == KILLS


def test_a_silent_worker_is_ended_and_its_call_is_answered_by_another_one(
    settings: Settings, here: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "SILENT_S", 10.0)
    monkeypatch.setattr(workers, "LOOK_S", 0.2)
    made = Workers(settings)
    try:
        until(lambda: all(link.ready.is_set() for link in made.links.values()))
        task = made.task(asked("A [MASK] that waits."))
        home = made.links[made.router.pick(*task.asks, dict.fromkeys(made.links, 0.0))]
        assert home.process
        os.kill(home.process.pid, signal.SIGSTOP)
        asked_at = time.monotonic()
        found = task.start(lambda line: None).result(60)
        assert plain(found) == plain(settle(here, asked("A [MASK] that waits.")))
        assert time.monotonic() - asked_at > 5 and [one.restarts for one in made.links.values()].count(1) == 1
        until(lambda: home.ready.is_set())
    finally:
        made.close()


def test_what_ends_two_workers_is_given_up(pool: Workers) -> None:
    links = list(pool.links.values())
    for link in links:
        assert link.process
        os.kill(link.process.pid, signal.SIGSTOP)  # they take it and do not answer
    task = pool.task(asked("A [MASK] c."))
    result = task.start(lambda line: None)
    for deaths in (1, 2):
        until(lambda: task.link is not None and task.link.alive)
        assert task.link
        task.link.kill()
        until(lambda deaths=deaths: task.deaths == deaths)
    assert GIVEN_UP.encode() in result.result(5).body and result.result().status == 503
    until(lambda: all(link.ready.is_set() for link in links))
    assert settle(pool, asked("A [MASK] c.")).status == 200

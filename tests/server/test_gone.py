"""Long work leaves the quick queue, is rejected beyond the limit, and stops when its client disconnects."""

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import count
from typing import Any

import httpx
import pytest

from bertexplorer.engine import inference
from tests.runs.running import until
from tests.server.conftest import Running
from tests.server.talk import VIEW, asking, state

NUMBERS = count()  # so that no answer is cached by another test


def long() -> dict[str, Any]:
    """A request to score every token of a text of about 92."""
    return state("a great movie " * 30 + str(next(NUMBERS)), view="pseudo-likelihood")


class Held:
    """Forward passes of the long text that wait until released; others run."""

    def __init__(self) -> None:
        self.passes, self.go, self.forward = 0, threading.Event(), inference.forward

    def __call__(self, checkpoint: Any, encodings: Any, **more: Any) -> Any:
        if len(encodings) > 1 and len(encodings[0]) > 40:
            self.passes += 1
            self.go.wait(20)
        return self.forward(checkpoint, encodings, **more)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    """Batches hold two of these texts, and work counts as long beyond two of them."""
    passes = Held()
    monkeypatch.setattr(inference, "forward", passes)
    monkeypatch.setattr(inference, "token_budget", lambda device: 200)
    monkeypatch.setattr("bertexplorer.engine.progress.QUICK", 200)
    yield passes
    passes.go.set()


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, timeout=60) as http:
        yield http


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def leaves(client: httpx.Client, body: Any, path: str = VIEW, after_s: float = 1.0) -> None:
    """Ask, and close the connection before the answer."""
    with pytest.raises(httpx.ReadTimeout):
        client.post(path, json=body, timeout=httpx.Timeout(60, read=after_s))


def empty(running: Running) -> bool:
    return not any(queue.active or queue.line for queue in (running.queues.quick, running.queues.slow))


def test_two_long_texts_in_a_quick_view_do_not_block_the_quick_queue(
    running: Running, client: httpx.Client, threads: ThreadPoolExecutor, held: Held
) -> None:
    answers = [threads.submit(client.post, VIEW, json=long()) for _ in range(2)]
    slow = running.queues.slow
    until(lambda: held.passes == slow.capacity and len(slow.active) + slow.waiting == 2)
    assert not running.queues.quick.active
    quick = client.post(VIEW, json=state())
    assert quick.status_code == 200 and held.passes == slow.capacity, "answered while the long ones are under way"
    held.go.set()
    assert [answer.result().status_code for answer in answers] == [200, 200]


def test_work_ends_after_its_batch_if_the_client_disconnects(
    running: Running, client: httpx.Client, held: Held
) -> None:
    """A press of Stop, a closed tab and a newly typed text have the same effect."""
    leaves(client, long())
    passes = held.passes
    assert passes > 0
    until(lambda: any(ticket.work.stopped for ticket in running.queues.slow.active))
    held.go.set()
    until(lambda: empty(running))
    assert held.passes == passes, "of more than forty"


def test_a_client_that_disconnects_leaves_the_queue(
    running: Running, client: httpx.Client, threads: ThreadPoolExecutor, held: Held
) -> None:
    slow = running.queues.slow
    inside = [threads.submit(client.post, VIEW, json=long()) for _ in range(slow.capacity)]
    until(lambda: len(slow.active) == slow.capacity)
    with asking(client, long()) as lines:
        assert next(lines)["place"] == 1
        with asking(client, long()) as behind:
            assert next(behind)["place"] == 2 and slow.waiting == 2
            message = next(lines)
            assert message["place"] == 1 and message["seconds"] >= 1
        until(lambda: slow.waiting == 1)
    until(lambda: slow.waiting == 0)
    before = held.passes
    held.go.set()
    assert all(answer.result().status_code == 200 for answer in inside)
    until(lambda: empty(running))
    assert before == slow.capacity, "what left the line never began"


def test_requests_beyond_the_limit_get_retry_after(
    running: Running, client: httpx.Client, threads: ThreadPoolExecutor, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow view is rejected immediately, a quick one once it or its comparison turns out to be long."""
    slow = running.queues.slow
    monkeypatch.setattr(slow, "max_waiting", 0)
    answers: list[Future[httpx.Response]] = []
    answers += [threads.submit(client.post, VIEW, json=long()) for _ in range(slow.capacity)]
    until(lambda: len(slow.active) == slow.capacity)
    comparison = {"view": "pseudo-likelihood", "against": "another text", "other": long()["state"]["text"]}
    for body in (long(), state(view="referee"), state(**comparison)):
        refused = client.post(VIEW, json=body)
        assert refused.status_code == 503 and refused.headers["content-type"] == "application/problem+json"
        assert "Busy: 0 others are already waiting" in refused.json()["detail"]
        assert int(refused.headers["retry-after"]) >= 1
    assert client.post(VIEW, json=state()).status_code == 200, "the quick are answered all the while"
    held.go.set()
    assert all(answer.result().status_code == 200 for answer in answers)


def test_too_many_tokens_are_rejected_before_the_run(
    running: Running, client: httpx.Client, held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running.queues, "limit", 500)
    answer = client.post(VIEW, json=long())
    assert answer.status_code == 422 and "tokens through the checkpoint; the limit is 500." in answer.json()["detail"]
    assert held.passes == 0


def test_the_export_of_a_figure_waits_in_the_same_queues(
    running: Running, client: httpx.Client, threads: ThreadPoolExecutor, held: Held
) -> None:
    body = long()
    answer = threads.submit(client.post, f"{VIEW}/csv", json=body)
    until(lambda: len(running.queues.slow.active) == 1 and not running.queues.quick.active)
    held.go.set()
    assert answer.result().status_code == 200 and "log_probability" in answer.result().text
    held.go.clear()
    passes = held.passes
    leaves(client, long(), f"{VIEW}/csv")
    until(lambda: any(ticket.work.stopped for ticket in running.queues.slow.active))
    held.go.set()
    until(lambda: empty(running))
    assert held.passes == passes + 1


def test_clients_that_disconnect_release_everything(running: Running, client: httpx.Client, held: Held) -> None:
    """A person types fast: each request but the last is abandoned."""
    for _ in range(10):
        leaves(client, long(), after_s=0.1)
    held.go.set()
    until(lambda: empty(running))
    assert client.post(VIEW, json=state()).status_code == 200

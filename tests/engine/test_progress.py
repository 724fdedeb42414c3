"""Progress of work: announced before it starts, reported after each batch, stopped between two batches."""

import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch

from bertexplorer import engine
from bertexplorer.engine import gradients, progress
from bertexplorer.engine.progress import QUICK, Stopped, Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.conftest import Tiny


@pytest.fixture(scope="module")
def checkpoint(tiny: Tiny) -> Checkpoint:
    return load(tiny("bert"), name="bert", precision="fp32", device="cpu")


def masked(checkpoint: Checkpoint, count: int) -> None:
    list(engine.masked_log_probs(checkpoint, [checkpoint.tokenizer.encode("a great [MASK]")] * count))


def pairs(checkpoint: Checkpoint, count: int) -> None:
    engine.next_sentence_logits(checkpoint, [checkpoint.tokenizer.encode("a great movie")] * count)


def pooled(checkpoint: Checkpoint, count: int) -> None:
    encodings = [checkpoint.tokenizer.encode("a great movie")] * count
    engine.sentence_vectors(checkpoint, encodings, layer=1, pooling="mean")


def switched(checkpoint: Checkpoint, count: int) -> None:
    config = checkpoint.config
    switches = np.ones((count, config.num_layers, config.num_heads), dtype=np.float32)
    engine.ablated_log_probs(checkpoint, checkpoint.tokenizer.encode("a great [MASK]"), switches, 3)


def sloped(checkpoint: Checkpoint, count: int) -> None:
    encoding = checkpoint.tokenizer.encode("a great [MASK]")
    words, shares = gradients.word_vectors(checkpoint, encoding.ids), torch.linspace(0, 1, count)
    target = gradients.masked_target(checkpoint, 3, 5)
    gradients.path_gradient(checkpoint, encoding, target, words, words, shares, shares)


class Ended(Work):
    """Work that another thread stops after a number of batches."""

    def __init__(self, batches: int) -> None:
        super().__init__()
        self.left = batches

    def check(self) -> None:
        self.stopped = self.left == 0
        self.left -= 1
        super().check()


LOOPS = (masked, pairs, pooled, switched, sloped)


@pytest.fixture
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every loop has two of these texts per batch."""
    for module in ("inference", "ablation"):
        monkeypatch.setattr(f"bertexplorer.engine.{module}.token_budget", lambda device: 10)
    monkeypatch.setattr("bertexplorer.engine.gradients.TOKEN_BUDGET", 10)


@pytest.mark.parametrize("loop", LOOPS)
def test_every_loop_reports_and_can_be_stopped_between_batches(
    loop: Callable[[Checkpoint, int], None], checkpoint: Checkpoint, small_batches: None
) -> None:
    whole = Work()
    with working(whole):
        loop(checkpoint, 6)
    assert whole.done == whole.total > 0 and whole.seconds_left == 0
    for batches in (0, 1):
        ended = Ended(batches)
        with pytest.raises(Stopped), working(ended):
            loop(checkpoint, 6)
        assert ended.done == batches * whole.total // 3, "before the first batch, and after it"


@pytest.mark.parametrize("loop", LOOPS)
def test_work_beyond_the_limit_is_rejected_before_anything_runs(
    loop: Callable[[Checkpoint, int], None], checkpoint: Checkpoint
) -> None:
    work, message = Work(limit=20), r"send \d+ tokens through the checkpoint; the limit is 20\."
    with pytest.raises(ExplorerError, match=message), working(work):
        loop(checkpoint, 6)
    assert work.done == 0


def test_loops_add_up_and_announced_work_is_counted_once() -> None:
    work = Work(limit=100)
    with working(work):
        progress.expect(90)
        for total in (40, 50):
            progress.report(0, total)
            progress.report(total, total)
        assert (work.done, work.total) == (90, 90)
        with pytest.raises(ExplorerError, match="send 101 tokens"):
            progress.report(0, 11)


def test_long_work_is_known_once_and_before_its_first_batch() -> None:
    known: list[int] = []
    work = Work(on_long=lambda: known.append(work.done))
    with working(work):
        progress.report(0, QUICK)
        progress.report(QUICK, QUICK)
        assert known == [] and not work.long
        progress.report(0, 1)
        progress.report(1, 1)
        progress.report(0, 1)
    assert known == [QUICK] and work.long


def test_another_thread_can_stop_work_and_see_its_remaining_time() -> None:
    work, ended, step = Work(), [], threading.Barrier(2, timeout=10)
    assert work.seconds_left is None

    def run() -> None:
        with working(work):
            progress.report(0, 100)
            progress.report(50, 100)
            step.wait()
            step.wait()
            try:
                progress.report(60, 100)
            except Stopped:
                ended.append(work.done)

    thread = threading.Thread(target=run)
    thread.start()
    step.wait()
    left = work.seconds_left
    work.stopped = True
    step.wait()
    thread.join(10)
    assert left is not None and left >= 0 and ended == [60]


def test_shared_results_belong_to_no_work() -> None:
    work = Work(limit=1)
    work.stopped = True
    with working(work), working(None):
        progress.report(0, 5)
        progress.check()
    assert work.total == 0


def test_a_loop_that_was_not_announced_is_never_more_than_done() -> None:
    work = Work()
    work.report(5, 10)
    assert (work.done, work.total, work.seconds_left) == (5, 5, 0.0)

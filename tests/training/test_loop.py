"""The steps of the loop: dropout, counters, the rate, weight decay, batches from a thread, and the last message."""

import errno
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from bertexplorer.engine.masking import Masking
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.loop import Budget, LoopState, Prefetched, PrefetchedForGPU, StepResult, Window, train
from bertexplorer.training.optimiser import Learning, adamw, rate
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.examples import parse_buckets
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.pool import FOLLOWS, SINGLE, DocumentPool, Examples
from bertexplorer.training.pretraining.run import PretrainingRun
from bertexplorer.training.run_driver import set_dropout
from bertexplorer.training.run_process import error_message
from tests.tolerance import of_sum

CPU = torch.device("cpu")


@pytest.fixture
def steps(shards: list[Shard], tiny) -> Callable[..., list[StepResult]]:
    """Three steps over the same batches at a learning rate of 0."""

    def made(dropout: float = 0.0, seed: int = 0, state: LoopState | None = None) -> list[StepResult]:
        checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
        objective = MaskedLanguage(checkpoint, pairs=True)
        objective.modules.requires_grad_(True)
        set_dropout(objective.modules, dropout)
        examples = Examples.of([(range(5, 14), range(14, 25)), (range(5, 12), ())], [FOLLOWS, SINGLE])
        batches = Collator.of(checkpoint.tokenizer, Masking()).batches(examples, 64, np.random.default_rng(0))
        learning = Learning(peak=0.0)
        result = train(
            DataParallel(objective, 1, CPU, bf16=False),
            adamw(objective.modules, learning),
            lambda _: batches,
            state or LoopState(),
            learning=learning,
            budget=Budget(steps=3),
            seed=seed,
        )
        return list(result)

    return made


def test_dropout_differs_between_steps_and_is_reproducible(
    steps: Callable[..., list[StepResult]],
) -> None:
    losses = [
        [s.losses["mlm"] for s in steps(dropout, seed)] for dropout, seed in ((0.3, 0), (0.3, 0), (0.3, 1), (0, 0))
    ]
    assert len(set(losses[0])) == 3 and losses[0] == losses[1] and losses[0] != losses[2]
    assert len(set(losses[3])) == 1, "without it nothing differs"


def test_steps_are_counted_and_averaged(steps: Callable[..., list[StepResult]]) -> None:
    state = LoopState()
    result = steps(state=state)
    assert [s.step for s in result] == [1, 2, 3] and state.step == 3 and state.skipped == 0
    assert result[0].tokens == 23 + 9 and state.tokens == 3 * 32 and result[0].counts["nsp"] == 1
    assert sum(s.seconds for s in result) <= state.seconds and result[0].norm > 0
    message = Window(result).summary()
    assert message["loss"]["mlm"] == pytest.approx(result[0].losses["mlm"]) and 0 <= message["padding"] < 0.5
    assert "skipped" not in message


@pytest.mark.parametrize("static", [False, True])
def test_text_and_masks_repeat_as_requested(static: bool, pool: DocumentPool, tokenizer: Tokenizer) -> None:
    values = {"repeat_steps": 2, "static": static, "batch_tokens": 200, "lengths": "60:1:0.2"}
    run = PretrainingRun(Path(), [specs.make_spec({"text": ("x",)}, values)], lambda: False)
    batches = run.batches(pool, parse_buckets("60:1:0.2", 64), tokenizer)
    first, second, third = (batches(step) for step in (0, 1, 2))
    assert same(first, third, "original") and not same(first, second, "original")
    assert same(first, third, "ids") is static
    assert same(first, batches(0), "ids")


def test_batches_for_a_gpu_are_fewer_and_prepared_by_processes(pool: DocumentPool, tokenizer: Tokenizer) -> None:
    values = {"batch_tokens": 2000, "lengths": "60:1:0.2"}
    run = PretrainingRun(Path(), [specs.make_spec({"text": ("x",)}, values)], lambda: False)
    buckets = parse_buckets("60:1:0.2", 64)
    on_cpu = run.batches(pool, buckets, tokenizer)(5)
    run.device, run.state.step = torch.device("cuda"), 4
    plain = run.batches(pool, buckets, tokenizer)
    assert len(plain(5)) < len(on_cpu) and sum(b.tokens for b in plain(5)) == sum(b.tokens for b in on_cpu)
    with run.prefetched(plain) as batches:
        assert isinstance(batches, PrefetchedForGPU) and multiprocessing.active_children()
        for step in range(4, 10):
            assert same(batches(step), plain(step), "ids")
    assert not multiprocessing.active_children()


def test_a_signal_to_the_group_does_not_end_the_processes_that_prepare_batches() -> None:
    with PrefetchedForGPU(lambda step: step, 0, processes=2) as batches:
        assert [batches(step) for step in (0, 1)] == [0, 1]
        for process in multiprocessing.active_children():
            os.kill(process.pid, signal.SIGTERM)
            os.kill(process.pid, signal.SIGINT)
        assert [batches(step) for step in range(2, 30)] == list(range(2, 30))
    assert not multiprocessing.active_children()


def test_on_a_gpu_cudnn_does_not_compile_an_attention_for_each_shape(tiny) -> None:
    objective = MaskedLanguage(load(tiny("bert"), precision="fp32", device="cpu"), pairs=True)
    try:
        DataParallel(objective, 1, CPU, bf16=False)
        assert torch.backends.cuda.cudnn_sdp_enabled()
        DataParallel(objective, 1, torch.device("cuda"), bf16=True)
        assert not torch.backends.cuda.cudnn_sdp_enabled()
    finally:
        torch.backends.cuda.enable_cudnn_sdp(True)


def same(one: list[MaskedBatch], other: list[MaskedBatch], name: str) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for a, b in zip(one, other, strict=False))


@pytest.mark.parametrize(
    ("share", "wanted"),
    [(0.0, 0.0), (0.05, 0.5), (0.1, 1.0), (0.2, 1.0), (0.3, 1.0), (0.65, 0.6), (1.0, 0.2), (1.5, 0.2)],
)
def test_the_rate_rises_holds_and_falls(share: float, wanted: float) -> None:
    learning = Learning(peak=1.0, warmup=0.1, hold=0.2, final=0.2)
    assert rate(share, learning) == pytest.approx(wanted)


def test_the_rate_and_the_share_of_a_budget_are_defined_at_both_ends() -> None:
    learning = Learning(peak=2.0, warmup=0.0, decay="cosine", final=0.0)
    assert [rate(s, learning) for s in (0.0, 0.5, 1.0)] == pytest.approx([2.0, 1.0, 0.0])
    assert rate(0.25, learning) == pytest.approx(2 * (1 + 0.5**0.5) / 2)
    assert rate(0.5, Learning(peak=1.0, warmup=0.0, hold=1.0)) == 1.0
    assert rate(1.0, Learning(peak=1.0, warmup=1.0)) == 1.0
    state = LoopState(step=30, begun_step=10, seconds=300.0, begun_seconds=60.0)
    assert Budget(steps=40).share(state) == 0.5
    assert Budget(minutes=8).share(state) == 0.5
    assert Budget(steps=10, minutes=1000).share(state) == 1.0, "steps decide where there are any"
    assert Budget().share(state) == 1.0


def test_adamw_equals_that_of_torch_and_does_not_decay_biases_and_norms() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    before = [p.detach().clone() for p in module.parameters()]
    optimiser = adamw(module, Learning(weight_decay=0.5, peak=0.1))
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    after = list(module.parameters())
    torch.testing.assert_close(after[0], before[0] * (1 - 0.1 * 0.5), rtol=0, atol=of_sum(2))
    assert all(torch.equal(a, b) for a, b in zip(after[1:], before[1:], strict=True))


def test_the_next_steps_batches_are_prepared_during_a_step() -> None:
    prepared: list[tuple[int, str]] = []
    second = threading.Event()

    def make(step: int) -> int:
        prepared.append((step, threading.current_thread().name))
        if step == 1:
            second.set()
        return 10 * step

    with Prefetched(make) as batches:
        assert batches(0) == 0
        assert second.wait(10), "step 1 has not been requested yet"
        assert [batches(step) for step in (1, 2, 7, 8)] == [10, 20, 70, 80]
    steps = [step for step, _ in prepared]
    assert sorted(set(steps)) == sorted(steps) and {0, 1, 2, 7, 8} <= set(steps)
    assert threading.current_thread().name not in {name for _, name in prepared}


def test_the_next_steps_batches_are_prepared_in_a_thread_that_ends_with_the_run() -> None:
    with Prefetched(lambda step: step) as batches:
        batches(0)
        assert any(thread.name.startswith("prefetch") for thread in threading.enumerate())
    assert not any(thread.name.startswith("prefetch") for thread in threading.enumerate())

    def make(step: int) -> int:
        return 1 // (2 - step)

    with Prefetched(make) as batches:
        assert [batches(step) for step in (0, 1)] == [0, 1]
        with pytest.raises(ZeroDivisionError):
            batches(2)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), "No space left on device. Make room and resume"),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), "Disk quota exceeded. Make room and resume"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
        (MemoryError(), "Out of memory. Try a smaller batch"),
        (KeyError(), "KeyError"),
    ],
)
def test_the_error_message_names_a_remedy(error: Exception, words: str) -> None:
    assert words in error_message(error)
    assert ("Make room" in error_message(error)) == ("Make room" in words)

"""The steps of the loop: dropout, counters, the rate; repeated text and masks."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch

from bertexplorer.engine.masking import Masking
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.loop import Budget, State, StepResult, Window, train
from bertexplorer.training.optimiser import Learning, adamw
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.examples import parse_buckets
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.pool import FOLLOWS, SINGLE, DocumentPool, Examples
from bertexplorer.training.pretraining.run import Run
from bertexplorer.training.run_driver import set_dropout

CPU = torch.device("cpu")


@pytest.fixture
def steps(shards: list[Shard], tiny) -> Callable[..., list[StepResult]]:
    """Three steps over the same batches at a learning rate of 0."""

    def made(dropout: float = 0.0, seed: int = 0, state: State | None = None) -> list[StepResult]:
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
            state or State(),
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
    state = State()
    result = steps(state=state)
    assert [s.step for s in result] == [1, 2, 3] and state.step == 3 and state.skipped == 0
    assert result[0].tokens == 23 + 9 and state.tokens == 3 * 32 and result[0].counts["nsp"] == 1
    assert sum(s.seconds for s in result) <= state.seconds and result[0].norm > 0
    message = Window(result).summary()
    assert message["loss"]["mlm"] == pytest.approx(result[0].losses["mlm"]) and 0 <= message["padding"] < 0.5
    assert "skipped" not in message


@pytest.mark.parametrize("static", [False, True])
def test_text_and_masks_repeat_as_requested(static: bool, shards: list[Shard], tokenizer: Tokenizer) -> None:
    values = {"repeat_steps": 2, "static": static, "batch_tokens": 200, "lengths": "60:1:0.2"}
    run = Run(Path(), [specs.make_spec({"text": ("x",)}, values)], lambda: False)
    pool = DocumentPool(shards, [1, 1], [np.ones(len(s.hashes), bool) for s in shards])
    batches = run.batches(pool, parse_buckets("60:1:0.2", 64), tokenizer)
    first, second, third = (batches(step) for step in (0, 1, 2))
    assert same(first, third, "original") and not same(first, second, "original")
    assert same(first, third, "ids") is static
    assert same(first, batches(0), "ids")


def test_batches_for_a_gpu_are_in_pinned_memory(
    shards: list[Shard], tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = Run(Path(), [specs.make_spec({"text": ("x",)}, {"batch_tokens": 200, "lengths": "60:1:0.2"})], lambda: False)
    pool = DocumentPool(shards, [1, 1], [np.ones(len(s.hashes), bool) for s in shards])
    batches = run.batches(pool, parse_buckets("60:1:0.2", 64), tokenizer)
    plain = batches(0)
    pinned: list[torch.Tensor] = []
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: (pinned.append(tensor), tensor)[1])
    assert same(plain, batches(0), "ids") and not pinned
    run.device = torch.device("cuda")
    first_batches = batches(0)
    tensors = [value for batch in first_batches for value in vars(batch).values() if isinstance(value, torch.Tensor)]
    assert len(pinned) == len(tensors) and same(plain, first_batches, "ids")


def same(one: list[MaskedBatch], other: list[MaskedBatch], name: str) -> bool:
    return all(torch.equal(getattr(a, name), getattr(b, name)) for a, b in zip(one, other, strict=False))

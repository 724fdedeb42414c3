"""Requests of many users and texts of many lengths run as batches with unchanged results."""

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings, strategies as st

from bertexplorer.engine import activations
from bertexplorer.engine.collate import batches, collate, token_budget
from bertexplorer.engine.inference import forward, masked_log_probs
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import ComputeScheduler
from tests.conftest import Tiny
from tests.engine.conftest import Twin
from tests.model.test_scheduler import started
from tests.runs.running import until
from tests.tolerance import assert_same

TEXTS = [f"The {word} is a very [MASK] thing{' indeed' * n}." for n, word in enumerate(("sun", "robin", "bank", "war"))]


def fresh(checkpoint: Checkpoint) -> Checkpoint:
    """The same weights with an empty cache, on one core."""
    return replace(checkpoint, cache=LRUCache(), scheduler=ComputeScheduler(1))


@contextmanager
def only_core_taken(checkpoint: Checkpoint) -> Iterator[None]:
    """Another thread computes during the block; afterwards the core is free."""
    hold = threading.Event()

    def other() -> None:
        with checkpoint.scheduler.slot():
            hold.wait(30)

    (thread,) = started(other)
    until(lambda: checkpoint.scheduler.busy == 1)
    yield
    hold.set()
    thread.join()


def simultaneously(checkpoint: Checkpoint, jobs: list[Callable[[], object]]) -> None:
    with only_core_taken(checkpoint):
        threads = started(*jobs)
        until(lambda: checkpoint.scheduler.light_waiting == len(jobs))
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    "family", ["bert", "roberta", "electra-generator", "distilbert", "albert", "mpnet", "deberta", "modernbert"]
)
def test_a_shared_batch_gives_each_user_an_unchanged_answer(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32")
    encodings = [checkpoint.tokenizer.encode(text) for text in TEXTS]
    alone = [activations.hidden_states(fresh(checkpoint), encoding) for encoding in encodings]
    crowded, result = fresh(checkpoint), {}

    def ask(place: int) -> None:
        result[place] = activations.hidden_states(crowded, encodings[place])

    simultaneously(crowded, [lambda n=n: ask(n) for n in range(len(TEXTS))])
    assert crowded.scheduler.batches == {len(TEXTS): 1}
    for place, states in enumerate(alone):
        assert_same(checkpoint.config, result[place], states)


def test_texts_of_one_length_answer_in_bf16_bit_for_bit_as_alone(bundled: Path) -> None:
    checkpoint = load(bundled, precision="bf16")
    encodings = [checkpoint.tokenizer.encode(text) for text in [*TEXTS, *(t.replace("very", "truly") for t in TEXTS)]]
    alone = [next(masked_log_probs(fresh(checkpoint), [encoding])) for encoding in encodings]
    crowded, result = fresh(checkpoint), {}

    def ask(place: int) -> None:
        result[place] = next(masked_log_probs(crowded, [encodings[place]]))

    simultaneously(crowded, [lambda n=n: ask(n) for n in range(len(encodings))])
    assert crowded.scheduler.batches == {2: len(TEXTS)}
    for place, expected in enumerate(alone):
        assert torch.equal(result[place], expected)


def test_positions_of_different_users_are_separate(tiny: Tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32")
    crowded, result = fresh(checkpoint), {}
    encodings = [checkpoint.tokenizer.encode(text) for text in TEXTS]
    requested = [torch.tensor([1, 3]), None, torch.tensor([0]), torch.tensor([5, 2])]

    def ask(place: int) -> None:
        result[place] = forward(crowded, [encodings[place]], positions=requested[place]).last

    simultaneously(crowded, [lambda n=n: ask(n) for n in range(len(TEXTS))])
    for place, positions in enumerate(requested):
        expected = forward(fresh(checkpoint), [encodings[place]], positions=positions).last
        assert_same(checkpoint.config, result[place], expected)


def test_equal_texts_run_once(tiny: Tiny) -> None:
    checkpoint, result = fresh(load(tiny("bert"), precision="fp32")), []
    encoding = checkpoint.tokenizer.encode(TEXTS[0])
    with only_core_taken(checkpoint):
        threads = started(*(lambda: result.append(activations.hidden_states(checkpoint, encoding)) for _ in range(20)))
        until(lambda: checkpoint.scheduler.light_waiting == 1)
    for thread in threads:
        thread.join()
    assert len(result) == 20 and checkpoint.scheduler.batches == {1: 1}


@dataclass(frozen=True)
class Length:
    """Replaces an encoding, as batching needs only lengths."""

    number: int
    tokens: int

    def __len__(self) -> int:
        return self.tokens


unchecked = inspect.unwrap(batches)  # the type checker would reject the replacement


def split(lengths: list[int], budget: int) -> list[list[int]]:
    whole = cast(Any, [Length(i, n) for i, n in enumerate(lengths)])
    parts = [list(part) for part in unchecked(whole, budget)]
    assert [e.number for part in parts for e in part] == list(range(len(lengths)))
    return [[len(e) for e in part] for part in parts]


@settings(deadline=None, max_examples=200)
@given(st.lists(st.integers(1, 60), max_size=40), st.integers(1, 120))
def test_no_batch_exceeds_the_budget_and_none_could_take_one_more(lengths: list[int], budget: int) -> None:
    parts = split(lengths, budget)
    for part in parts:
        assert len(part) == 1 or max(part) * len(part) <= budget
    for part, after in zip(parts, parts[1:], strict=False):
        assert max(*part, after[0]) * (len(part) + 1) > budget


@pytest.mark.parametrize(
    ("lengths", "budget", "wanted"),
    [
        ([], 8, []),
        ([9], 8, [[9]]),
        ([4, 4], 8, [[4, 4]]),
        ([4, 5], 8, [[4], [5]]),
        ([1, 1, 1, 8, 1], 8, [[1, 1, 1], [8], [1]]),
    ],
)
def test_batches_equal_those_made_by_hand(lengths: list[int], budget: int, wanted: list[list[int]]) -> None:
    assert split(lengths, budget) == wanted


def test_long_texts_respect_the_budget() -> None:
    for kind in ("cpu", "cuda"):
        budget = token_budget(torch.device(kind))
        assert max(map(sum, split([512] * 20, budget))) <= budget


def test_padding_is_on_the_right(twin: Twin) -> None:
    long, short = twin.encodings[0], twin.encodings[1]
    pad = twin.ours.config.pad_id
    ids, segments, mask = collate([long, short], pad, torch.device("cpu"))
    assert mask is not None and mask.tolist()[1] == [True] * len(short) + [False] * (len(long) - len(short))
    assert ids[1].tolist() == [*short.ids, *[pad] * (len(long) - len(short))]
    assert segments.shape == ids.shape == (2, len(long))
    assert collate([long, long], pad, torch.device("cpu"))[2] is None

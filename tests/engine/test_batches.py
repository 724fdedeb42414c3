"""Batches stay within the budget and keep the order."""

import inspect
from dataclasses import dataclass
from typing import Any, cast

import pytest
import torch
from hypothesis import given, settings, strategies as st

from bertexplorer.engine.collate import batches, collate, token_budget
from tests.engine.conftest import Twin


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

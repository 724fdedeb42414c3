"""The attention mask of padding, causality and a window, against a loop over pairs of tokens."""

import itertools

import pytest
import torch
from jaxtyping import TypeCheckError

from bertexplorer.model.encoder import attention_mask

MASK = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])


@pytest.mark.parametrize(
    ("causal", "window", "padded"), list(itertools.product([False, True], [0, 1, 3], [False, True]))
)
def test_the_mask_equals_that_of_a_loop(causal: bool, window: int, padded: bool) -> None:
    seen = attention_mask(6, MASK if padded else None, causal=causal, window=window)
    if seen is None:
        assert (causal, window, padded) == (False, 0, False)
        return
    for row, i, j in itertools.product(range(seen.shape[0]), range(6), range(6)):
        wanted = not (causal and j > i) and not (window and abs(i - j) > window) and not (padded and not MASK[row, j])
        assert bool(seen[row, 0, i, j]) == wanted


def test_the_tests_check_shapes_at_every_call() -> None:
    with pytest.raises(TypeCheckError, match="mask"):
        attention_mask(3, torch.ones(3, dtype=torch.bool))

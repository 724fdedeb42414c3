"""Masking: the requested shares are drawn, and rolls are repeatable."""

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.views.masking import compute as masking
from bertexplorer.views.masking.compute import COUNTED, NOT_CHOSEN, Options

TEXT = "The farmers cultivate the land to grow crops for the whole village, and they sell what is left in the town."


def test_each_kind_of_masking_has_its_requested_share(mini: Checkpoint) -> None:
    """Within five standard deviations of a binomial draw."""
    result = masking.run(mini, TEXT)
    tokens = COUNTED * result.can_be_chosen
    assert abs(result.chosen - 0.15) < 5 * (0.15 * 0.85 / tokens) ** 0.5
    spread = 5 * (0.25 / result.counts.sum()) ** 0.5
    shares = result.shares
    assert [shares[k] for k in ("mask", "random", "same")] == pytest.approx([0.8, 0.1, 0.1], abs=spread)
    assert result.counts[[0, -1]].sum() == 0  # [CLS] and [SEP]


def test_a_roll_is_repeatable_and_differs_from_the_next(mini: Checkpoint) -> None:
    first, again, other = (masking.run(mini, TEXT, options=Options(roll=roll)) for roll in (1, 1, 2))
    assert np.array_equal(first.kinds, again.kinds) and not np.array_equal(first.kinds, other.kinds)


def test_all_pieces_of_a_word_are_masked_together(mini: Checkpoint) -> None:
    result = masking.run(mini, "Untranslatable misunderstandings.", options=Options(whole_words=True, chosen=0.4))
    starts = [i for i, token in enumerate(result.tokens) if not token.startswith("##")] + [len(result.tokens)]
    for kinds in result.kinds != NOT_CHOSEN:
        assert all(len(set(kinds[a:b])) == 1 for a, b in zip(starts, starts[1:], strict=False))


def test_shares_above_one_are_rejected(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="together they are"):
        masking.run(mini, TEXT, options=Options(masked=0.8, random=0.3))


def test_a_typed_mask_is_never_chosen(mini: Checkpoint) -> None:
    result = masking.run(mini, "Paris is the [MASK] of France.")
    assert result.can_be_chosen == 6 and result.counts[result.tokens.index("[MASK]")].sum() == 0
    with pytest.raises(ExplorerError, match="no token that could be masked"):
        masking.run(mini, "[MASK]")

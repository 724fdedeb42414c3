"""Left context: nothing to the right of the blank affects its left-only answer."""

import numpy as np
import pytest
import torch

from bertexplorer.analysis import fill_mask, left_context
from bertexplorer.analysis.left_context import Options
from bertexplorer.model.checkpoint import Checkpoint
from tests.analysis.conftest import CLOSE, Reference

TEXTS = ("The farmers cultivate the [MASK] to grow crops.", "The farmers cultivate the [MASK] near a big city.")


def test_words_to_the_right_change_only_the_two_sided_answer(mini: Checkpoint) -> None:
    first, second = (left_context.run(mini, text) for text in TEXTS)
    for a, b in zip(first.left.candidates, second.left.candidates, strict=True):
        assert (a.id, a.rank) == (b.id, b.rank)
        assert a.probability == pytest.approx(b.probability, rel=CLOSE)
    assert first.left.entropy == pytest.approx(second.left.entropy, abs=CLOSE)
    assert abs(first.both.entropy - second.both.entropy) > 0.01


def test_words_to_the_left_change_the_left_only_answer(mini: Checkpoint) -> None:
    other = left_context.run(mini, TEXTS[0].replace("farmers", "sailors"))
    assert abs(other.left.entropy - left_context.run(mini, TEXTS[0]).left.entropy) > 1e-3


def test_both_answers_equal_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result, ids = left_context.run(mini, TEXTS[0], options=Options(top=5)), reference.ids(TEXTS[0])
    spot = ids.index(reference.mask)
    triangle = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    for results, seen in ((result.both, None), (result.left, triangle)):
        wanted = reference.log_probs(ids, seen)[spot].exp().topk(5)
        assert [c.id for c in results.candidates] == wanted.indices.tolist()
        assert [c.probability for c in results.candidates] == pytest.approx(wanted.values.tolist(), rel=CLOSE)
    assert result.both == fill_mask.run(mini, TEXTS[0], options=fill_mask.Options(top=5)).blanks[0]


@pytest.mark.parametrize("text", [TEXTS[0], "[MASK]"])
def test_the_matrices_show_which_tokens_each_token_sees(mini: Checkpoint, text: str) -> None:
    result = left_context.run(mini, text)
    count = len(result.tokens)
    assert result.sees_both.shape == (count, count) and result.sees_both.all()
    np.testing.assert_array_equal(result.sees_left, np.tri(count, dtype=bool))

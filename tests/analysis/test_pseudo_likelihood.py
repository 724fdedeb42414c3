"""Pseudo-likelihood against a loop written by hand over transformers, in both ways of hiding."""

import math

import numpy as np
import pytest

from bertexplorer.analysis import pseudo_likelihood
from bertexplorer.analysis.pseudo_likelihood import Options
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from tests.analysis.conftest import CLOSE, Reference
from tests.tolerance import assert_within

TEXT = "The unbelievably hypersensitive man went to the store."


@pytest.mark.parametrize("hide", ["the piece", "the rest of its word too"])
def test_scores_equal_those_of_a_loop(mini: Checkpoint, reference: Reference, hide: str) -> None:
    result = pseudo_likelihood.run(mini, TEXT, options=Options(hide=hide))
    ids = reference.ids(TEXT)
    tokens = reference.tokenizer.convert_ids_to_tokens(ids)
    assert result.tokens == tuple(tokens) and any(t.startswith("##") for t in tokens)
    total = 0.0
    for spot in range(1, len(ids) - 1):
        end = spot + 1
        while hide != "the piece" and tokens[end].startswith("##"):
            end += 1
        row = reference.log_probs([*ids[:spot], *[reference.mask] * (end - spot), *ids[end:]])[spot]
        assert result.log_probabilities[spot] == pytest.approx(float(row[ids[spot]]), abs=CLOSE)
        assert result.ranks[spot] == 1 + int((row > row[ids[spot]]).sum())
        total += float(row[ids[spot]])
    assert result.total == pytest.approx(total, abs=CLOSE * len(ids))
    assert result.scored == len(ids) - 2
    assert result.perplexity == pytest.approx(math.exp(-total / result.scored), rel=CLOSE)


def test_only_the_first_and_the_last_token_have_no_score(mini: Checkpoint) -> None:
    result = pseudo_likelihood.run(mini, TEXT)
    assert np.flatnonzero(np.isnan(result.log_probabilities)).tolist() == [0, len(result.tokens) - 1]
    assert np.flatnonzero(result.ranks == 0).tolist() == [0, len(result.tokens) - 1]


def test_hidden_words_count_as_typed_and_typed_masks_do_not_count(mini: Checkpoint) -> None:
    plain = pseudo_likelihood.run(mini, "The cat sat.")
    clicked = pseudo_likelihood.run(mini, Text("The cat sat.", hidden=(Span(0, 4, 7),)))
    np.testing.assert_array_equal(plain.log_probabilities, clicked.log_probabilities)
    typed = pseudo_likelihood.run(mini, "The [MASK] sat.")
    assert typed.scored == plain.scored - 1 and np.isnan(typed.log_probabilities[2])


def test_a_limit_scores_the_first_ones_and_counts_the_others(mini: Checkpoint) -> None:
    whole = pseudo_likelihood.run(mini, "a b c d e f")
    part = pseudo_likelihood.run(mini, "a b c d e f", options=Options(most=4))
    assert (part.scored, part.unscored, whole.unscored) == (4, 2, 0)
    assert_within(part.log_probabilities[:5], whole.log_probabilities[:5], CLOSE)
    assert len(pseudo_likelihood.rows(part)) == 4


@pytest.mark.parametrize("text", ["[MASK]", "[MASK] [MASK]"])
def test_a_text_of_masks_alone_is_rejected(mini: Checkpoint, text: str) -> None:
    with pytest.raises(ExplorerError, match="has only masks"):
        pseudo_likelihood.run(mini, text)


def test_a_text_of_unknown_characters_is_not_called_a_mask(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="vocabulary"):
        pseudo_likelihood.run(mini, "🤖")

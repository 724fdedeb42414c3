"""Pseudo-likelihood and contrast against loops written by hand over transformers."""

import math

import numpy as np
import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views import VIEWS
from bertexplorer.views.contrast import compute as contrast
from bertexplorer.views.contrast.compute import FLOOR, jensen_shannon
from bertexplorer.views.pseudo_likelihood import compute as pseudo_likelihood
from bertexplorer.views.pseudo_likelihood.compute import Options
from tests.tolerance import assert_within, of_encoder, of_sum
from tests.views.conftest import CLOSE, LOGITS, Reference

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


def test_every_token_of_the_text_but_a_typed_mask_has_a_score(mini: Checkpoint) -> None:
    result = pseudo_likelihood.run(mini, TEXT)
    assert np.flatnonzero(np.isnan(result.log_probabilities)).tolist() == [0, len(result.tokens) - 1]
    assert np.flatnonzero(result.ranks == 0).tolist() == [0, len(result.tokens) - 1]
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


@pytest.mark.parametrize(
    ("text", "message"), [("[MASK]", "has only masks"), ("[MASK] [MASK]", "has only masks"), ("🤖", "vocabulary")]
)
def test_a_text_of_masks_or_unknown_characters_alone_is_rejected(mini: Checkpoint, text: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        pseudo_likelihood.run(mini, text)


TEXAS, YORK = "In Texas they like to buy [MASK].", "In New York they like to buy [MASK]."


def test_both_distributions_are_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result = contrast.run(mini, TEXAS, options=contrast.Options(other=YORK))
    logs = []
    for text, ours in ((TEXAS, result.first), (YORK, result.second)):
        ids = reference.ids(text)
        row = reference.log_probs(ids)[ids.index(reference.mask)].numpy()
        assert_within(ours, row, of_encoder(mini.config, row))
        logs.append(row)
    p, q = (np.exp(row) for row in logs)
    middle = (p + q) / 2
    wanted = 0.5 * sum(float((a * np.log2(a / middle)).sum()) for a in (p, q))
    assert result.divergence == pytest.approx(wanted, abs=CLOSE)
    assert 0 < result.divergence < 1
    assert result.vocabulary[reference.mask] == "[MASK]" and len(result.vocabulary) == len(result.first)


def test_the_words_that_add_most_to_the_divergence_are_listed(mini: Checkpoint) -> None:
    result = contrast.run(mini, TEXAS, options=contrast.Options(other=YORK, named=5))
    assert len(result.words) == 10
    ratio = result.second - result.first
    likely = np.maximum(result.first, result.second) >= math.log(FLOOR)
    adds = [jensen_shannon(result.first[i : i + 1], result.second[i : i + 1]) for i in range(len(ratio))]
    order = [int(i) for i in np.argsort(np.sign(ratio) * adds) if likely[i]]
    assert [w.id for w in result.words[:5]] == order[:5]
    assert [w.id for w in result.words[5:]] == order[::-1][:5]
    for word in result.words:
        assert word.log_ratio == pytest.approx(float(ratio[word.id]), abs=of_sum(2, LOGITS))
        assert word.token == result.vocabulary[word.id]


def test_two_equal_sentences_do_not_differ(mini: Checkpoint) -> None:
    result = contrast.run(mini, TEXAS, options=contrast.Options(other=TEXAS))
    assert result.divergence == pytest.approx(0, abs=CLOSE)
    assert result.words == ()


@pytest.mark.parametrize(
    ("p", "q", "bits"),
    [
        ([0.5, 0.5], [0.5, 0.5], 0.0),
        ([1.0, 1e-30], [1e-30, 1.0], 1.0),
        ([0.9, 0.1], [0.1, 0.9], 0.5310044),  # 1 - H(0.9), H the binary entropy
    ],
)
def test_the_divergence_equals_a_computation_by_hand(p: list[float], q: list[float], bits: float) -> None:
    result = jensen_shannon(np.log(np.array(p)), np.log(np.array(q)))
    assert result == pytest.approx(bits, abs=1e-6)  # written with 7 digits


def test_rows_cover_the_vocabulary_and_unlikely_words_come_last(mini: Checkpoint) -> None:
    result = contrast.run(mini, TEXAS, options=contrast.Options(other=YORK))
    rows = contrast.rows(result)
    named, rest = rows[: len(result.words)], rows[len(result.words) :]
    assert len(rows) == mini.tokenizer.vocab_size
    assert [row["token"] for row in named] == [word.token for word in result.words]
    larger = [max(row["log_probability_first"], row["log_probability_second"]) for row in rest]  # type: ignore[call-overload]
    assert larger == sorted(larger, reverse=True)
    assert named[7]["log_ratio"] == pytest.approx(result.words[7].log_ratio, abs=of_sum(2, LOGITS))


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ("", "other sentence is missing"),
        ("  ", "other sentence"),
        ("no mask here", "In the other sentence: Nothing"),
    ],
)
def test_the_other_sentence_must_have_a_mask(mini: Checkpoint, other: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        contrast.run(mini, TEXAS, options=contrast.Options(other=other))


def test_the_other_sentence_may_be_the_second_of_a_pair(mini: Checkpoint) -> None:
    """Each is read alone, with what is hidden in it."""
    alone = contrast.run(mini, TEXAS, options=contrast.Options(other=YORK))
    pair = contrast.run(mini, Text(TEXAS, YORK))
    assert np.array_equal(pair.first, alone.first) and np.array_equal(pair.second, alone.second)
    assert "Each sentence is read alone." in VIEWS["contrast"].figure.say(pair)
    typed = TEXAS.replace("[MASK]", "red")
    start = typed.index("red")
    hidden = contrast.run(mini, Text(typed, YORK, (Span(0, start, start + 3),)))
    assert np.array_equal(hidden.first, alone.first) and np.array_equal(hidden.second, alone.second)


def test_a_typed_mask_stays_a_hole_and_the_sentence_says_so(mini: Checkpoint) -> None:
    say = VIEWS["pseudo-likelihood"].figure.say
    result = pseudo_likelihood.run(mini, "The [MASK] of France is Paris.")
    assert result.holes == 1 and "The 1 mask in the text stays a hole in every pass and has no score" in say(result)
    whole = pseudo_likelihood.run(mini, "The capital of France is Paris.")
    assert whole.holes == 0 and "hole" not in say(whole)

"""Contrast: two passes of transformers, and the divergence by its formula."""

import math

import numpy as np
import pytest

from bertexplorer.analysis import contrast
from bertexplorer.analysis.contrast import FLOOR, Options, jensen_shannon
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from tests.analysis.conftest import CLOSE, LOGITS, Reference
from tests.tolerance import assert_within, of_encoder, of_sum

TEXAS, YORK = "In Texas they like to buy [MASK].", "In New York they like to buy [MASK]."


def test_both_distributions_are_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result = contrast.run(mini, TEXAS, options=Options(other=YORK))
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


def test_the_words_with_the_largest_log_ratios_are_listed(mini: Checkpoint) -> None:
    result = contrast.run(mini, TEXAS, options=Options(other=YORK, named=5))
    assert len(result.words) == 10
    ratio = result.second - result.first
    likely = np.maximum(result.first, result.second) >= math.log(FLOOR)
    order = [int(i) for i in np.argsort(ratio) if likely[i]]
    assert [w.id for w in result.words[:5]] == order[:5]
    assert [w.id for w in result.words[5:]] == order[::-1][:5]
    for word in result.words:
        assert word.log_ratio == pytest.approx(float(ratio[word.id]), abs=of_sum(2, LOGITS))
        assert word.token == result.vocabulary[word.id]


def test_two_equal_sentences_do_not_differ(mini: Checkpoint) -> None:
    result = contrast.run(mini, TEXAS, options=Options(other=TEXAS))
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
    result = contrast.run(mini, TEXAS, options=Options(other=YORK))
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
        ("", "second sentence is missing"),
        ("  ", "second sentence"),
        ("no mask here", "In the second sentence: Nothing"),
    ],
)
def test_the_other_sentence_must_have_a_mask(mini: Checkpoint, other: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        contrast.run(mini, TEXAS, options=Options(other=other))

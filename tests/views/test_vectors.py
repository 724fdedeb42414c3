"""Cosines, planes and baselines against numpy, scikit-learn and loops over every pair."""

import re
from itertools import combinations

import numpy as np
import pytest
from sklearn import decomposition, manifold

from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.answers.vectors import (
    BUILT_IN,
    LabelledLine,
    baseline,
    cosines,
    encode_lines,
    layer_of,
    mean_cosine,
    principal,
    trustworthiness,
)
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.conftest import Tiny
from tests.tolerance import assert_within
from tests.views.conftest import NEAR, Reference

RANDOM = np.random.default_rng(0).normal(size=(60, 17)) * np.arange(1, 18) + 3


def cosine(a: np.ndarray, b: np.ndarray) -> float:
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


def test_cosines_equal_those_of_numpy() -> None:
    result = cosines(RANDOM[None])
    assert result.shape == (1, 60, 60)
    assert result[0, 3, 7] == pytest.approx(cosine(RANDOM[3], RANDOM[7]))
    every = [cosine(a, b) for a, b in combinations(RANDOM, 2)]
    assert mean_cosine(RANDOM) == pytest.approx(np.mean(every))
    assert np.isnan(mean_cosine(RANDOM[:1]))
    assert not np.isnan(cosines(np.zeros((2, 3)))).any()


@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("vectors", [RANDOM, RANDOM[:9]], ids=["more vectors", "more dimensions"])
def test_components_equal_those_of_an_svd_and_of_scikit_learn(vectors: np.ndarray, count: int) -> None:
    centre, axes, shares = principal(vectors, count)
    _, values, right = np.linalg.svd(vectors - vectors.mean(axis=0), full_matrices=False)
    np.testing.assert_allclose(np.abs((axes * right[:count]).sum(axis=1)), 1, atol=1e-9)  # float64
    np.testing.assert_allclose(shares, (values**2 / (values**2).sum())[:count])
    other = decomposition.PCA(count).fit(vectors)
    np.testing.assert_allclose(shares, other.explained_variance_ratio_)
    assert_within(np.abs((vectors - centre) @ axes.T), np.abs(other.transform(vectors)), 1e-9)  # float64
    assert all(axis[np.abs(axis).argmax()] > 0 for axis in axes)


def test_too_few_points_give_shares_of_zero() -> None:
    _, axes, shares = principal(RANDOM[:2], 2)
    assert shares == pytest.approx([1, 0], abs=1e-9) and axes.shape == (2, 17)  # float64
    assert principal(RANDOM[:1], 2)[1].shape == (2, 17)
    _, _, shares = principal(np.ones((4, 3)), 2)
    assert shares == pytest.approx([0, 0], abs=1e-9)  # float64


@pytest.mark.parametrize("neighbours", [1, 5, 12])
def test_trustworthiness_equals_that_of_scikit_learn(neighbours: int) -> None:
    for drawn in (RANDOM[:, :2], RANDOM[:, -2:], np.random.default_rng(1).normal(size=(60, 2))):
        wanted = manifold.trustworthiness(RANDOM, drawn, n_neighbors=neighbours)
        assert trustworthiness(RANDOM, drawn, neighbours) == pytest.approx(wanted)


def test_the_baseline_is_the_mean_over_pairs_of_different_words_in_different_sentences(
    mini: Checkpoint, reference: Reference
) -> None:
    """With transformers' hidden states and its own offsets, pair by pair, at one layer."""
    import torch

    result: list[tuple[str, int, np.ndarray]] = []
    for home, sentence in enumerate(s for sentences in TOPICS.values() for s in sentences):
        batch = reference.tokenizer(sentence, return_offsets_mapping=True, return_tensors="pt")
        offsets = batch.pop("offset_mapping")[0].tolist()
        with torch.no_grad():
            states = reference.model(**batch, output_hidden_states=True).hidden_states
        vectors = states[4][0].numpy()
        for word in re.finditer(r"\w+", sentence):
            spots = [i for i, (a, b) in enumerate(offsets) if a < word.end() and b > word.start() and b > a]
            result.append((word[0].lower(), home, vectors[spots].mean(axis=0)))
    total, count = 0.0, 0
    for a, b in combinations(result, 2):
        if a[0] != b[0] and a[1] != b[1]:
            total += cosine(a[2], b[2])
            count += 1
    assert baseline(mini)[4] == pytest.approx(total / count, abs=NEAR)
    assert baseline(mini) is baseline(mini)


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "electra-discriminator", "distilbert", "modernbert"])
def test_every_family_has_a_baseline(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    result = baseline(checkpoint)
    assert result.shape == (checkpoint.config.num_layers + 1,) and np.isfinite(result).all()


def test_an_unknown_layer_is_rejected(small: Checkpoint) -> None:
    assert [layer_of(small, layer) for layer in (-1, 0, 3)] == [3, 0, 3]
    for layer in (4, -2, 10**9):
        with pytest.raises(ExplorerError, match=rf"Layer {layer} was requested; small has layers 1 to 3"):
            layer_of(small, layer)


def test_built_in_lines_are_labelled_and_unreadable_ones_reported(small: Checkpoint) -> None:
    assert len(BUILT_IN) == len({line.text for line in BUILT_IN}) == 60
    assert len({line.label for line in BUILT_IN}) == 10
    lines = [
        LabelledLine("a cat"),
        LabelledLine("\u200b"),
        LabelledLine("the bank"),
        LabelledLine("x" * 30_000),
        LabelledLine("a " * 90),
    ]
    encodings, places, note = encode_lines(small.tokenizer.encode, lines)
    assert places == [0, 2, 4] and len(encodings) == 3
    assert note == (
        "2 of 5 lines cannot be read and are left out. 1 line is longer than the 64 tokens that are read, and cut."
    )
    with pytest.raises(ExplorerError, match="None of the 1 lines"):
        encode_lines(small.tokenizer.encode, [LabelledLine(" ")])

"""Embedding map: points, neighbours and planes against transformers, numpy and scikit-learn."""

import sys
from typing import Any

import numpy as np
import pytest
import torch
from sklearn import decomposition, manifold
from threadpoolctl import threadpool_limits

from bertexplorer.answers.vectors import BUILT_IN, LabelledLine, baseline
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views.embedding_map import compute as embedding_map, tsne
from bertexplorer.views.embedding_map.compute import ABOVE, Options
from tests.tolerance import assert_within, of_plane
from tests.views.conftest import MINI, NEAR, Reference

TEXT = "The bank by the river is steep, and the bank in town is closed."
LINES = [LabelledLine(f"the cat {i} is here .", "cat") for i in range(15)] + [
    LabelledLine(f"a bank {i} .", "bank") for i in range(15)
]


def states(reference: Reference, text: str) -> np.ndarray:
    with torch.no_grad():
        hidden = reference.model(input_ids=torch.tensor([reference.ids(text)]), output_hidden_states=True).hidden_states
    return torch.cat(hidden).double().numpy()


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def test_tokens_lie_on_the_plane_of_scikit_learn(mini: Checkpoint, reference: Reference) -> None:
    vectors = unit(states(reference, TEXT)[3])
    for dimensions, count in (("2-D", 2), ("3-D", 3)):
        result = embedding_map.run(mini, TEXT, options=Options(layer=3, dimensions=dimensions))
        other = decomposition.PCA(count).fit(vectors)
        assert_within(np.abs(result.places), np.abs(other.transform(vectors)), of_plane(MINI, vectors, count))
        assert result.explained == pytest.approx(other.explained_variance_ratio_, abs=2 * NEAR)  # squares
        # a pair of neighbours as good as equally near may swap
        assert result.trust == pytest.approx(manifold.trustworthiness(vectors, other.transform(vectors)), abs=0.02)
    assert [p.text for p in result.points][:4] == ["[CLS]", "the", "bank", "by"]
    upper = np.triu_indices(len(vectors), 1)
    assert result.anisotropy == pytest.approx((vectors @ vectors.T)[upper].mean(), abs=NEAR)
    assert result.baseline == baseline(mini)[3]


def test_neighbours_equal_those_of_a_brute_force_search(mini: Checkpoint, reference: Reference) -> None:
    vectors = unit(states(reference, TEXT)[6])
    result = embedding_map.run(mini, Text(TEXT, picked=(Span(0, 4, 8),)), options=Options(neighbours=7))
    assert result.chosen == 2
    wanted = sorted(((float(vectors[2] @ v), i) for i, v in enumerate(vectors) if i != 2), reverse=True)[:7]
    assert [n.point for n in result.neighbours] == [i for _, i in wanted]
    assert [n.cosine for n in result.neighbours] == pytest.approx([c for c, _ in wanted], abs=NEAR)
    assert embedding_map.run(mini, TEXT).chosen is None
    assert embedding_map.run(mini, TEXT, options=Options(point=5)).chosen == 5
    missing = embedding_map.run(mini, TEXT, options=Options(point=500))
    assert missing.chosen is None and missing.notes == "Point 500 no longer exists."


def test_sentences_are_placed_among_the_built_in_ones(mini: Checkpoint, reference: Reference) -> None:
    text = "The judge listened. The witness lied."
    result = embedding_map.run(mini, text, options=Options(unit="sentences", layer=4))
    assert [p.label for p in result.points[:3]] == [ABOVE, ABOVE, BUILT_IN[0].label] and len(result.points) == 62
    assert result.source == "2 sentences of the text among 60 built-in ones" and result.chosen == 0
    vectors = unit(np.stack([states(reference, p.text)[4].mean(axis=0) for p in result.points[:20]]))
    assert_within(result.nearness[:20], vectors @ vectors[0], NEAR)
    assert np.isnan(result.baseline)


@pytest.mark.parametrize("method", ["PCA", "t-SNE"])
@pytest.mark.parametrize("dimensions", ["2-D", "3-D"])
def test_uploaded_lines_are_placed_on_the_map(method: str, dimensions: str, small: Checkpoint) -> None:
    options = Options(unit="sentences", method=method, dimensions=dimensions, lines="key", point=3)
    first, second = (embedding_map.run(small, "a cat", options=options, lines=LINES) for _ in range(2))
    np.testing.assert_array_equal(first.places, second.places)
    assert first.places.shape == (30, 2 if dimensions == "2-D" else 3) and np.isfinite(first.places).all()
    assert first.trust > 0.7 and first.source == "30 uploaded lines" and first.chosen == 3
    assert [p.label for p in first.points] == [line.label for line in LINES]
    tokens = embedding_map.run(small, "a cat", options=Options(lines="key"), lines=LINES)
    assert all(p.label in ("cat", "bank") and p.picks == "" for p in tokens.points)
    assert tokens.points[0].text == "the" and tokens.chosen is None


def test_the_map_has_at_most_ten_thousand_tokens(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_map, "MAX_POINTS", 20)
    result = embedding_map.run(small, "a cat", options=Options(lines="key"), lines=LINES)
    assert len(result.points) == 16 and "Only the first 2 lines are drawn, which hold 16 tokens." in result.notes
    with pytest.raises(ExplorerError, match="30 lines were given; the limit is 20"):
        embedding_map.run(small, "a cat", options=Options(unit="sentences", lines="key"), lines=LINES)


def test_many_points_take_fewer_steps(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_map, "MANY", 20)
    monkeypatch.setattr(embedding_map, "JUDGED", 20)
    result = embedding_map.run(small, "a", options=Options("sentences", method="t-SNE", lines="key"), lines=LINES)
    assert result.places.shape == (30, 2) and result.trust is None


def test_a_missing_umap_is_reported_with_its_package(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(ExplorerError, match="umap-learn, which is not installed. Run pip install umap-learn"):
        embedding_map.run(small, TEXT, options=Options(method="UMAP"))


def test_a_missing_umap_is_reported_before_anything_is_computed(
    small: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "umap", None)
    monkeypatch.setattr(embedding_map, "sentence_points", lambda *_: pytest.fail("vectors were computed"))
    with pytest.raises(ExplorerError, match="UMAP needs the package umap-learn"):
        embedding_map.run(small, TEXT, options=Options("sentences", method="UMAP"))


def test_many_points_are_laid_out_in_a_process_of_their_own_as_by_scikit_learn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tsne, "SOME", 30)
    vectors = np.random.default_rng(0).normal(size=(60, 2000))  # more than a pipe holds
    apart = tsne.tsne(vectors, 2)
    model = manifold.TSNE(2, perplexity=59 / 3, init="pca", random_state=0, max_iter=1000)
    with threadpool_limits(1):
        expected = model.fit_transform(vectors.astype(np.float32))
    np.testing.assert_allclose(apart, expected, rtol=1e-4, atol=1e-4)


def test_the_process_of_a_map_that_nobody_waits_for_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    begun: list[Any] = []
    start = tsne.subprocess.Popen

    def slow(command: list[str], **more: Any) -> Any:
        begun.append(start([sys.executable, "-c", "import time; time.sleep(600)"], **more))
        return begun[-1]

    monkeypatch.setattr(tsne.subprocess, "Popen", slow)
    monkeypatch.setattr(tsne, "SOME", 3)
    work = progress.Work(stopped=True)
    with progress.working(work), pytest.raises(progress.Stopped):
        tsne.tsne(np.zeros((10, 4)), 2)
    assert begun[0].returncode != 0, "it was killed"


@pytest.mark.parametrize("text", ["</script><img src=x onerror=1>", "a " * 3000])
def test_tokens_beyond_the_limit_are_noted(text: str, small: Checkpoint) -> None:
    result = embedding_map.run(small, text)
    assert np.isfinite(result.places).all() and ("beyond" in result.notes) == (len(text) > 1000)


def test_invalid_settings_are_rejected(small: Checkpoint) -> None:
    for options, message in (
        (Options(layer=9), "Layer 9"),
        (Options(lines="abc"), "lines 'abc' are no longer stored"),
        (Options(method="t-SNE"), "needs at least 4 points; there are 3"),
    ):
        with pytest.raises(ExplorerError, match=message):
            embedding_map.run(small, "a", options=options)
    with pytest.raises(ExplorerError, match="2 points; wanted at least 3"):
        embedding_map.run(small, "a", options=Options("sentences", lines="k"), lines=LINES[:2])


def test_a_point_knows_the_span_that_picks_it(mini: Checkpoint) -> None:
    points = embedding_map.run(mini, Text("A bank.", "A cat.")).points
    spans = "2:0-1 0:0-1 0:2-6 0:6-7 2:4-5 1:0-1 1:2-5 1:5-6 2:8-9"
    assert [point.picks for point in points] == spans.split()
    assert [point.label for point in points][1:6] == ["sentence A"] * 3 + ["special", "sentence B"]

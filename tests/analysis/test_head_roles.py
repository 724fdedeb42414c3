"""Head roles equal a loop over transformers' attention, distances those of scipy; the plane preserves flat data."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, jensenshannon

from bertexplorer.analysis import head_roles
from bertexplorer.analysis.head_roles import (
    AMONG,
    CLEAR,
    MEASURES,
    ORDINARY,
    RESTS,
    HeadRoles,
    Measured,
    Options,
    distances,
    plane,
)
from bertexplorer.analysis.sample_relations import RELATIONS
from bertexplorer.analysis.sample_sentences import SAMPLE
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from tests.analysis.conftest import NEAR
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import of_encoder, of_sum

TEXT = Text("The doctor, it was said, works.", "Is she good?!")


def ask(checkpoint: Checkpoint, text: Text | str, **options: object) -> HeadRoles:
    return head_roles.run(checkpoint, text, options=Options(**options))


def loop(weights: np.ndarray, tokens: list[str], cls: str, sep: str, punctuation: set[int]) -> dict[str, float]:
    """Of one head, token by token."""
    result = dict.fromkeys(MEASURES, 0.0)
    for i in range(len(tokens)):
        for j in range(len(tokens)):
            w = float(weights[i, j])
            fits = {"previous": j == i - 1, "next": j == i + 1, "same": i == j}
            fits |= {"[SEP]": tokens[j] == sep, "[CLS]": tokens[j] == cls, "punctuation": j in punctuation}
            for name, yes in fits.items():
                result[name] += w * yes / len(tokens)
            result["distance"] += w * abs(i - j) / len(tokens)
            result["entropy"] -= w * np.log2(w) / len(tokens) if w > 0 else 0.0
    return result


@pytest.mark.parametrize("family", FAMILIES)
def test_shares_equal_those_of_a_loop(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(TEXT)
    attention = eager(tiny(family), encoding).attention.numpy()
    result = ask(checkpoint, TEXT, on="this text")
    cls, sep = ("<s>", "</s>") if family in ("roberta", "xlm-roberta", "mpnet") else ("[CLS]", "[SEP]")
    words = [encoding.texts[s.side][s.start : s.end] if s else "" for s in encoding.spans]
    dots = {i for i, piece in enumerate(words) if piece in (",", ".", "?", "!", "?!")}
    assert len(dots) >= 4
    for layer, head in np.ndindex(attention.shape[:2]):
        wanted = loop(attention[layer, head], list(encoding.tokens), cls, sep, dots)
        for name in MEASURES:
            assert result.measures[name][layer, head] == pytest.approx(
                wanted[name], abs=of_encoder(checkpoint.config, len(encoding))
            ), name
    assert (result.texts, result.tokens) == (1, len(encoding))


def test_the_sample_is_the_mean_over_its_sentences(mini: Checkpoint) -> None:
    result = ask(mini, "")
    alone = [ask(mini, sentence, on="this text") for sentence in SAMPLE]
    for name in MEASURES:
        np.testing.assert_allclose(
            result.measures[name], np.mean([a.measures[name] for a in alone], axis=0), rtol=of_sum(len(SAMPLE))
        )
    assert (result.texts, result.tokens) == (20, sum(a.tokens for a in alone)) and result.points is None


def test_the_main_role_of_a_head_is_its_largest_clear_share_among_words() -> None:
    """In this order: a clear role; one that is not clear; clear, but hardly any attention to words; not twice what
    random targets would get; a relation; a relation of a head that rests."""
    measures = {name: np.full((1, 6), 0.1) for name in MEASURES}
    measures |= {"[SEP]": np.array([[0.05, 0.25, RESTS, 0.05, 0.4, 0.9]])}
    shares = {name: np.full((1, 6), 0.1) for name in AMONG}
    shares |= {"next": np.array([[CLEAR, 0.29, 0.9, 0.1, 0.1, 0.1]])}
    shares |= {"punctuation": np.array([[0.2, 0.2, 0.2, 0.39, 0.1, 0.1]])}
    ordinary = np.array([[0.5, 0.5, ORDINARY - 0.01, 0.5, 0.5, 0.1]])
    chance = {**dict.fromkeys(AMONG, 0.1), "punctuation": 0.2}
    relations = [["", "", "", "", "pron", "pron"]]
    wanted = (("next", "broad", "[SEP]", "broad", "pron", "[SEP]"),)
    assert head_roles.main_roles(measures, Measured(ordinary, shares, chance), relations) == wanted


def test_shares_among_words_are_those_of_a_plain_loop(mini: Checkpoint) -> None:
    result, encoding = ask(mini, "Well, she is good.", on="this text"), mini.tokenizer.encode("Well, she is good.")
    weights = eager(mini.folder, encoding).attention.double().numpy()
    words = [i for i in range(len(encoding)) if not encoding.special[i]]
    for layer, head in ((0, 2), (3, 1), (5, 11)):
        given = [sum(weights[layer, head, i, j] for j in words) for i in words]
        previous = [weights[layer, head, i, i - 1] for i in words if i - 1 in words]
        marks = [weights[layer, head, i, j] for i in words for j in words if encoding.tokens[j] in ",."]
        assert result.among.ordinary[layer, head] == pytest.approx(sum(given) / len(words), abs=NEAR)
        assert result.among.shares["previous"][layer, head] == pytest.approx(sum(previous) / sum(given), abs=NEAR)
        assert result.among.shares["punctuation"][layer, head] == pytest.approx(sum(marks) / sum(given), abs=NEAR)
    assert result.among.chance["previous"] == pytest.approx((len(words) - 1) / len(words) ** 2)
    assert result.among.chance["punctuation"] == pytest.approx(2 / len(words))


def test_the_gallery_has_the_best_head_of_each_pattern_on_a_sentence_that_shows_it(mini: Checkpoint) -> None:
    result = ask(mini, "", show="gallery")
    assert len(result.gallery) == len(AMONG) + len(RELATIONS) and all(f.value <= 1 for f in result.gallery)
    for found in result.gallery[len(AMONG) :]:
        span = found.picked[0]
        assert found.text[span.start : span.end] == found.words[0]
        assert result.among.ordinary[found.head.layer, found.head.head] >= ORDINARY
    rows = head_roles.tables(result)["gallery"]
    assert [row["head"] for row in rows] == [found.head.head + 1 for found in result.gallery]


def test_a_text_of_special_tokens_has_no_roles_among_words(mini: Checkpoint) -> None:
    assert not ask(mini, "[SEP]", on="this text").among.ordinary.any()


def test_distances_equal_those_of_scipy() -> None:
    rows = np.random.default_rng(0).dirichlet(np.full(7, 0.2), (4, 6))
    result = distances(rows)
    for i, j in np.ndindex(4, 4):
        wanted = np.mean([jensenshannon(p, q, base=2) ** 2 for p, q in zip(rows[i], rows[j], strict=True)])
        assert result[i, j] == pytest.approx(wanted, abs=of_sum(7, sums=6))
    ends = distances(np.array([[[1.0, 0.0]], [[0.0, 1.0]], [[1.0, 0.0]]]))
    np.testing.assert_allclose(ends, [[0, 1, 0], [1, 0, 1], [0, 1, 0]], atol=of_sum(2))


def test_the_plane_preserves_points_of_a_plane() -> None:
    points = np.random.default_rng(1).normal(size=(9, 2)) * [3, 1]
    apart = cdist(points, points)
    result, preserved = plane(apart**2)
    np.testing.assert_allclose(cdist(result, result), apart, atol=1e-8)  # float64, a root of it
    assert preserved == pytest.approx(1) and result.var(axis=0)[0] > result.var(axis=0)[1]
    solid = np.random.default_rng(2).normal(size=(30, 5))
    assert 0.3 < plane(cdist(solid, solid) ** 2)[1] < 0.8
    assert plane(np.zeros((1, 1)))[0].tolist() == [[0, 0]] and plane(np.zeros((3, 3)))[1] == 1


def test_the_map_places_every_head(mini: Checkpoint) -> None:
    result = ask(mini, "The cat sat.", show="map", on="this text")
    assert result.points is not None and result.points.shape == (6, 12, 2) and result.divergences is not None
    assert result.divergences.shape == (72, 72) and result.compared == 6 and 0 < result.preserved <= 1
    attention = eager(mini.folder, mini.tokenizer.encode("The cat sat.")).attention.flatten(0, 1).double().numpy()
    wanted = np.mean([jensenshannon(attention[5, i], attention[40, i], base=2) ** 2 for i in range(6)])
    assert result.divergences[5, 40] == pytest.approx(wanted, abs=NEAR)


def test_a_long_text_is_compared_at_evenly_spaced_tokens(mini: Checkpoint) -> None:
    result = ask(mini, "The cat sat on the mat and slept. " * 60, show="map", on="this text")
    assert 8 <= result.compared < 512 and result.tokens == 512 and result.left_out > 0

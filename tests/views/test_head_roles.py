"""Head roles and the strongest heads against plain loops over attention, also on the annotated sentences."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist, jensenshannon

from bench import relations
from bertexplorer import engine
from bertexplorer.answers.sample_sentences import SAMPLE
from bertexplorer.answers.strongest_heads import is_word, strongest_links
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.head_roles import compute as head_roles, head_relations
from bertexplorer.views.head_roles.compute import (
    AMONG,
    CLEAR,
    MARGIN,
    MEASURES,
    ORDINARY,
    RESTS,
    HeadRoles,
    Measured,
    Options,
    distances,
    plane,
)
from bertexplorer.views.head_roles.head_relations import Followed, read_all
from bertexplorer.views.head_roles.sample_relations import RELATIONS, read_row, related_sentences
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import of_encoder, of_sum
from tests.views.conftest import NEAR

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
    follows = Followed("pron", 0.9, 0.4)
    relations = [[None, None, None, None, follows, follows]]
    wanted = (("next", "broad", "[SEP]", "broad", "pron", "[SEP]"),)
    assert head_roles.main_roles(measures, Measured(ordinary, shares, chance), relations) == wanted


def test_the_value_of_a_head_that_follows_a_relation_is_its_accuracy_there(mini: Checkpoint) -> None:
    """Counted by hand: the word that gets most of all other words is the related one."""
    rows = head_roles.rows(ask(mini, ""))
    named = [row for row in rows if row["main_role"] in RELATIONS]
    assert len(named) > 5
    reads = read_all(mini)
    for row in named:
        layer, head, relation = row["layer"] - 1, row["head"] - 1, row["main_role"]
        shares, distances = [], []
        for back in (False, True):
            right, gaps = [], []
            for sentence in reads:
                for pair in sentence.sentence.pairs.get(relation, ()):
                    start, end = reversed(pair) if back else pair
                    given = sentence.words[layer, head, start]
                    others = [i for i in range(len(given)) if i != start]
                    right.append(max(others, key=lambda i: given[i]) == end)
                    gaps.append(end - start)
            shares.append(sum(right) / len(right))
            distances.append(max(map(gaps.count, gaps)) / len(gaps))
        gains = [share - distance for share, distance in zip(shares, distances, strict=True)]
        best = gains.index(max(gains))
        assert row["value"] == pytest.approx(shares[best]) and row["baseline"] == pytest.approx(distances[best])
        assert row["value"] - row["baseline"] > MARGIN
    assert all(row["baseline"] is None for row in rows if row["main_role"] in ("[CLS]", "[SEP]", "broad"))


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


def test_special_tokens_have_no_roles_and_long_texts_are_sampled(mini: Checkpoint) -> None:
    assert not ask(mini, "[SEP]", on="this text").among.ordinary.any()
    result = ask(mini, "The cat sat on the mat and slept. " * 60, show="map", on="this text")
    assert 8 <= result.compared < 512 and result.tokens == 512 and result.left_out > 0


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


WORDS = (False, True, True, True, True, True, False)
ROWS = range(7)


def heads(*rows: list[int]) -> np.ndarray:
    """One layer; of each head the token that each of the seven tokens gives 0.9 to. The rest goes to [CLS]."""
    weights = np.zeros((1, len(rows), 7, 7))
    for head, targets in enumerate(rows):
        for source, target in enumerate(targets):
            weights[0, head, source, target] += 0.9
            weights[0, head, source, 0] += 0.1
    return weights


PREVIOUS = [0, 0, 1, 2, 3, 4, 5]
RESTING = [0, 0, 0, 0, 0, 0, 0]
FAR = [0, 4, 5, 1, 2, 2, 0]


def test_a_head_that_always_looks_back_comes_last() -> None:
    links = strongest_links(heads(PREVIOUS, FAR), ROWS, WORDS)
    assert [(link.head.head, link.positional) for link in links] == [(1, False), (0, True)]
    assert links[0].weight == pytest.approx(0.9)


def test_links_join_two_words_from_the_sources() -> None:
    resting = strongest_links(heads(RESTING), ROWS, WORDS)
    assert resting[0].weight == 0
    weights = heads(FAR)
    weights[0, 0, 3, 3] = 1.0
    assert strongest_links(weights, ROWS, WORDS)[0].weight == pytest.approx(0.9)
    link = strongest_links(heads(FAR), ROWS, WORDS, [3])[0]
    assert (link.source, link.target) == (3, 1)
    assert strongest_links(heads(FAR), ROWS, WORDS, [0])[0] == strongest_links(heads(FAR), ROWS, WORDS)[0]
    weights = heads(FAR)[:, :, 2:5]
    link = strongest_links(weights, range(2, 5), WORDS)[0]
    assert (link.source, link.target) == (2, 5)


def test_a_link_between_neighbours_counts_only_if_there_are_no_others() -> None:
    weights = heads([0, 2, 5, 4, 3, 4, 0])
    weights[0, 0, 2] *= 0.5
    link = strongest_links(weights, ROWS, WORDS)[0]
    assert (link.source, link.target, link.weight) == (2, 5, pytest.approx(0.45))
    two = (False, True, True, False, False, False, False)
    assert (strongest_links(weights, ROWS, two)[0].source, strongest_links(weights, ROWS, two)[0].target) == (1, 2)


@pytest.mark.parametrize("words", [(False, False), (False, True)])
def test_a_text_with_fewer_than_two_words_has_no_link(words: tuple[bool, ...]) -> None:
    assert strongest_links(np.full((1, 1, 2, 2), 0.5), range(2), words) == ()


def test_special_tokens_and_punctuation_are_no_words(mini: Checkpoint) -> None:
    encoding = mini.tokenizer.encode("It's [MASK], isn't it?")
    words = [token for token, word in zip(encoding.tokens, is_word(mini, encoding), strict=True) if word]
    assert words == ["it", "s", "[MASK]", "isn", "t", "it"]


def test_every_relation_joins_two_words_of_its_sentence() -> None:
    assert len(related_sentences()) == len({sentence.text for sentence in related_sentences()}) == 40
    assert not {sentence.text for sentence in related_sentences()} & set(SAMPLE)
    for sentence in related_sentences():
        count = len(sentence.text.split())
        for name, pairs in sentence.pairs.items():
            assert name in RELATIONS
            assert all(0 <= start < count and 0 <= end < count and start != end for start, end in pairs)
    assert all(sum(len(s.pairs.get(name, ())) for s in related_sentences()) >= 25 for name in RELATIONS)


def test_a_row_is_read_word_by_word() -> None:
    row = {"sentence": "The cat saw the dog .", **dict.fromkeys(RELATIONS, "")}
    sentence = read_row({**row, "det": "the>cat the.2>dog", "obj": "saw>dog"})
    assert sentence.pairs == {**dict.fromkeys(RELATIONS, ()), "det": ((0, 1), (3, 4)), "obj": ((2, 4),)}
    with pytest.raises(ValueError, match=r"'the.3' is not in 'The cat saw the dog \.'"):
        read_row({**row, "det": "the.3>dog"})


def test_shares_and_hits_are_those_of_plain_loops(mini: Checkpoint) -> None:
    encode = mini.tokenizer.encode
    reads = [head_relations.read(mini, one, encode(one.text)) for one in related_sentences()[:3]]
    layer, head = 3, 1
    rest, hits, tries = [], 0, 0
    for sentence in related_sentences()[:3]:
        encoding = mini.tokenizer.encode(sentence.text)
        weights = engine.attentions(mini, encoding)[layer, head]
        special = [i for i in range(len(encoding)) if encoding.special[i]]
        rest += [float(weights[i, special].sum()) for i in range(len(encoding)) if i not in special]
        for start, end in sentence.pairs["det"]:
            tokens = [
                [i for i, word in enumerate(encoding.words) if word == w] for w in range(len(sentence.text.split()))
            ]
            given = [float(weights[tokens[start]][:, columns].sum(1).mean()) for columns in tokens]
            most = max(float(weights[tokens[start]][:, [mark]].mean()) for mark in special)
            hits += given[end] == max(given) and given[end] > most
            tries += 1
    assert abs(float(relations.resting(reads)[layer, head]) - sum(rest) / len(rest)) < 1e-6
    heads, distances = head_relations.accuracy(reads, "det", back=False)
    assert abs(float(heads[layer, head]) - hits / tries) < 1e-9
    ends = [end - start for sentence in related_sentences()[:3] for start, end in sentence.pairs["det"]]
    assert distances[1] == sum(end == 1 for end in ends) / len(ends)

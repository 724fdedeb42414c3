"""True pairs follow, wrong ones do not; lengths and files come in their shares; a seed and a step give one batch."""

from collections import Counter

import numpy as np
import pytest

from bertexplorer.engine.masking import Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.examples import (
    FOLLOWS,
    NOT,
    SINGLE,
    Bucket,
    Drawing,
    Example,
    Pool,
    buckets,
    examples,
)
from bertexplorer.training.texts import OVERHEAD, cuts


def pool_of(shards: list[Shard], weights: tuple[float, ...] = (1.0, 1.0)) -> Pool:
    return Pool(shards, weights, [np.ones(len(s.hashes), bool) for s in shards])


@pytest.fixture(scope="module")
def pool(shards: list[Shard]) -> Pool:
    return pool_of(shards)


class Places:
    """Where a run of ids stands in the text: every place, since short runs repeat."""

    def __init__(self, pool: Pool) -> None:
        self.documents = []
        for shard, first, after in zip(pool.shard, pool.first, pool.after, strict=True):
            offsets = pool.shards[shard].sentences[first : after + 1]
            ids = pool.shards[shard].ids[offsets[0] : offsets[-1]]
            self.documents.append((ids.tolist(), set((offsets - offsets[0]).tolist())))

    def of(self, segment: np.ndarray) -> set[tuple[int, int]]:
        """(document, offset)."""
        wanted = segment.tolist()
        return {
            (number, at)
            for number, (ids, _) in enumerate(self.documents)
            for at in range(len(ids) - len(wanted) + 1)
            if ids[at : at + len(wanted)] == wanted
        }


@pytest.mark.parametrize("wrong", ["", "other", "same", "order"])
def test_pairs_are_what_their_label_says(pool: Pool, wrong: str) -> None:
    places, draw = Places(pool), np.random.default_rng(0)
    for _ in range(60):
        example = pool.pair(draw, 40, wrong)
        first, second = places.of(example.first), places.of(example.second)
        assert first and second and len(example) <= 43
        assert min(len(example.first), len(example.second)) >= 1
        follows = {(d, a) for d, a in first if (d, a + len(example.first)) in second}
        preceded = {(d, a) for d, a in second if (d, a + len(example.second)) in first}
        assert example.label == (NOT if wrong else FOLLOWS)
        if wrong == "order":
            assert preceded
        if wrong == "":
            assert follows
            assert any(a + len(example.first) in places.documents[d][1] for d, a in follows), "cut between sentences"
        if wrong == "same":
            assert {d for d, _ in first} & {d for d, _ in second}
        if wrong == "other" and len(first) == len(second) == 1:
            assert {d for d, _ in first} != {d for d, _ in second} and not follows
        if wrong == "same" and len(first) == len(second) == 1:
            (_, a), (_, b) = *first, *second
            assert a + len(example.first) < b or b + len(example.second) <= a, "B neither follows nor overlaps A"


def test_segments_are_whole_sentences_where_one_fits(pool: Pool) -> None:
    places, draw = Places(pool), np.random.default_rng(0)
    longest = max(int(np.diff(s.sentences).max()) for s in pool.shards)
    for _ in range(60):
        at, sentence = pool.boundary(draw)
        offset = int(pool.shards[pool.shard[at]].sentences[pool.first[at]])
        _, before = pool.ending(at, sentence, longest)
        _, after = pool.beginning(at, sentence, longest)
        end = int(pool.shards[pool.shard[at]].sentences[sentence]) - offset
        assert end - len(before) in places.documents[at][1] and end + len(after) in places.documents[at][1]
        assert len(pool.ending(at, sentence, 2)[1]) == len(pool.beginning(at, sentence, 2)[1]) == 2, "else cut"


def drawn(pool: Pool, pairs: str, drawing: Drawing, tokens: int = 60_000) -> list[Example]:
    return examples(pool, buckets(drawing.lengths, 64), pairs, drawing, tokens, np.random.default_rng(3))


def test_rates_of_labels(pool: Pool) -> None:
    plain = Drawing(lengths="60:1:0.25", not_next=0.5)
    labels = Counter(e.label for e in drawn(pool, "next", plain))
    total = sum(labels.values())
    pairs = labels[FOLLOWS] + labels[NOT]
    assert abs(labels[SINGLE] / total - 0.25) < 5 * np.sqrt(0.25 * 0.75 / total)
    assert abs(labels[NOT] / pairs - 0.5) < 5 * np.sqrt(0.25 / pairs)
    assert {e.label for e in drawn(pool, "none", plain, 2000)} == {SINGLE}
    assert all(e.second is None for e in drawn(pool, "none", plain, 2000))


def long_documents() -> Pool:
    """Forty documents of fifty sentences, every token its own number."""
    lengths = np.random.default_rng(0).integers(5, 12, size=2000)
    sentences = np.cumsum([0, *lengths])
    ids = np.arange(sentences[-1], dtype=np.int32)
    return pool_of([Shard("long", ids, sentences, np.arange(0, 2001, 50), np.arange(40, dtype=np.uint64))], (1.0,))


def test_lengths_come_in_their_shares() -> None:
    found = drawn(long_documents(), "next", Drawing(lengths="24:0.5:0, 60:0.5:0"))
    assert max(map(len, found)) <= 60
    short = sum(len(e) for e in found if len(e) <= 24)
    assert abs(short / sum(map(len, found)) - 0.5) < 0.1
    assert 0.75 < sum(map(len, found)) / sum(24 if len(e) <= 24 else 60 for e in found) < 1, "and are well filled"


def test_a_pair_of_one_document_is_told_by_its_numbers() -> None:
    """Where each token is its own number, following and overlapping are plain to see."""
    pool, draw = long_documents(), np.random.default_rng(0)
    for wrong in ("", "same", "other"):
        for _ in range(100):
            example = pool.pair(draw, 57, wrong)
            gap = int(example.second[0]) - int(example.first[-1])
            one = np.searchsorted(pool.shards[0].sentences[pool.first], [example.first[0], example.second[0]], "right")
            assert (gap == 1) == (wrong == "")
            assert (one[0] == one[1]) == (wrong != "other")
            assert not set(example.first.tolist()) & set(example.second.tolist())


def test_files_come_by_their_weight(shards: list[Shard]) -> None:
    tokens = np.array([len(s.ids) for s in shards], float)
    for weights in ((1.0, 1.0), (1.0, 5.0), (0.0, 1.0)):
        pool, draw = pool_of(shards, weights), np.random.default_rng(0)
        share = np.mean([pool.shard[pool.document(draw)] for _ in range(4000)])
        wanted = tokens[1] * weights[1] / (tokens * weights).sum()
        assert abs(share - wanted) < 5 * np.sqrt(0.25 / 4000)


def test_documents_left_out_are_never_drawn(shards: list[Shard]) -> None:
    kept = [np.arange(len(s.hashes)) % 3 > 0 for s in shards]
    pool, draw = Pool(shards, [1, 1], kept), np.random.default_rng(0)
    for _ in range(200):
        at = pool.document(draw)
        number = int(np.searchsorted(shards[pool.shard[at]].documents, pool.first[at]))
        assert kept[pool.shard[at]][number]


@pytest.mark.parametrize("lengths", ["", "128", "a:b:c", "128:0.5:2", "4:1:0", "1000:1:0", "60:0:0", "60:nan:0"])
def test_bad_mixtures_are_refused(lengths: str) -> None:
    with pytest.raises(ExplorerError, match="Lengths"):
        buckets(lengths, 512)
    assert buckets("60:0.5:1", 512) == (Bucket(60, 0.5, 1.0),)


def test_nothing_to_draw_from(shards: list[Shard]) -> None:
    with pytest.raises(ExplorerError, match="no document"):
        Pool(shards, [1, 1], [np.zeros(len(s.hashes), bool) for s in shards])
    with pytest.raises(ExplorerError, match="weights"):
        pool_of(shards, (0.0, 0.0))


def test_a_batch_is_what_transformers_makes_of_the_pair(pool: Pool, tokenizer: Tokenizer) -> None:
    collator, draw = Collator.of(tokenizer, Masking()), np.random.default_rng(0)
    found = [pool.pair(draw, 40, ""), Example(pool.text(draw, 30)), pool.pair(draw, 20, "other")]
    batch = collator.collate(found, np.random.default_rng(1))
    for row, example in enumerate(found):
        size = len(example)
        ids = batch.original[row, :size].tolist()
        special = [i for i, token in enumerate(ids) if token in (2, 3)]
        assert ids[0] == 2 and ids[-1] == 3 and len(special) == (2 if example.second is None else 3)
        assert ids[1 : 1 + len(example.first)] == example.first.tolist()
        middle = special[1] + 1
        assert batch.segments[row].tolist() == [0] * middle + [1] * (size - middle) + [0] * (batch.ids.shape[1] - size)
        assert (batch.original[row, size:] == 0).all()
        assert batch.mask is not None and batch.mask[row].tolist() == [i < size for i in range(batch.ids.shape[1])]
    assert batch.labels.tolist() == [FOLLOWS, SINGLE, NOT] and batch.tokens == sum(map(len, found))
    assert set(batch.original.flatten()[batch.chosen].tolist()).isdisjoint({0, 2, 3})
    changed = (batch.ids != batch.original).flatten().nonzero().squeeze(1)
    assert set(changed.tolist()) <= set(batch.chosen.tolist())


def test_cuts_are_the_cheapest() -> None:
    """Against every way to cut, for small cases."""

    def cost(lengths: list[int], ends: tuple[int, ...]) -> float:
        total, start = 0.0, 0
        for end in ends:
            size = lengths[end - 1] * (end - start)
            total += size + OVERHEAD if size <= 300 or end - start == 1 else np.inf
            start = end
        return total

    draw = np.random.default_rng(0)
    for _ in range(20):
        lengths = sorted(draw.integers(5, 120, size=8).tolist())
        ways = [tuple(i + 1 for i in range(7) if bits >> i & 1) + (8,) for bits in range(128)]
        found = cuts(lengths, 300)
        assert [start for start, _ in found] == [0, *(end for _, end in found[:-1])]
        assert cost(lengths, tuple(end for _, end in found)) == min(cost(lengths, way) for way in ways)
    assert cuts([500], 300) == [(0, 1)] and cuts([], 300) == []

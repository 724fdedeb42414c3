"""True pairs follow and wrong ones do not; lengths and files have their shares; seed and step determine a batch."""

from collections import Counter

import numpy as np
import pytest

from bertexplorer.engine.masking import Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.examples import Bucket, Drawing, draw_examples, parse_buckets
from bertexplorer.training.pretraining.pool import FOLLOWS, NOT, SINGLE, DocumentPool, Examples, Kind
from bertexplorer.training.texts import OVERHEAD, batch_bounds


def pool_of(shards: list[Shard], weights: tuple[float, ...] = (1.0, 1.0)) -> DocumentPool:
    return DocumentPool(shards, weights, [np.ones(len(s.hashes), bool) for s in shards])


class Places:
    """All positions of a sequence of ids in the text; short sequences repeat."""

    def __init__(self, shards: list[Shard]) -> None:
        self.documents = []
        for shard in shards:
            for first, after in zip(shard.documents[:-1], shard.documents[1:], strict=True):
                offsets = shard.sentences[first : after + 1]
                ids = shard.ids[offsets[0] : offsets[-1]]
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


def some(pool: DocumentPool, kind: Kind, count: int, room: int, seed: int = 0) -> Examples:
    return pool.examples(np.random.default_rng(seed), np.full(count, kind), np.full(count, room))


@pytest.mark.parametrize("kind", [Kind.NEXT, Kind.OTHER, Kind.SAME, Kind.SWAPPED])
def test_pairs_match_their_labels(pool: DocumentPool, shards: list[Shard], kind: Kind) -> None:
    places, drawn = Places(shards), some(pool, kind, 60, 40)
    assert (drawn.labels == (FOLLOWS if kind == Kind.NEXT else NOT)).all()
    assert drawn.sizes.max() <= 43 and drawn.lengths.min() >= 1
    for a, b in drawn.segments():
        first, second = places.of(a), places.of(b)
        assert first and second
        follows = {(d, at) for d, at in first if (d, at + len(a)) in second}
        if kind == Kind.SWAPPED:
            assert {(d, at) for d, at in second if (d, at + len(b)) in first}
        if kind == Kind.NEXT:
            assert follows
            assert any(at + len(a) in places.documents[d][1] for d, at in follows), "cut between sentences"
        if kind == Kind.SAME:
            assert {d for d, _ in first} & {d for d, _ in second}
        if kind == Kind.OTHER and len(first) == len(second) == 1:
            assert {d for d, _ in first} != {d for d, _ in second} and not follows
        if kind == Kind.SAME and len(first) == len(second) == 1:
            (_, at), (_, other) = *first, *second
            assert at + len(a) < other or other + len(b) <= at, "B neither follows nor overlaps A"


def plain_ending(pool: DocumentPool, document: int, sentence: int, room: int) -> tuple[int, int]:
    """Add sentences to the left as long as they fit."""
    end = begin = int(pool.sentences[sentence])
    first = sentence
    while first > pool.first[document] and end - pool.sentences[first - 1] <= room:
        first -= 1
        begin = int(pool.sentences[first])
    return (first, begin) if first < sentence else (sentence - 1, end - room)


def plain_beginning(pool: DocumentPool, document: int, sentence: int, room: int) -> tuple[int, int]:
    """Add sentences to the right as long as they fit."""
    begin, after = int(pool.sentences[sentence]), sentence
    while after < pool.after[document] and pool.sentences[after + 1] - begin <= room:
        after += 1
    return begin, int(pool.sentences[after]) - begin if after > sentence else room


def test_segments_equal_those_of_a_loop_over_sentences(pool: DocumentPool) -> None:
    """Whole sentences if one fits, otherwise a truncated one, for every length from one token to a whole document."""
    draw = np.random.default_rng(0)
    document, sentence = pool.draw_boundaries(draw, 2000)
    room = draw.integers(1, 150, size=2000)
    for whole, plain in ((pool.sentences_before, plain_ending), (pool.sentences_from, plain_beginning)):
        wanted = [plain(pool, *item) for item in zip(document, sentence, room, strict=True)]
        assert np.array_equal(np.stack(whole(document, sentence, room), axis=1), wanted)


def test_single_texts_are_whole_sentences(pool: DocumentPool, shards: list[Shard]) -> None:
    places = Places(shards)
    for kind, room in ((Kind.SENTENCE, 22), (Kind.TEXT, 50)):
        drawn = some(pool, kind, 60, room)
        assert (drawn.labels == SINGLE).all() and drawn.sizes.max() <= room + 2 and not drawn.lengths[:, 1].any()
        for text, _ in drawn.segments():
            spots = [(places.documents[d][1], at) for d, at in places.of(text)]
            assert any({at, at + len(text)} <= offsets for offsets, at in spots)
            inside = min(sum(at < o < at + len(text) for o in offsets) for offsets, at in spots)
            assert inside == 0 or kind == Kind.TEXT
    assert (some(pool, Kind.SENTENCE, 9, 2).lengths[:, 0] == 2).all(), "else cut"


def drawn(pool: DocumentPool, pairs: str, drawing: Drawing, tokens: int = 60_000) -> Examples:
    return draw_examples(pool, parse_buckets(drawing.lengths, 64), pairs, drawing, tokens, np.random.default_rng(3))


def test_labels_have_their_rates(pool: DocumentPool) -> None:
    plain = Drawing(lengths="60:1:0.25", not_next=0.5)
    labels = Counter(drawn(pool, "next", plain).labels.tolist())
    total = sum(labels.values())
    pairs = labels[FOLLOWS] + labels[NOT]
    assert abs(labels[SINGLE] / total - 0.25) < 5 * np.sqrt(0.25 * 0.75 / total)
    assert abs(labels[NOT] / pairs - 0.5) < 5 * np.sqrt(0.25 / pairs)
    texts = drawn(pool, "none", plain, 2000)
    assert set(texts.labels.tolist()) == {SINGLE} and not texts.lengths[:, 1].any()


def test_a_step_has_the_requested_tokens(pool: DocumentPool) -> None:
    for tokens in (64, 1000, 9000):
        result = drawn(pool, "next", Drawing(lengths="60:1:0.25"), tokens)
        assert result.sizes[:-1].sum() < tokens <= result.sizes.sum(), "and not an example more"
        assert len(result.ids) == result.lengths.sum() and len(result) == len(result.lengths)
    sparse = pool_of([Shard("short", np.arange(600), np.arange(601), np.arange(0, 601, 2), np.arange(300))], (1.0,))
    result = drawn(sparse, "next", Drawing(lengths="60:1:0.25"), 9000)
    assert result.sizes[:-1].sum() < 9000 <= result.sizes.sum(), "however short the documents are"


def long_documents() -> DocumentPool:
    """Forty documents of fifty sentences, every token its own number."""
    lengths = np.random.default_rng(0).integers(5, 12, size=2000)
    sentences = np.cumsum([0, *lengths])
    ids = np.arange(sentences[-1], dtype=np.int32)
    return pool_of([Shard("long", ids, sentences, np.arange(0, 2001, 50), np.arange(40, dtype=np.uint64))], (1.0,))


def documents_of(pool: DocumentPool, drawn: Examples) -> np.ndarray:
    """n x 2 documents of A and B, where each token is its own number."""
    first = np.array([[a[0], b[0]] for a, b in drawn.segments()])
    return np.searchsorted(pool.sentences[pool.first], first, side="right")


def test_lengths_have_their_shares() -> None:
    sizes = drawn(long_documents(), "next", Drawing(lengths="24:0.5:0, 60:0.5:0")).sizes
    assert sizes.max() <= 60
    assert abs(sizes[sizes <= 24].sum() / sizes.sum() - 0.5) < 0.1
    assert 0.75 < sizes.sum() / np.where(sizes <= 24, 24, 60).sum() < 1, "and are well filled"


def test_wrong_pairs_come_from_both_kinds_of_documents() -> None:
    pool = long_documents()
    result = drawn(pool, "next", Drawing(lengths="60:1:0", same_document=0.2))
    wrong = result.take(np.flatnonzero(result.labels == NOT))
    a, b = documents_of(pool, wrong).T
    assert abs((a == b).mean() - 0.2) < 5 * np.sqrt(0.16 / len(wrong))


def test_pairs_of_one_document_are_recognised_by_their_indices() -> None:
    """Each token is its own number, so that following and overlapping texts are recognisable."""
    pool = long_documents()
    for kind in (Kind.NEXT, Kind.SAME, Kind.OTHER):
        result = some(pool, kind, 300, 57)
        for (a, b), (one, other) in zip(result.segments(), documents_of(pool, result), strict=True):
            assert (np.diff(a) == 1).all() and (np.diff(b) == 1).all()
            assert (b[0] - a[-1] == 1) == (kind == Kind.NEXT)
            assert (one == other) == (kind != Kind.OTHER)
            assert not set(a.tolist()) & set(b.tolist())


def test_a_wrong_b_of_the_same_document_is_drawn_from_all_possible_ones(pool: DocumentPool) -> None:
    """Compared with every boundary of the document."""
    draw = np.random.default_rng(0)
    seen = []
    for number in range(60):
        room = (40, 20, 9)[number % 3]  # tokens; a sentence has up to 20
        a = pool.first_segments(draw, np.array([room]))
        document, after, first, begin = a[:, 0].tolist()
        left = room - int(pool.sentences[after] - begin)
        possible = set()
        for other in range(int(pool.first[document]) + 1, int(pool.after[document])):
            start, length = plain_beginning(pool, document, other, left)
            if other > after or start + length <= pool.sentences[first]:
                possible.add(other)
        sentences = pool.wrong_segment_start(
            np.random.default_rng(number), np.repeat(a, 400, axis=1), np.full(400, room)
        )
        assert set(sentences.tolist()) == (possible or {0})
        if possible:
            assert np.bincount(sentences)[list(possible)].min() > 400 / len(possible) / 3, "each as likely as another"
        seen.append(len(possible))
    assert min(seen) == 0 and max(seen) > 3


def test_files_are_drawn_by_weight(shards: list[Shard]) -> None:
    tokens = np.array([len(s.ids) for s in shards], float)
    for weights in ((1.0, 1.0), (1.0, 5.0), (0.0, 1.0)):
        pool, draw = pool_of(shards, weights), np.random.default_rng(0)
        for documents in (pool.draw_documents(draw, 4000), pool.draw_boundaries(draw, 4000)[0]):
            share = (pool.first[documents] >= len(shards[0].sentences) - 1).mean()
            wanted = tokens[1] * weights[1] / (tokens * weights).sum()
            assert abs(share - wanted) < 5 * np.sqrt(0.25 / 4000)


@pytest.mark.parametrize("lengths", ["", "128", "a:b:c", "128:0.5:2", "4:1:0", "1000:1:0", "60:0:0", "60:nan:0"])
def test_invalid_mixtures_are_rejected(lengths: str) -> None:
    with pytest.raises(ExplorerError, match="Lengths"):
        parse_buckets(lengths, 512)
    assert parse_buckets("60:0.5:1", 512) == (Bucket(60, 0.5, 1.0),)


def test_an_empty_pool_is_rejected_and_excluded_documents_are_never_drawn(shards: list[Shard]) -> None:
    with pytest.raises(ExplorerError, match="no document"):
        DocumentPool(shards, [1, 1], [np.zeros(len(s.hashes), bool) for s in shards])
    with pytest.raises(ExplorerError, match="weights"):
        pool_of(shards, (0.0, 0.0))
    masks = [np.arange(len(s.hashes)) % 3 > 0 for s in shards]
    pool = DocumentPool(shards, [1, 1], masks)
    every, within = pool_of(shards).first, np.concatenate(masks)
    documents = pool.draw_documents(np.random.default_rng(0), 400)
    assert within[np.searchsorted(every, pool.first[documents])].all() and len(set(documents)) > 50


def test_a_batch_equals_the_encoding_of_transformers(pool: DocumentPool, tokenizer: Tokenizer) -> None:
    collator, kinds = Collator.of(tokenizer, Masking()), np.array([Kind.NEXT, Kind.TEXT, Kind.OTHER])
    result = pool.examples(np.random.default_rng(0), kinds, np.array([40, 30, 20]))
    batch = collator.collate(result, np.random.default_rng(1))
    for row, (first, second) in enumerate(result.segments()):
        size = int(result.sizes[row])
        ids = batch.original[row, :size].tolist()
        special = [i for i, token in enumerate(ids) if token in (2, 3)]
        assert ids[0] == 2 and ids[-1] == 3 and len(special) == (3 if len(second) else 2)
        middle = special[1] + 1
        assert ids[1 : middle - 1] == first.tolist() and ids[middle:-1] == second.tolist()
        assert batch.segments[row].tolist() == [0] * middle + [1] * (size - middle) + [0] * (batch.ids.shape[1] - size)
        assert (batch.original[row, size:] == 0).all()
        assert batch.mask is not None and batch.mask[row].tolist() == [i < size for i in range(batch.ids.shape[1])]
    assert batch.labels.tolist() == [FOLLOWS, SINGLE, NOT] and batch.tokens == result.sizes.sum()
    assert batch.pairs.tolist() == [0, 2] and batch.singles.tolist() == [1]
    assert set(batch.original.flatten()[batch.chosen].tolist()).isdisjoint({0, 2, 3})
    changed = (batch.ids != batch.original).flatten().nonzero().squeeze(1)
    assert set(changed.tolist()) <= set(batch.chosen.tolist())


def test_examples_and_segments_convert_both_ways() -> None:
    result = Examples.of([([5, 6], [7]), ([8], ()), ([9, 9], [4, 4, 4])], [FOLLOWS, SINGLE, NOT])
    assert result.sizes.tolist() == [6, 3, 8] and len(result) == 3
    reordered = result.take(np.array([2, 0, 1]))
    assert [(a.tolist(), b.tolist()) for a, b in reordered.segments()] == [
        ([9, 9], [4, 4, 4]),
        ([5, 6], [7]),
        ([8], []),
    ]
    assert reordered.labels.tolist() == [NOT, FOLLOWS, SINGLE]


def test_batches_have_every_example_once(pool: DocumentPool, tokenizer: Tokenizer) -> None:
    result = drawn(pool, "next", Drawing(lengths="24:0.4:0.5, 60:0.6:0.1"), 5000)
    batches = Collator.of(tokenizer, Masking()).batches(result, 300, np.random.default_rng(0))
    rows = [row[row > 0].tolist() for batch in batches for row in batch.original]
    wanted = [[2, *a.tolist(), 3, *([*b.tolist(), 3] if len(b) else [])] for a, b in result.segments()]
    assert sorted(rows) == sorted(wanted) and sum(batch.tokens for batch in batches) == result.sizes.sum()
    assert max(batch.ids.numel() for batch in batches) <= 300


def test_batch_bounds_are_optimal() -> None:
    """Compared with every possible division, for small cases."""

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
        result = batch_bounds(lengths, 300)
        assert [start for start, _ in result] == [0, *(end for _, end in result[:-1])]
        assert cost(lengths, tuple(end for _, end in result)) == min(cost(lengths, way) for way in ways)
    assert batch_bounds([500], 300) == [(0, 1)] and batch_bounds([], 300) == []

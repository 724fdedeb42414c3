"""The documents to draw from, and whole arrays of segments drawn from them: single texts, true pairs and wrong ones."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bertexplorer.errors import ExplorerError
from bertexplorer.training.pretraining.corpus import Shard

# BERT's classes: 0 is "is next"
FOLLOWS = 0
NOT = 1
SINGLE = -1
TRIES = 8
SHORTEST = 4  # tokens of a segment
Ints = NDArray[np.int64]


class Kind(IntEnum):
    """The contents of an example."""

    SENTENCE = 0  # one whole sentence; if a few draws give none of the right length, the beginning of one
    TEXT = 1  # consecutive whole sentences (RoBERTa's DOC-SENTENCES)
    NEXT = 2  # A, and B that follows it
    OTHER = 3  # A, and B of another document
    SAME = 4  # A, and B of the same document that neither follows nor overlaps A; if there is none, as OTHER
    SWAPPED = 5  # NEXT with B before A


LABELS = np.array([SINGLE, SINGLE, FOLLOWS, NOT, NOT, NOT])  # by Kind


@dataclass(frozen=True, eq=False)
class Examples:
    """n examples of one segment or two, without special tokens."""

    ids: NDArray[Any]  # A and B of the first example, A and B of the second, …
    lengths: Ints  # n x 2: tokens of A and of B, 0 where there is no B
    labels: Ints  # n: FOLLOWS, NOT or SINGLE

    @classmethod
    def of(cls, segments: Sequence[tuple[Sequence[int], Sequence[int]]], labels: Sequence[int]) -> "Examples":
        """From the ids of A and B of each example; no ids where there is no B."""
        parts = [np.asarray(part, np.int64) for both in segments for part in both]
        return cls(np.concatenate(parts), np.array([len(part) for part in parts]).reshape(-1, 2), np.array(labels))

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def sizes(self) -> Ints:
        """Tokens of each example, special ones included."""
        total: Ints = self.lengths.sum(axis=1) + 2 + (self.lengths[:, 1] > 0)
        return total

    def take(self, rows: Ints) -> "Examples":
        """The examples *rows*, in this order."""
        lengths = self.lengths.sum(axis=1)
        begins = np.cumsum(lengths) - lengths
        return Examples(self.ids[run_indices(begins[rows], lengths[rows])], self.lengths[rows], self.labels[rows])

    def segments(self) -> list[tuple[NDArray[Any], NDArray[Any]]]:
        """The ids of A and B of each example."""
        parts = np.split(self.ids, np.cumsum(self.lengths.ravel()))[:-1]
        return list(zip(parts[::2], parts[1::2], strict=True))


def concatenate(parts: Sequence[Examples]) -> Examples:
    """The examples of all *parts*, in order."""
    if len(parts) == 1:
        return parts[0]
    return Examples(*(np.concatenate([getattr(part, name) for part in parts]) for name in vars(parts[0])))


def run_indices(begins: Ints, lengths: Ints) -> Ints:
    """begin, begin + 1, … of each run, one run after the other."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(begins - before, lengths) + np.arange(lengths.sum())


class DocumentPool:
    """Documents to draw from, each with probability proportional to its tokens times the weight of its file.

    Tokens, sentences and documents are numbered through all shards; ids are read from their shard when drawn."""

    def __init__(self, shards: Sequence[Shard], weights: Sequence[float], masks: Sequence[NDArray[np.bool_]]) -> None:
        """*weights*: of each shard; *masks*: for each shard, which of its documents are in the pool. Raises
        ExplorerError if there is none."""
        # 1. Tokens, sentences and documents, numbered through all shards
        self.ids = [np.asarray(shard.ids) for shard in shards]
        self.tokens_before: Ints = np.cumsum([0, *map(len, self.ids)])  # by shard
        sentences = []
        first = []
        after = []
        document_weights = []
        sentences_before = 0
        for number, (shard, shard_weight, mask) in enumerate(zip(shards, weights, masks, strict=True)):
            sentences.append(shard.sentences[:-1] + self.tokens_before[number])
            first.append(shard.documents[:-1][mask] + sentences_before)
            after.append(shard.documents[1:][mask] + sentences_before)
            document_weights.append(shard_weight * shard.tokens[mask])
            sentences_before += len(shard.sentences) - 1
        self.sentences: Ints = np.concatenate([*sentences, self.tokens_before[-1:]])  # first token of each; and the end
        self.first: Ints = np.concatenate(first)  # sentence of each document
        self.after: Ints = np.concatenate(after)  # and that after its last one

        # 2. The chance of each document, and of each that has a boundary between sentences
        weight = np.concatenate(document_weights)
        if not weight.sum() > 0:
            raise ExplorerError("The text files contain no document to learn from (or all weights are 0). Add text.")
        divisible = np.where(self.after - self.first >= 2, weight, 0)
        self.with_boundary = int(np.count_nonzero(divisible))  # documents of two sentences or more
        self.cumulative = np.cumsum(weight)
        self.cumulative_divisible = np.cumsum(divisible)

    def examples(self, rng: np.random.Generator, kinds: Ints, room: Ints) -> Examples:
        """One example of each of *kinds* (n of Kind), of at most *room* tokens (n of them) without special ones."""
        begins, lengths = np.zeros((2, len(kinds), 2), np.int64)
        sentence = kinds == Kind.SENTENCE
        text = kinds == Kind.TEXT
        pair = kinds >= Kind.NEXT
        begins[sentence, 0], lengths[sentence, 0] = self.single_sentences(rng, room[sentence])
        begins[text, 0], lengths[text, 0] = self.texts(rng, room[text])
        begins[pair], lengths[pair] = self.pairs(rng, kinds[pair], room[pair])
        return Examples(self.read(begins.ravel(), lengths.ravel()), lengths, LABELS[kinds])

    def read(self, begins: Ints, lengths: Ints) -> NDArray[Any]:
        """The ids of runs of tokens, one run after the other. A run lies in one shard."""
        positions = run_indices(begins, lengths)
        shard = np.repeat(np.searchsorted(self.tokens_before, begins, side="right") - 1, lengths)
        ids = np.empty(len(positions), np.result_type(*self.ids))
        for number in np.flatnonzero(np.bincount(shard)):
            in_shard = shard == number
            ids[in_shard] = self.ids[number][positions[in_shard] - self.tokens_before[number]]
        return ids

    def draw_documents(self, rng: np.random.Generator, count: int) -> Ints:
        """The indices of *count* documents; one may be drawn again."""
        return np.searchsorted(self.cumulative, rng.random(count) * self.cumulative[-1], side="right")

    def draw_boundaries(self, rng: np.random.Generator, count: int) -> tuple[Ints, Ints]:
        """(documents, in each the sentence after a boundary between two sentences)."""
        chance = rng.random(count) * self.cumulative_divisible[-1]
        document = np.searchsorted(self.cumulative_divisible, chance, side="right")
        return document, rng.integers(self.first[document] + 1, self.after[document])

    def sentences_before(self, document: Ints, sentence: Ints, room: Ints) -> tuple[Ints, Ints]:
        """(first sentence, first token) of the whole sentences before *sentence*, at most *room* tokens; if the last
        sentence alone is longer, of its end."""
        end = self.sentences[sentence]
        first = np.maximum(np.searchsorted(self.sentences, end - room), self.first[document])
        return np.minimum(first, sentence - 1), np.where(first < sentence, self.sentences[first], end - room)

    def sentences_from(self, document: Ints, sentence: Ints, room: Ints) -> tuple[Ints, Ints]:
        """(first token, length) of the whole sentences from *sentence* on, at most *room* tokens; if the first sentence
        alone is longer, of its beginning."""
        begin = self.sentences[sentence]
        after = np.searchsorted(self.sentences, begin + room, side="right") - 1
        after = np.minimum(after, self.after[document])
        return begin, np.where(after > sentence, self.sentences[after] - begin, room)

    def single_sentences(self, rng: np.random.Generator, room: Ints) -> tuple[Ints, Ints]:
        """(first tokens, lengths) of a sentence for each *room*; one that is too long is cut."""
        sentence = np.zeros_like(room)
        length = np.zeros_like(room)
        remaining = np.arange(len(room))
        for _ in range(TRIES):
            document = self.draw_documents(rng, len(remaining))
            sentence[remaining] = rng.integers(self.first[document], self.after[document])
            length[remaining] = self.sentences[sentence[remaining] + 1] - self.sentences[sentence[remaining]]
            remaining = remaining[(length[remaining] < SHORTEST) | (length[remaining] > room[remaining])]
            if not len(remaining):
                break
        return self.sentences[sentence], np.minimum(length, room)

    def texts(self, rng: np.random.Generator, room: Ints) -> tuple[Ints, Ints]:
        """(first tokens, lengths) of consecutive sentences for each *room*."""
        document = self.draw_documents(rng, len(room))
        return self.sentences_from(document, rng.integers(self.first[document], self.after[document]), room)

    def pairs(self, rng: np.random.Generator, kinds: Ints, room: Ints) -> tuple[Ints, Ints]:
        """(first tokens, lengths), n x 2 each, of segments of at most *room* tokens together."""
        # 1. A, and for a wrong B of the same document an A that leaves one
        first_segment = self.first_segments(rng, room)
        second = np.zeros_like(room)  # the first sentence of B
        unmatched = np.flatnonzero(kinds == Kind.SAME)
        for _ in range(TRIES):
            second[unmatched] = self.wrong_segment_start(rng, first_segment[:, unmatched], room[unmatched])
            unmatched = unmatched[second[unmatched] == 0]
            if not len(unmatched):
                break
            first_segment[:, unmatched] = self.first_segments(rng, room[unmatched])

        # 2. The other Bs: what follows A, or something of another document
        document, after, _, begin = first_segment
        adjacent = (kinds == Kind.NEXT) | (kinds == Kind.SWAPPED)
        second[adjacent] = after[adjacent]
        second_document = document.copy()
        remaining = np.concatenate([np.flatnonzero(kinds == Kind.OTHER), unmatched])
        while len(remaining):
            second_document[remaining], second[remaining] = self.draw_boundaries(rng, len(remaining))
            remaining = remaining[second_document[remaining] == document[remaining]]

        # 3. Both as tokens
        length = self.sentences[after] - begin
        second_begin, second_length = self.sentences_from(second_document, second, room - length)
        begins = np.stack([begin, second_begin], axis=1)
        lengths = np.stack([length, second_length], axis=1)
        swapped = kinds == Kind.SWAPPED
        begins[swapped], lengths[swapped] = begins[swapped, ::-1], lengths[swapped, ::-1]
        return begins, lengths

    def first_segments(self, rng: np.random.Generator, room: Ints) -> Ints:
        """4 x n: the document of A, the sentence after A, the first sentence of A, the first token of A."""
        document, after = self.draw_boundaries(rng, len(room))
        length = rng.integers(SHORTEST, room - SHORTEST + 1)
        return np.stack([document, after, *self.sentences_before(document, after, length)])

    def wrong_segment_start(self, rng: np.random.Generator, a: Ints, room: Ints) -> Ints:
        """The first sentence of a wrong B in the document of *a* (see `first_segments`): any after a boundary from
        which B neither follows nor overlaps A. 0 where there is none."""
        document, after, first, begin = a
        room = room - (self.sentences[after] - begin)
        earliest = self.first[document] + 1
        latest = np.minimum(first, np.searchsorted(self.sentences, self.sentences[first + 1] - room))  # B ends before A
        before = np.maximum(0, latest - earliest)
        count = before + np.maximum(0, self.after[document] - 1 - after)
        pick = rng.integers(np.maximum(1, count))
        return np.where(count == 0, 0, np.where(pick < before, earliest, after + 1 - before) + pick)

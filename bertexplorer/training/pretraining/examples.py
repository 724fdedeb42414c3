"""Examples drawn on the fly: [CLS] A [SEP] B [SEP] or [CLS] A [SEP], reproducible from seed and step."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import numpy as np
from numpy.typing import NDArray

from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option
from bertexplorer.training.pretraining.corpus import Shard

FOLLOWS, NOT, SINGLE = 0, 1, -1  # BERT's classes: 0 is "is next"
TRIES = 8
SHORTEST = 4  # tokens of a segment
SINGLE_SENTENCE = 64  # up to this length a single text is one sentence
Pairs = Literal["next", "order", "none"]
Wrong = Literal["", "other", "same", "order"]


@dataclass(frozen=True)
class Drawing:
    """How examples are drawn."""

    lengths: Annotated[
        str, Option("Lengths", info="longest example : share of the tokens : share of single texts, comma-separated")
    ] = "32:0.30:0.6, 128:0.63:0.1, 256:0.07:0.1"
    not_next: Annotated[float, Option("Wrong pairs", 0.0, 1.0, "share of pairs whose B does not follow A")] = 0.5
    same_document: Annotated[float, Option("Of them, same document", 0.0, 1.0, "else B is of another document")] = 0.2


@dataclass(frozen=True)
class Bucket:
    """One part of the mixture of lengths."""

    longest: int  # tokens, special ones included
    share: float  # of all tokens
    single: float  # share of examples that are one text, not a pair


@dataclass(frozen=True, eq=False)
class Example:
    """Token ids of one segment or two, without special tokens."""

    first: NDArray[Any]
    second: NDArray[Any] | None = None
    label: int = SINGLE

    def __len__(self) -> int:
        return len(self.first) + 2 + (0 if self.second is None else len(self.second) + 1)


def buckets(lengths: str, most: int) -> tuple[Bucket, ...]:
    """Read "32:0.3:0.6, 128:0.7:0.1". Raises ExplorerError unless each is longest:share:single within bounds."""
    found = []
    for part in lengths.split(","):
        try:
            longest, share, single = part.split(":")
            found.append(Bucket(int(longest), float(share), float(single)))
        except ValueError as error:
            raise ExplorerError(
                f"Lengths: got {part.strip()!r}; wanted longest:share:single as 128:0.7:0.1."
            ) from error
        if not (12 <= found[-1].longest <= most and found[-1].share > 0 and 0 <= found[-1].single <= 1):
            raise ExplorerError(f"Lengths: got {part.strip()!r}; wanted 12 to {most} tokens and shares from 0 to 1.")
    return tuple(found)


class Pool:
    """Documents to draw from, each with probability proportional to its tokens times the weight of its file."""

    def __init__(self, shards: Sequence[Shard], weights: Sequence[float], kept: Sequence[NDArray[np.bool_]]) -> None:
        self.shards = shards
        self.shard = np.concatenate([np.full(k.sum(), i) for i, k in enumerate(kept)])
        self.first = np.concatenate([s.documents[:-1][k] for s, k in zip(shards, kept, strict=True)])
        self.after = np.concatenate([s.documents[1:][k] for s, k in zip(shards, kept, strict=True)])
        tokens = [w * s.tokens[k] for s, w, k in zip(shards, weights, kept, strict=True)]
        self.cumulative = np.cumsum(np.concatenate(tokens))
        if not len(self.shard) or not self.cumulative[-1] > 0:
            raise ExplorerError("The text files hold no document to learn from (or all weights are 0). Add text.")
        self.with_boundary = int(((self.after - self.first >= 2) & (np.diff(self.cumulative, prepend=0) > 0)).sum())

    def document(self, draw: np.random.Generator) -> int:
        return int(np.searchsorted(self.cumulative, draw.random() * self.cumulative[-1], side="right"))

    def boundary(self, draw: np.random.Generator, document: int | None = None) -> tuple[int, int]:
        """(document, the sentence after a boundary between two of its sentences)."""
        while True:
            at = self.document(draw) if document is None else document
            if self.after[at] - self.first[at] >= 2:
                return at, int(draw.integers(self.first[at] + 1, self.after[at]))

    def ending(self, document: int, sentence: int, room: int) -> tuple[int, NDArray[Any]]:
        """(first sentence, ids): whole sentences of *document* before *sentence*, at most *room* tokens; if the last
        sentence alone is longer, its end."""
        shard = self.shards[self.shard[document]]
        starts = shard.sentences[self.first[document] : sentence + 1]
        end = starts[-1]
        at = int(np.searchsorted(starts, end - room))
        begin = starts[at] if at < len(starts) - 1 else end - room
        return int(self.first[document]) + min(at, len(starts) - 2), shard.ids[begin:end]

    def beginning(self, document: int, sentence: int, room: int) -> tuple[int, NDArray[Any]]:
        """(the sentence after the last one, ids): whole sentences from *sentence* on, at most *room* tokens; if the
        first sentence alone is longer, its beginning."""
        shard = self.shards[self.shard[document]]
        ends = shard.sentences[sentence : self.after[document] + 1]
        begin = ends[0]
        at = int(np.searchsorted(ends, begin + room, side="right")) - 1
        end = ends[at] if at > 0 else begin + room
        return sentence + max(at, 1), shard.ids[begin:end]

    def sentence(self, draw: np.random.Generator, room: int) -> NDArray[Any]:
        """One whole sentence of at most *room* tokens if a few draws find one, else the beginning of one."""
        for _ in range(TRIES):
            at = self.document(draw)
            sentence = int(draw.integers(self.first[at], self.after[at]))
            offsets = self.shards[self.shard[at]].sentences
            if SHORTEST <= offsets[sentence + 1] - offsets[sentence] <= room:
                break
        begin, end = offsets[sentence], offsets[sentence + 1]
        return self.shards[self.shard[at]].ids[begin : min(end, begin + room)]

    def text(self, draw: np.random.Generator, room: int) -> NDArray[Any]:
        """Consecutive whole sentences (RoBERTa's DOC-SENTENCES)."""
        at = self.document(draw)
        return self.beginning(at, int(draw.integers(self.first[at], self.after[at])), room)[1]

    def pair(self, draw: np.random.Generator, room: int, wrong: Wrong) -> Example:
        """Two segments of at most *room* tokens together. A wrong B follows another boundary: in another document, or
        in the same one where it neither follows nor overlaps A (in another one if a few draws find no such place).
        "order": A and B are swapped."""
        for _ in range(TRIES):
            at, sentence = self.boundary(draw)
            start, first = self.ending(at, sentence, int(draw.integers(SHORTEST, room - SHORTEST + 1)))
            left = room - len(first)
            if wrong != "same":
                break
            for _ in range(TRIES):
                _, other = self.boundary(draw, at)
                stop, second = self.beginning(at, other, left)
                if other > sentence or stop <= start:
                    return Example(first, second, NOT)
        if wrong in ("", "order"):
            _, second = self.beginning(at, sentence, left)
            return Example(second, first, NOT) if wrong else Example(first, second, FOLLOWS)
        elsewhere = at
        while elsewhere == at:
            elsewhere, other = self.boundary(draw)
        return Example(first, self.beginning(elsewhere, other, left)[1], NOT)

    def example(self, draw: np.random.Generator, bucket: Bucket, pairs: Pairs, drawing: Drawing) -> Example:
        """One example of at most *bucket.longest* tokens; half of them aim at that length, half at a shorter one."""
        full = draw.random() < 0.5
        length = bucket.longest if full else int(draw.integers(max(12, bucket.longest // 3), bucket.longest + 1))
        single = draw.random() < bucket.single
        if single and bucket.longest <= SINGLE_SENTENCE:
            return Example(self.sentence(draw, bucket.longest - 2))
        if single or pairs == "none":
            return Example(self.text(draw, length - 2))
        wrong: Wrong = ""
        if draw.random() < drawing.not_next:
            wrong = "order" if pairs == "order" else "same" if draw.random() < drawing.same_document else "other"
        return self.pair(draw, length - 3, wrong)


def examples(
    pool: Pool, parts: Sequence[Bucket], pairs: Pairs, drawing: Drawing, tokens: int, draw: np.random.Generator
) -> list[Example]:
    """Examples of about *tokens* tokens in total, each bucket with its share."""
    chance = np.cumsum([part.share / part.longest for part in parts])
    drawn: list[Example] = []
    while tokens > 0:
        part = parts[int(np.searchsorted(chance, draw.random() * chance[-1], side="right"))]
        drawn.append(pool.example(draw, part, pairs, drawing))
        tokens -= len(drawn[-1])
    return drawn

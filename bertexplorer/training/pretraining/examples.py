"""Examples drawn on the fly: [CLS] A [SEP] B [SEP] or [CLS] A [SEP], in their shares of lengths and kinds."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np

from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option
from bertexplorer.training.pretraining.pool import DocumentPool, Examples, Ints, Kind, concatenate

SINGLE_SENTENCE = 64  # up to this length a single text is one sentence
Pairs = Literal["next", "order", "none"]


@dataclass(frozen=True)
class Drawing:
    """How examples are drawn."""

    lengths: Annotated[
        str, Option("Lengths", info="longest example : share of the tokens : share of single texts, comma-separated")
    ] = "32:0.30:0.6, 128:0.63:0.1, 256:0.07:0.1"
    not_next: Annotated[float, Option("Wrong pairs", 0.0, 1.0, "share of pairs whose B does not follow A")] = 0.5
    same_document: Annotated[float, Option("Of these, same document", 0.0, 1.0, "else B is from another document")] = (
        0.2
    )


@dataclass(frozen=True)
class Bucket:
    """One part of the mixture of lengths."""

    longest: int  # tokens, special ones included
    share: float  # of all tokens
    single: float  # share of examples that are one text, not a pair


def parse_buckets(lengths: str, max_tokens: int) -> tuple[Bucket, ...]:
    """Read "32:0.3:0.6, 128:0.7:0.1". Raises ExplorerError unless each is longest:share:single within bounds."""
    parsed = []
    for part in lengths.split(","):
        try:
            longest, share, single = part.split(":")
            bucket = Bucket(int(longest), float(share), float(single))
        except ValueError as error:
            raise ExplorerError(
                f"Lengths: got {part.strip()!r}; wanted longest:share:single as 128:0.7:0.1."
            ) from error
        fits = 12 <= bucket.longest <= max_tokens
        if not fits or not bucket.share > 0 or not 0 <= bucket.single <= 1:
            raise ExplorerError(
                f"Lengths: got {part.strip()!r}; wanted 12 to {max_tokens} tokens and shares from 0 to 1."
            )
        parsed.append(bucket)
    return tuple(parsed)


def plan_examples(
    parts: Sequence[Bucket], pairs: Pairs, drawing: Drawing, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """(kinds, room in tokens without special ones) of *count* examples. Half of them aim at the longest of their
    bucket, half at a shorter length."""
    # 1. The bucket of each, so that the tokens have their shares
    chance = np.array([bucket.share / bucket.longest for bucket in parts])
    bucket_of = rng.choice(len(parts), count, p=chance / chance.sum())
    longest = np.array([bucket.longest for bucket in parts])[bucket_of]
    single_share = np.array([bucket.single for bucket in parts])[bucket_of]

    # 2. What may be drawn for each, in this order, as all is drawn with one generator
    shorter = rng.integers(np.maximum(12, longest // 3), longest + 1)
    single = rng.random(count) < single_share
    wrong = rng.random(count) < drawing.not_next
    same = rng.random(count) < drawing.same_document

    # 3. Its kind and its length
    if pairs == "next":
        of_pairs = np.where(wrong, np.where(same, Kind.SAME, Kind.OTHER), Kind.NEXT)
    elif pairs == "order":
        of_pairs = np.where(wrong, Kind.SWAPPED, Kind.NEXT)
    else:
        of_pairs = np.full(count, Kind.TEXT)
    of_singles = np.where(longest <= SINGLE_SENTENCE, Kind.SENTENCE, Kind.TEXT)
    kinds = np.where(single, of_singles, of_pairs)
    full = (kinds == Kind.SENTENCE) | (rng.random(count) < 0.5)
    special = 2 + (kinds >= Kind.NEXT)  # [CLS], [SEP], and another [SEP] in a pair
    return kinds, np.where(full, longest, shorter) - special


def draw_examples(
    pool: DocumentPool, parts: Sequence[Bucket], pairs: Pairs, drawing: Drawing, tokens: int, rng: np.random.Generator
) -> Examples:
    """Examples of about *tokens* tokens in total, each bucket with its share."""
    typical = sum(bucket.share for bucket in parts) / sum(bucket.share / bucket.longest for bucket in parts)  # length
    batches: list[Examples] = []
    while tokens > 0:
        kinds, room = plan_examples(parts, pairs, drawing, 8 + int(1.5 * tokens / typical), rng)
        new = pool.examples(rng, kinds, room)
        total = np.cumsum(new.sizes)
        count = min(len(new), 1 + int(np.searchsorted(total, tokens)))
        batches.append(new.take(np.arange(count)))
        tokens -= int(total[count - 1])
    return concatenate(batches)

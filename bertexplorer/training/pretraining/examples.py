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
            parsed.append(Bucket(int(longest), float(share), float(single)))
        except ValueError as error:
            raise ExplorerError(
                f"Lengths: got {part.strip()!r}; wanted longest:share:single as 128:0.7:0.1."
            ) from error
        if not (12 <= parsed[-1].longest <= max_tokens and parsed[-1].share > 0 and 0 <= parsed[-1].single <= 1):
            raise ExplorerError(
                f"Lengths: got {part.strip()!r}; wanted 12 to {max_tokens} tokens and shares from 0 to 1."
            )
    return tuple(parsed)


def plan_examples(
    parts: Sequence[Bucket], pairs: Pairs, drawing: Drawing, count: int, rng: np.random.Generator
) -> tuple[Ints, Ints]:
    """(kinds, room in tokens without special ones) of *count* examples. Half of them aim at the longest of their
    bucket, half at a shorter length."""
    chance = np.array([part.share / part.longest for part in parts])
    part = rng.choice(len(parts), count, p=chance / chance.sum())
    longest = np.array([part.longest for part in parts])[part]
    shorter = rng.integers(np.maximum(12, longest // 3), longest + 1)
    single = rng.random(count) < np.array([part.single for part in parts])[part]
    wrong = rng.random(count) < drawing.not_next
    same = rng.random(count) < drawing.same_document
    second = {
        "next": np.where(wrong, np.where(same, Kind.SAME, Kind.OTHER), Kind.NEXT),
        "order": np.where(wrong, Kind.SWAPPED, Kind.NEXT),
        "none": np.full(count, Kind.TEXT),
    }[pairs]
    kinds = np.where(single, np.where(longest <= SINGLE_SENTENCE, Kind.SENTENCE, Kind.TEXT), second)
    full = (kinds == Kind.SENTENCE) | (rng.random(count) < 0.5)
    return kinds, np.where(full, longest, shorter) - 2 - (kinds >= Kind.NEXT)


def draw_examples(
    pool: DocumentPool, parts: Sequence[Bucket], pairs: Pairs, drawing: Drawing, tokens: int, rng: np.random.Generator
) -> Examples:
    """Examples of about *tokens* tokens in total, each bucket with its share."""
    typical = sum(part.share for part in parts) / sum(part.share / part.longest for part in parts)
    batches: list[Examples] = []
    while tokens > 0:
        new = pool.examples(rng, *plan_examples(parts, pairs, drawing, 8 + int(1.5 * tokens / typical), rng))
        total = np.cumsum(new.sizes)
        count = min(len(new), 1 + int(np.searchsorted(total, tokens)))
        batches.append(new.take(np.arange(count)))
        tokens -= int(total[count - 1])
    return concatenate(batches)

"""Near duplicates: texts that share most of their runs of characters, found without comparing every pair.

Each text is the set of its runs of RUN characters, in lower case and with single spaces. How much two of them share is
measured by the Jaccard index of the sets, or by the ratio of their lengths if that is smaller: a text and its
repetition have the same runs. MinHash (Broder, 1997) finds the pairs that are worth measuring: of a random
function, the least values of two sets agree with a probability that is their Jaccard index. FUNCTIONS of them, in
bands of ROWS, bring a pair that shares 0.8 together with a probability of 1 - (1 - 0.8⁴)¹⁶ = 0.9998."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import UInt64

from bertexplorer.engine import progress

RUN = 5  # characters
FUNCTIONS, ROWS = 64, 4  # of MinHash, and how many of them make a band
ALIKE = 0.8  # the Jaccard index from which two texts are near duplicates
FULL = 4  # texts of a bucket with which further ones are compared
LONGEST = 20_000  # characters of a text that are read

RANDOM = np.random.default_rng(0)
ODD = RANDOM.integers(1, 2**63, FUNCTIONS, dtype=np.uint64) | np.uint64(1)  # multiplication by it permutes 64 bits
ADDED = RANDOM.integers(0, 2**63, FUNCTIONS, dtype=np.uint64)
POWERS = np.array([0x9E3779B97F4A7C15**n % 2**64 for n in range(1, RUN + 1)], np.uint64)


class Near(NamedTuple):
    """A text that nearly repeats an earlier one; both are indices. *share*: of what they have, 0 to 1."""

    text: int
    earlier: int
    share: float


def near_duplicates(texts: Sequence[str], alike: float = ALIKE, known: int = 0) -> list[Near]:
    """For each text the earlier one that it is most like, if they share *alike* or more. Texts that are equal but for
    case and spaces are none: see `checks.duplicates`. Those of one bucket are compared with its first FULL texts.
    *known*: how many of the first texts are those that the others, and they alone, are compared with; 0: each text is
    compared with all before it."""
    pairs = []
    buckets: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    plain = [normal(text[:LONGEST]) for text in texts]
    first: dict[str, int] = {}
    for i, text in enumerate(plain):
        if not text or first.setdefault(text, i) != i:
            continue
        progress.check()
        # 1. The earlier texts that share a bucket with this one.
        least = signature(text)
        candidates: set[int] = set()
        for band in range(0, FUNCTIONS, ROWS):
            bucket = buckets[band, least[band : band + ROWS].tobytes()]
            if i >= known:
                candidates.update(bucket)
            if len(bucket) < FULL and (i < known or not known):
                bucket.append(i)
        # 2. How much it really shares with each.
        own = runs(text)
        best = None
        for other in sorted(candidates):
            theirs = runs(plain[other])
            short, long = sorted((len(text), len(plain[other])))
            share = min(len(own & theirs) / len(own | theirs), short / long)
            if share >= alike and (best is None or share > best.share):
                best = Near(i, other, share)
        if best:
            pairs.append(best)
    return pairs


def normal(text: str) -> str:
    """*text* in lower case and with single spaces."""
    return " ".join(text.casefold().split())


def runs(text: str) -> set[str]:
    """The runs of RUN characters; of a shorter text, the text."""
    return {text[i : i + RUN] for i in range(max(1, len(text) - RUN + 1))}


def signature(text: str) -> UInt64[np.ndarray, " functions"]:
    """For each random function, its least value on the runs of *text*."""
    characters = np.frombuffer(text.ljust(RUN).encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    windows = np.lib.stride_tricks.sliding_window_view(characters, RUN)
    hashes = (windows * POWERS).sum(axis=1)  # overflow wraps, as it should
    hashes ^= hashes >> np.uint64(29)
    values: UInt64[np.ndarray, "functions runs"] = hashes * ODD[:, None] + ADDED[:, None]
    values ^= values >> np.uint64(32)
    return values.min(axis=1)

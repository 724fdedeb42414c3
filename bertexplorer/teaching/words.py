"""Words of sentences: those that are counted as a baseline, and those that are hidden in turn.

web/static/teach/words.js computes the same; both are held to tests/cases/teaching.json."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


class Word(NamedTuple):
    """A word, and its characters in the sentence."""

    text: str
    start: int
    end: int


def words(sentence: str) -> list[Word]:
    """The words of *sentence*: runs of letters and digits, which apostrophes and hyphens may join."""
    return [Word(match[0], match.start(), match.end()) for match in WORD.finditer(sentence)]


def word_vectors(sentences: Sequence[str]) -> Float[np.ndarray, "n w"]:
    """How often each word occurs in each sentence, in lower case, each row scaled to length 1."""
    places: dict[str, int] = {}
    read: list[list[str]] = []
    for sentence in sentences:
        found = [word.text.lower() for word in words(sentence)]
        read.append(found)
        for word in found:
            places.setdefault(word, len(places))
    counts = np.zeros((len(sentences), max(1, len(places))))
    for row, found in enumerate(read):
        for word in found:
            counts[row, places[word]] += 1
    return np.asarray(counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-12))


def same_sentence(sentence: str) -> str:
    """What two sentences share that are the same but for case and spaces."""
    return " ".join(sentence.lower().split())

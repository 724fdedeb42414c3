"""Head relations: which heads follow grammar in forty annotated sentences, compared with the best fixed distance.

By Clark et al. (2019), section 4.2: attention to a word is summed over its pieces and averaged over the pieces of the
word that looks. A head is right if the related word gets more than any other word; or, more strictly, than any other
token, [CLS] and [SEP] included. Both directions of a relation are tried, since a head may look from either end. The
best head is compared with the best fixed distance, which is the baseline of that paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.heads import Head
from bertexplorer.engine import progress
from bertexplorer.views.head_roles.sample_relations import RELATIONS, RelatedSentence, related_sentences

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Encoding

FARTHEST = 8  # words, of the fixed distances that are tried


@dataclass(frozen=True)
class Read:
    """The attention in one sentence. Word 0 is the first of the sentence."""

    sentence: RelatedSentence
    weights: Float[np.ndarray, "l h t t"]
    words: Float[np.ndarray, "l h w w"]  # between words
    on_special: Float[np.ndarray, "l h w"]  # the most that a word gives to one special token
    special: list[int]  # tokens that are [CLS] or [SEP]


@dataclass(frozen=True)
class Followed:
    """A relation that a head follows."""

    relation: str  # of RELATIONS
    accuracy: float  # share of pairs in which the head looks at the related word, 0 to 1
    baseline: float  # that of the best fixed distance


@dataclass(frozen=True)
class RelationHead:
    """The head that follows a relation best."""

    relation: str  # of RELATIONS
    back: bool  # whether it looks from the second word of the relation to the first
    head: Head
    accuracy: float  # share of pairs in which it looks at the related word, 0 to 1
    distance: int  # the best fixed distance, in words; negative: to the left
    baseline: float  # the accuracy of looking at this distance
    example: RelatedSentence  # one in which it looks at the related word, and gives most
    pair: tuple[int, int]  # the word of the example that looks, and the related one

    @property
    def gain(self) -> float:
        """How much the head beats the best fixed distance."""
        return self.accuracy - self.baseline


def read(checkpoint: Checkpoint, sentence: RelatedSentence, encoding: Encoding) -> Read:
    """Attention of every head, between tokens and between the words of *sentence*, which are separated by spaces."""
    weights = engine.attentions(checkpoint, encoding).numpy()
    word_of = encoding.words  # punctuation stands apart in the sentences, so these are the words between spaces
    special = [i for i, word in enumerate(word_of) if word is None]
    pieces = np.zeros((len(sentence.text.split()), len(word_of)), np.float32)  # words x tokens
    for token, word in enumerate(word_of):
        if word is not None:
            pieces[word, token] = 1.0
    looking = pieces / pieces.sum(1, keepdims=True)
    by_word = looking @ weights
    return Read(sentence, weights, by_word @ pieces.T, by_word[..., special].max(-1), special)


def read_all(checkpoint: Checkpoint) -> list[Read]:
    """The attention in all forty sentences."""
    sentences = related_sentences()
    encodings = [checkpoint.tokenizer.encode(sentence.text) for sentence in sentences]
    total = sum(map(len, encodings))
    done = 0
    reads = []
    progress.report(0, total)
    for sentence, encoding in zip(sentences, encodings, strict=True):
        reads.append(read(checkpoint, sentence, encoding))
        done += len(encoding)
        progress.report(done, total)
    return reads


def accuracy(
    reads: Sequence[Read], relation: str, *, back: bool, all_tokens: bool = True
) -> tuple[Float[np.ndarray, "l h"], dict[int, float]]:
    """(accuracy of every head, accuracy of every fixed distance) for a relation, or for its reverse. *all_tokens*:
    special tokens compete; else only the other words, which is how the paper counts."""
    right = np.zeros(reads[0].words.shape[:2])
    distances, count = dict.fromkeys((*range(-FARTHEST, 0), *range(1, FARTHEST + 1)), 0), 0
    for sentence in reads:
        for ends in sentence.sentence.pairs.get(relation, ()):
            start, end = ends[::-1] if back else ends
            right += is_right(sentence, start, end, all_tokens)
            count += 1
            if end - start in distances:
                distances[end - start] += 1
    return right / count, {distance: found / count for distance, found in distances.items()}


def is_right(sentence: Read, start: int, end: int, all_tokens: bool) -> Float[np.ndarray, "l h"]:
    """1 for each head in which the word *start* gives *end* more than any other token."""
    row = sentence.words[:, :, start].copy()
    if not all_tokens:
        row[..., start] = -1.0
    seen = (row[..., end] > sentence.on_special[..., start]) | (not all_tokens)
    return np.asarray((row.argmax(-1) == end) & seen, dtype=np.float64)


def best_heads(
    reads: Sequence[Read], *, all_tokens: bool = False, allowed: Bool[np.ndarray, "l h"] | None = None
) -> tuple[RelationHead, ...]:
    """For each of RELATIONS the head that follows it best, in the direction in which it beats the distances most.
    *all_tokens*: as in `accuracy`; *allowed*: the heads to choose from, all by default."""
    return tuple(
        max(
            (best_head(reads, name, back=back, all_tokens=all_tokens, allowed=allowed) for back in (False, True)),
            key=lambda found: found.gain,
        )
        for name in RELATIONS
    )


def relations_of_heads(reads: Sequence[Read], margin: float) -> list[list[Followed | None]]:
    """For each head, l x h, the relation in which it beats the best fixed distance most, counted among words; None if
    it beats none by the *margin*."""
    layers, heads = reads[0].words.shape[:2]
    gains = np.full((layers, heads), margin)
    followed: list[list[Followed | None]] = [[None] * heads for _ in range(layers)]
    for relation in RELATIONS:
        for back in (False, True):
            accuracies, distances = accuracy(reads, relation, back=back, all_tokens=False)
            baseline = max(distances.values())
            gain = accuracies - baseline
            for layer, head in np.argwhere(gain > gains).tolist():
                gains[layer, head] = gain[layer, head]
                followed[layer][head] = Followed(relation, float(accuracies[layer, head]), baseline)
    return followed


def best_head(
    reads: Sequence[Read], relation: str, *, back: bool, all_tokens: bool, allowed: Bool[np.ndarray, "l h"] | None
) -> RelationHead:
    heads, distances = accuracy(reads, relation, back=back, all_tokens=all_tokens)
    if allowed is not None and allowed.any():
        heads = np.where(allowed, heads, 0.0)
    layer, head = (int(i) for i in np.unravel_index(int(heads.argmax()), heads.shape))
    distance = max(distances, key=lambda d: distances[d])
    example, pair = best_example(reads, relation, layer, head, back=back)
    return RelationHead(
        relation, back, Head(layer, head), float(heads.max()), distance, distances[distance], example, pair
    )


def best_example(
    reads: Sequence[Read], relation: str, layer: int, head: int, *, back: bool
) -> tuple[RelatedSentence, tuple[int, int]]:
    """The pair to which this head gives most. Pairs that a fixed distance of one word would find come last."""
    found = []
    for sentence in reads:
        for ends in sentence.sentence.pairs.get(relation, ()):
            start, end = ends[::-1] if back else ends
            weight = float(sentence.words[layer, head, start, end])
            found.append((abs(start - end) > 1, weight, sentence.sentence, (start, end)))
    *_, example, pair = max(found, key=lambda one: one[:2])
    return example, pair

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
    by_word = looking @ weights  # from words to tokens
    return Read(
        sentence=sentence,
        weights=weights,
        words=by_word @ pieces.T,
        on_special=by_word[..., special].max(-1),
        special=special,
    )


def read_all(checkpoint: Checkpoint) -> list[Read]:
    """The attention in all forty sentences. Reports its progress."""
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
    special tokens compete; else only the other words, which is how the paper counts. The distances are in words,
    negative to the left."""
    right = np.zeros(reads[0].words.shape[:2])
    pairs_at = {distance: 0 for distance in range(-FARTHEST, FARTHEST + 1) if distance}
    count = 0
    for attention in reads:
        for start, end in pairs_of(attention, relation, back=back):
            right += is_right(attention, start, end, all_tokens)
            count += 1
            if end - start in pairs_at:
                pairs_at[end - start] += 1
    return right / count, {distance: pairs / count for distance, pairs in pairs_at.items()}


def pairs_of(attention: Read, relation: str, *, back: bool) -> list[tuple[int, int]]:
    """(the word that looks, the related one) for each pair of the relation, or of its reverse."""
    pairs = attention.sentence.pairs.get(relation, ())
    return [(end, start) for start, end in pairs] if back else list(pairs)


def is_right(attention: Read, start: int, end: int, all_tokens: bool) -> Float[np.ndarray, "l h"]:
    """1 for each head in which the word *start* gives *end* more than any other token, or, unless *all_tokens*, more
    than any other word; else 0."""
    row = attention.words[:, :, start].copy()
    if all_tokens:
        beats_special = row[..., end] > attention.on_special[..., start]
        return np.asarray((row.argmax(-1) == end) & beats_special, dtype=np.float64)
    row[..., start] = -1.0
    return np.asarray(row.argmax(-1) == end, dtype=np.float64)


def best_heads(
    reads: Sequence[Read], *, all_tokens: bool = False, allowed: Bool[np.ndarray, "l h"] | None = None
) -> tuple[RelationHead, ...]:
    """For each of RELATIONS the head that follows it best, in the direction in which it beats the distances most.
    *all_tokens*: as in `accuracy`; *allowed*: the heads to choose from, all by default."""
    best = []
    for name in RELATIONS:
        forward = best_head(reads, name, back=False, all_tokens=all_tokens, allowed=allowed)
        backward = best_head(reads, name, back=True, all_tokens=all_tokens, allowed=allowed)
        best.append(backward if backward.gain > forward.gain else forward)
    return tuple(best)


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
    """The head with the highest accuracy, of those that are *allowed*; of all if none is."""
    accuracies, distances = accuracy(reads, relation, back=back, all_tokens=all_tokens)
    if allowed is not None and allowed.any():
        accuracies = np.where(allowed, accuracies, 0.0)
    layer, head = (int(i) for i in np.unravel_index(int(accuracies.argmax()), accuracies.shape))
    distance = max(distances, key=lambda d: distances[d])
    example, pair = best_example(reads, relation, layer, head, back=back)
    return RelationHead(
        relation=relation,
        back=back,
        head=Head(layer, head),
        accuracy=float(accuracies.max()),
        distance=distance,
        baseline=distances[distance],
        example=example,
        pair=pair,
    )


def best_example(
    reads: Sequence[Read], relation: str, layer: int, head: int, *, back: bool
) -> tuple[RelatedSentence, tuple[int, int]]:
    """(sentence, the word that looks and the related one): the pair to which this head gives most. Pairs that a fixed
    distance of one word would find come last."""
    candidates = []
    for attention in reads:
        for start, end in pairs_of(attention, relation, back=back):
            is_apart = abs(start - end) > 1
            weight = float(attention.words[layer, head, start, end])
            candidates.append((is_apart, weight, attention.sentence, (start, end)))
    *_, example, pair = max(candidates, key=lambda candidate: candidate[:2])
    return example, pair

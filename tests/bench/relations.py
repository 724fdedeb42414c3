"""What the heads of a checkpoint do in everyday sentences: how many rest on special tokens, and which follow grammar.

    python -m tests.bench.relations FOLDER …    (checkpoints; default: the bundled one)

Resting: the share of attention that the words of the forty sentences of `sample_relations` give to [CLS] and [SEP].
Relations, by Clark et al. (2019), section 4.2: attention to a word is summed over its pieces and averaged over the
pieces of the word that looks. A head is right if the related word gets more than any other token of the sentence, [CLS]
and [SEP] included, which is what a reader of its picture sees; in brackets, if it gets more than any other word, which
is how the paper counts. Both directions of a relation are tried, since a head may look from either end. The best head
is compared with the best fixed distance, which is the baseline of that paper."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis.head_roles import entropy
from bertexplorer.analysis.sample_relations import RELATIONS, related_sentences
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.bench.cloze import BUNDLED

FARTHEST = 8  # words, of the fixed distances that are tried
MARGIN = 0.1  # by so much the best head must beat the best distance


@dataclass(frozen=True)
class Read:
    """The attention in one sentence. Word 0 is the first of the sentence."""

    weights: Float[np.ndarray, "l h t t"]
    words: Float[np.ndarray, "l h w w"]  # between words
    on_special: Float[np.ndarray, "l h w"]  # the most that a word gives to one special token
    special: list[int]  # tokens that are [CLS] or [SEP]


def read(checkpoint: Checkpoint, text: str) -> Read:
    """Attention of every head, between tokens and between the words of *text*, which are separated by spaces."""
    encoding = checkpoint.tokenizer.encode(text)
    weights = engine.attentions(checkpoint, encoding).numpy()
    word_of = encoding.words  # punctuation stands apart in the sentences, so these are the words between spaces
    special = [i for i, word in enumerate(word_of) if word is None]
    pieces = np.zeros((len(text.split()), len(word_of)), np.float32)  # words x tokens
    for token, word in enumerate(word_of):
        if word is not None:
            pieces[word, token] = 1.0
    looking = pieces / pieces.sum(1, keepdims=True)
    by_word = looking @ weights
    return Read(weights, by_word @ pieces.T, by_word[..., special].max(-1), special)


def resting(reads: Sequence[Read]) -> Float[np.ndarray, "l h"]:
    """The share of attention that words give to special tokens, over all words."""
    rows = []
    for sentence in reads:
        ordinary = [i for i in range(sentence.weights.shape[-1]) if i not in sentence.special]
        rows.append(sentence.weights[..., sentence.special].sum(-1)[..., ordinary])
    return np.concatenate(rows, axis=-1).mean(-1)


def pointing(reads: Sequence[Read], least: float = 0.3) -> Float[np.ndarray, "l h"]:
    """The share of words that give more than *least* of their attention to one other ordinary token."""
    rows = []
    for sentence in reads:
        ordinary = [i for i in range(sentence.weights.shape[-1]) if i not in sentence.special]
        among = sentence.weights[..., ordinary, :][..., ordinary].copy()
        among[..., range(len(ordinary)), range(len(ordinary))] = 0.0
        rows.append(among.max(-1) > least)
    return np.concatenate(rows, axis=-1).mean(-1)


def accuracy(
    reads: Sequence[Read], relation: str, *, back: bool, all_tokens: bool = True
) -> tuple[Float[np.ndarray, "l h"], dict[int, float]]:
    """(accuracy of every head, accuracy of every fixed distance) for a relation, or for its reverse."""
    right, distances, count = 0.0, dict.fromkeys((*range(-FARTHEST, 0), *range(1, FARTHEST + 1)), 0), 0
    for sentence, (_, pairs) in zip(reads, related_sentences(), strict=False):
        for ends in pairs.get(relation, ()):
            start, end = ends[::-1] if back else ends
            row = sentence.words[:, :, start].copy()
            if not all_tokens:
                row[..., start] = -1.0
            seen = (row[..., end] > sentence.on_special[..., start]) | (not all_tokens)
            right = right + ((row.argmax(-1) == end) & seen)
            count += 1
            if end - start in distances:
                distances[end - start] += 1
    return right / count, {distance: found / count for distance, found in distances.items()}


def report(folder: str) -> None:
    checkpoint = load(folder, precision="fp32")
    reads = [read(checkpoint, sentence.text) for sentence in related_sentences()]
    shares, aims = resting(reads), pointing(reads)
    bits = np.mean([entropy(sentence.weights).mean(-1) for sentence in reads])
    print(
        f"{folder}: {(shares > 0.5).sum()} of {shares.size} heads give special tokens more than half "
        f"({shares.mean():.2f} on average); {(aims > 0.5).sum()} give more than 30 % to one other word, for most "
        f"words; entropy {bits:.2f} bits"
    )
    won = 0
    for relation, name in RELATIONS.items():
        gain, line = max(against_distance(reads, relation, back=back) for back in (False, True))
        among_words = max(
            float(accuracy(reads, relation, back=back, all_tokens=False)[0].max()) for back in (False, True)
        )
        won += gain >= MARGIN
        print(f"  {name}: {line}, gain {gain:+.2f} ({among_words:.2f} among words)")
    print(f"  {won} of {len(RELATIONS)} relations have a head that beats the best distance by {MARGIN:.2f}")


def against_distance(reads: Sequence[Read], relation: str, *, back: bool) -> tuple[float, str]:
    """How much the best head beats the best distance, and both in words."""
    heads, distances = accuracy(reads, relation, back=back)
    layer, head = np.unravel_index(heads.argmax(), heads.shape)
    distance = max(distances, key=lambda d: distances[d])
    turned = "reversed, " if back else ""
    line = f"{turned}head {layer + 1}·{head + 1} {heads.max():.2f}, distance {distance:+d} {distances[distance]:.2f}"
    return float(heads.max() - distances[distance]), line


def main(folders: Sequence[str]) -> int:
    for folder in folders or [str(BUNDLED)]:
        report(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""What the heads of a checkpoint do in everyday sentences: how many rest on special tokens, and which follow grammar.

    python -m bench.relations FOLDER …    (checkpoints; default: the bundled one)

Resting: the share of attention that the words of the forty sentences of `sample_relations` give to [CLS] and [SEP].
Relations: as `views.head_roles.head_relations` measures them; in brackets, among words alone, which is how the
paper counts."""

import sys
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from bench.cloze import BUNDLED
from bertexplorer.model.load import load
from bertexplorer.views.head_roles.compute import entropy
from bertexplorer.views.head_roles.head_relations import Read, accuracy, best_heads, read_all
from bertexplorer.views.head_roles.sample_relations import RELATIONS

MARGIN = 0.1  # by so much the best head must beat the best distance


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


def report(folder: str) -> None:
    checkpoint = load(folder, precision="fp32")
    reads = read_all(checkpoint)
    shares, aims = resting(reads), pointing(reads)
    bits = np.mean([entropy(sentence.weights).mean(-1) for sentence in reads])
    print(
        f"{folder}: {(shares > 0.5).sum()} of {shares.size} heads give special tokens more than half "
        f"({shares.mean():.2f} on average); {(aims > 0.5).sum()} give more than 30 % to one other word, for most "
        f"words; entropy {bits:.2f} bits"
    )
    won = 0
    for best in best_heads(reads, all_tokens=True):
        among_words = max(
            float(accuracy(reads, best.relation, back=back, all_tokens=False)[0].max()) for back in (False, True)
        )
        won += best.gain >= MARGIN
        turned = "reversed, " if best.back else ""
        line = f"{turned}head {best.head} {best.accuracy:.2f}, distance {best.distance:+d} {best.baseline:.2f}"
        print(f"  {RELATIONS[best.relation]}: {line}, gain {best.gain:+.2f} ({among_words:.2f} among words)")
    print(f"  {won} of {len(RELATIONS)} relations have a head that beats the best distance by {MARGIN:.2f}")


def main(folders: Sequence[str]) -> int:
    for folder in folders or [str(BUNDLED)]:
        report(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

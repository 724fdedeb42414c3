"""Layers: what the checkpoint's own fill-mask head would answer after each layer, and when the answer is settled."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.analysis import facts
from bertexplorer.analysis.fill_mask import Candidate, candidate, encode_masked
from bertexplorer.analysis.words import named, single_piece
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

MAX_FOLLOWED = 8
BY_ITSELF = 3  # final answers to follow if no word is named
KEYS, MEASURE = ("layer", "kind", "token"), "probability"


@dataclass(frozen=True)
class Options:
    words: Annotated[str, Option("Follow words", info="separated by commas; empty: the final answers")] = ""
    top: Annotated[int, Option("Answers a layer", 1, 10, info="five are drawn, all are exported")] = 3


@dataclass(frozen=True)
class LayerAnswer:
    """What one layer would answer. Layer 0 is the input of the first layer."""

    layer: int
    candidates: tuple[Candidate, ...]  # most probable first
    entropy: float  # bits; 0: certain, log2(vocabulary): no idea
    divergence: float  # bits, KL(final answer || this answer) as in Belrose et al. (2023); 0 at the last layer


@dataclass(frozen=True)
class Followed:
    """One piece of the vocabulary through the layers, layer 0 first."""

    token: str
    id: int
    ranks: Int[np.ndarray, " layers"]  # 1: the most probable
    probabilities: Float[np.ndarray, " layers"]  # 0 to 1
    hidden: bool  # whether it is the hidden piece


@dataclass(frozen=True)
class Layers:
    tokens: tuple[str, ...]
    position: int  # of the mask, 0-based
    layers: tuple[LayerAnswer, ...]  # 1 + l of them
    followed: tuple[Followed, ...]  # the most probable at the end first
    other_masks: int  # masks of the text that this result does not cover

    @property
    def settled(self) -> int:
        """The layer from which on the first choice is the final one."""
        final = self.layers[-1].candidates[0].id
        other = [answer.layer for answer in self.layers if answer.candidates[0].id != final]
        return max(other, default=-1) + 1


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Layers:
    """Read the first mask of *text* after every layer with the MLM head, which was trained on the last layer only.

    In the families that normalise after each block (all but ModernBERT) the head takes a layer's output as it is. In
    ModernBERT the final LayerNorm belongs to the last layer alone; it is applied to the earlier ones too, so that the
    head sees what it was trained on. Raises ExplorerError without a mask or an MLM head, and for a word to follow that
    is no single piece."""
    encoding = encode_masked(checkpoint, text)
    spot = encoding.masked[0]
    words = named(options.words)
    if len(words) > MAX_FOLLOWED:
        raise ExplorerError(f"{len(words)} words were given to follow; the limit is {MAX_FOLLOWED}. Remove some.")
    asked = [single_piece(checkpoint, encoding, spot, word) for word in words]
    found = engine.layer_log_probs(checkpoint, encoding, [spot])[:, 0]
    layers = tuple(read(checkpoint, i, row, found[-1], options.top) for i, row in enumerate(found))
    was = encoding.original_ids[spot]
    if not asked:
        best = found[-1, : checkpoint.tokenizer.vocab_size].topk(min(BY_ITSELF, checkpoint.tokenizer.vocab_size))
        asked = [*best.indices.tolist(), *([was] if was != encoding.mask_id else [])]
    followed = [follow(checkpoint, found, token, token == was) for token in dict.fromkeys(asked)]
    followed.sort(key=lambda word: (int(word.ranks[-1]), -float(word.probabilities[-1])))
    shown = tuple(checkpoint.tokenizer.show(i) for i in encoding.ids)
    return Layers(shown, spot, layers, tuple(followed), len(encoding.masked) - 1)


def read(checkpoint: Checkpoint, layer: int, row: Tensor, final: Tensor, top: int) -> LayerAnswer:
    """The answer of one layer from its log-probabilities (nats, v long), compared with the *final* ones."""
    best = row[: checkpoint.tokenizer.vocab_size].topk(min(top, checkpoint.tokenizer.vocab_size)).indices
    candidates = tuple(candidate(checkpoint, row, int(i), rank) for rank, i in enumerate(best, 1))
    row, final = row.double(), final.double()
    entropy, divergence = -(row.exp() * row).sum(), (final.exp() * (final - row)).sum()
    return LayerAnswer(layer, candidates, float(entropy) / math.log(2), max(0.0, float(divergence)) / math.log(2))


def follow(checkpoint: Checkpoint, found: Tensor, token: int, hidden: bool) -> Followed:
    """*token* in each row of *found* (layers x v, nats)."""
    scores = found[:, token]
    ranks = 1 + (found > scores[:, None]).sum(dim=1)
    shares = scores.double().exp().numpy()
    return Followed(checkpoint.tokenizer.show(token), token, ranks.numpy(), shares, hidden)


def rows(result: Layers) -> list[dict[str, object]]:
    """For each layer one row for each candidate, then one for each followed word. Layer 0 is the input of the first
    layer."""
    table: list[dict[str, object]] = []
    for answer in result.layers:
        bits = {"entropy_bits": answer.entropy, "kl_to_final_bits": answer.divergence}
        lines = [("answer", c.rank, c.token, c.probability) for c in answer.candidates]
        for word in result.followed:
            share = float(word.probabilities[answer.layer])
            lines.append(("followed", int(word.ranks[answer.layer]), word.token, share))
        for kind, rank, token, share in lines:
            entry = {"kind": kind, "rank": rank, "token": token, "probability": share}
            table.append({"layer": answer.layer, "position": result.position, **entry, **bits})
    return table


class Facts(facts.Facts[Layers]):
    """*layer* 0 is what enters the first layer."""

    def settled(self) -> float:
        """The layer from which on the first choice is the final one."""
        return self._result.settled

    def top(self, layer: int = -1) -> str:
        """The first choice at a layer; without one, at the last."""
        return self._layer(layer).candidates[0].token

    def entropy(self, layer: int) -> float:
        """Entropy of a layer's answers, in bits."""
        return self._layer(layer).entropy

    def divergence(self, layer: int) -> float:
        """How far a layer's answers are from the final ones: Kullback-Leibler divergence, in bits."""
        return self._layer(layer).divergence

    def rank(self, word: str, layer: int = -1) -> float:
        """Rank of one of the words that the figure follows, at a layer."""
        at = facts.chosen([one.token for one in self._result.followed], word, "followed word")
        return int(self._result.followed[at].ranks[self._layer(layer).layer])

    def _layer(self, layer: int) -> LayerAnswer:
        return self._result.layers[-1] if layer == -1 else facts.item(self._result.layers, layer + 1, "layer")

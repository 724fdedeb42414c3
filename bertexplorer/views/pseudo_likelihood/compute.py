"""Pseudo-likelihood: how likely each token is given all the others, and so how likely the sentence is."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.answers.hidden_tokens import Hide, positions_to_hide, scored_positions
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("position", "token"), "probability"


@dataclass(frozen=True)
class Options:
    hide: Annotated[Hide, Option("Hide each time", info="the second keeps long words from vouching for themselves")] = (
        "the piece"
    )
    most: Annotated[int, Option("Score at most", 1, 512, info="tokens, from the left; each takes one pass")] = 128


@dataclass(frozen=True)
class PseudoLikelihood:
    """The score of each token. Arrays are t long, with NaN (rank 0) at [CLS], [SEP], [UNK] and typed masks, which have
    no score."""

    tokens: tuple[str, ...]
    log_probabilities: Float[np.ndarray, " t"]  # nats
    ranks: Int[np.ndarray, " t"]  # 1: the checkpoint would have written the same token
    total: float  # nats: the pseudo-log-likelihood (Salazar et al., 2020)
    perplexity: float  # exp(-total / scored tokens). 1: certain; size of the vocabulary: no idea
    scored: int  # tokens that count
    unscored: int  # tokens beyond Options.most
    holes: int = 0  # masks that were typed: they stay in every pass, and have no score


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> PseudoLikelihood:
    """Hide each token in turn and read its probability. Words hidden by a click count as they were typed. Raises
    ExplorerError if nothing can be scored."""
    _ = checkpoint.masked_lm
    encoding = checkpoint.tokenizer.encode(text)
    unmasked = encoding.with_ids(dict(enumerate(encoding.original_ids)))
    positions = scored_positions(unmasked)
    if not positions:
        raise ExplorerError(
            "The text has only masks or characters outside the vocabulary, so there is no word to score. Type a "
            "sentence."
        )
    unscored = max(0, len(positions) - options.most)
    positions = positions[: options.most]
    hidden = [unmasked.hide(positions_to_hide(unmasked, i, options.hide)) for i in positions]
    log_probabilities = np.full(len(unmasked), np.nan, dtype=np.float32)
    ranks = np.zeros(len(unmasked), dtype=np.int64)
    log_probs = engine.masked_log_probs(checkpoint, hidden, positions=[[position] for position in positions])
    for position, row in zip(positions, log_probs, strict=True):
        token = unmasked.ids[position]
        log_probabilities[position] = float(row[0, token])
        ranks[position] = 1 + int((row[0] > row[0, token]).sum())
    total = float(np.nansum(log_probabilities))
    return PseudoLikelihood(
        tokens=unmasked.tokens,
        log_probabilities=log_probabilities,
        ranks=ranks,
        total=total,
        perplexity=math.exp(-total / len(positions)),
        scored=len(positions),
        unscored=unscored,
        holes=unmasked.ids.count(unmasked.mask_id),
    )


def rows(result: PseudoLikelihood) -> list[dict[str, object]]:
    """One row for each scored token."""
    return [
        {
            "position": i,
            "token": result.tokens[i],
            "probability": math.exp(result.log_probabilities[i]),
            "log_probability": float(result.log_probabilities[i]),
            "rank": int(result.ranks[i]),
        }
        for i in np.flatnonzero(result.ranks).tolist()
    ]


class Facts(facts.Facts[PseudoLikelihood]):
    def total(self) -> float:
        """Pseudo-log-likelihood of the text, in nats."""
        return self._result.total

    def perplexity(self) -> float:
        """Pseudo-perplexity: 1 is certain."""
        return self._result.perplexity

    def p(self, token: str, nth: int = 1) -> float:
        """Probability of a token of the text given all the others, 0 to 1."""
        return math.exp(float(self._result.log_probabilities[facts.label_index(self._result.tokens, token, nth)]))

    def rank(self, token: str, nth: int = 1) -> float:
        """Rank of that token in the vocabulary; 1 if the checkpoint would have written the same."""
        return int(self._result.ranks[facts.label_index(self._result.tokens, token, nth)])

    def surprise(self, rank: int = 1) -> str:
        """The least probable token of the text, or with 2 the next."""
        scored = [i for i, rank in enumerate(self._result.ranks) if rank]
        order = sorted(scored, key=lambda i: float(self._result.log_probabilities[i]))
        return self._result.tokens[facts.item(order, rank, "token")]

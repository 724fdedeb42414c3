"""Shared by the learners that predict tokens: long texts split into items, and the loss of each token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import Any

import numpy as np
from jaxtyping import Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from bertexplorer.model.text import Tokenizer
from bertexplorer.training.texts import Item, LimitedTokenizer

AT_ONCE = 1024  # padded tokens of a batch with logits for every token
SHOWN = 10  # likeliest tokens in a list


def split_into_items(tokenizer: LimitedTokenizer, texts: Sequence[str], *, end: bool) -> list[list[Item]]:
    """Each text as consecutive items of at most *tokenizer*.max_tokens tokens, without dropping any. *end*: whether
    each item ends with [SEP], or only the last."""
    items = []
    for encoding in tokenizer.encode([(text,) for text in texts]):
        encodings = [encoding, *encoding.overflowing]
        cuts = [None if end or piece is encodings[-1] else -1 for piece in encodings]
        items.append([Item(p.ids[:cut], p.type_ids[:cut]) for p, cut in zip(encodings, cuts, strict=True)])
    return items


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of m tokens: the true ids, their loss in nats, and the likeliest ids."""

    gold: Int[NDArray[np.int64], " m"]
    nats: Float[NDArray[np.float32], " m"]
    best: Int[NDArray[np.int64], " m"]

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.gold == self.best

    def split(self, sizes: Sequence[int]) -> list["Predictions"]:
        """Consecutive parts of these sizes."""
        ends = np.cumsum(sizes)[:-1]
        parts = (np.split(values, ends) for values in (self.gold, self.nats, self.best))
        return [Predictions(*part) for part in zip(*parts, strict=True)]

    @staticmethod
    def concatenate(parts: Sequence["Predictions"]) -> "Predictions":
        return Predictions(*(np.concatenate([vars(part)[kind] for part in parts]) for kind in ("gold", "nats", "best")))


def predictions(head: nn.Module, vectors: Float[Tensor, "m d"], targets: Int[Tensor, " m"]) -> Predictions:
    """The predictions of the MLM *head* from *vectors*."""
    log_probs = head(vectors).float().log_softmax(-1)
    nats = -log_probs.gather(-1, targets[:, None]).squeeze(-1)
    return Predictions(targets.cpu().numpy(), nats.cpu().numpy(), log_probs.argmax(-1).cpu().numpy())


def unigram_nats(texts: Iterable[Sequence[int]], size: int) -> Float[NDArray[np.float64], " v"]:
    """The loss of each token in nats under its frequency in *texts* (add-one smoothing): a baseline without context."""
    counts = np.ones(size)
    for ids in texts:
        counts += np.bincount(np.asarray(ids, np.int64), minlength=size)
    return np.asarray(-np.log(counts / counts.sum()))


def perplexity(nats: float) -> float:
    """exp of the mean loss in nats."""
    return exp(min(nats, 700.0))


def likeliest_tokens(tokenizer: Tokenizer, probabilities: Float[Tensor, " v"]) -> list[dict[str, Any]]:
    """The most probable tokens."""
    values, ids = probabilities.topk(min(SHOWN, len(probabilities)))
    return [
        {"piece": tokenizer.show(i), "probability": p} for i, p in zip(ids.tolist(), values.tolist(), strict=True) if p
    ]

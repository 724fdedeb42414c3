"""Shared by the learners that predict tokens: long texts split into items, and the loss of each token."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import exp
from typing import TypedDict

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
    items_of_texts = []
    for encoding in tokenizer.encode([(text,) for text in texts]):
        items = []
        encodings = [encoding, *encoding.overflowing]
        for piece in encodings:
            is_last = piece is encodings[-1]
            after = None if end or is_last else -1  # -1: without its [SEP]
            items.append(Item(piece.ids[:after], piece.type_ids[:after]))
        items_of_texts.append(items)
    return items_of_texts


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of m tokens."""

    gold: Int[NDArray[np.int64], " m"]  # the true ids
    nats: Float[NDArray[np.float32], " m"]  # their losses
    best: Int[NDArray[np.int64], " m"]  # the likeliest ids

    @property
    def right(self) -> NDArray[np.bool_]:
        return self.gold == self.best

    def split(self, sizes: Sequence[int]) -> list["Predictions"]:
        """Consecutive parts of these sizes."""
        parts = []
        start = 0
        for size in sizes:
            part = slice(start, start + size)
            parts.append(Predictions(self.gold[part], self.nats[part], self.best[part]))
            start = part.stop
        return parts

    @staticmethod
    def concatenate(parts: Sequence["Predictions"]) -> "Predictions":
        """The predictions of all *parts*, in order."""
        return Predictions(
            gold=np.concatenate([part.gold for part in parts]),
            nats=np.concatenate([part.nats for part in parts]),
            best=np.concatenate([part.best for part in parts]),
        )


def predictions(head: nn.Module, vectors: Float[Tensor, "m d"], targets: Int[Tensor, " m"]) -> Predictions:
    """The predictions of the MLM *head* from *vectors*."""
    log_probs = head(vectors).float().log_softmax(-1)
    nats = -log_probs.gather(-1, targets[:, None]).squeeze(-1)
    return Predictions(targets.cpu().numpy(), nats.cpu().numpy(), log_probs.argmax(-1).cpu().numpy())


def unigram_nats(texts: Iterable[Sequence[int]], size: int) -> Float[NDArray[np.float64], " v"]:
    """The loss of each of *size* tokens in nats under its frequency in *texts* (add-one smoothing): a baseline without
    context. *texts*: as token ids."""
    counts = np.ones(size)
    for ids in texts:
        counts += np.bincount(np.asarray(ids, np.int64), minlength=size)
    return np.asarray(-np.log(counts / counts.sum()))


def perplexity(nats: float) -> float:
    """exp of *nats*, a mean loss; at most exp(700), so that it is finite."""
    return exp(min(nats, 700.0))


class LikelyToken(TypedDict):
    piece: str
    probability: float


def likeliest_tokens(tokenizer: Tokenizer, probabilities: Float[Tensor, " v"]) -> list[LikelyToken]:
    """The SHOWN most probable tokens, without those of probability 0."""
    values, ids = probabilities.topk(min(SHOWN, len(probabilities)))
    tokens: list[LikelyToken] = []
    for id, probability in zip(ids.tolist(), values.tolist(), strict=True):
        if probability:
            tokens.append({"piece": tokenizer.show(id), "probability": probability})
    return tokens

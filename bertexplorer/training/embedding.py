"""Embeddings: one vector per text, pooled from its tokens (Reimers and Gurevych, 2019), and groups of texts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.texts import Item, TextBatch, by_length, forward, pad

Pooling = Literal["mean", "cls"]


@dataclass(frozen=True, eq=False)
class Group(Item):
    """Texts that are encoded separately but belong to one training example. *ids*: those of all texts, concatenated."""

    parts: tuple[Item, ...] = ()


@dataclass(frozen=True, eq=False)
class GroupBatch:
    """A batch of groups, in parts that are padded separately."""

    parts: tuple[TextBatch, ...]  # such as the first and the second texts of pairs
    targets: Tensor  # of each group

    @property
    def ids(self) -> Int[Tensor, "1 t"]:
        return torch.cat([part.ids.flatten() for part in self.parts])[None]

    @property
    def tokens(self) -> int:
        return sum(part.tokens for part in self.parts)

    def to(self, device: torch.device) -> GroupBatch:
        return replace(self, parts=tuple(part.to(device) for part in self.parts), targets=self.targets.to(device))


def join_items(parts: Sequence[Item], target: Any = None) -> Group:
    """The texts of an example as one item."""
    return Group(
        ids=[token for part in parts for token in part.ids],
        segments=[segment for part in parts for segment in part.segments],
        target=target,
        left_out=sum(part.left_out for part in parts),
        parts=tuple(parts),
    )


def pool(
    last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None, pooling: Pooling = "mean"
) -> Float[Tensor, "b d"]:
    """The vector of the first token, or the mean over all tokens, special ones included."""
    if pooling == "cls":
        return last[:, 0]
    if mask is None:
        return last.mean(dim=1)
    token_mask = mask.unsqueeze(-1)
    return (last * token_mask).sum(dim=1) / token_mask.sum(dim=1)


class Embedder(Learner):
    """A learner without a head, which trains the encoder to embed texts. options.pooling: see `pool`."""

    def __init__(self, checkpoint: Checkpoint, options: Any) -> None:
        super().__init__(checkpoint, options)
        self.pooling: Pooling = options.pooling
        self.first_only = self.pooling == "cls"

    def pad(self, items: Sequence[Item]) -> TextBatch:
        """A batch of single texts, without targets."""
        return pad(items, self.checkpoint.tokenizer.pad_id, torch.zeros(len(items)))

    def embed(self, batch: TextBatch) -> Float[Tensor, "b d"]:
        """Vectors of length 1, in fp32."""
        last = forward(self.modules["encoder"], batch.ids, batch.segments, batch.mask)
        return F.normalize(pool(last.float(), batch.mask, self.pooling), dim=-1)

    def vectors(self, texts: Sequence[str]) -> Float[np.ndarray, "n d"]:
        """The vectors of *texts*, of length 1, so that their dot products are cosines."""
        return self.item_vectors(self.tokenizer.items([(text,) for text in texts]))

    def item_vectors(self, items: Sequence[Item]) -> Float[np.ndarray, "n d"]:
        """The same for texts as items."""
        vectors = np.zeros((len(items), self.checkpoint.config.hidden_size), np.float32)
        with evaluation_mode(self):
            for indices in by_length(items):
                batch = self.pad([items[i] for i in indices]).to(self.checkpoint.device)
                vectors[indices] = self.embed(batch).cpu().numpy()
        return vectors

    def files(self) -> dict[str, Any]:
        """The files of the sentence encoder, as sentence-transformers and model/sentence_encoder.py read them."""
        models = "sentence_transformers.models"
        return {
            "modules.json": [
                {"idx": 0, "name": "0", "path": "", "type": f"{models}.Transformer"},
                {"idx": 1, "name": "1", "path": "1_Pooling", "type": f"{models}.Pooling"},
            ],
            "1_Pooling/config.json": {
                "word_embedding_dimension": self.checkpoint.config.hidden_size,
                "pooling_mode_cls_token": self.pooling == "cls",
                "pooling_mode_mean_tokens": self.pooling == "mean",
            },
            "sentence_bert_config.json": {"max_seq_length": self.max_tokens, "do_lower_case": False},
        }

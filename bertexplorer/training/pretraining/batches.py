"""Examples -> padded tensors, grouped by length so that there is little padding."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from bertexplorer.engine.masking import Masking, Vocabulary, alter, choose
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining.pool import SINGLE, Examples
from bertexplorer.training.texts import OVERHEAD, batch_bounds


@dataclass(frozen=True, eq=False)
class MaskedBatch:
    """Examples as inputs of the encoder, and the tokens to predict. Flat positions count through b x t."""

    ids: Int[Tensor, "b t"]  # after masking
    original: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"] | None  # False at padding; None: no padding
    chosen: Int[Tensor, " m"]  # flat positions, ascending
    kinds: Int[Tensor, " m"]  # MASKED, SAME or RANDOM of masking.py
    labels: Int[Tensor, " b"]  # FOLLOWS, NOT or SINGLE of pool.py
    pairs: Int[Tensor, " p"]  # rows of two segments; listed, since counting them would have to wait for the GPU
    singles: Int[Tensor, " s"]  # rows of one segment
    ordinary: Int[Tensor, " o"]  # flat positions of all tokens but [CLS], [SEP] and padding
    tokens: int  # without padding

    @property
    def targets(self) -> Int[Tensor, " m"]:
        """The original ids at the chosen positions."""
        return self.original.flatten()[self.chosen]

    def to(self, device: torch.device) -> "MaskedBatch":
        """A copy on *device*; the copy from pinned memory is asynchronous."""
        return self.each(lambda tensor: tensor.to(device, non_blocking=tensor.is_pinned()))

    def pin_memory(self) -> "MaskedBatch":
        """A copy in memory that CUDA reads directly. DataLoader calls it by this name."""
        return self.each(Tensor.pin_memory)

    def each(self, change: Callable[[Tensor], Tensor]) -> "MaskedBatch":
        """*change* applied to every tensor."""
        changed: dict[str, Any] = {k: change(v) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **changed)


@dataclass(frozen=True, eq=False)
class Collator:
    """Adds special tokens as BERT does (one [SEP] between A and B in any family), pads and masks."""

    vocabulary: Vocabulary
    masking: Masking
    cls_id: int
    sep_id: int
    pad_id: int
    multiple: int = 1  # padded lengths are multiples of it

    @classmethod
    def of(cls, tokenizer: Tokenizer, masking: Masking, multiple: int = 1) -> "Collator":
        ids = tokenizer.backend.get_vocab(with_added_tokens=True)
        special = tokenizer.special
        vocabulary = Vocabulary.of(tokenizer)
        return cls(vocabulary, masking, ids[special["cls"]], ids[special["sep"]], tokenizer.pad_id, multiple)

    def batches(
        self, examples: Examples, max_tokens: int, rng: np.random.Generator, overhead: int = OVERHEAD
    ) -> list[MaskedBatch]:
        """*examples*, sorted by length, in batches of *max_tokens* padded tokens (a single longer example is a
        batch). *overhead*: the fixed cost of a batch, in tokens."""
        order = np.argsort(examples.sizes, kind="stable")
        parts = batch_bounds(examples.sizes[order].tolist(), max_tokens, overhead)
        return [self.collate(examples.take(order[start:end]), rng) for start, end in parts]

    def collate(self, examples: Examples, rng: np.random.Generator) -> MaskedBatch:
        """One batch of *examples*, padded on the right to the longest."""
        first, sizes = examples.lengths[:, :1], examples.sizes[:, None]
        column = np.arange(-(-sizes.max() // self.multiple) * self.multiple)
        is_token, in_second = column < sizes, (column > first + 1) & (column < sizes)
        is_special = (column == 0) | (column == first + 1) | (column >= sizes - 1)
        ids = np.where(is_token, self.sep_id, self.pad_id)
        ids[:, 0] = self.cls_id
        ids[~is_special] = examples.ids
        chosen = choose(ids, is_special, self.vocabulary, self.masking, rng)
        changed, kinds = alter(ids, chosen, self.vocabulary, self.masking, rng)
        return MaskedBatch(
            ids=torch.from_numpy(changed),
            original=torch.from_numpy(ids),
            segments=torch.from_numpy(in_second.astype(np.int64)),
            mask=None if is_token.all() else torch.from_numpy(is_token),
            chosen=torch.from_numpy(np.flatnonzero(chosen)),
            kinds=torch.from_numpy(kinds[chosen].astype(np.int64)),
            labels=torch.from_numpy(examples.labels),
            pairs=torch.from_numpy(np.flatnonzero(examples.labels != SINGLE)),
            singles=torch.from_numpy(np.flatnonzero(examples.labels == SINGLE)),
            ordinary=torch.from_numpy(np.flatnonzero(~is_special)),
            tokens=int(sizes.sum()),
        )

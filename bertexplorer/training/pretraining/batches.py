"""Examples -> padded tensors, grouped by length so that there is little padding."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from bertexplorer.engine.masking import Masking, Vocabulary, alter, choose
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining.examples import Example
from bertexplorer.training.texts import cuts


@dataclass(frozen=True, eq=False)
class Batch:
    """Examples as the encoder takes them, and the tokens to predict. Flat positions count through b x t."""

    ids: Int[Tensor, "b t"]  # after masking
    original: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"] | None  # False at padding; None: no padding
    chosen: Int[Tensor, " m"]  # flat positions, ascending
    kinds: Int[Tensor, " m"]  # MASKED, SAME or RANDOM of masking.py
    labels: Int[Tensor, " b"]  # FOLLOWS, NOT or SINGLE of examples.py
    tokens: int  # without padding

    @property
    def targets(self) -> Int[Tensor, " m"]:
        """The original ids at the chosen positions."""
        return self.original.flatten()[self.chosen]

    def to(self, device: torch.device) -> "Batch":
        moved: dict[str, Any] = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


@dataclass(frozen=True, eq=False)
class Collator:
    """Adds special tokens as BERT does (one [SEP] between A and B in any family), pads and masks."""

    vocabulary: Vocabulary
    masking: Masking
    cls_id: int
    sep_id: int
    pad_id: int

    @classmethod
    def of(cls, tokenizer: Tokenizer, masking: Masking) -> "Collator":
        ids = tokenizer.whole.get_vocab(with_added_tokens=True)
        special = tokenizer.special
        return cls(Vocabulary.of(tokenizer), masking, ids[special["cls"]], ids[special["sep"]], tokenizer.pad_id)

    def collate(self, examples: Sequence[Example], draw: np.random.Generator) -> Batch:
        """One batch of *examples*, padded on the right to the longest."""
        shape = (len(examples), max(map(len, examples)))
        ids, segments = np.full(shape, self.pad_id, np.int64), np.zeros(shape, np.int64)
        fixed = np.ones(shape, bool)
        for row, example in enumerate(examples):
            middle = 1 + len(example.first)
            ids[row, 0] = self.cls_id
            ids[row, 1:middle], fixed[row, 1:middle] = example.first, False
            ids[row, middle] = self.sep_id
            if example.second is not None:
                end = len(example) - 1
                ids[row, middle + 1 : end], fixed[row, middle + 1 : end] = example.second, False
                ids[row, end] = self.sep_id
                segments[row, middle + 1 : end + 1] = 1
        lengths = np.array([len(e) for e in examples])
        real = np.arange(shape[1]) < lengths[:, None]
        chosen = choose(ids, fixed, self.vocabulary, self.masking, draw)
        changed, kinds = alter(ids, chosen, self.vocabulary, self.masking, draw)
        return Batch(
            ids=torch.from_numpy(changed),
            original=torch.from_numpy(ids),
            segments=torch.from_numpy(segments),
            mask=None if real.all() else torch.from_numpy(real),
            chosen=torch.from_numpy(np.flatnonzero(chosen)),
            kinds=torch.from_numpy(kinds[chosen].astype(np.int64)),
            labels=torch.tensor([e.label for e in examples]),
            tokens=int(lengths.sum()),
        )

    def batches(self, examples: Sequence[Example], most: int, draw: np.random.Generator) -> list[Batch]:
        """*examples*, sorted by length, in batches of *most* padded tokens (a single longer example is a batch)."""
        ordered = sorted(examples, key=len)
        return [self.collate(ordered[start:end], draw) for start, end in cuts([len(e) for e in ordered], most)]

"""Texts -> token ids -> padded tensors, and the encoder's forward pass in training."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import tokenizers
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from bertexplorer.model.encoder import Encoder
from bertexplorer.model.forward import NO_CHANGE, Intervention
from bertexplorer.model.text import Tokenizer

OVERHEAD = 60  # the fixed cost of a batch on a CPU, in tokens
GPU_OVERHEAD = 16384  # and on a GPU, where each batch launches hundreds of kernels
AT_ONCE = 4096  # padded tokens of a batch without gradients


@dataclass(frozen=True, eq=False)
class Item:
    """One input as ids, and its target. *vectors*: the output of a frozen encoder, 1 x d or t x d."""

    ids: Sequence[int]
    segments: Sequence[int]
    target: Any = None
    left_out: int = 0  # tokens beyond the limit
    vectors: NDArray[np.float32] | None = None
    features: Sequence[float] = ()  # other columns of the row


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Items as inputs of the encoder."""

    ids: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"] | None  # False at padding; None: no padding
    targets: Tensor
    tokens: int  # without padding
    vectors: Float[Tensor, "b s d"] | None = None  # instead of a pass; s is t, or 1 where the first is enough
    features: Float[Tensor, "b f"] | None = None

    def to(self, device: torch.device) -> "TextBatch":
        moved: dict[str, Any] = {k: v.to(device) for k, v in vars(self).items() if isinstance(v, Tensor)}
        return replace(self, **moved)


class LimitedTokenizer:
    """A checkpoint's tokenizer with a limit on the tokens of an input, for many texts at once."""

    def __init__(self, tokenizer: Tokenizer, max_tokens: int) -> None:
        self.pad_id = tokenizer.pad_id
        self.max_tokens = min(max_tokens, tokenizer.max_tokens)
        self.truncating = tokenizers.Tokenizer.from_str(tokenizer.backend.to_str())
        self.truncating.enable_truncation(self.max_tokens)
        self.whole = tokenizer.backend
        self.prepare = tokenizer.prepare
        self.check_pairs = tokenizer.check_pairs

    def encode(self, texts: Sequence[tuple[str, ...]]) -> list[tokenizers.Encoding]:
        """The encoding of each of *texts*, one text or a pair, prepared as on the page (see Tokenizer.prepare)."""
        return self.truncating.encode_batch(self.prepared(texts))

    def prepared(self, texts: Sequence[tuple[str, ...]]) -> list[Any]:
        """*texts* as the backend takes them: each a string or a pair of strings."""
        if any(len(text) > 1 for text in texts):
            self.check_pairs()
        clean = [tuple(self.prepare(part)[0] for part in text) for text in texts]
        return [text if len(text) > 1 else text[0] for text in clean]

    def items(self, texts: Sequence[tuple[str, ...]], targets: Sequence[Any] | None = None) -> list[Item]:
        """*texts* as Items, with their *targets*."""
        targets = targets if targets is not None else [None] * len(texts)
        prepared = self.prepared(texts)
        encodings = self.truncating.encode_batch(prepared)
        cut = [i for i, encoding in enumerate(encodings) if encoding.overflowing]
        whole = zip(cut, self.whole.encode_batch([prepared[i] for i in cut]), strict=True)
        left_out = {i: len(encoding.ids) - len(encodings[i].ids) for i, encoding in whole}
        return [
            Item(encoding.ids, encoding.type_ids, target, left_out.get(i, 0))
            for i, (encoding, target) in enumerate(zip(encodings, targets, strict=True))
        ]


def pad(items: Sequence[Item], pad_id: int, targets: Tensor) -> TextBatch:
    """One batch, padded on the right to the longest."""
    lengths = np.array([len(item.ids) for item in items])
    shape = (len(items), int(lengths.max()))
    ids, segments = np.full(shape, pad_id, np.int64), np.zeros(shape, np.int64)
    for row, item in enumerate(items):
        ids[row, : len(item.ids)], segments[row, : len(item.ids)] = item.ids, item.segments
    token_mask = np.arange(shape[1]) < lengths[:, None]
    return TextBatch(
        ids=torch.from_numpy(ids),
        segments=torch.from_numpy(segments),
        mask=None if token_mask.all() else torch.from_numpy(token_mask),
        targets=targets,
        tokens=int(lengths.sum()),
        vectors=stack_vectors(items),
        features=torch.tensor([item.features for item in items]) if items[0].features else None,
    )


def stack_vectors(items: Sequence[Item]) -> Float[Tensor, "b s d"] | None:
    """The vectors of *items*, padded with zeros; None if an item has none."""
    vectors = [item.vectors for item in items if item.vectors is not None]
    if len(vectors) < len(items):
        return None
    padded = np.zeros((len(vectors), max(map(len, vectors)), vectors[0].shape[1]), np.float32)
    for row, item_vectors in enumerate(vectors):
        padded[row, : len(item_vectors)] = item_vectors
    return torch.from_numpy(padded)


def hidden_states(encoder: nn.Module, batch: TextBatch) -> Float[Tensor, "b s d"]:
    """The last hidden states of *batch*: its cached vectors if it has some, else those of a forward pass."""
    return batch.vectors if batch.vectors is not None else forward(encoder, batch.ids, batch.segments, batch.mask)


def forward(
    encoder: nn.Module,
    ids: Int[Tensor, "b t"],
    segments: Int[Tensor, "b t"],
    mask: Bool[Tensor, "b t"] | None,
    change: Intervention = NO_CHANGE,
) -> Float[Tensor, "b t d"]:
    """The last hidden states of a forward pass, with gradients unless they are disabled."""
    slow = ids.device.type == "cpu" and torch.is_autocast_enabled("cpu")  # the fused kernel in bf16, backwards
    attention = slow and torch.is_grad_enabled()
    return encoder(ids, segments_of(encoder, segments), mask, intervention=change, attention=attention).last


def segments_of(encoder: nn.Module, segments: Int[Tensor, "b t"]) -> Int[Tensor, "b t"] | None:
    """*segments*, or None for an encoder that knows only one."""
    return segments if cast(Encoder, encoder).config.num_segments > 1 else None


def by_length(items: Sequence[Item], max_tokens: int = AT_ONCE) -> list[list[int]]:
    """Indices of *items* in batches of similar length, *max_tokens* padded tokens each."""
    order = sorted(range(len(items)), key=lambda i: len(items[i].ids))
    return [order[start:end] for start, end in batch_bounds([len(items[i].ids) for i in order], max_tokens)]


def batch_bounds(lengths: Sequence[int], max_tokens: int, overhead: int = OVERHEAD) -> list[tuple[int, int]]:
    """(start, end) of batches of ascending *lengths*, of at most *max_tokens* padded tokens each, so that padding plus
    *overhead* per batch is smallest: an exact shortest path."""
    best, starts = np.zeros(len(lengths) + 1, np.int64), [0]
    rows = np.arange(len(lengths), 0, -1)
    for end, longest in enumerate(lengths, 1):
        start = max(0, end - max(1, max_tokens // longest))
        costs = best[start:end] + longest * rows[start - end :]
        least = int(costs.argmin())
        starts.append(start + least)
        best[end] = costs[least] + overhead
    bounds = []
    end = len(lengths)
    while end:
        bounds.append((starts[end], end))
        end = starts[end]
    return bounds[::-1]

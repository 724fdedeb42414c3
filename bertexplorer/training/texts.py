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
    """One input of the encoder, and its target."""

    ids: Sequence[int]
    segments: Sequence[int]
    target: Any = None  # what `read` of a learner puts here, its `targets` reads
    left_out: int = 0  # tokens beyond the limit
    vectors: NDArray[np.float32] | None = None  # the output of a frozen encoder, 1 x d or t x d
    features: Sequence[float] = ()  # other columns of the row


@dataclass(frozen=True, eq=False)
class TextBatch:
    """Items as inputs of the encoder."""

    ids: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    mask: Bool[Tensor, "b t"] | None  # False at padding; None: no padding
    targets: Tensor  # as the learner's `targets` makes them
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
        """The encoding of each of *texts*, one text or a pair, prepared as on the page (see Tokenizer.prepare). Raises
        ExplorerError for a text that is too long to prepare, and for pairs if the checkpoint reads none."""
        return self.truncating.encode_batch(self.prepared(texts))

    def prepared(self, texts: Sequence[tuple[str, ...]]) -> list[Any]:
        """*texts* as the backend takes them: each a string or a pair of strings."""
        if any(len(text) > 1 for text in texts):
            self.check_pairs()
        clean = [tuple(self.prepare(part)[0] for part in text) for text in texts]
        return [text if len(text) > 1 else text[0] for text in clean]

    def items(self, texts: Sequence[tuple[str, ...]], targets: Sequence[Any] | None = None) -> list[Item]:
        """*texts* as Items, with their *targets*. Raises as `encode` does."""
        targets = targets if targets is not None else [None] * len(texts)
        prepared = self.prepared(texts)
        encodings = self.truncating.encode_batch(prepared)

        # Those that were cut are encoded as a whole too, to count what was left out
        cut = [i for i, encoding in enumerate(encodings) if encoding.overflowing]
        whole = self.whole.encode_batch([prepared[i] for i in cut])
        left_out = [0] * len(texts)
        for i, encoding in zip(cut, whole, strict=True):
            left_out[i] = len(encoding.ids) - len(encodings[i].ids)

        items = []
        for encoding, target, count in zip(encodings, targets, left_out, strict=True):
            items.append(Item(encoding.ids, encoding.type_ids, target=target, left_out=count))
        return items


def pad(items: Sequence[Item], pad_id: int, targets: Tensor) -> TextBatch:
    """One batch, padded on the right to the longest. *items*: at least one; either all have features, or none has."""
    lengths = np.array([len(item.ids) for item in items])
    shape = (len(items), int(lengths.max()))
    ids = np.full(shape, pad_id, np.int64)
    segments = np.zeros(shape, np.int64)
    for row, item in enumerate(items):
        ids[row, : len(item.ids)] = item.ids
        segments[row, : len(item.ids)] = item.segments
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
    if batch.vectors is not None:
        return batch.vectors
    return forward(encoder, batch.ids, batch.segments, batch.mask)


def forward(
    encoder: nn.Module,
    ids: Int[Tensor, "b t"],
    segments: Int[Tensor, "b t"],
    mask: Bool[Tensor, "b t"] | None,
    change: Intervention = NO_CHANGE,
) -> Float[Tensor, "b t d"]:
    """The last hidden states of a forward pass, with gradients unless they are disabled."""
    in_bf16 = ids.device.type == "cpu" and torch.is_autocast_enabled("cpu")
    attention = in_bf16 and torch.is_grad_enabled()  # asked for, as the fused kernel is slow in bf16 backwards
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
    *overhead* per batch is smallest: an exact shortest path. A single longer input is a batch."""
    # 1. For each number of inputs, the least cost of all batches up to there, and where the last of them starts
    costs = np.zeros(len(lengths) + 1, np.int64)
    starts = [0]
    rows = np.arange(len(lengths), 0, -1)  # rows[start - end :] counts the rows of the batches that end here
    for end, longest in enumerate(lengths, 1):
        first = max(0, end - max(1, max_tokens // longest))
        candidates = costs[first:end] + longest * rows[first - end :]
        least = int(candidates.argmin())
        starts.append(first + least)
        costs[end] = candidates[least] + overhead

    # 2. The batches, from the last to the first
    bounds = []
    end = len(lengths)
    while end:
        bounds.append((starts[end], end))
        end = starts[end]
    return bounds[::-1]

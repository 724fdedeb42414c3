"""Encodings padded into batches under a token budget."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from bertexplorer.model.text import Encoding

CPU_TOKENS, GPU_TOKENS = 512, 4096  # padded tokens of one batch


def token_budget(device: torch.device) -> int:
    """Padded tokens of one batch. On a CPU as many as leave what a layer computes in its caches: with 4,096, BERT-base
    takes twice as long for each. A GPU needs more to be busy."""
    return CPU_TOKENS if device.type == "cpu" else GPU_TOKENS


def collate(
    encodings: Sequence[Encoding], pad_id: int, device: torch.device
) -> tuple[Int[Tensor, "b t"], Int[Tensor, "b t"], Bool[Tensor, "b t"] | None]:
    """(ids, segments, mask), padded on the right; the mask is None where nothing is padded."""
    longest = max(len(encoding) for encoding in encodings)
    ids = []
    segments = []
    is_token = []
    for encoding in encodings:
        length = len(encoding)
        padding = longest - length
        ids.append([*encoding.ids, *[pad_id] * padding])
        segments.append([*encoding.segments, *[0] * padding])
        is_token.append([True] * length + [False] * padding)
    mask = None
    if any(len(encoding) < longest for encoding in encodings):
        mask = torch.tensor(is_token, device=device)
    return torch.tensor(ids, device=device), torch.tensor(segments, device=device), mask


def batches(encodings: Sequence[Encoding], budget: int) -> Iterator[Sequence[Encoding]]:
    """Runs of neighbouring encodings whose padded size stays within *budget* tokens (one encoding always fits)."""
    start = 0
    longest = 0
    for end, encoding in enumerate(encodings):
        wider = max(longest, len(encoding))
        if end > start and wider * (end + 1 - start) > budget:
            yield encodings[start:end]
            start = end
            wider = len(encoding)
        longest = wider
    if start < len(encodings):
        yield encodings[start:]

"""The weights as they travel: fp16, or whole numbers of 8 bits with a scale for each block of 32.

A browser expands them to fp32 once. 8 bits halve the way again; `agrees` says whether a checkpoint bears them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import torch
from jaxtyping import Float

from bertexplorer.engine import masked_log_probs
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.site.graph import Place, named_tensors
from bertexplorer.views import VIEWS

Kind = Literal["8-bit", "fp16", "fp32"]
BLOCK = 32  # numbers that share a scale
CLOSE = 0.02  # how far a probability may move
SENTENCES = tuple(example.text for example in VIEWS["fill-mask"].examples)
LARGE = 10_000  # numbers of a tensor that is worth 8 bits


def pack(checkpoint: Checkpoint, places: Sequence[Place], kind: Kind) -> bytes:
    """The tensors at *places*, one after another. 8 bits: first the whole numbers of a tensor, then its scales in
    fp16; small tensors are in fp16."""
    tensors = named_tensors(checkpoint)
    parts = []
    for place in places:
        tensor = tensors[place.name].detach().float().numpy()
        flat = np.ascontiguousarray(tensor.T if place.transposed else tensor).ravel()
        if kind == "fp32":
            parts.append(flat.astype("<f4").tobytes())
        elif kind == "fp16" or not in_blocks(flat.size):
            parts.append(flat.astype("<f2").tobytes())
        else:
            whole, scales = quantise(flat)
            parts += [whole.tobytes(), scales.astype("<f2").tobytes()]
    return b"".join(parts)


def in_blocks(size: int) -> bool:
    """Whether a tensor of *size* numbers travels in 8 bits where others do."""
    return size >= LARGE and size % BLOCK == 0


def quantise(flat: Float[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
    """(whole numbers from -127 to 127, a scale for each block): the absolute largest of a block becomes 127."""
    blocks = flat.reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(axis=1) / 127).astype(np.float16).astype(np.float32)
    divisor = np.where(scales > 0, scales, 1)[:, None]
    return np.clip(np.rint(blocks / divisor), -127, 127).astype(np.int8), scales


@torch.no_grad()
def rounded(checkpoint: Checkpoint, places: Sequence[Place]) -> None:
    """Change the weights of *checkpoint* to what 8 bits keep of them."""
    tensors = named_tensors(checkpoint)
    for place in places:
        tensor = tensors[place.name]
        if in_blocks(tensor.numel()):
            shown = tensor.T if place.transposed else tensor
            whole, scales = quantise(shown.float().contiguous().numpy().ravel())
            values = torch.from_numpy(whole * scales[:, None]).reshape(shown.shape)
            tensor.copy_(values.T if place.transposed else values)


def bears_8_bits(checkpoint: Checkpoint, places: Sequence[Place]) -> bool:
    """Whether the answers at the masks of SENTENCES stay what they are: the same first answer, probabilities within
    CLOSE."""
    if "masked_lm" not in checkpoint.heads:
        return False
    other = load(checkpoint.folder, precision="fp32")
    rounded(other, places)
    encodings = [checkpoint.tokenizer.encode(sentence) for sentence in SENTENCES]
    before, after = (torch.cat(list(masked_log_probs(each, encodings))).exp() for each in (checkpoint, other))
    return bool((before.argmax(dim=1) == after.argmax(dim=1)).all()) and float((before - after).abs().max()) < CLOSE

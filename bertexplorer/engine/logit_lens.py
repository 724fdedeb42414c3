"""The hidden state after each layer, read by the checkpoint's own MLM head as if it were the last one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.inference import check_finite, forward, vocabulary_logits
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.engine.tuned_lens import TunedLens


def layer_log_probs(
    checkpoint: Checkpoint, encoding: Encoding, positions: Sequence[int], lens: TunedLens | None = None
) -> Float[Tensor, "layers m v"]:
    """Natural-log probabilities over the vocabulary at the m *positions* (0-based), for each layer. Layer 0 is the
    input of the first layer; the last one equals `masked_log_probs`. fp32 on the CPU.

    This is the logit lens (nostalgebraist, 2020), with the whole MLM head instead of the bare output matrix. If the
    encoder ends in a norm (ModernBERT, EuroBERT), that norm is applied after the earlier layers too, as the head was
    trained on normalised vectors. *lens*: the tuned lens, whose maps come before that norm. Raises ExplorerError if
    there is no MLM head, or if the result is not finite."""
    _ = checkpoint.masked_lm  # raises before anything runs if there is none
    unique_positions, inverse = torch.tensor(list(positions), dtype=torch.long).unique(return_inverse=True)
    hidden = forward(checkpoint, [encoding], positions=unique_positions.to(checkpoint.device)).hidden
    rows = unique_positions[inverse].to(checkpoint.device)
    with torch.inference_mode():
        states = [state[0, rows] for state in hidden[:-1]]
        if lens:
            states = [lens.translate(layer, state) for layer, state in enumerate(states)]
        early = torch.stack([checkpoint.encoder.norm(state) for state in states])
        last = hidden[-1][0, inverse.to(checkpoint.device)]
        # the last layer alone, as in fill-mask: a wider product may round differently
        early_logits = vocabulary_logits(checkpoint, early.flatten(0, 1))
        last_logits = vocabulary_logits(checkpoint, last)
        log_probs = torch.cat([early_logits, last_logits]).cpu().log_softmax(dim=-1)
    return check_finite(checkpoint, log_probs).unflatten(0, (len(hidden), len(rows)))


@torch.inference_mode()
def state_log_probs(checkpoint: Checkpoint, states: Float[Tensor, "n d"]) -> Float[Tensor, "n v"]:
    """Natural-log probabilities that the MLM head reads in any *states* of the residual stream, as in
    `layer_log_probs`. Raises ExplorerError if there is no MLM head, or if the result is not finite."""
    weight = checkpoint.encoder.embeddings.words.weight
    read = checkpoint.encoder.norm(states.to(weight.device, weight.dtype))
    return check_finite(checkpoint, vocabulary_logits(checkpoint, read).cpu().log_softmax(dim=-1))

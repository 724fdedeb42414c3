"""The hidden state after each layer, read by the checkpoint's own MLM head as if it were the last one."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.run import forward, vocabulary_logits
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding


def layer_log_probs(
    checkpoint: Checkpoint, encoding: Encoding, positions: Sequence[int]
) -> Float[Tensor, "layers m v"]:
    """Natural-log probabilities over the vocabulary at *positions* (m of them, 0-based), layer by layer: 0 is what
    enters the first layer, the last is what `masked_log_probs` gives. fp32 on the CPU.

    This is the logit lens (nostalgebraist, 2020), with the whole MLM head in place of the bare output matrix. Where
    the encoder ends in a LayerNorm (ModernBERT), that norm is put behind the earlier layers too: the head was trained
    on vectors that had passed it. Raises ExplorerError if there is no MLM head, or if the result is not finite."""
    _ = checkpoint.masked_lm  # say that there is none before anything runs
    asked, places = torch.tensor(list(positions), dtype=torch.long).unique(return_inverse=True)
    hidden = forward(checkpoint, [encoding], positions=asked.to(checkpoint.device)).hidden
    spots = asked[places].to(checkpoint.device)
    with torch.inference_mode():
        early = torch.stack([checkpoint.encoder.norm(state[0, spots]) for state in hidden[:-1]])
        last = hidden[-1][0, places.to(checkpoint.device)]
        # the last layer on its own, as fill-mask multiplies it: a wider product may round otherwise
        logits = [vocabulary_logits(checkpoint, early.flatten(0, 1)), vocabulary_logits(checkpoint, last)]
        log_probs = torch.cat(logits).cpu().log_softmax(dim=-1)
    if not log_probs.isfinite().all():
        raise ExplorerError(f"{checkpoint.name} gave numbers that are not finite. Try precision fp32.")
    return log_probs.unflatten(0, (len(hidden), len(spots)))

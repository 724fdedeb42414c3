"""How much a text weighs for each piece of the vocabulary, by the MLM head (SPLADE; Formal et al., 2021)."""

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.engine.inference import check_finite, forward, vocabulary_logits
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding

CHUNK = 64  # tokens whose logits are in memory at once


@torch.inference_mode()
def term_weights(checkpoint: Checkpoint, encoding: Encoding) -> tuple[Float[Tensor, " v"], Int[Tensor, " v"]]:
    """(w_j = max_i log(1 + relu(logit_ij)) of each piece j, the position i that has it). The maximum is over all
    tokens, [CLS] and [SEP] included, as in the paper. fp32 on the CPU. Raises ExplorerError without an MLM head, or if
    a number is not finite."""
    _ = checkpoint.masked_lm  # if there is no head, raise before the pass
    vectors = forward(checkpoint, [encoding]).hidden[-1][0]
    size = checkpoint.tokenizer.vocab_size
    best = torch.full((size,), -torch.inf)
    where = torch.zeros(size, dtype=torch.long)
    for begin in range(0, len(vectors), CHUNK):
        logits = vocabulary_logits(checkpoint, vectors[begin : begin + CHUNK])[:, :size].float().cpu()
        highest, position = logits.max(dim=0)
        higher = highest > best
        best[higher] = highest[higher]
        where[higher] = position[higher] + begin
    return check_finite(checkpoint, best.relu().log1p()), where

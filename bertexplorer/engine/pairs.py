"""Pairs of texts: the logits of next-sentence prediction for many of them, padded into batches."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.run import finite, shortest_first
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding


def next_sentence_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n 2"]:
    """For each pair, the logits (is next, is not next) of Devlin et al. (2019), in the order of *encodings*.

    fp32 on the CPU. Raises ExplorerError if the
    checkpoint has no next-sentence head, or if the result is not finite."""
    _ = checkpoint.next_sentence, checkpoint.pooler  # raises before anything runs if there is none
    logits = torch.empty(len(encodings), 2)
    first = torch.zeros(1, dtype=torch.long, device=checkpoint.device)  # the head reads [CLS] only
    for indices, batch in shortest_first(checkpoint, encodings, first):
        logits[indices] = read_pairs(checkpoint, batch.last)
    return finite(checkpoint, logits)


def read_pairs(checkpoint: Checkpoint, last: Float[Tensor, "n t d"]) -> Float[Tensor, "n 2"]:
    """The logits for the last layer's vectors of [CLS] (the first of t). fp32 on the CPU."""
    output = checkpoint.next_sentence.output
    with torch.inference_mode():  # the last product in fp32: in bf16, logits of 4 are 0.03 apart
        pooled = checkpoint.pooler(last).float()
        return F.linear(pooled, output.weight.to_dense().float(), output.bias.float()).cpu()

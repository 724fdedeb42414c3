"""Pairs of texts: the logits of next-sentence prediction for many of them, padded into batches."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.run import batches, forward
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding


def next_sentence_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n 2"]:
    """For each pair, the logits (is next, is not next) of Devlin et al. (2019), in the order of *encodings*.

    fp32 on the CPU. Pairs of like length share a batch, so that little is padded. Raises ExplorerError if the
    checkpoint has no next-sentence head, or if the result is not finite."""
    head, pooler = checkpoint.next_sentence, checkpoint.pooler
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
    logits = torch.empty(len(encodings), 2)
    first = torch.zeros(1, dtype=torch.long, device=checkpoint.device)  # [CLS] is all that the head reads
    done = 0
    for batch in batches([encodings[i] for i in order]):
        last = forward(checkpoint, batch, positions=first).last
        with torch.inference_mode():  # the last product in fp32: in bf16, logits of 4 are 0.03 apart
            weight, bias = head.output.weight.to_dense().float(), head.output.bias.float()
            found = F.linear(pooler(last).float(), weight, bias).cpu()
        logits[order[done : done + len(batch)]] = found
        done += len(batch)
    if not logits.isfinite().all():
        raise ExplorerError(f"{checkpoint.name} gave numbers that are not finite. Try precision fp32.")
    return logits

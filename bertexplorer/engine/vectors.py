"""Vectors of many texts: after each batch, only the requested vectors stay in memory."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.inference import batches_by_length, check_finite
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Forward
from bertexplorer.model.text import Encoding

LAST_FOUR = "last four summed"


def sentence_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], *, layer: int, pooling: str
) -> Float[Tensor, "n d"]:
    """One vector for each encoding, in their order; fp32 on the CPU. *layer* 0 is the input of the first layer.

    *pooling*: "mean" or "max" over all tokens including [CLS] and [SEP], as in sentence-transformers; "CLS", the first
    token's vector; "last four summed", the mean over all tokens of the sum of the last four layers (of all, if there
    are fewer), which ignores *layer*. Raises ExplorerError if a vector is not finite."""
    vectors: dict[int, Tensor] = {}
    for indices, batch in batches_by_length(checkpoint, encodings):
        states = states_of(batch, layer, pooling)
        for row, i in enumerate(indices):
            tokens = states[row, : len(encodings[i])].float()  # without the padding
            pooled = tokens[0] if pooling == "CLS" else tokens.amax(dim=0) if pooling == "max" else tokens.mean(dim=0)
            vectors[i] = pooled.cpu()
    return check_finite(checkpoint, torch.stack([vectors[i] for i in range(len(encodings))]))


def word_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], words: Sequence[Sequence[Sequence[int]]]
) -> Float[Tensor, "layers n d"]:
    """The vectors of words at every layer (0: the input of the first one).

    *words*: the words of each encoding, each a list of positions whose vectors are averaged. The n words of all
    encodings come in the order of the encodings. fp32 on the CPU. Raises ExplorerError if a vector is not finite."""
    vectors: dict[int, list[Tensor]] = {}
    for indices, batch in batches_by_length(checkpoint, encodings):
        states = torch.stack(batch.hidden)
        for row, i in enumerate(indices):
            tokens = states[:, row].float().cpu()
            vectors[i] = [tokens[:, list(positions)].mean(dim=1) for positions in words[i]]
    flat = [vector for i in range(len(encodings)) for vector in vectors[i]]
    return check_finite(checkpoint, torch.stack(flat, dim=1))


def token_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], *, layer: int, pooling: str
) -> Float[Tensor, "n d"]:
    """The vector of every token of every encoding, one encoding after the other, at one layer; fp32 on the CPU. If
    *pooling* is "last four summed", it is that sum (Devlin et al., 2019, table 7). Other poolings change nothing."""
    vectors: dict[int, Tensor] = {}
    for indices, batch in batches_by_length(checkpoint, encodings):
        states = states_of(batch, layer, pooling)
        for row, i in enumerate(indices):
            vectors[i] = states[row, : len(encodings[i])].float().cpu()
    return check_finite(checkpoint, torch.cat([vectors[i] for i in range(len(encodings))]))


def states_of(batch: Forward, layer: int, pooling: str) -> Float[Tensor, "b t d"]:
    if pooling == LAST_FOUR:
        return torch.stack([state.float() for state in batch.hidden[1:][-4:]]).sum(dim=0)
    return batch.hidden[layer]

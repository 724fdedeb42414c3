"""Vectors of many texts: after each batch, only the requested vectors stay in memory."""

from collections.abc import Iterator, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine import progress
from bertexplorer.engine.collate import batches
from bertexplorer.engine.run import forward
from bertexplorer.errors import ExplorerError
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
    for places, found in shortest_first(checkpoint, encodings):
        states = states_of(found, layer, pooling)
        for row, place in enumerate(places):
            tokens = states[row, : len(encodings[place])].float()  # without the padding
            pooled = tokens[0] if pooling == "CLS" else tokens.amax(dim=0) if pooling == "max" else tokens.mean(dim=0)
            vectors[place] = pooled.cpu()
    return checked(checkpoint, torch.stack([vectors[place] for place in range(len(encodings))]))


def word_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], words: Sequence[Sequence[Sequence[int]]]
) -> Float[Tensor, "layers n d"]:
    """The vectors of words at every layer (0: the input of the first one).

    *words*: the words of each encoding, each a list of positions whose vectors are averaged. The n words of all
    encodings come in the order of the encodings. fp32 on the CPU. Raises ExplorerError if a vector is not finite."""
    vectors: dict[int, list[Tensor]] = {}
    for places, found in shortest_first(checkpoint, encodings):
        states = torch.stack(found.hidden)
        for row, place in enumerate(places):
            tokens = states[:, row].float().cpu()
            vectors[place] = [tokens[:, list(positions)].mean(dim=1) for positions in words[place]]
    flat = [vector for place in range(len(encodings)) for vector in vectors[place]]
    return checked(checkpoint, torch.stack(flat, dim=1))


def token_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], *, layer: int, pooling: str
) -> Float[Tensor, "n d"]:
    """The vector of every token of every encoding, one encoding after the other, at one layer; fp32 on the CPU. If
    *pooling* is "last four summed", it is that sum (Devlin et al., 2019, table 7). Other poolings change nothing."""
    vectors: dict[int, Tensor] = {}
    for places, found in shortest_first(checkpoint, encodings):
        states = states_of(found, layer, pooling)
        for row, place in enumerate(places):
            vectors[place] = states[row, : len(encodings[place])].float().cpu()
    return checked(checkpoint, torch.cat([vectors[place] for place in range(len(encodings))]))


def shortest_first(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Iterator[tuple[list[int], Forward]]:
    """(places in *encodings*, their pass) for each batch. Texts of similar length share a batch, which keeps the
    padding small."""
    order = sorted(range(len(encodings)), key=lambda place: len(encodings[place]))
    done, tokens, total = 0, 0, sum(map(len, encodings))
    progress.report(0, total)
    for batch in batches([encodings[place] for place in order]):
        yield order[done : done + len(batch)], forward(checkpoint, batch)
        done, tokens = done + len(batch), tokens + sum(map(len, batch))
        progress.report(tokens, total)


def states_of(found: Forward, layer: int, pooling: str) -> Float[Tensor, "b t d"]:
    if pooling == LAST_FOUR:
        return torch.stack([state.float() for state in found.hidden[1:][-4:]]).sum(dim=0)
    return found.hidden[layer]


def checked(checkpoint: Checkpoint, vectors: Tensor) -> Tensor:
    if not vectors.isfinite().all():
        raise ExplorerError(f"{checkpoint.name} gave numbers that are not finite. Try precision fp32.")
    return vectors

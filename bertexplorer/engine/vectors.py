"""Vectors of many texts: after each batch, only the requested vectors stay in memory."""

from collections.abc import Sequence
from hashlib import sha256

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.inference import batches_by_length, check_finite
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Forward
from bertexplorer.model.sentence_encoder import SIMILARITIES, SentenceEncoder
from bertexplorer.model.text import Encoding

OWN, LAST_FOUR = "own", "last four summed"
MODES_OF = {"mean": ("mean",), "CLS": ("cls",), "max": ("max",), LAST_FOUR: ("mean",)}  # pooling -> modes


def sentence_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], *, layer: int, pooling: str | SentenceEncoder
) -> Float[Tensor, "n d"]:
    """One vector for each encoding, in their order; fp32 on the CPU. *layer* 0 is the input of the first layer.

    *pooling*: a sentence encoder, or as in `sentence_encoder_of`; with "last four summed", the tokens' vectors are the
    sums of the last four layers (of all, if there are fewer), whatever *layer* is. d is the hidden size, unless the
    sentence encoder makes vectors of another. Raises ExplorerError if a vector is not finite."""
    sentence_encoder = sentence_encoder_of(checkpoint, pooling) if isinstance(pooling, str) else pooling
    vectors: dict[int, Tensor] = {}
    for indices, batch in batches_by_length(checkpoint, encodings):
        states = states_of(batch, layer, pooling)
        for row, i in enumerate(indices):
            tokens = states[row, : len(encodings[i])].float()  # without the padding
            vectors[i] = sentence_encoder.pool(tokens, encodings[i].unpooled).cpu()
    pooled = torch.stack([vectors[i] for i in range(len(encodings))])
    return check_finite(checkpoint, sentence_encoder.transform(pooled))


def kept_sentence_vectors(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], *, layer: int, pooling: str
) -> Float[Tensor, "n d"]:
    """As `sentence_vectors`, for analyses of many texts: the vectors stay in the cache of the checkpoint, so that
    another setting of an analysis, or another analysis of the same texts, need not compute them again."""

    def make() -> Tensor:
        return sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling)

    key = ("sentence vectors", layer, pooling, fingerprint(encodings))
    vectors: Tensor = checkpoint.cache.keep(key, make, lambda kept: kept.numel() * kept.element_size())
    return vectors.clone()  # whoever changes it does not change the kept one


def fingerprint(encodings: Sequence[Encoding]) -> bytes:
    """What tells *encodings* from others that the encoder would read otherwise."""
    digest = sha256()
    for encoding in encodings:
        numbers = (len(encoding), encoding.unpooled, *encoding.ids, *encoding.segments)
        digest.update(np.array(numbers, dtype=np.int64).tobytes())
    return digest.digest()


def mean_of_groups(vectors: Float[Tensor, "n d"], counts: Sequence[int], *, scaled: bool) -> Float[Tensor, "m d"]:
    """The mean of each group of neighbouring *vectors*, *scaled* to length 1. *counts*: the size of each group."""
    means = torch.stack([group.mean(dim=0) for group in vectors.split(list(counts))])
    if scaled:
        means = torch.nn.functional.normalize(means, dim=-1)
    return means


def prompt_of(checkpoint: Checkpoint, name: str | None) -> str:
    """What stands before a text of which a vector is made, see `SentenceEncoder.prompt`."""
    return (checkpoint.sentence_encoder or SentenceEncoder()).prompt(name)


def similarity_measure(checkpoint: Checkpoint) -> str:
    """How the checkpoint's own files compare two vectors: a name of SIMILARITIES."""
    return (checkpoint.sentence_encoder or SentenceEncoder()).similarity


def similarities(measure: str, first: Float[Tensor, "n d"], second: Float[Tensor, "n d"]) -> Float[Tensor, " n"]:
    """How similar each vector of *first* is to that of *second* in the same row. *measure*: of SIMILARITIES."""
    return SIMILARITIES[measure](first, second)


def similarity_table(
    measure: str, first: Float[np.ndarray, "n d"], second: Float[np.ndarray, "m d"]
) -> Float[np.ndarray, "n m"]:
    """How similar each vector of *first* is to each of *second*. *measure*: of SIMILARITIES."""
    columns = torch.from_numpy(second)
    rows = []
    for vector in torch.from_numpy(first):
        rows.append(similarities(measure, vector.expand_as(columns), columns))
    return torch.stack(rows).numpy()


def sentence_encoder_of(checkpoint: Checkpoint, pooling: str) -> SentenceEncoder:
    """What makes one vector of a text's tokens. *pooling*: "own", as the checkpoint's files say, the mean if they say
    nothing; "mean" or "max" over all tokens, including [CLS] and [SEP]; "CLS", the first token's vector; "last four
    summed", whose mean over all tokens is taken. Raises ExplorerError if the files cannot be followed."""
    if pooling != OWN:
        return SentenceEncoder(MODES_OF[pooling])
    own = checkpoint.sentence_encoder or SentenceEncoder()
    if own.problem:
        raise ExplorerError(f"{own.problem} Choose the pooling, such as the mean.")
    return own


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
    in_order: list[Tensor] = []
    for i in range(len(encodings)):
        in_order += vectors[i]
    return check_finite(checkpoint, torch.stack(in_order, dim=1))


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


def states_of(batch: Forward, layer: int, pooling: str | SentenceEncoder) -> Float[Tensor, "b t d"]:
    """The vectors that *pooling* pools: those of a layer, or the sums of the last four in fp32."""
    if pooling == LAST_FOUR:
        return torch.stack([state.float() for state in batch.hidden[1:][-4:]]).sum(dim=0)
    return batch.hidden[layer]

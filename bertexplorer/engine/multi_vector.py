"""A vector of each token, as the files of a ColBERT say."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine import progress
from bertexplorer.engine.collate import batches, collate, token_budget
from bertexplorer.engine.inference import check_finite
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.multi_vector import MultiVectorEncoder
from bertexplorer.model.text import Encoding


def multi_vectors(
    checkpoint: Checkpoint, encoder: MultiVectorEncoder, encodings: Sequence[Encoding], attended: Sequence[int]
) -> list[Float[Tensor, "t e"]]:
    """The vectors of all tokens of each of *encodings* by *encoder*; fp32 on the CPU. *attended*: how many tokens of
    each the others look at; tokens behind these fill up a query, look at those, and have a vector too. Raises
    ExplorerError if a vector is not finite."""
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
    total = sum(map(len, encodings))
    vectors: dict[int, Tensor] = {}
    done = 0
    progress.report(0, total)
    for batch in batches([encodings[i] for i in order], token_budget(checkpoint.device)):
        indices = order[len(vectors) : len(vectors) + len(batch)]
        states = last_layer(checkpoint, batch, [attended[i] for i in indices])
        for row, i in enumerate(indices):
            vectors[i] = encoder.transform(states[row, : len(encodings[i])].float().cpu())
            check_finite(checkpoint, vectors[i])
        done += sum(map(len, batch))
        progress.report(done, total)
    return [vectors[i] for i in range(len(encodings))]


def last_layer(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], attended: Sequence[int]
) -> Float[Tensor, "b t d"]:
    """The last layer of one batch, in which the first tokens alone are looked at, as many as *attended* says."""
    ids, segments, _ = collate(encodings, checkpoint.tokenizer.pad_id, checkpoint.device)
    places = torch.arange(ids.shape[1], device=checkpoint.device)
    mask = places < torch.tensor(attended, device=checkpoint.device)[:, None]
    with checkpoint.scheduler.slot(heavy=len(encodings) > 1), torch.inference_mode():
        return checkpoint.encoder(ids, segments if checkpoint.config.num_segments else None, mask).last

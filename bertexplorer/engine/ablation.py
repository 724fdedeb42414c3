"""Passes over one encoding with heads or neurons switched off or replaced, many settings of the switches at once."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine import progress
from bertexplorer.engine.activations import cached_forward, head_outputs
from bertexplorer.engine.bi_encoder import select_tokens, text_positions
from bertexplorer.engine.collate import token_budget
from bertexplorer.engine.inference import check_finite, vocabulary_logits
from bertexplorer.engine.task_heads import read_head, reads_first, require_head
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.text import Encoding

Change = Callable[[Float[Tensor, "n l s"]], Intervention]  # what settings of the switches do


def heads_off(fill: Float[Tensor, "l h _ k"] | None = None, heads: int | None = None) -> Change:
    """A switch for each head; 0 replaces its output by *fill* (None: zeros). *heads*: how many the layers have, if
    further switches for the neurons follow."""
    if heads is None:
        return lambda settings: Intervention(settings, fill)
    return lambda settings: Intervention(settings[..., :heads], fill, neuron_mask=settings[..., heads:])


def neurons_off(settings: Float[Tensor, "n l s"]) -> Intervention:
    """A switch for each neuron."""
    return Intervention(neuron_mask=settings)


HEADS_OFF = heads_off()


def run_ablated(
    checkpoint: Checkpoint,
    encoding: Encoding,
    switches: Float[np.ndarray, "n l s"],
    positions: Sequence[int],
    change: Change = HEADS_OFF,
    read: Callable[[Float[Tensor, "b q d"]], Tensor] = lambda last: last,
) -> Tensor:
    """The result of *read* on the last layer's vectors at the q *positions* (0-based), for each of the n rows of
    *switches*: by default the vectors themselves, n x q x d. fp32 on the CPU.

    1 leaves a head or a neuron on. *change*: what the s switches of each layer stand for; by default its heads, and 0
    replaces their outputs by zeros. The layers below the lowest switched one are taken from the cache."""
    positions_read = torch.tensor(list(positions), device=checkpoint.device)
    inputs = cached_forward(checkpoint, encoding).inputs

    # 1. The lowest layer that each row switches; the last one if it switches none.
    settings = torch.from_numpy(switches)
    switched = (settings != 1).any(dim=2)
    lowest = torch.where(switched.any(dim=1), switched.float().argmax(dim=1), len(inputs) - 1)

    # 2. The passes from there on, rows with the same lowest layer together.
    batch_size = max(1, token_budget(checkpoint.device) // len(encoding))
    results: list[Tensor] = [torch.empty(0)] * len(switches)
    total = len(switches) * len(encoding)
    done = 0
    progress.report(0, total)
    for layer in lowest.unique().tolist():
        for indices in (lowest == layer).nonzero()[:, 0].split(batch_size):
            intervention = change(settings[indices])
            x = inputs[layer].expand(len(indices), -1, -1)
            with checkpoint.scheduler.slot(heavy=True), torch.inference_mode():
                out = checkpoint.encoder.from_embeddings(
                    x, intervention=intervention, positions=positions_read, first_layer=layer
                )
            for row, values in zip(indices.tolist(), read(out.last).float().cpu(), strict=True):
                results[row] = values
            done += len(indices) * len(encoding)
            progress.report(done, total)
    return torch.stack(results)


def ablated_log_probs(
    checkpoint: Checkpoint,
    encoding: Encoding,
    switches: Float[np.ndarray, "n l s"],
    position: int,
    change: Change = HEADS_OFF,
) -> Float[Tensor, "n v"]:
    """Natural-log probabilities over the vocabulary at *position* (0-based), for each row of *switches*. fp32 on the
    CPU. Raises ExplorerError if there is no MLM head, or if a number is not finite."""
    _ = checkpoint.masked_lm  # raises before anything runs if there is none
    last = run_ablated(checkpoint, encoding, switches, [position], change)[:, 0]
    with torch.inference_mode():
        log_probs = vocabulary_logits(checkpoint, to_native(checkpoint, last)).cpu().log_softmax(dim=-1)
    return check_finite(checkpoint, log_probs)


def ablated_head_logits(
    checkpoint: Checkpoint,
    encoding: Encoding,
    switches: Float[np.ndarray, "n l s"],
    head: str,
    change: Change = HEADS_OFF,
) -> Tensor:
    """Logits of *head* as in `head_logits` for each row of *switches*: n x l or n x t x l. fp32 on the CPU."""
    require_head(checkpoint, head)

    def read(last: Tensor) -> Tensor:
        return read_head(checkpoint, head, last)

    positions = (0,) if reads_first(checkpoint, head) else range(len(encoding))
    return check_finite(checkpoint, run_ablated(checkpoint, encoding, switches, positions, change, read))


def ablated_cosines(
    checkpoint: Checkpoint,
    encoding: Encoding,
    switches: Float[np.ndarray, "n l s"],
    sentence_encoder: SentenceEncoder,
    change: Change = HEADS_OFF,
) -> Float[Tensor, " n"]:
    """The cosine of the two texts of a pair, each read alone as in `pair_cosines`, for each row of *switches*."""

    def read(last: Tensor) -> Tensor:
        return sentence_encoder.embed(last.float())

    def vectors(positions: tuple[int, ...]) -> Float[Tensor, "n d"]:
        text = select_tokens(encoding, positions)
        return run_ablated(checkpoint, text, switches, range(len(positions)), change, read)

    first, second = map(vectors, text_positions(encoding))
    return check_finite(checkpoint, F.cosine_similarity(first, second, dim=-1))


def to_native(checkpoint: Checkpoint, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    """*vectors* as the prediction heads expect them: on the checkpoint's device, in its precision."""
    return vectors.to(checkpoint.device, next(checkpoint.encoder.parameters()).dtype)


def mean_head_outputs(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "l h 1 k"]:
    """The mean output of each head over all tokens of *encodings*. Mean ablation replaces the output by it."""
    outputs = torch.cat([head_outputs(checkpoint, encoding) for encoding in encodings], dim=2)
    return outputs.mean(dim=2, keepdim=True)

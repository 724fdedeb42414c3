"""Neurons: the numbers between the two matrices of a layer's feed-forward half, and what each of them writes.

The feed-forward half adds to a token the sum over its neurons of their activation times their column of the second
matrix, and its bias (Geva et al., 2021, section 2)."""

from collections.abc import Sequence
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.engine import progress
from bertexplorer.engine.activations import after_both, attend, cached_forward
from bertexplorer.engine.collate import batches, collate, token_budget
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Layer
from bertexplorer.model.text import Encoding


@torch.inference_mode()
def neuron_activations(checkpoint: Checkpoint, encoding: Encoding, layer: int) -> Float[Tensor, "t n"]:
    """The activations of the 0-based *layer* at every token, from the inputs of the shared pass. fp32 on the CPU."""
    module = cast(Layer, checkpoint.encoder.layers[layer])
    inputs = cached_forward(checkpoint, encoding, torch.tensor([0], device=checkpoint.device)).inputs
    _, read = attend(module, inputs[layer], checkpoint.encoder.relations(inputs[0])[layer])
    return module.feed_forward.neurons(read)[0].float().cpu()


@torch.inference_mode()
def written_lengths(checkpoint: Checkpoint, layer: int) -> Float[Tensor, " n"]:
    """The length of the vector that each neuron of the 0-based *layer* writes at an activation of 1. fp32 on the
    CPU; cached."""
    module = cast(Layer, checkpoint.encoder.layers[layer])

    def measure() -> Tensor:
        return module.feed_forward.contract.weight.to_dense().float().norm(dim=0).cpu()

    return cast(Tensor, checkpoint.cache.get(("written lengths", layer), measure, Tensor.numel))


@torch.inference_mode()
def states_without(
    checkpoint: Checkpoint, encoding: Encoding, layer: int, position: int, neurons: Sequence[int]
) -> Float[Tensor, "_ d"]:
    """The vector of the token at *position* after the 0-based *layer*, then the same without what each of the k
    *neurons* writes there. fp32 on the CPU."""
    module = cast(Layer, checkpoint.encoder.layers[layer])
    rows = torch.tensor([position], device=checkpoint.device)
    inputs = cached_forward(checkpoint, encoding, torch.tensor([0], device=checkpoint.device)).inputs
    halves = attend(module, inputs[layer], checkpoint.encoder.relations(inputs[0])[layer], rows)
    attended, read = (half.expand(1 + len(neurons), -1, -1) for half in halves)
    on = torch.ones(len(read), 1, checkpoint.config.intermediate_size, device=checkpoint.device)
    on[range(1, len(on)), 0, list(neurons)] = 0
    return after_both(module, attended, module.feed_forward(read, on))[:, 0].float().cpu()


def line_peaks(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], layer: int
) -> tuple[Float[Tensor, "lines n"], Int[Tensor, "lines n"]]:
    """(the highest activation of each neuron of the 0-based *layer* in each line, the token with it). Special tokens
    do not count, nor does a line that has no other. fp32 on the CPU; cached."""

    def make() -> tuple[Tensor, Tensor]:
        return find_peaks(checkpoint, encodings, layer)

    def num_bytes(peaks: tuple[Tensor, Tensor]) -> int:
        return sum(part.nbytes for part in peaks)

    key = ("neurons", layer, tuple(encoding.ids for encoding in encodings))
    return cast(tuple[Tensor, Tensor], checkpoint.cache.get(key, make, num_bytes))


@torch.inference_mode()
def find_peaks(checkpoint: Checkpoint, encodings: Sequence[Encoding], layer: int) -> tuple[Tensor, Tensor]:
    """As `line_peaks`: the layers above do not run."""
    encoder = checkpoint.encoder
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
    values: dict[int, Tensor] = {}
    places: dict[int, Tensor] = {}
    total = sum(map(len, encodings))
    done = 0
    progress.report(0, total)
    for batch in batches([encodings[i] for i in order], token_budget(checkpoint.device)):
        ids, segments, mask = collate(batch, checkpoint.tokenizer.pad_id, checkpoint.device)
        with checkpoint.scheduler.slot(heavy=True):
            x = encoder.embeddings(ids, segments if checkpoint.config.num_segments else None)
            relations = encoder.relations(x, mask)
            for below in range(layer):
                x = encoder.layers[below](x, relations[below], lambda context: context, False, None)[0]
            module = cast(Layer, encoder.layers[layer])
            _, read = attend(module, x, relations[layer])
            activations = module.feed_forward.neurons(read).float().cpu()
        for encoding, rows in zip(batch, activations, strict=False):
            special = torch.tensor(encoding.special)
            peak, place = rows[: len(encoding)].masked_fill(special[:, None], -torch.inf).max(dim=0)
            i = order[len(values)]
            values[i] = peak
            places[i] = place
            done += len(encoding)
        progress.report(done, total)
    lines = range(len(encodings))
    all_values = torch.stack([values[i] for i in lines])
    all_places = torch.stack([places[i] for i in lines])
    return all_values, all_places.to(torch.int32)

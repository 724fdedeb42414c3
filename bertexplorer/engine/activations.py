"""One pass over one encoding, cached and shared: however many views need the same text, the encoder runs once."""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.engine.collate import collate, token_budget
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Layer
from bertexplorer.model.forward import Forward
from bertexplorer.model.positions import Relations
from bertexplorer.model.text import Encoding


class CachedForward:
    """The input of each layer, and the rows of the last layer's output that have been requested so far.

    Everything else follows from these without another pass: the attention weights of a layer from its input, and the
    remaining rows of the last layer. Safe to call from many threads."""

    def __init__(self, checkpoint: Checkpoint, encoding: Encoding, positions: Int[Tensor, " q"] | None) -> None:
        """Run the pass, or wait for one that is shared with others. *positions*: as in `Encoder.forward`."""
        self.encoder = checkpoint.encoder
        self.scheduler = checkpoint.scheduler
        self.lock = threading.Lock()
        self.rows = None if positions is None else positions.tolist()  # the tokens in *last*; None: all
        # bf16 rounds differently next to padding, so there only texts of the same length share a pass
        length = len(encoding) if checkpoint.precision == "bf16" else 0
        like = (id(checkpoint), length)
        run_batch = partial(run_shared_pass, checkpoint)
        budget = token_budget(checkpoint.device)
        hidden = self.scheduler.run_batched(like, (encoding, self.rows), len(encoding), budget, run_batch)
        self.inputs: tuple[Tensor, ...] = hidden[:-1]  # l of them, 1 x t x d
        self.last: Tensor = hidden[-1]  # 1 x q x d

    @property
    def num_bytes(self) -> int:
        one_layer = self.inputs[0]
        return (len(self.inputs) + 1) * one_layer.nbytes  # as if the last layer were complete

    def forward(self, positions: Int[Tensor, " q"] | None) -> Forward:
        """As `Encoder.forward` with *positions*. Runs the last layer again, for all tokens, if it has not run at
        these."""
        with self.lock, torch.inference_mode():
            rows = None if positions is None else positions.tolist()
            if self.rows is not None and rows != self.rows:
                with self.scheduler.slot():
                    forward = self.encoder.from_embeddings(self.inputs[-1], first_layer=len(self.inputs) - 1)
                self.last = forward.last
                self.rows = None
            last = self.last
            if positions is not None and rows != self.rows:
                last = last[:, positions]
            return Forward((*self.inputs, last))


def run_shared_pass(
    checkpoint: Checkpoint, requests: Sequence[tuple[Encoding, list[int] | None]]
) -> list[tuple[Float[Tensor, "1 _ d"], ...]]:
    """One pass over the encodings of several callers, each with the tokens whose last layer it requests (None: all).
    Each gets the hidden states as if it had run alone, with the last layer at those tokens."""
    encodings = [encoding for encoding, _ in requests]
    # 1. The tokens at which the last layer runs: those that anyone requests, or all of them.
    shared_rows = None
    positions = None
    if all(rows is not None for _, rows in requests):
        requested: set[int] = set()
        for _, rows in requests:
            requested.update(rows or ())
        shared_rows = sorted(requested)
        positions = torch.tensor(shared_rows, dtype=torch.long, device=checkpoint.device)

    # 2. The pass.
    ids, segments, mask = collate(encodings, checkpoint.tokenizer.pad_id, checkpoint.device)
    with torch.inference_mode():
        sides = segments if checkpoint.config.num_segments else None
        hidden = checkpoint.encoder(ids, sides, mask, positions=positions).hidden
        if len(requests) == 1 and (shared_rows is None or shared_rows == requests[0][1]):
            return [hidden]

        # 3. What belongs to each caller, without the padding.
        results = []
        for i, (encoding, rows) in enumerate(requests):
            inputs = [state[i : i + 1, : len(encoding)].clone() for state in hidden[:-1]]
            indices = list(range(len(encoding))) if rows is None else rows
            if shared_rows is not None:
                indices = [shared_rows.index(row) for row in indices]
            results.append((*inputs, hidden[-1][i : i + 1, indices]))
    return results


def cached_forward(
    checkpoint: Checkpoint, encoding: Encoding, positions: Int[Tensor, " q"] | None = None
) -> CachedForward:
    """The pass over *encoding*, from the checkpoint's cache if possible. Simultaneous callers share one pass."""

    def make() -> CachedForward:
        return CachedForward(checkpoint, encoding, positions)

    key = ("pass", encoding.ids, encoding.segments)
    return cast(CachedForward, checkpoint.cache.get(key, make, lambda cached: cached.num_bytes))


def hidden_states(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "n t d"]:
    """The input of the first layer, then the output of each layer: n = l + 1 of them. fp32 on the CPU."""
    return torch.cat(cached_forward(checkpoint, encoding).forward(None).hidden).float().cpu()


@torch.inference_mode()
def attentions(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t t"]:
    """Softmax weights of every head. Each row (the token that looks) sums to 1. fp32 on the CPU."""
    weights = []
    for layer, x, relations in attention_inputs(checkpoint, encoding):
        weights.append(weigh(layer, x, relations).cpu())
    return torch.stack(weights)


@torch.inference_mode()
def head_outputs(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t k"]:
    """The output of each head before the output matrix mixes the heads. fp32 on the CPU."""
    outputs = []
    for layer, x, relations in attention_inputs(checkpoint, encoding):
        outputs.append((weigh(layer, x, relations) @ values(layer, x)).cpu())
    return torch.stack(outputs)


@torch.inference_mode()
def value_norms(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t t"]:
    """‖α_ij f(x_j)‖ for every head, with f(x) = (x W_V + b_V) W_O (Kobayashi et al., 2020, "Attention is Not Only a
    Weight", eq. 3). This is how much token j gives to token i, not only how much i looks at it. fp32 on the CPU."""
    norms = []
    for layer, x, relations in attention_inputs(checkpoint, encoding):
        mix = layer.attention.output.weight.to_dense().float()
        parts = mix.unflatten(1, (layer.attention.num_heads, -1)).permute(1, 2, 0)  # each head's W_O, h x k x d
        lengths = (values(layer, x) @ parts).norm(dim=-1)  # of f(x_j), h x t
        norms.append((weigh(layer, x, relations) * lengths[:, None, :]).cpu())
    return torch.stack(norms)


@torch.inference_mode()
def queries_and_keys(
    checkpoint: Checkpoint, encoding: Encoding
) -> tuple[Float[Tensor, "l h t k"], Float[Tensor, "l h t k"]]:
    """(queries, keys) as they are multiplied: softmax(q kᵀ / √k) gives `attentions`. In ModernBERT the rotary positions
    are already applied, and some layers see a window only; in MPNet and DeBERTa distances add to the scores. fp32 on
    the CPU."""
    queries = []
    keys = []
    for layer, x, relations in attention_inputs(checkpoint, encoding):
        queries_of_layer, keys_of_layer = layer.attention.queries_keys(x, relations.angles)
        queries.append(queries_of_layer)
        keys.append(keys_of_layer)
    return torch.cat(queries).float().cpu(), torch.cat(keys).float().cpu()


@dataclass(frozen=True, eq=False)
class TokenScores:
    """How one token scores all t tokens in one head. fp32 on the CPU."""

    query: Float[Tensor, " k"]
    keys: Float[Tensor, "t k"]
    scale: float  # factor of the product of query and key
    distance: Float[Tensor, " t"] | None  # term added for the distance, in families with relative positions
    visible: Bool[Tensor, " t"]  # True at the tokens that it may look at
    weights: Float[Tensor, " t"]  # the softmax of the scores over these


@torch.inference_mode()
def token_scores(checkpoint: Checkpoint, encoding: Encoding, layer: int, head: int, position: int) -> TokenScores:
    """How the token at *position* scores the others; all three numbers are 0-based. Query and keys are those of
    `queries_and_keys`."""
    module, x, relations = next(islice(attention_inputs(checkpoint, encoding), layer, None))
    attention = module.attention
    queries, keys = attention.queries_keys(x, relations.angles, torch.tensor([position], device=x.device))
    queries = queries.float()
    keys = keys.float()
    relations = relations.of(slice(position, position + 1))
    weights = attention.weigh(queries, keys, attention.bias(queries, keys, relations))
    distance = None
    if relations.distances is not None:
        distance = attention.by_distance(queries, keys, relations.distances)[0, head, 0].cpu()
    visible = torch.ones(len(encoding), dtype=torch.bool)
    if relations.mask is not None:
        visible = relations.mask[0, 0, 0].cpu()
    return TokenScores(
        query=queries[0, head, 0].cpu(),
        keys=keys[0, head].cpu(),
        scale=attention.scale,
        distance=distance,
        visible=visible,
        weights=weights[0, head, 0].cpu(),
    )


@dataclass(frozen=True, eq=False)
class LayerHalves:
    """The two halves of one layer at q tokens. fp32 on the CPU."""

    weights: Float[Tensor, "h q t"]  # of the attention
    attended: Float[Tensor, "q d"]  # the vectors after the attention half, normalised where the family does so
    fed: Float[Tensor, "q d"]  # what the feed-forward half adds to them
    output: Float[Tensor, "q d"]  # the vectors after the layer, before the encoder's last norm if it has one


@torch.inference_mode()
def layer_halves(checkpoint: Checkpoint, encoding: Encoding, positions: Sequence[int]) -> Iterator[LayerHalves]:
    """What each layer does to the tokens at *positions* (0-based), from the inputs of the shared pass: the encoder does
    not run again, only these tokens pass through both halves of each layer, in the order of `Layer.forward`. The
    weights are those of `attentions`."""
    rows = torch.tensor(list(positions), dtype=torch.long, device=checkpoint.device)
    for layer, x, relations in layer_inputs(checkpoint, encoding):
        attention = layer.attention
        queries, keys = attention.queries_keys(attention_input(layer, x), relations.angles, rows)
        queries = queries.float()
        keys = keys.float()
        weights = attention.weigh(queries, keys, attention.bias(queries, keys, relations.of(rows)))
        attended, read = attend(layer, x, relations, rows)
        fed = layer.feed_forward(read)
        output = after_both(layer, attended, fed)
        yield LayerHalves(
            weights=weights[0].float().cpu(),
            attended=attended[0].float().cpu(),
            fed=fed[0].float().cpu(),
            output=output[0].float().cpu(),
        )


def attend(
    layer: Layer, x: Float[Tensor, "b t d"], relations: Relations, rows: Int[Tensor, " q"] | None = None
) -> tuple[Float[Tensor, "b q d"], Float[Tensor, "b q d"]]:
    """(the vectors after the attention half, what the feed-forward half reads), at *rows* or at all tokens."""
    before = x if rows is None else x[:, rows]
    added = layer.attention(attention_input(layer, x), relations, lambda context: context, False, rows)[0]
    attended = before + added
    if layer.pre:
        return attended, layer.output_norm(attended)
    attended = layer.attention_norm(attended)
    return attended, attended


def after_both(layer: Layer, attended: Float[Tensor, "*n d"], fed: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
    """The output of *layer* from the vectors after its attention half and what the feed-forward half adds."""
    output = attended + fed
    if layer.pre:
        return output
    return layer.output_norm(output)


def layer_inputs(checkpoint: Checkpoint, encoding: Encoding) -> Iterator[tuple[Layer, Tensor, Relations]]:
    """(layer, its input, 1 x t x d, its mask and positions) for each layer, from the shared pass."""
    first = torch.zeros(1, dtype=torch.long, device=checkpoint.device)  # the output of the last layer is not needed
    inputs = cached_forward(checkpoint, encoding, first).inputs
    encoder = checkpoint.encoder
    for layer, x, relations in zip(encoder.layers, inputs, encoder.relations(inputs[0]), strict=True):
        yield cast(Layer, layer), x, relations


def attention_inputs(checkpoint: Checkpoint, encoding: Encoding) -> Iterator[tuple[Layer, Tensor, Relations]]:
    """(layer, what its attention reads, its mask and positions) for each layer, as `layer_inputs`."""
    for layer, x, relations in layer_inputs(checkpoint, encoding):
        yield layer, attention_input(layer, x), relations


def attention_input(layer: Layer, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t d"]:
    """What the attention of *layer* reads of its input: normalised in families that do so before each half."""
    return layer.attention_norm(x) if layer.pre else x


def weigh(layer: Layer, read: Float[Tensor, "1 t d"], relations: Relations) -> Float[Tensor, "h t t"]:
    """The softmax weights of one layer in fp32, from what its attention reads."""
    queries, keys = layer.attention.queries_keys(read, relations.angles)
    queries = queries.float()
    keys = keys.float()
    return layer.attention.weigh(queries, keys, layer.attention.bias(queries, keys, relations))[0]


def values(layer: Layer, x: Tensor) -> Float[Tensor, "h t k"]:
    """The values of one layer's heads in fp32."""
    return layer.attention.split(layer.attention.value(x))[0].float()

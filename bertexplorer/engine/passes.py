"""One pass over one encoding, kept and shared: whatever view asks about the same text, the encoder runs once."""

import threading
from collections.abc import Iterator
from typing import cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Layer
from bertexplorer.model.forward import Forward
from bertexplorer.model.text import Encoding


class Pass:
    """What enters each layer, and as much of what leaves the last one as was asked for so far.

    The rest follows from it without another pass: attention weights of a layer from what enters it, and the rows of
    the last layer that nobody wanted yet."""

    def __init__(self, checkpoint: Checkpoint, encoding: Encoding, positions: Int[Tensor, " q"] | None) -> None:
        self.encoder = checkpoint.encoder
        self.lock = threading.Lock()
        ids = torch.tensor([encoding.ids], device=checkpoint.device)
        segments = torch.tensor([encoding.segments], device=checkpoint.device)
        with torch.inference_mode():
            found = self.encoder(ids, segments if checkpoint.config.num_segments else None, positions=positions)
        self.inputs: tuple[Tensor, ...] = found.hidden[:-1]  # l of them, 1 x t x d
        self.last: Tensor = found.last  # 1 x q x d
        self.rows = None if positions is None else positions.tolist()  # the tokens in *last*; None: all

    @property
    def num_bytes(self) -> int:
        tokens = (len(self.inputs) + 1) * self.inputs[0].shape[1]  # as if the last layer were there in full
        return int(tokens * self.inputs[0].shape[2] * self.inputs[0].element_size())

    def forward(self, positions: Int[Tensor, " q"] | None) -> Forward:
        """As `Encoder.forward` with *positions*."""
        with self.lock, torch.inference_mode():
            wanted = None if positions is None else positions.tolist()
            if self.rows is not None and wanted != self.rows:
                done = self.encoder.from_embeddings(self.inputs[-1], first_layer=len(self.inputs) - 1)
                self.last, self.rows = done.last, None
            last = self.last if wanted == self.rows or positions is None else self.last[:, positions]
            return Forward((*self.inputs, last))


def look(checkpoint: Checkpoint, encoding: Encoding, positions: Int[Tensor, " q"] | None = None) -> Pass:
    """The pass over *encoding*, from the checkpoint's memo if it is there. Callers at the same time share one."""
    key = ("pass", encoding.ids, encoding.segments)
    return cast(
        Pass, checkpoint.memo.get(key, lambda: Pass(checkpoint, encoding, positions), lambda found: found.num_bytes)
    )


def hidden_states(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "n t d"]:
    """What enters the first layer, then what leaves each one: n = l + 1 of them. fp32 on the CPU."""
    return torch.cat(look(checkpoint, encoding).forward(None).hidden).float().cpu()


def attentions(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t t"]:
    """Softmax weights of every head; each row (who looks) sums to 1. fp32 on the CPU."""
    return torch.stack([weights.cpu() for weights, _, _ in heads(checkpoint, encoding)])


def head_outputs(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t k"]:
    """What each head gives before the output matrix mixes the heads. fp32 on the CPU."""
    return torch.stack([(weights @ values).cpu() for weights, values, _ in heads(checkpoint, encoding)])


def value_norms(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, "l h t t"]:
    """‖α_ij f(x_j)‖ for every head, with f(x) = (x W_V + b_V) W_O: how much token j gives to token i, not only how much
    i looks at it (Kobayashi et al., 2020, "Attention is Not Only a Weight", eq. 3). fp32 on the CPU."""
    norms = []
    for weights, values, mix in heads(checkpoint, encoding):
        parts = mix.unflatten(1, (values.shape[0], -1)).permute(1, 2, 0)  # each head's share of W_O, h x k x d
        norms.append((weights * (values @ parts).norm(dim=-1)[:, None, :]).cpu())
    return torch.stack(norms)


def heads(checkpoint: Checkpoint, encoding: Encoding) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
    """(weights h x t x t, values h x t x k, output matrix d x d) of each layer in fp32, from what entered it."""
    encoder, inputs = checkpoint.encoder, look(checkpoint, encoding).inputs
    with torch.inference_mode():
        for module, x, (seen, angles) in zip(encoder.layers, inputs, encoder.surroundings(inputs[0]), strict=True):
            layer = cast(Layer, module)
            q, k, v = layer.attention.heads(layer.attention_norm(x) if layer.pre else x, angles)
            weights = layer.attention.weigh(q.float(), k.float(), seen)
            yield weights[0], v[0].float(), layer.attention.output.weight.to_dense().float()

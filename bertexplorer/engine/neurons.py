"""The query and key vectors of every head: what the attention weights are made of."""

from typing import cast

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.passes import look
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Layer
from bertexplorer.model.text import Encoding


def queries_and_keys(
    checkpoint: Checkpoint, encoding: Encoding
) -> tuple[Float[Tensor, "l h t k"], Float[Tensor, "l h t k"]]:
    """(queries, keys) as they are multiplied: softmax(q kᵀ / √k) gives `attentions`. In ModernBERT they are turned by
    the rotary positions already, and some layers see a window only. fp32 on the CPU."""
    encoder, inputs = checkpoint.encoder, look(checkpoint, encoding).inputs
    queries, keys = [], []
    with torch.inference_mode():
        for module, x, (_, angles) in zip(encoder.layers, inputs, encoder.surroundings(inputs[0]), strict=True):
            layer = cast(Layer, module)
            q, k, _ = layer.attention.heads(layer.attention_norm(x) if layer.pre else x, angles)
            queries.append(q[0].float().cpu())
            keys.append(k[0].float().cpu())
    return torch.stack(queries), torch.stack(keys)

"""Attention of transformers: weights, layer inputs and the matrices, computed with eager attention."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import torch
import transformers
from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from bertexplorer.model.text import Encoding

FAMILIES = (
    "bert",
    "roberta",
    "xlm-roberta",
    "electra-generator",
    "electra-discriminator",
    "distilbert",
    "albert",
    "mpnet",
    "deberta",
    "modernbert",
)


@dataclass
class Eager:
    """One pass of transformers' model over one text."""

    model: nn.Module
    attention: Tensor  # l h t t
    inputs: list[Tensor]  # input of the attention of each layer, t x d

    def matrices(self, layer: int) -> tuple[Tensor, Tensor, Tensor]:
        """(W_V as d x d, b_V, W_O as d x d) of a layer, for row vectors."""
        base = self.model
        if base.config.model_type == "distilbert":
            attention = base.transformer.layer[layer].attention
            return attention.v_lin.weight.T, attention.v_lin.bias, attention.out_lin.weight.T
        if base.config.model_type == "modernbert":
            attention = base.layers[layer].attn
            value = attention.Wqkv.weight.chunk(3)[2]
            return value.T, torch.zeros(len(value)), attention.Wo.weight.T
        if base.config.model_type == "albert":
            attention = modules(base)[0]
            return attention.value.weight.T, attention.value.bias, attention.dense.weight.T
        attention = base.encoder.layer[layer].attention
        if base.config.model_type == "mpnet":
            return attention.attn.v.weight.T, attention.attn.v.bias, attention.attn.o.weight.T
        if base.config.model_type == "deberta-v2":
            return attention.self.value_proj.weight.T, attention.self.value_proj.bias, attention.output.dense.weight.T
        return attention.self.value.weight.T, attention.self.value.bias, attention.output.dense.weight.T


def modules(model: nn.Module) -> list[nn.Module]:
    """The attention module of each layer, whose first argument is its input. ALBERT's layers share one."""
    kind = model.config.model_type
    if kind == "distilbert":
        return [layer.attention for layer in model.transformer.layer]
    if kind == "modernbert":
        return [layer.attn for layer in model.layers]
    if kind == "albert":
        return [model.encoder.albert_layer_groups[0].albert_layers[0].attention]
    return [layer.attention.attn if kind == "mpnet" else layer.attention.self for layer in model.encoder.layer]


def eager(folder: Path, encoding: Encoding) -> Eager:
    """Run transformers' model in *folder* on the ids (and segments, where it has them) of *encoding*."""
    model = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()
    model.requires_grad_(False)
    inputs: list[Tensor] = []

    def keep(_: nn.Module, args: tuple[Tensor, ...], kwargs: dict[str, Tensor]) -> None:
        inputs.append((args[0] if args else kwargs["hidden_states"])[0])

    hooks = [module.register_forward_pre_hook(keep, with_kwargs=True) for module in modules(model)]
    segments = {}
    if getattr(model.config, "type_vocab_size", 0) > 1 and model.config.model_type != "modernbert":
        segments = {"token_type_ids": torch.tensor([encoding.segments])}
    with torch.no_grad():
        out = model(input_ids=torch.tensor([encoding.ids]), output_attentions=True, **segments)
    for hook in hooks:
        hook.remove()
    assert len(out.attentions) == len(inputs) == model.config.num_hidden_layers
    return Eager(model, torch.cat(out.attentions), inputs)


def entering(model: nn.Module, layer: int, change: Callable[[Tensor], Tensor]) -> RemovableHandle:
    """Change the input of the output layer of attention in *layer*, for one pass. ALBERT's layers share one module."""
    ends = (
        "attention.output.dense",
        "attention.out_lin",
        "attn.Wo",
        "attention.dense",
        "attention.attn.o",
        "self_attn.o_proj",
    )
    mixing = [module for name, module in model.named_modules() if name.endswith(ends)]
    calls = count()

    def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...] | None:
        here = len(mixing) > 1 or next(calls) == layer
        return (change(args[0].clone()), *args[1:]) if here else None

    return mixing[layer % len(mixing)].register_forward_pre_hook(hook)

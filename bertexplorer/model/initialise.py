"""Fresh weights: a whole checkpoint that has learnt nothing, or the heads that one lacks."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint, translate
from bertexplorer.model.config import HEAD_WORDS
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.heads import HEADS, MaskedLM
from bertexplorer.model.names import published
from bertexplorer.model.text import Tokenizer


def initialise(module: nn.Module, seed: int, std: float = 0.02) -> None:
    """Draw every parameter of *module* anew, in place, as BERT does: matrices and embeddings from a normal
    distribution cut at two standard deviations, biases 0, norm weights 1. The same *seed* gives the same weights on
    every device. Raises ExplorerError for packed weights (load with precision="fp32")."""
    draw = torch.Generator().manual_seed(seed)
    done: set[int] = set()
    with torch.no_grad():
        for part in module.modules():
            for name, parameter in part.named_parameters(recurse=False):
                if id(parameter) in done:  # tied
                    continue
                done.add(id(parameter))
                if parameter.layout != torch.strided:
                    raise ExplorerError("Packed weights cannot be drawn anew. Load the checkpoint in fp32.")
                if isinstance(part, nn.LayerNorm):
                    parameter.fill_(1.0 if name == "weight" else 0.0)
                elif name == "bias":
                    parameter.zero_()
                else:
                    fresh = torch.empty(parameter.shape)
                    nn.init.trunc_normal_(fresh, 0.0, std, -2 * std, 2 * std, generator=draw)
                    parameter.copy_(fresh)


def fresh(
    hf_config: dict[str, Any], tokenizer: Tokenizer, heads: Sequence[str], *, seed: int, name: str = "fresh"
) -> Checkpoint:
    """A checkpoint of random weights on the CPU in fp32, as *hf_config* (a config.json) describes it.

    Raises ExplorerError if the numbers make no encoder, or the vocabulary is larger than its table."""
    family = BY_MODEL_TYPE[hf_config["model_type"]]
    config = translate(family, hf_config)
    if tokenizer.vocab_size > config.vocab_size:
        raise ExplorerError(
            f"The vocabulary has {tokenizer.vocab_size:,} pieces, the config {config.vocab_size:,} rows."
        )
    encoder = Encoder(config)
    initialise(encoder, seed, hf_config.get("initializer_range", 0.02))
    bare = Checkpoint(
        name=name,
        family=hf_config["model_type"],
        config=config,
        encoder=encoder,
        heads={},
        tokenizer=tokenizer,
        precision="fp32",
        device=torch.device("cpu"),
        stored_dtype=torch.float32,
        hf_config=hf_config,
        folder=Path(),
        licence="",
    )
    return with_heads(bare, heads, seed=seed + 1)


def with_heads(checkpoint: Checkpoint, heads: Sequence[str], *, seed: int) -> Checkpoint:
    """The same with those of *heads* (names of HEADS) that it lacks, drawn at random; the encoder is shared.

    Raises ExplorerError for a head that the family has no place for, since it could not be saved."""
    std = checkpoint.hf_config.get("initializer_range", 0.02)
    family = BY_MODEL_TYPE[checkpoint.family]
    added: dict[str, nn.Module] = {}
    for offset, name in enumerate(heads):
        if name not in checkpoint.heads:
            head = HEADS[name](checkpoint.config)
            if any(published(family, f"{name}.{key}") is None for key in head.state_dict()):
                words = HEAD_WORDS.get(name, name)
                raise ExplorerError(
                    f"{checkpoint.name}: {checkpoint.family} has no {words} head. Choose a BERT checkpoint."
                )
            initialise(head, seed + offset, std)
            if isinstance(head, MaskedLM) and checkpoint.config.tied:
                head.output.weight = checkpoint.encoder.embeddings.words.weight
            added[name] = head.to(checkpoint.device)
    return replace(checkpoint, heads={**checkpoint.heads, **added})

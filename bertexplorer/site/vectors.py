"""What sentence_encoder.js needs to know of how a checkpoint makes one vector of a text."""

from __future__ import annotations

from typing import Any

from torch import nn

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import Dense, Normalize, SentenceEncoder, VectorStep

NAME = "sentence_encoder"  # before the names of its tensors


def dense_layers(checkpoint: Checkpoint) -> nn.ModuleDict:
    """The dense layers of the sentence encoder, each under the place of its step."""
    own = checkpoint.sentence_encoder or SentenceEncoder()
    return nn.ModuleDict({str(i): step.linear for i, step in enumerate(own.steps) if isinstance(step, Dense)})


def describe(checkpoint: Checkpoint) -> dict[str, Any] | None:
    """The sentence encoder of *checkpoint* as JSON; None if its files name none."""
    own = checkpoint.sentence_encoder
    if own is None:
        return None
    return {
        "modes": own.modes,
        "steps": [described(step, i) for i, step in enumerate(own.steps)],
        "max_tokens": checkpoint.sentence_tokenizer.max_tokens,
        "lower_case": own.lower_case,
        "prompts": dict(own.prompts),
        "default_prompt": own.default_prompt,
        "pools_prompt": own.pools_prompt,
        "similarity": own.similarity,
        "problem": own.problem,
        "words": str(own),
    }


def described(step: VectorStep, place: int) -> dict[str, Any]:
    """A step by its kind, and the tensors that it needs."""
    if isinstance(step, Dense):
        return {"kind": "dense", "name": f"{NAME}.{place}", "activation": step.activation}
    return {"kind": "normalize"} if isinstance(step, Normalize) else {"kind": "truncate", "size": step.size}

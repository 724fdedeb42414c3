"""Pairs whose texts are each read alone and compared by the cosine of their vectors (a bi-encoder)."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.engine.inference import check_finite, forward
from bertexplorer.engine.vectors import sentence_vectors
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.text import Encoding

Sides = tuple[tuple[int, ...], tuple[int, ...]]


def text_positions(encoding: Encoding) -> Sides:
    """Positions (0-based) of the first text and of the second of a pair, each with the special tokens that frame it
    when it is read alone: [CLS], which both share, before it, and [SEP] after it. Both texts must have tokens."""
    first = [i for i, span in enumerate(encoding.spans) if span and span.side == 0]
    second = [i for i, span in enumerate(encoding.spans) if span and span.side == 1]
    cls = range(first[0])
    return tuple(range(first[-1] + 2)), (*cls, *range(second[0], len(encoding)))


def values_at(positions: Sequence[int], values: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(values[i] for i in positions)


def select_tokens(encoding: Encoding, positions: Sequence[int]) -> Encoding:
    """The tokens at *positions* as a text of their own, in segment 0."""
    return replace(
        encoding,
        tokens=values_at(positions, encoding.tokens),
        original_ids=values_at(positions, encoding.original_ids),
        ids=values_at(positions, encoding.ids),
        segments=(0,) * len(positions),
        spans=values_at(positions, encoding.spans),
        words=values_at(positions, encoding.words),
        special=values_at(positions, encoding.special),
        picked=(),
    )


def layer_cosines(
    checkpoint: Checkpoint, encoding: Encoding, sentence_encoder: SentenceEncoder
) -> Float[Tensor, " layers"]:
    """The cosine of the two texts of a pair after every layer, as if it were the last, as in `pair_cosines`. Layer 0 is
    the input of the first layer. If the encoder ends in a LayerNorm (ModernBERT), it is applied to the earlier layers
    too, as in `layer_head_logits`. fp32 on the CPU."""

    def vectors(positions: tuple[int, ...]) -> Float[Tensor, "layers d"]:
        hidden = forward(checkpoint, [select_tokens(encoding, positions)]).hidden
        with torch.inference_mode():
            states = [checkpoint.encoder.norm(state[0]) for state in hidden[:-1]]
            states.append(hidden[-1][0])
        return sentence_encoder.embed(torch.stack(states).float())

    first, second = map(vectors, text_positions(encoding))
    return check_finite(checkpoint, F.cosine_similarity(first, second, dim=-1).cpu())


def pair_cosines(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], sentence_encoder: SentenceEncoder
) -> Float[Tensor, " n"]:
    """The cosine of the two texts of each pair, -1 to 1, as sentence-transformers computes it: each text is read alone,
    and *sentence_encoder* makes its vector (Reimers and Gurevych, 2019). fp32 on the CPU. Raises ExplorerError if a
    vector is not finite."""
    texts = []
    for encoding in encodings:
        for positions in text_positions(encoding):
            texts.append(select_tokens(encoding, positions))
    vectors = sentence_vectors(checkpoint, texts, layer=checkpoint.config.num_layers, pooling=sentence_encoder)
    return F.cosine_similarity(vectors[::2], vectors[1::2], dim=-1)

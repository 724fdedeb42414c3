"""Every pooling that is tried, of the hidden states of one text, at every layer at once."""

from collections.abc import Iterator
from itertools import permutations

import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.diagnosis.recipe import ENDS, LAST_FOUR, POOLER, WORDS, Recipe, dense_layers
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import Dense, SentenceEncoder, position_weights
from bertexplorer.model.text import Encoding

OF_MEAN = "mean_sqrt_len_tokens"  # has the direction of the mean; the lengths tell them apart
Key = tuple[bool, str, int, int]  # whether the prompt is pooled, pooling, layer, dense layers


def pooled_at_all_layers(
    states: Float[Tensor, "layers t d"], encoding: Encoding, unpooled: int
) -> dict[str, Float[Tensor, "layers d"]]:
    """Each pooling of one layer, of the tokens after the first *unpooled* ones."""
    tokens = states[:, unpooled:]
    weights = position_weights(tokens[0], unpooled)
    result = {
        "cls": tokens[:, 0],
        "mean": tokens.mean(dim=1),
        OF_MEAN: tokens.sum(dim=1) / tokens.shape[1] ** 0.5,
        "max": tokens.amax(dim=1),
        "lasttoken": tokens[:, -1],
        "weightedmean": torch.einsum("t,ltd->ld", weights, tokens),
    }
    inner = [i for i, span in enumerate(encoding.spans) if span is not None and i >= unpooled]
    if inner and len(inner) < states.shape[1] - unpooled:
        result[WORDS] = states[:, inner].mean(dim=1)
    return result


def poolings(
    checkpoint: Checkpoint,
    own: SentenceEncoder,
    states: Float[Tensor, "layers t d"],
    encoding: Encoding,
    width: int,
) -> Iterator[tuple[Key, Float[Tensor, " e"]]]:
    """(key of a recipe, its vector before it is cut and scaled) for every recipe whose vector has *width* numbers or
    more."""
    last = len(states) - 1
    dense = len(dense_layers(own))
    for unpooled in sorted({0, encoding.unpooled}):
        at_layers = pooled_at_all_layers(states, encoding, unpooled)
        names = [name for name in at_layers if name != OF_MEAN]
        if len(own.modes) > 1:
            names.append("+".join(own.modes))
        elif width > states.shape[2]:
            names += ["+".join(pair) for pair in permutations(("cls", "mean", "max"), 2)]
        for name in names:
            vectors = torch.cat([at_layers[mode] for mode in name.split("+")], dim=1)
            for count in range(dense + 1):
                finished = through_dense(own, vectors, count)
                if finished is not None and finished.shape[1] >= width:
                    for layer in range(last + 1):
                        yield (unpooled == 0, name, layer, count), finished[layer]
    for name, vector in mixed(checkpoint, states).items():
        if len(vector) >= width:
            yield (True, name, last, 0), vector


def mixed(checkpoint: Checkpoint, states: Float[Tensor, "layers t d"]) -> dict[str, Float[Tensor, " d"]]:
    """The poolings that take several layers, or a head."""
    result = {
        LAST_FOUR: states[1:][-4:].sum(dim=0).mean(dim=0),
        ENDS: (states[0] + states[-1]).mean(dim=0) / 2,
    }
    if "pooler" in checkpoint.heads:
        dtype = checkpoint.encoder.embeddings.words.weight.dtype
        with torch.inference_mode():
            result[POOLER] = checkpoint.pooler(states[-1:].to(checkpoint.device, dtype))[0].float().cpu()
    return result


@torch.inference_mode()
def through_dense(own: SentenceEncoder, vectors: Tensor, count: int) -> Tensor | None:
    """*vectors* through the first *count* dense layers of the files, and what stands between them; None if they do not
    fit."""
    applied = 0
    for step in own.steps:
        if applied == count:
            return vectors
        if isinstance(step, Dense):
            if step.linear.in_features != vectors.shape[1]:
                return None
            applied += 1
        vectors = step(vectors)
    return vectors


def key_of(recipe: Recipe) -> Key:
    """What tells *recipe* from others with the same reading."""
    pooling = "mean" if recipe.pooling == OF_MEAN else recipe.pooling
    return recipe.pools_prompt or not recipe.reading.prompt, pooling, recipe.layer, recipe.dense

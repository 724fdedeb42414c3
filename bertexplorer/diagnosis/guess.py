"""Which part of a BERT is meant, where its name is not known: that whose weights a module has, or whose values a tensor
is near."""

from collections.abc import Iterable, Mapping

import torch
from torch import Tensor, nn

from bertexplorer.diagnosis.names import Part
from bertexplorer.model.checkpoint import Checkpoint

SAME = 1e-3  # the greatest relative distance of weights that were stored in another precision
NEAR = 0.5  # the same of a tensor and the part that it may be: one fault before it does not move it farther
AHEAD = 3.0  # a part is chosen if the next one is so many times as far
MODULES = {  # our module -> what parts_of knows it by
    "embeddings.norm": "embeddings.LayerNorm",
    "attention.query": "attention.self.query",
    "attention.key": "attention.self.key",
    "attention.value": "attention.self.value",
    "attention.output": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.expand": "intermediate.dense",
    "feed_forward.contract": "output.dense",
    "output_norm": "output.LayerNorm",
}


def guess_modules(checkpoint: Checkpoint, module: nn.Module, unknown: Iterable[str]) -> dict[str, str]:
    """*unknown* modules by their weights: their name -> a name that is known. One whose weights are those of several of
    ours, such as norms before any training, is left out."""
    ours = checkpoint.encoder.state_dict()
    lengths = {key: float(weight.float().norm()) for key, weight in ours.items()}
    guessed: dict[str, str] = {}
    for name in unknown:
        weight = getattr(module.get_submodule(name), "weight", None)
        if not isinstance(weight, Tensor):
            continue
        length = float(weight.detach().float().norm())  # which few share, so that few are compared number by number
        alike = [key for key in ours if abs(lengths[key] - length) <= SAME * length]
        same = [key.removesuffix(".weight") for key in alike if is_same(weight, ours[key])]
        if len(same) == 1 and known_as(same[0]):
            guessed[name] = known_as(same[0])
    return guessed


def is_same(weight: Tensor, ours: Tensor) -> bool:
    """Whether *weight* is *ours*, perhaps transposed."""
    return distance(weight, ours) <= SAME or (weight.ndim == 2 and distance(weight.T, ours) <= SAME)


def known_as(name: str) -> str:
    """The name that parts_of knows for one of our modules; "" for one that is no part."""
    if not name.startswith("layers."):
        return MODULES.get(name, "")
    _, layer, kind = name.split(".", 2)
    return f"layer.{layer}.{MODULES[kind]}" if kind in MODULES else ""


def guess_tensors(ours: Mapping[Part, Tensor], unknown: Mapping[str, Tensor]) -> dict[str, Part]:
    """*unknown* tensors by their values: their name -> the part of *ours*, what the checkpoint computes, that is
    nearest to it. Each part is chosen once, the nearest pairs first."""
    # 1. Every tensor with its nearest part, if that is near and no other is.
    pairs = []
    for name, tensor in unknown.items():
        distances = sorted((distance(tensor, own), part) for part, own in ours.items())
        if not distances:
            continue
        (nearest, part), *others = distances
        second = others[0][0] if others else float("inf")
        if nearest <= NEAR and second >= AHEAD * nearest:
            pairs.append((nearest, name, part))
    # 2. A part belongs to the tensor that is nearest to it.
    guessed: dict[str, Part] = {}
    for _, name, part in sorted(pairs):
        if part not in guessed.values():
            guessed[name] = part
    return guessed


def distance(theirs: Tensor, ours: Tensor) -> float:
    """How far *theirs* is from *ours*, as a share of the length of *ours*; infinite if their shapes differ."""
    if theirs.shape != ours.shape:
        return float("inf")
    theirs = theirs.detach().float().cpu()
    ours = ours.detach().float().cpu()
    return float((theirs - ours).norm() / ours.norm().clamp(min=torch.finfo(torch.float32).tiny))

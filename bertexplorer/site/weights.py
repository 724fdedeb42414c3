"""The weights as they travel: fp16, or whole numbers of 8 or 12 bits with a scale for each block of 32.

A browser expands them to fp32 once. 8 bits halve the way of fp16, 12 bits save a third of it; `choose` says which a
checkpoint bears."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Literal
from urllib.parse import parse_qs, urlsplit

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.engine import masked_log_probs
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import available_cores
from bertexplorer.model.text import Encoding, Text
from bertexplorer.site.graph import Place, named_tensors
from bertexplorer.views import VIEWS

Kind = Literal["8-bit", "12-bit", "fp16", "fp32"]
BLOCK = 32  # numbers that share a scale
CLOSE = 0.02  # how far a probability may move
LARGE = 10_000  # numbers of a tensor that is worth fewer bits
WORD_VECTORS = "encoder.embeddings.words.weight"  # half of mini, and what 8 bits harm least
README = "Paris is the [MASK] of France."
EXAMPLES = (*(example.text for example in VIEWS["fill-mask"].examples), README)  # their first answers must stay
HIDDEN = 300  # words of the built-in sentences that are hidden in turn: four seconds in all for mini, on one core
OF_MINI = 23e6  # parameters; of a larger checkpoint, fewer words are hidden
FEWEST = 50


@dataclass(frozen=True)
class Choice:
    """How the weights of a checkpoint travel, and how far that moves its answers."""

    kind: Kind
    moved: float = 0.0  # the largest difference of a probability; 0 if it was not measured
    masks: int = 0  # at which it was measured


def bits_of(name: str, size: int, kind: Kind) -> int:
    """How many bits a number of the tensor *name*, of *size* numbers, has on its way; small tensors are in fp16."""
    if kind == "fp32":
        return 32
    if kind == "fp16" or size < LARGE or size % BLOCK:
        return 16
    return 8 if kind == "8-bit" or name == WORD_VECTORS else 12


def num_bytes(checkpoint: Checkpoint, kind: Kind) -> int:
    """The bytes of the weights of *checkpoint* as they travel."""
    total = 0
    for name, tensor in named_tensors(checkpoint).items():
        size = tensor.numel()
        bits = bits_of(name, size, kind)
        total += size * bits // 8
        if bits < 16:
            total += 2 * (size // BLOCK)  # the scales
    return total


def smallest_kind(checkpoint: Checkpoint) -> Kind:
    """The smallest kind that `choose` may choose. Without an MLM head, what fewer bits change is not measured."""
    return "8-bit" if "masked_lm" in checkpoint.heads else "fp16"


def pack(checkpoint: Checkpoint, places: Sequence[Place], kind: Kind) -> bytes:
    """The tensors at *places*, one after another. 8 bits: first the whole numbers of a tensor, then its scales in
    fp16. 12 bits: the upper 8 bits of the whole numbers, their lower 4 bits two in a byte, then the scales."""
    tensors = named_tensors(checkpoint)
    parts = []
    for place in places:
        tensor = tensors[place.name].detach().float().numpy()
        flat = np.ascontiguousarray(tensor.T if place.transposed else tensor).ravel()
        bits = bits_of(place.name, flat.size, kind)
        if bits >= 16:
            parts.append(flat.astype("<f4" if bits == 32 else "<f2").tobytes())
            continue
        whole, scales = quantise(flat, bits)
        numbers = whole.ravel()
        if bits == 8:
            parts.append(numbers.astype(np.int8).tobytes())
        else:
            lower = (numbers & 15).astype(np.uint8)
            parts += [(numbers >> 4).astype(np.int8).tobytes(), (lower[::2] | lower[1::2] << 4).tobytes()]
        parts.append(scales.astype("<f2").tobytes())
    return b"".join(parts)


def quantise(flat: Float[np.ndarray, " n"], bits: int = 8) -> tuple[np.ndarray, np.ndarray]:
    """(whole numbers, a scale for each block): the absolute largest of a block becomes 127, in 12 bits 127 x 16. A
    number is its whole number times its scale, in 12 bits a sixteenth of that."""
    blocks = flat.reshape(-1, BLOCK)
    scales = (np.abs(blocks).max(axis=1) / 127).astype(np.float16).astype(np.float32)
    divisor = np.where(scales > 0, scales, 1)[:, None]
    steps = 2 ** (bits - 8)  # of a scale
    return np.clip(np.rint(blocks * steps / divisor), -127 * steps, 127 * steps).astype(np.int16), scales


@torch.no_grad()
def rounded(checkpoint: Checkpoint, places: Sequence[Place], kind: Kind) -> None:
    """Change the weights of *checkpoint* to what is left of them after they travelled."""
    tensors = named_tensors(checkpoint)
    for place in places:
        tensor = tensors[place.name]
        bits = bits_of(place.name, tensor.numel(), kind)
        if bits == 16:
            tensor.copy_(tensor.half())
        if bits < 16:
            shown = tensor.T if place.transposed else tensor
            whole, scales = quantise(shown.float().contiguous().numpy().ravel(), bits)
            values = torch.from_numpy(whole * (scales[:, None] / 2 ** (bits - 8))).reshape(shown.shape)
            tensor.copy_(values.T if place.transposed else values)


def choose(checkpoint: Checkpoint, places: Sequence[Place], texts: Sequence[Text], kind: Kind | None = None) -> Choice:
    """The smallest kind that lets no probability at a mask move by CLOSE, and changes no first answer of EXAMPLES.
    Tested on EXAMPLES, *texts*, and built-in sentences with one word after the other hidden. *kind*: measure this one
    instead."""
    if kind in ("fp16", "fp32") or "masked_lm" not in checkpoint.heads:
        return Choice(kind or "fp16")
    examples = with_masks(checkpoint, map(Text, EXAMPLES))
    others = [*with_masks(checkpoint, texts), *words_hidden(checkpoint)]
    before_examples = probabilities(checkpoint, examples)
    before_others = probabilities(checkpoint, others)
    tried: tuple[Kind, ...] = (kind,) if kind else ("8-bit", "12-bit")
    for one in tried:
        other = replace(load(checkpoint.folder, precision="fp32"), scheduler=checkpoint.scheduler)
        rounded(other, places, one)
        moved = largest_move(before_examples, probabilities(other, examples), same_first=kind is None)
        if kind is None and moved >= CLOSE:  # the others need not be computed
            continue
        moved = max(moved, largest_move(before_others, probabilities(other, others), same_first=False))
        if kind or moved < CLOSE:
            return Choice(one, moved, len(before_examples) + len(before_others))
    return Choice("fp16")


def probabilities(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n v"]:
    """The probabilities at the masks of *encodings*, one mask after the other. Each core computes a part of them."""
    cores = available_cores()
    size = -(-len(encodings) // cores)  # texts of a part
    parts = [encodings[start : start + size] for start in range(0, len(encodings), size)]

    def compute(part: Sequence[Encoding]) -> Float[Tensor, "m v"]:
        return torch.cat(list(masked_log_probs(checkpoint, part))).exp()

    with ThreadPoolExecutor(cores) as pool:
        return torch.cat(list(pool.map(compute, parts)))


def largest_move(before: Float[Tensor, "n v"], after: Float[Tensor, "n v"], *, same_first: bool) -> float:
    """The largest difference of a probability; 1 if a first answer changes and should be the same."""
    if same_first and (before.argmax(dim=1) != after.argmax(dim=1)).any():
        return 1.0
    return float((before - after).abs().max())


def texts_with_masks(catalogue: LessonCatalogue) -> list[Text]:
    """The texts with a mask that the examples of the views and the lessons open."""
    found = {Text(example.text, example.pair) for view in VIEWS.values() for example in view.examples}
    for lesson in catalogue.lessons.values():
        for block in lesson.blocks:
            fields = parse_qs(urlsplit(block.link).query)
            found.add(Text(fields.get("text", [""])[0], fields.get("pair", [""])[0]))
    masked = [text for text in found if "[MASK]" in text.first and "{" not in text.first]
    return sorted(masked, key=lambda text: (text.first, text.second))


def with_masks(checkpoint: Checkpoint, texts: Iterable[Text]) -> list[Encoding]:
    """The encodings of *texts*, without those whose masks the checkpoint does not read."""
    encodings = []
    for text in texts:
        try:
            encoding = checkpoint.tokenizer.encode(text)
        except ExplorerError:  # such as a pair, of which some checkpoints read none
            continue
        if encoding.masked:
            encodings.append(encoding)
    return encodings


def words_hidden(checkpoint: Checkpoint) -> list[Encoding]:
    """The built-in sentences with one word hidden in each: every word, or as many as `HIDDEN` lets."""
    every = list(each_word_hidden(checkpoint))
    most = max(FEWEST, int(HIDDEN * min(1, OF_MINI / checkpoint.num_parameters)))
    step = -(-len(every) // most)
    return every[::step]


def each_word_hidden(checkpoint: Checkpoint) -> Iterator[Encoding]:
    for sentence in (sentence for group in TOPICS.values() for sentence in group):
        encoding = checkpoint.tokenizer.encode(sentence)
        for word in dict.fromkeys(number for number in encoding.words if number is not None):
            yield encoding.hide(i for i, number in enumerate(encoding.words) if number == word)

"""Heads, neurons and layers as a person writes them: "5·3" is layer 5, head 3, counted from 1; in data from 0."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from bertexplorer.errors import ExplorerError

PLACE = re.compile(r"(\d{1,4})\s*[·.\-:/]\s*(\d{1,6})")
LAYERS = re.compile(r"(\d{1,4})(?:\s*[-–]\s*(\d{1,4}))?")
MAX_TYPED = 2_000  # characters


class Head(NamedTuple):
    """A head, by its layer and its number in that layer, both 0-based."""

    layer: int
    head: int

    def __str__(self) -> str:
        return f"{self.layer + 1}·{self.head + 1}"


def parse_heads(typed: str, num_layers: int, num_heads: int) -> tuple[Head, ...]:
    """The heads in a line such as "5·3, 5.7, 2-1", each once, in their order; () for an empty line. Raises
    ExplorerError for text that is not a head, and for a head that this checkpoint does not have."""
    return tuple(Head(*place) for place in parse_places(typed, "head", "5·3 or 5.3", num_layers, num_heads))


class Neuron(NamedTuple):
    """A neuron of a feed-forward half, by its layer and its number in that layer, both 0-based."""

    layer: int
    number: int

    def __str__(self) -> str:
        return f"{self.layer + 1}·{self.number + 1}"


def parse_neurons(typed: str, num_layers: int, num_neurons: int) -> tuple[Neuron, ...]:
    """As `parse_heads`, for neurons such as "5·812"."""
    return tuple(Neuron(*place) for place in parse_places(typed, "neuron", "5·812 or 5.812", num_layers, num_neurons))


def parse_places(typed: str, kind: str, example: str, num_layers: int, count: int) -> list[tuple[int, int]]:
    """(layer, number) of each entry of a line, both 0-based, each once. *count*: of this *kind* in a layer."""
    places: dict[tuple[int, int], None] = {}
    for part in split_list(typed):
        match = PLACE.fullmatch(part)
        if not match:
            raise ExplorerError(
                f"{part[:20]!r} is not a {kind}; expected a layer and a {kind} such as {example}, separated by commas."
            )
        layer, number = int(match[1]), int(match[2])
        check_number(layer, num_layers, "layer")
        check_number(number, count, kind)
        places[layer - 1, number - 1] = None
    return list(places)


def parse_layers(typed: str, num_layers: int) -> tuple[int, ...]:
    """The layers (0-based, ascending) in a line such as "1-4, 6"; all of them for an empty line. Raises ExplorerError
    for anything that is not a layer of this checkpoint."""
    layers: set[int] = set()
    for part in split_list(typed):
        match = LAYERS.fullmatch(part)
        if not match:
            raise ExplorerError(f"{part[:20]!r} is not a layer; expected numbers such as 1-4 or 2, 5.")
        first, last = int(match[1]), int(match[2] or match[1])
        for layer in (first, last):
            check_number(layer, num_layers, "layer")
        layers.update(range(min(first, last) - 1, max(first, last)))
    return tuple(sorted(layers)) or tuple(range(num_layers))


def one_or_all(layer: int, head: int, num_layers: int, num_heads: int) -> tuple[Head, ...]:
    """The heads with this *layer* and this number *head*, both counted from 1; 0 means all. Raises ExplorerError."""
    check_number(layer, num_layers, "layer", low=0)
    check_number(head, num_heads, "head", low=0)
    layers = [layer - 1] if layer else range(num_layers)
    heads = [head - 1] if head else range(num_heads)
    return tuple(Head(i, j) for i in layers for j in heads)


def name_heads(chosen: Sequence[Head], num_layers: int, num_heads: int) -> str:
    """*chosen* in words. All heads, those of a layer and those of one number in every layer have the same name in every
    checkpoint."""
    layers, numbers = {head.layer for head in chosen}, {head.head for head in chosen}
    if len(chosen) == len(layers) * len(numbers) > 1:
        if len(layers) == num_layers and len(numbers) == num_heads:
            return "all heads"
        if len(layers) == 1 and len(numbers) == num_heads:
            return f"all heads of layer {chosen[0].layer + 1}"
        if len(layers) == num_layers and len(numbers) == 1:
            return f"head {chosen[0].head + 1} of all layers"
    return " ".join(map(str, chosen)) if len(chosen) <= 12 else f"{len(chosen)} heads"


def split_list(typed: str) -> list[str]:
    if len(typed) > MAX_TYPED:
        raise ExplorerError(f"A line of {len(typed):,} characters was given; the limit is {MAX_TYPED:,}. Shorten it.")
    return [part.strip() for part in re.split(r"[,;\n]", typed) if part.strip()]


def check_number(number: int, count: int, kind: str, low: int = 1) -> None:
    if not low <= number <= count:
        more = ", or 0 for all" if low == 0 else ""
        raise ExplorerError(
            f"{kind.capitalize()} {number} does not exist; there are {count} {kind}s. Choose 1 to {count}{more}."
        )

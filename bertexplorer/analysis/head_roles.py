"""Head roles: what every head looks at, on plain sentences or on this text, and which heads behave alike."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.analysis import facts
from bertexplorer.analysis.attention import check_length
from bertexplorer.analysis.sample_sentences import SAMPLE
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

ROLES = ("previous", "next", "same", "[SEP]", "[CLS]", "punctuation")  # where a share of the attention goes
MEASURES = (*ROLES, "distance", "entropy")
CLEAR = 0.3  # a head gets the name of a role from this share on
WORK = 40_000_000  # numbers to compare for the map: about a second
KEYS, MEASURE = ("layer", "head", "pattern"), "value"


@dataclass(frozen=True)
class Options:
    show: Annotated[Literal["roles", "map"], Option("Show", info="map: heads that behave alike are close together")] = (
        "roles"
    )
    pattern: Annotated[
        Literal["main role", "previous", "next", "same", "[SEP]", "[CLS]", "punctuation", "distance", "entropy"],
        Option("Pattern", info="main role: what most of the attention goes to"),
    ] = "main role"
    on: Annotated[Literal["sample", "this text"], Option("Measured on", info="sample: 20 plain sentences")] = "sample"


@dataclass(frozen=True)
class HeadRoles:
    """What each of the l x h heads does, averaged over *texts* texts. Layers and heads are 0-based."""

    show: str  # roles or map
    pattern: str  # main role, or one of MEASURES
    on: str  # sample or this text
    texts: int
    tokens: int  # in all texts
    measures: dict[str, Float[np.ndarray, "l h"]]  # ROLES: 0 to 1; distance: tokens; entropy: bits
    roles: tuple[tuple[str, ...], ...]  # l x h: one of ROLES, or "broad"
    points: Float[np.ndarray, "l h 2"] | None  # the place of each head on the map
    preserved: float  # share of the variance that the map's plane preserves
    divergences: Float[np.ndarray, "n n"] | None  # Jensen-Shannon divergence in bits between the l h heads, row by row
    compared: int  # rows of attention that the map is based on
    left_out: int  # tokens beyond the checkpoint's limit


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> HeadRoles:
    """Shares of attention by Clark et al. (2019), section 3: summed over the tokens that fit a pattern, averaged over
    all tokens that look, then over the texts. Where a token fits several patterns ([SEP] before a [CLS]) it counts for
    each. *text* is read only for options.on = "this text". Raises ExplorerError for a text that cannot be read."""
    sample: Sequence[Text | str] = SAMPLE if options.on == "sample" else [text]
    encodings = [checkpoint.tokenizer.encode(sample_text) for sample_text in sample]
    heads = checkpoint.config.num_layers * checkpoint.config.num_heads
    for encoding in encodings:
        check_length(encoding, heads)
    weights = [engine.attentions(checkpoint, encoding).numpy() for encoding in encodings]
    by_text = [measure(w, patterns(checkpoint, e)) for w, e in zip(weights, encodings, strict=True)]
    measures = {name: np.mean([of_text[name] for of_text in by_text], axis=0) for name in MEASURES}
    points, preserved, divergences, compared = None, 0.0, None, 0
    if options.show == "map":
        rows = stack_rows(weights, heads)
        divergences, compared = distances(rows), rows.shape[1]
        flat, preserved = plane(divergences)
        points = flat.reshape(*weights[0].shape[:2], 2)
    return HeadRoles(
        show=options.show,
        pattern=options.pattern,
        on=options.on,
        texts=len(encodings),
        tokens=sum(map(len, encodings)),
        measures=measures,
        roles=main_roles(measures),
        points=points,
        preserved=preserved,
        divergences=divergences,
        compared=compared,
        left_out=sum(encoding.left_out for encoding in encodings),
    )


def patterns(checkpoint: Checkpoint, encoding: Encoding) -> dict[str, Bool[np.ndarray, "t t"]]:
    """For each of ROLES, which columns fit it in which rows."""
    count, special_tokens = len(encoding), checkpoint.tokenizer.special
    pieces = [checkpoint.tokenizer.slice(encoding, i) for i in range(count)]
    columns = {
        "[SEP]": [token == special_tokens["sep"] for token in encoding.tokens],
        "[CLS]": [token == special_tokens["cls"] for token in encoding.tokens],
        "punctuation": [bool(piece) and all(map(is_punctuation, piece)) for piece in pieces],
    }
    wide = {name: np.tile(np.array(fits, dtype=bool), (count, 1)) for name, fits in columns.items()}
    near = {"previous": -1, "next": 1, "same": 0}
    return {**{name: np.eye(count, k=k, dtype=bool) for name, k in near.items()}, **wide}


def is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def measure(
    weights: Float[np.ndarray, "l h t t"], fits: dict[str, Bool[np.ndarray, "t t"]]
) -> dict[str, Float[np.ndarray, "l h"]]:
    """Each of MEASURES for every head on one text."""
    count = weights.shape[-1]
    shares = {name: (weights * fits[name]).sum(axis=-1).mean(axis=-1) for name in ROLES}
    steps = np.abs(np.arange(count)[:, None] - np.arange(count)).astype(np.float32)
    far = (weights * steps).sum(axis=-1).mean(axis=-1)
    return {**shares, "distance": far, "entropy": entropy(weights).mean(axis=-1)}


def main_roles(measures: dict[str, Float[np.ndarray, "l h"]]) -> tuple[tuple[str, ...], ...]:
    """The role with the largest share in each head; "broad" if no share reaches CLEAR."""
    shares = np.stack([measures[name] for name in ROLES])
    best, most = shares.argmax(axis=0), shares.max(axis=0)
    return tuple(
        tuple(ROLES[best[i, j]] if most[i, j] >= CLEAR else "broad" for j in range(best.shape[1]))
        for i in range(best.shape[0])
    )


def stack_rows(weights: Sequence[Float[np.ndarray, "l h t t"]], heads: int) -> Float[np.ndarray, "n r t"]:
    """Rows of all texts as one table, padded with zeros: every row, or evenly spaced ones if all would exceed WORK."""
    longest = max(w.shape[-1] for w in weights)
    rows = [np.pad(w.reshape(heads, *w.shape[2:]), ((0, 0), (0, 0), (0, longest - w.shape[-1]))) for w in weights]
    table = np.concatenate(rows, axis=1)
    most = max(8, WORK // (heads * heads // 2 * longest + 1))
    return table[:, :: -(-table.shape[1] // most)]


def distances(rows: Float[np.ndarray, "n r t"]) -> Float[np.ndarray, "n n"]:
    """Jensen-Shannon divergence (bits, 0 to 1) between n heads, averaged over r rows of attention with t columns, each
    of which sums to 1. This follows Clark et al. (2019), section 6, who add the rows up instead."""
    rows = rows.astype(np.float32)
    own = entropy(rows)
    divergences = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        middle = entropy((rows[i] + rows[i + 1 :]) / 2)
        divergences[i, i + 1 :] = (middle - (own[i] + own[i + 1 :]) / 2).mean(axis=-1)
    return np.maximum(divergences + divergences.T, 0.0)


def entropy(rows: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows"]:
    """Entropy in bits; 0 if one token gets everything."""
    return -(rows * np.log2(np.maximum(rows, 1e-30))).sum(axis=-1)


def plane(squared: Float[np.ndarray, "n n"]) -> tuple[Float[np.ndarray, "n 2"], float]:
    """(coordinates, share) by classical scaling (Torgerson, 1952): points whose distances are as close to the roots of
    *squared* as a plane allows, and the share of their variance that the plane preserves.

    Roots of Jensen-Shannon divergences are distances between points in some space (Endres and Schindelin, 2003), so the
    only distortion is what the plane leaves out. Signs are fixed: the largest coordinate of each axis is positive."""
    count = len(squared)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    values = np.maximum(values, 0.0)
    if count < 2 or not values.any():
        return np.zeros((count, 2)), 1.0
    best = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    best *= np.sign(best[np.abs(best).argmax(axis=0), [0, 1]] + 1e-30)
    return best, float(values[-2:].sum() / values.sum())


def rows(result: HeadRoles) -> list[dict[str, object]]:
    """A row for each head (layer and head 1-based). *value* is that of the requested pattern, or of the head's main
    role. map_x and map_y are empty without the map."""
    table: list[dict[str, object]] = []
    for i, line in enumerate(result.roles):
        for j, role in enumerate(line):
            values = {column_name(name): float(result.measures[name][i, j]) for name in MEASURES}
            pattern = role if result.pattern == "main role" else result.pattern
            most = max(values[column_name(name)] for name in ROLES)
            selected = {"pattern": pattern, "value": most if pattern == "broad" else values[column_name(pattern)]}
            x, y = (None, None) if result.points is None else map(float, result.points[i, j])
            table.append(
                {"layer": i + 1, "head": j + 1, "main_role": role, **selected, **values, "map_x": x, "map_y": y}
            )
    return table


def column_name(measure: str) -> str:
    """The column of a measure, with its unit if it has one."""
    units = {"distance": "distance_tokens", "entropy": "entropy_bits"}
    return units.get(measure, measure.strip("[]").lower())


def is_share(result: HeadRoles) -> bool:
    """The others are tokens and bits."""
    return result.pattern not in ("distance", "entropy")


class Facts(facts.Facts[HeadRoles]):
    """A role is one of "previous", "next", "same", "[SEP]", "[CLS]", "punctuation", or "broad"."""

    def role(self, layer: int, head: int) -> str:
        """The main role of a head."""
        return facts.item(facts.item(self._result.roles, layer, "layer"), head, "head")

    def heads_with(self, role: str) -> float:
        """How many heads have this main role."""
        facts.name_index((*ROLES, "broad"), role, "role")
        return sum(line.count(role) for line in self._result.roles)

    def mean_share(self, role: str) -> float:
        """Share of the attention that fits this role, averaged over all heads, 0 to 1."""
        facts.name_index(ROLES, role, "role")
        return float(self._result.measures[role].mean())

    def all_heads(self) -> float:
        """Heads of all layers together."""
        return sum(map(len, self._result.roles))

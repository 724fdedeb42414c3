"""Heads worth a look in one text: those whose strongest link joins two words and that do not just look a step aside.

Most heads of a BERT rest on special tokens or look at the token before or after (Clark et al., 2019, section 3). A
picture of attention should open on another one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer.analysis.heads import Head

ALWAYS = 0.5  # a head is positional if more than this share of its tokens look the same distance away


@dataclass(frozen=True)
class Link:
    """The strongest link of a head between two different ordinary tokens. Positions are 0-based."""

    head: Head
    source: int  # the token that looks
    target: int  # the token that it looks at
    weight: float  # 0 to 1, special tokens counted
    positional: bool  # whether most tokens of this head look the same distance away

    @property
    def near(self) -> bool:
        """Whether the two tokens are neighbours, which many heads join."""
        return abs(self.source - self.target) == 1


def strongest_links(
    weights: Float[np.ndarray, "l h q t"], rows: Sequence[int], special: Sequence[bool], sources: Sequence[int] = ()
) -> tuple[Link, ...]:
    """The strongest link of each head between two different ordinary tokens: first those between tokens that are not
    neighbours, then those between neighbours, then those of positional heads, each the strongest first. *rows*: the
    positions of the q tokens that look; *special*: for each of the t tokens; *sources*: only links from these, if one
    of them is an ordinary token. Empty if the text has fewer than two ordinary tokens."""
    ordinary = ~np.asarray(special, dtype=bool)
    looking = [row for row, position in enumerate(rows) if ordinary[position]]
    if not looking or ordinary.sum() < 2:
        return ()
    at = np.asarray(rows)[looking]
    words = np.where(ordinary, weights[:, :, looking], -1.0)  # l h q t
    positional = is_positional(words, at)
    words[:, :, np.arange(len(at)), at] = -1.0  # a token's look at itself is no link
    if wanted := [row for row, position in enumerate(at) if position in sources]:
        words, at = words[:, :, wanted], at[wanted]
    links = []
    for layer, head in np.ndindex(words.shape[:2]):
        row, target = np.unravel_index(int(words[layer, head].argmax()), words.shape[2:])
        weight = float(words[layer, head, row, target])
        always = bool(positional[layer, head])
        links.append(Link(Head(layer, head), int(at[row]), int(target), weight, always))
    return tuple(sorted(links, key=lambda link: (link.positional, link.near, -link.weight)))


def is_positional(words: Float[np.ndarray, "l h q t"], at: np.ndarray) -> Bool[np.ndarray, "l h"]:
    """Whether more than half of the tokens *at* these positions give most to the one at the same distance."""
    distances = words.argmax(axis=-1) - at  # l h q
    most = np.max([(distances == distance).mean(axis=-1) for distance in np.unique(distances)], axis=0)
    return np.asarray(most > ALWAYS)

"""Heads worth a look in one text: their strongest link joins two words, and they do not just look a step aside.

Most heads of a BERT rest on special tokens or look at the token before or after (Clark et al., 2019, section 3). A
picture of attention should open on another one."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer.answers.heads import Head
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

WINDOW = 20  # tokens of a long text whose links are looked at
ALWAYS = 0.5  # a head is positional if more than this share of its tokens look the same distance away


@dataclass(frozen=True)
class HeadLink:
    """The strongest link of a head between two different words. Positions are 0-based."""

    head: Head
    source: int  # the token that looks
    target: int  # the token that it looks at
    weight: float  # 0 to 1, special tokens counted
    positional: bool  # whether most tokens of this head look the same distance away


def window(encoding: Encoding, position: int) -> list[int]:
    """All positions of a short text; else the first, the last, and those around *position*, WINDOW in all."""
    count = len(encoding)
    if count <= WINDOW:
        return list(range(count))
    inner = WINDOW - 2
    start = min(max(position - inner // 2, 1), count - 1 - inner)
    return [0, *range(start, start + inner), count - 1]


def is_word(checkpoint: Checkpoint, encoding: Encoding) -> tuple[bool, ...]:
    """Of each token, whether it belongs to a word: it is neither special nor punctuation. A mask stands for a word."""
    pieces = [checkpoint.tokenizer.slice(encoding, i) for i in range(len(encoding))]
    return tuple(
        not special and (i in encoding.masked or not all(map(is_punctuation, piece)))
        for i, (piece, special) in enumerate(zip(pieces, encoding.special, strict=True))
    )


def is_punctuation(character: str) -> bool:
    return unicodedata.category(character).startswith("P")


def strongest_links(
    weights: Float[np.ndarray, "l h q t"], rows: Sequence[int], words: Sequence[bool], sources: Sequence[int] = ()
) -> tuple[HeadLink, ...]:
    """The strongest link of each head between two different words: between two that are not neighbours, if the text has
    such, as many heads join neighbours. The strongest comes first, those of positional heads last. *rows*: the
    positions of the q tokens that look; *words*: which of the t tokens belong to a word, see `is_word`; *sources*: only
    links from these, if one of them is a word. Empty if the text has fewer than two words."""
    ordinary = np.asarray(words, dtype=bool)
    looking = [row for row, position in enumerate(rows) if ordinary[position]]
    if not looking or ordinary.sum() < 2:
        return ()
    at = np.asarray(rows)[looking]
    shares = np.where(ordinary, weights[:, :, looking], -1.0)  # l h q t
    positional = is_positional(shares, at)
    shares[:, :, np.arange(len(at)), at] = -1.0  # a token's look at itself is no link
    if wanted := [row for row, position in enumerate(at) if position in sources]:
        shares, at = shares[:, :, wanted], at[wanted]
    near = np.abs(at[:, None] - np.arange(shares.shape[-1])) <= 1
    if (shares.max(axis=(0, 1))[~near] >= 0).any():
        shares[:, :, near] = -1.0
    links = []
    for layer, head in np.ndindex(shares.shape[:2]):
        row, target = np.unravel_index(int(shares[layer, head].argmax()), shares.shape[2:])
        weight = float(shares[layer, head, row, target])
        always = bool(positional[layer, head])
        links.append(HeadLink(Head(layer, head), int(at[row]), int(target), weight, always))
    return tuple(sorted(links, key=lambda link: (link.positional, -link.weight)))


def is_positional(shares: Float[np.ndarray, "l h q t"], at: np.ndarray) -> Bool[np.ndarray, "l h"]:
    """Whether more than half of the tokens *at* these positions give most to the one at the same distance."""
    distances = shares.argmax(axis=-1) - at  # l h q
    most = np.max([(distances == distance).mean(axis=-1) for distance in np.unique(distances)], axis=0)
    return np.asarray(most > ALWAYS)

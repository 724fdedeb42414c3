"""Texts and their parts: pairs, candidates for a second text, sentences, the longest piece."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
from dataclasses import replace
from typing import TYPE_CHECKING

from bertexplorer.errors import ADD_SECOND
from bertexplorer.model.text import MAX_CHARACTERS

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint


END = re.compile(r"[.!?…][\"'”’)\]]*[^\S\n]+(?=[\"'“‘(\[]*(\w|<mask>))|\n")

MAX_CANDIDATES = 50


def encode_pair(checkpoint: Checkpoint, text: Text | str) -> Encoding:
    """The encoding of a pair. Raises ExplorerError if either side has nothing to read."""
    encoding = checkpoint.tokenizer.encode(text)
    if not encoding.texts[1]:
        raise ExplorerError("There is no second sentence, so nothing could follow the first.", ADD_SECOND, code="pair")
    if encoding.second_start is None:
        raise ExplorerError("The second sentence holds nothing that this checkpoint can read. Type another one.")
    return encoding


def encode_candidate(checkpoint: Checkpoint, first: Text, candidate: str) -> Encoding:
    try:
        return encode_pair(checkpoint, replace(first, second=candidate))
    except ExplorerError as error:
        raise ExplorerError(f"{candidate!r:.60} cannot be a second sentence: nothing in it can be read.") from error


def parse_candidates(candidates: str) -> list[str]:
    """The candidates, one on each line or separated by |, each once. Raises ExplorerError for too many or too long
    ones."""
    if len(candidates) > MAX_CHARACTERS:
        raise ExplorerError(
            f"The other second sentences have {len(candidates):,} characters; the limit is {MAX_CHARACTERS:,}. "
            "Remove some."
        )
    unique = list(dict.fromkeys(part.strip() for part in re.split(r"[|\n]", candidates) if part.strip()))
    if len(unique) > MAX_CANDIDATES:
        raise ExplorerError(f"{len(unique)} other second sentences were given; the limit is {MAX_CANDIDATES}.")
    return unique


def visible_side(checkpoint: Checkpoint, encoding: Encoding, side: int) -> str:
    """One side of a pair as the encoder reads it, with [MASK] for every hidden piece."""
    text = encoding.texts[side]
    for span, was, now in zip(encoding.spans[::-1], encoding.original_ids[::-1], encoding.ids[::-1], strict=True):
        if span and span.side == side and was != now:
            text = text[: span.start] + checkpoint.tokenizer.mask_token + text[span.end :]
    return text.strip()


def sentences(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of every sentence in *text*, without the space around it. The rule is that of the module."""
    start = 0
    ends = [match.end() for match in END.finditer(text) if (match[1] or "<mask>") == "<mask>" or match[1].isupper()]
    for end in [*ends, len(text)]:
        sentence = text[start:end].strip()
        if any(character.isalnum() for character in sentence):
            start += len(text[start:end]) - len(text[start:end].lstrip())
            yield start, start + len(sentence)
        start = end


def longest_piece(encoding: Encoding) -> int:
    """The position of the longest piece that is not a special token; 0 if there is none."""
    sizes = [0 if odd else len(token) for token, odd in zip(encoding.tokens, encoding.special, strict=True)]
    return int(np.argmax(sizes))

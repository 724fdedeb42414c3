"""Letters: how many characters each token stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:  # they import torch, which takes seconds, and views are listed without it
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text

KEYS, MEASURE = ("position", "token"), "letters"


@dataclass(frozen=True)
class Options:
    special: Annotated[bool, Option("Special tokens", info="count them as 0")] = False


@dataclass(frozen=True)
class Letters:
    tokens: tuple[str, ...]
    letters: tuple[int, ...]


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Letters:
    """Count the characters of *text* behind each token."""
    encoding = checkpoint.tokenizer.encode(text)
    tokens = checkpoint.tokenizer.show_all(encoding.ids)
    counts = [(span.end - span.start) if span else 0 for span in encoding.spans]
    kept = [i for i in range(len(tokens)) if options.special or encoding.spans[i]]
    return Letters(tuple(tokens[i] for i in kept), tuple(counts[i] for i in kept))


def rows(result: Letters) -> list[dict[str, Any]]:
    pairs = enumerate(zip(result.tokens, result.letters, strict=True))
    return [{"position": i, "token": token, "letters": count} for i, (token, count) in pairs]


class Facts(facts.Facts[Letters]):
    def total(self) -> float:
        """Characters of all tokens."""
        return sum(self._result.letters)

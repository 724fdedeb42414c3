"""The best spans of a window, by the sum of their start and end logits."""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


class Spans(NamedTuple):
    """The n best spans of each window, best first; the score is -inf where there are fewer."""

    scores: Float[Tensor, "b n"]
    first: Int[Tensor, "b n"]
    last: Int[Tensor, "b n"]


def best(
    start: Float[Tensor, "b t"], end: Float[Tensor, "b t"], inside: Bool[Tensor, "b t"], longest: int, count: int
) -> Spans:
    """Considers all spans of 1 to *longest* tokens *inside* the passage, not only those of the best starts and ends.
    The score is the sum of both logits (Devlin et al., 2019, 4.2)."""
    never = float("-inf")
    start, end = start.masked_fill(~inside, never), end.masked_fill(~inside, never)
    longest = min(longest, start.shape[1])
    ends = torch.nn.functional.pad(end, (0, longest - 1), value=never).unfold(1, longest, 1)  # b t longest
    sums = (start.unsqueeze(2) + ends).flatten(1)
    scores, at = sums.topk(min(count, sums.shape[1]))
    first = at // longest
    return Spans(scores, first, first + at % longest)


class Found(NamedTuple):
    """A span of a passage, in characters, with its score."""

    score: float
    start: int
    end: int


def merged(found: Sequence[Found], count: int) -> list[Found]:
    """The best spans of all windows of a passage. A span found in several windows counts once, with its best score."""
    best: dict[tuple[int, int], Found] = {}
    for one in sorted(found, reverse=True):
        best.setdefault((one.start, one.end), one)
    return list(best.values())[:count]

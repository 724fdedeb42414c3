"""How tokens relate to each other, apart from their vectors: which may look at which, and how far apart they are.

Learned positions are part of the embeddings. Rotary angles (ModernBERT and others) turn queries and keys. Relative
positions add to the attention scores: a learned number for a distance (MPNet), or products with the vector of a
distance (DeBERTa).
"""

import math
from typing import Any, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from bertexplorer.model.config import EncoderConfig

Angles = tuple[Float[Tensor, "t k"], Float[Tensor, "t k"]]  # cosines, sines


def table(rows: int, size: int) -> nn.Embedding:
    """An embedding table whose numbers are not set yet: they are loaded, or drawn by `initialise`."""
    return nn.Embedding.from_pretrained(torch.empty(rows, size), freeze=False)


class Distances(NamedTuple):
    """The representation of the distance between two tokens. Similar long distances share a row of *table*."""

    rows: Int[Tensor, "q t"]  # the row of the table for token i (that looks) and token j
    table: Float[Tensor, "r s"]  # s: heads (MPNet), or the hidden size (DeBERTa)


class Relations(NamedTuple):
    """What attention knows of any two tokens apart from their vectors. Each part is None in families without it."""

    mask: Bool[Tensor, "#b 1 q t"] | None = None  # which token may look at which; None: all at all
    blocked: Float[Tensor, "#b 1 q t"] | None = None  # the mask as what it adds to scores: 0, or the lowest number
    angles: Angles | None = None
    distances: Distances | None = None

    def of(self, positions: Int[Tensor, " q"] | slice) -> "Relations":
        """The same for tokens at *positions* that look at all others."""
        parts: dict[str, Any] = {}
        if self.mask is not None:
            parts["mask"] = self.mask[:, :, positions]
        if self.blocked is not None:
            parts["blocked"] = self.blocked[:, :, positions]
        if self.distances is not None:
            parts["distances"] = self.distances._replace(rows=self.distances.rows[positions])
        return self._replace(**parts)


class Rotary(nn.Module):
    """Rotary positions (Su et al., 2021): a query and a key at i and j meet at an angle that depends on i - j.
    *factor*: by which all angles are divided (Chen et al., 2023)."""

    def __init__(self, head_size: int, factor: float = 1.0) -> None:
        super().__init__()
        self.head_size = head_size
        self.factor = factor

    def forward(self, tokens: int, theta: float, like: Tensor) -> Angles:
        """The angles p / (theta^(2 i / k) factor) of positions p from 0 to *tokens* - 1, in the dtype and on the device
        of *like*; computed in fp32."""
        exponent = torch.arange(0, self.head_size, 2, device=like.device, dtype=torch.float32) / self.head_size
        angle = torch.arange(tokens, device=like.device, dtype=torch.float32)[:, None] / (theta**exponent * self.factor)
        angle = torch.cat([angle, angle], dim=-1)
        return angle.cos().to(like.dtype), angle.sin().to(like.dtype)

    @staticmethod
    def rotate(x: Float[Tensor, "b h t k"], angles: Angles) -> Float[Tensor, "b h t k"]:
        """Queries or keys *x* rotated, each pair (i, i + k / 2) of their numbers by its angle. Computed in fp32."""
        cos, sin = angles
        first, second = x.float().chunk(2, dim=-1)
        turned = torch.cat([-second, first], dim=-1)  # by a right angle
        return (x.float() * cos.float() + turned * sin.float()).to(x.dtype)


class RelativePositions(nn.Module):
    """The distance between two tokens as a learned number for each head (MPNet; Raffel et al., 2020, section 2.1), or
    as a vector that every layer multiplies with queries and keys (DeBERTa; He et al., 2021, section 3.1)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.disentangled = config.relative == "disentangled"
        self.farthest = config.farthest
        self.norm: nn.Module
        if self.disentangled:
            self.table = table(config.distances, config.hidden_size)
            self.norm = nn.LayerNorm(config.hidden_size, eps=config.norm_eps)
            self.dropout = nn.Dropout(config.dropout)
        else:
            self.table = table(config.distances, config.num_heads)
            self.norm = nn.Identity()
            self.dropout = nn.Dropout(0.0)

    def forward(self, tokens: int) -> Distances:
        """The distances between any two of so many *tokens*, on the device of the table."""
        weight: Tensor = self.table.weight
        positions = torch.arange(tokens, device=weight.device)
        offsets = positions[:, None] - positions  # i - j
        buckets = log_buckets if self.disentangled else half_buckets
        rows = buckets(offsets, len(weight), self.farthest)
        return Distances(rows, self.dropout(self.norm(weight)))


def log_buckets(offsets: Int[Tensor, "t t"], rows: int, farthest: int) -> Int[Tensor, "t t"]:
    """DeBERTa's rows: the first half of them for j after i, the second for j before i. Up to rows / 4 tokens apart,
    each distance has its own; beyond, rows stand for ranges that widen up to *farthest* tokens (He et al., 2023)."""
    exact = rows // 4
    clamped = offsets.abs().clamp(min=exact)
    log_offset = torch.log(clamped / exact) / torch.log(torch.tensor((farthest - 1) / exact)) * (exact - 1)
    beyond = (torch.ceil(log_offset) + exact) * offsets.sign()
    return (torch.where(offsets.abs() <= exact, offsets, beyond.long()) + rows // 2).clamp(0, rows - 1)


def half_buckets(offsets: Int[Tensor, "t t"], rows: int, farthest: int) -> Int[Tensor, "t t"]:
    """MPNet's rows, as in T5: the first half of them for j before i, the second for j after i. Less than rows / 4
    tokens apart, each distance has its own; from there on, rows stand for ranges that widen up to *farthest* tokens
    (Raffel et al., 2020, section 2.1)."""
    exact = rows // 4
    distance = offsets.abs()
    log_offset = torch.log(distance.clamp(min=exact) / exact) / math.log(farthest / exact) * exact
    beyond = (exact + log_offset.long()).clamp(max=rows // 2 - 1)
    return torch.where(distance < exact, distance, beyond) + (offsets < 0) * (rows // 2)

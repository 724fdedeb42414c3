"""Which token may look at which: padding, direction, prefix and window in one mask."""

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor


def attention_mask(
    tokens: int,
    mask: Bool[Tensor, "b t"] | None,
    *,
    causal: bool = False,
    prefix: Int[Tensor, " b"] | None = None,
    window: int = 0,
    device: torch.device | str = "cpu",
) -> Bool[Tensor, "b 1 t t"] | None:
    """The attention mask: True at [b, 0, i, j] if token i may look at token j. None if every token may look at all.

    *mask* is False at padding. *prefix*: all tokens of a row see its first *prefix* tokens; every later token is seen
    by itself and the tokens after it, as under *causal* (Dong et al., 2019, UniLM: source, then target). *window*
    counts the tokens visible on each side; 0 means all.
    """
    visible: Tensor | None = None
    if causal or window or prefix is not None:
        positions = torch.arange(tokens, device=device)
        offsets = positions[None, :] - positions[:, None]  # j - i
        visible = torch.ones(1, 1, tokens, tokens, dtype=torch.bool, device=device)
        if prefix is not None:
            visible = (offsets <= 0) | (positions < prefix[:, None])[:, None, None, :]
        elif causal:
            visible &= offsets <= 0
        if window:
            visible &= offsets.abs() <= window
    if mask is not None:
        visible = mask[:, None, None, :] if visible is None else visible & mask[:, None, None, :]
        visible = visible.expand(-1, -1, tokens, -1)
    return visible


def as_addend(mask: Bool[Tensor, "#b 1 q t"] | None, dtype: torch.dtype) -> Float[Tensor, "#b 1 q t"] | None:
    """What *mask* adds to attention scores: 0, or the lowest number where a token must not look. Not -inf: a row that
    sees nothing must not become NaN."""
    if mask is None:
        return None
    rows = mask[:, :, :1] if mask.stride(2) == 0 else mask  # with padding alone, all rows are the same
    addend = torch.zeros(rows.shape, dtype=dtype, device=mask.device).masked_fill(~rows, torch.finfo(dtype).min)
    return addend.expand_as(mask)

"""Who may look at whom: padding, direction and window in one mask."""

import torch
from jaxtyping import Bool
from torch import Tensor


def visible(
    tokens: int,
    mask: Bool[Tensor, "b t"] | None,
    *,
    causal: bool = False,
    window: int = 0,
    device: torch.device | str = "cpu",
) -> Bool[Tensor, "b 1 t t"] | None:
    """Who may look at whom: True at [b, 0, i, j] if token i may look at token j. None where everybody may.

    *mask* is False at padding. *window* counts the tokens visible on each side; 0 means all.
    """
    seen: Tensor | None = None
    if causal or window:
        place = torch.arange(tokens, device=device)
        apart = place[None, :] - place[:, None]  # j - i
        seen = torch.ones(tokens, tokens, dtype=torch.bool, device=device)
        if causal:
            seen &= apart <= 0
        if window:
            seen &= apart.abs() <= window
        seen = seen[None, None]
    if mask is not None:
        seen = mask[:, None, None, :] if seen is None else seen & mask[:, None, None, :]
        seen = seen.expand(-1, -1, tokens, -1)
    return seen

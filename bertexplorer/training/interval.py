"""How surely a few rows tell an accuracy: Wilson's interval."""

from math import sqrt

Z = 1.959964  # of 95 %
ROUGH = 0.05  # an interval that reaches further than this to either side deserves a warning
FEW = 100  # rows: below them a warning is given where no interval can be


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a *share* seen in *count* cases (Wilson, 1927)."""
    if count < 1:
        return 0.0, 1.0
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def warning(count: int, words: str, *, counted: bool) -> str:
    """What to expect of a headline called *words* on *count* validation rows; "" if they are enough. *counted*: it is
    the share of right rows."""
    rows = f"{count:,} validation row{'s' * (count != 1)}"
    if not counted:
        return f"{words} on {rows} is a rough guide. Give more rows to compare runs by it." if count < FEW else ""
    low, high = wilson(0.5, count)
    if (half := (high - low) / 2) <= ROUGH:
        return ""
    points = f"{100 * half:.0f} percentage points"
    return f"{words} on {rows} is known only to within {points} (95 % interval, at its widest)."


def told(share: float, count: int, words: str) -> str:
    """The interval of a headline that was measured."""
    low, high = (f"{100 * value:.1f} %" for value in wilson(share, count))
    return f"{words} on {count:,} validation row{'s' * (count != 1)}: the 95 % interval is {low} to {high} (Wilson)."

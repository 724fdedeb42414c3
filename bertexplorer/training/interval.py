"""Wilson's confidence interval of an accuracy."""

from math import sqrt

Z = 1.959964  # of 95 %
ROUGH = 0.05  # warn of an interval wider than this to either side
FEW = 100  # warn below so many rows if there is no interval


def wilson(share: float, count: int) -> tuple[float, float]:
    """The 95 % interval of a *share* seen in *count* cases (Wilson, 1927)."""
    if count < 1:
        return 0.0, 1.0
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z / (1 + Z**2 / count) * sqrt(share * (1 - share) / count + Z**2 / (4 * count**2))
    return max(0.0, middle - half), min(1.0, middle + half)


def warning(count: int, words: str, *, counted: bool) -> str:
    """What to expect of a headline called *words* on *count* validation rows; "" if they suffice. *counted*: whether it
    is the share of correct rows."""
    rows = f"{count:,} validation row{'s' * (count != 1)}"
    if not counted:
        return f"{words} on {rows} is a rough guide. Give more rows to compare runs by it." if count < FEW else ""
    low, high = wilson(0.5, count)
    if (half := (high - low) / 2) <= ROUGH:
        return ""
    points = f"{100 * half:.0f} percentage points"
    return f"{words} on {rows} is known only to within {points} (95 % interval, at its widest)."


def sentence(share: float, count: int, words: str) -> str:
    """A sentence on the interval of a measured headline."""
    low, high = (f"{100 * value:.1f} %" for value in wilson(share, count))
    return f"{words} on {count:,} validation row{'s' * (count != 1)}: the 95 % interval is {low} to {high} (Wilson)."

"""Like lengths together, so that next to nothing is padded."""

from collections.abc import Sequence

OVERHEAD = 60  # what a batch costs beside its tokens, in tokens


def cuts(lengths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """Where to cut ascending *lengths* into batches of *most* padded tokens, so that padding and OVERHEAD together
    cost least: a shortest path, exact."""
    best, last = [0.0], [0]
    for end in range(1, len(lengths) + 1):
        longest = lengths[end - 1]
        starts = range(max(0, end - max(1, most // longest)), end)
        costs = [best[start] + longest * (end - start) + OVERHEAD for start in starts]
        best.append(min(costs))
        last.append(starts[costs.index(best[-1])])
    found = []
    end = len(lengths)
    while end:
        found.append((last[end], end))
        end = last[end]
    return found[::-1]

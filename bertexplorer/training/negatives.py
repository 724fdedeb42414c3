"""Negatives: batches in which every passage is a wrong one for the queries of all other rows."""

from collections.abc import Sequence
from collections.abc import Set as AbstractSet


def apart(
    passages: Sequence[AbstractSet[str]], answers: Sequence[AbstractSet[str]], order: Sequence[int], batch: int
) -> list[list[int]]:
    """Numbers of rows in ⌈n / batch⌉ batches of like size. *passages*: those of each row; *answers*: all that answer
    its query, in any row. A row of *order* goes to the next batch with room where no row's passage answers the query
    of another; one that fits nowhere is left out."""
    size = -(-len(order) // batch)
    rows: list[list[int]] = [[] for _ in range(size)]
    held: list[set[str]] = [set() for _ in range(size)]
    answered: list[set[str]] = [set() for _ in range(size)]
    for number, row in enumerate(order):
        for place in ((number + i) % size for i in range(size)):
            fits = held[place].isdisjoint(answers[row]) and answered[place].isdisjoint(passages[row])
            if fits and len(rows[place]) < batch:
                rows[place].append(row)
                held[place] |= passages[row]
                answered[place] |= answers[row]
                break
    return rows

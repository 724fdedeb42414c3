"""Split rows into training and validation, reproducibly, with no text in both."""

import random
from collections import defaultdict
from collections.abc import Sequence

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.checks import same
from bertexplorer.training.data.rows import Row, written

ALWAYS = 10  # up to so many classes, all are in the validation rows whatever share that makes


def split(
    rows: Sequence[Row], share: float, seed: int, label: str | None = None, keys: Sequence[str] = ()
) -> tuple[list[Row], list[Row]]:
    """(train, dev) in the order of *rows*; dev has about *share* of them, drawn with *seed*. Rows that are equal under
    *keys* (default: all cells but the label), ignoring case and spacing, stay together: give "context" to keep a
    passage's questions together. With a *label*, each class is split separately and is on both sides if it has two
    distinct texts; a class with one is only in train. If one row per class would exceed twice the share (and ten rows),
    dev has rows of the largest classes only. Raises ExplorerError for a share outside 0 to 1, and if no two texts
    differ."""
    if not 0 < share < 1:
        raise ExplorerError(f"The validation share is {share}; wanted a number between 0 and 1, such as 0.1.")
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        groups[same(row, keys or [key for key in row.cells if key != label])].append(i)
    if len(groups) < 2:
        raise ExplorerError(
            f"There are {len(rows)} rows with {len(groups)} different texts; wanted at least 2, one for training "
            "and one for validation. Add rows, or give a validation file."
        )
    classes: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        classes[written(rows[group[0]].cells.get(label, "")) if label is not None else ""].append(group)
    draw = random.Random(seed)
    dev: set[int] = set()
    for name in tried({name: len(found) for name, found in classes.items()}, round(share * len(rows)), draw):
        dev.update(drawn(classes[name], share, draw))
    if not dev:  # every class has one text
        dev.update(draw.choice(list(groups.values())))
    return [row for i, row in enumerate(rows) if i not in dev], [row for i, row in enumerate(rows) if i in dev]


def tried(sizes: dict[str, int], wanted: int, draw: random.Random) -> list[str]:
    """The classes from which *wanted* validation rows are drawn. *sizes*: class -> number of texts."""
    several = sorted(name for name, size in sizes.items() if size > 1)
    if len(several) <= max(ALWAYS, 2 * wanted):
        return several
    share = wanted / sum(sizes.values())
    order = sorted(draw.sample(several, len(several)), key=lambda name: -sizes[name])
    rows = 0
    taken: list[str] = []
    while rows < wanted:
        taken.append(order[len(taken)])
        rows += max(1, round(share * sizes[taken[-1]]))
    return sorted(taken)


def drawn(groups: list[list[int]], share: float, draw: random.Random) -> list[int]:
    """The members of some of *groups*, about *share* of all: of one group none, of several at least one on
    either side."""
    if len(groups) < 2:
        return []
    order = draw.sample(groups, len(groups))
    wanted = max(1, round(share * sum(map(len, groups))))
    taken: list[list[int]] = []
    for group in order[:-1]:
        if sum(map(len, taken)) + len(group) <= wanted:
            taken.append(group)
    return [i for group in taken or [min(order, key=len)] for i in group]

"""Split rows into training and validation, reproducibly, with no text in both."""

import random
from collections import defaultdict
from collections.abc import Sequence

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.checks import row_key
from bertexplorer.training.data.rows import Row, cell_text

ALWAYS = 10  # with up to this many classes, the validation rows have all of them, whatever the share


def split_rows(
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
        groups[row_key(row, keys or [key for key in row.cells if key != label])].append(i)
    if len(groups) < 2:
        raise ExplorerError(
            f"There are {len(rows)} rows with {len(groups)} different texts; wanted at least 2, one for training "
            "and one for validation. Add rows, or give a validation file."
        )
    classes: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        classes[cell_text(rows[group[0]].cells.get(label, "")) if label is not None else ""].append(group)
    rng = random.Random(seed)
    dev: set[int] = set()
    for name in classes_to_split(
        {name: len(members) for name, members in classes.items()}, round(share * len(rows)), rng
    ):
        dev.update(draw_groups(classes[name], share, rng))
    if not dev:  # every class has one text
        dev.update(rng.choice(list(groups.values())))
    return [row for i, row in enumerate(rows) if i not in dev], [row for i, row in enumerate(rows) if i in dev]


def classes_to_split(sizes: dict[str, int], target: int, rng: random.Random) -> list[str]:
    """The classes from which *target* validation rows are drawn. *sizes*: class -> number of texts."""
    divisible = sorted(name for name, size in sizes.items() if size > 1)
    if len(divisible) <= max(ALWAYS, 2 * target):
        return divisible
    share = target / sum(sizes.values())
    order = sorted(rng.sample(divisible, len(divisible)), key=lambda name: -sizes[name])
    rows = 0
    chosen: list[str] = []
    while rows < target:
        chosen.append(order[len(chosen)])
        rows += max(1, round(share * sizes[chosen[-1]]))
    return sorted(chosen)


def draw_groups(groups: list[list[int]], share: float, rng: random.Random) -> list[int]:
    """The members of some of *groups*, about *share* of all: of one group none, of several at least one on
    either side."""
    if len(groups) < 2:
        return []
    order = rng.sample(groups, len(groups))
    target = max(1, round(share * sum(map(len, groups))))
    chosen: list[list[int]] = []
    for group in order[:-1]:
        if sum(map(len, chosen)) + len(group) <= target:
            chosen.append(group)
    return [i for group in chosen or [min(order, key=len)] for i in group]

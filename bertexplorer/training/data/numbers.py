"""Numbers: a cell as a number, 3.8 or 3,8."""

from math import isfinite

from bertexplorer.training.data.rows import written

TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


def number(cell: object) -> float | None:
    """None where the cell holds no finite number."""
    try:
        found = float(written(cell).strip().replace(",", "."))
    except ValueError:
        return None
    return found if isfinite(found) else None


def relevance(cell: object) -> float | None:
    """How relevant, 0 for not at all: a number (below 0 counts as 0), or yes, no, true, false."""
    said = TRUTH.get(written(cell).strip().casefold(), number(cell))
    return said if said is None else max(0.0, said)

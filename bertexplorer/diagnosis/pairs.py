"""Labelled pairs: two texts of a row, and whether they belong together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.guess import NAMES, normalized_name
from bertexplorer.training.data.rows import RowProblem

MAX_PAIRS = 10_000
LABELS = ("label", "labels", "match", "isduplicate", "duplicate", "same", "relevance", "score")
YES = frozenset(("1", "1.0", "yes", "true", "match", "same", "duplicate", "paraphrase", "positive"))
NO = frozenset(("0", "0.0", "no", "false", "no match", "different", "not duplicate", "negative"))


@dataclass(frozen=True)
class Pair:
    """Two texts. *match*: whether they belong together."""

    line: int  # of the file
    first: str
    second: str
    match: bool


def is_pair_table(columns: Sequence[str]) -> bool:
    """Whether a table with these columns has two texts and a label."""
    names = {normalized_name(column) for column in columns}
    return all(names.intersection(known) for known in (NAMES["text_a"], NAMES["text_b"], LABELS))


def read_pairs(rows: Sequence[tuple[int, Mapping[str, object]]]) -> tuple[list[Pair], list[RowProblem]]:
    """(the pairs, the rows that cannot be used and why). Columns may have the usual names, such as text_a, text_b and
    label, or question1, question2 and is_duplicate. Raises ExplorerError for other columns, for more than MAX_PAIRS,
    and without two pairs that match and two that do not."""
    pairs: list[Pair] = []
    problems: list[RowProblem] = []
    columns: set[str] = set()
    for line, cells in rows:
        columns.update(map(str, cells))
        named = {normalized_name(str(name)): str(cell).strip() for name, cell in cells.items() if cell is not None}
        first = first_of(named, NAMES["text_a"])
        second = first_of(named, NAMES["text_b"])
        label = first_of(named, LABELS).lower()
        if not first or not second:
            problems.append(RowProblem(line, "lacks one of its two texts"))
        elif label not in YES | NO:
            problems.append(RowProblem(line, f"has the label {label!r:.30}; wanted 1 or 0, yes or no"))
        else:
            pairs.append(Pair(line, first, second, label in YES))
    if not is_pair_table(sorted(columns)):
        raise ExplorerError(
            f"The columns are {', '.join(sorted(columns))[:200] or 'none'}; wanted text_a, text_b and label, which "
            "is 1 for two texts that belong together and 0 for others."
        )
    if len(pairs) > MAX_PAIRS:
        raise ExplorerError(f"There are {len(pairs):,} pairs; the limit is {MAX_PAIRS:,}. Give part of them.")
    matches = sum(pair.match for pair in pairs)
    if min(matches, len(pairs) - matches) < 2:
        unusable = f" Line {problems[0].line} {problems[0].what}." if problems else ""
        raise ExplorerError(
            f"{matches:,} pairs match and {len(pairs) - matches:,} do not; wanted two of each at least, better "
            f"twenty.{unusable}"
        )
    return pairs, problems


def first_of(cells: Mapping[str, str], names: Sequence[str]) -> str:
    """The first of the columns *names* that holds a text; "" if none does."""
    return next((cells[name] for name in names if cells.get(name)), "")

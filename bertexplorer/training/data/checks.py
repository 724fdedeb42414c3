"""Checks of the rows before a run: labels, duplicates, contradictions, overlap of training and validation."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bertexplorer.training.data.rows import Problem, Row, written

MAX_CLASSES = 1_000


@dataclass(frozen=True)
class Finding:
    """A sentence that the user should read before starting, the lines it is about, and whether it prevents the run."""

    what: str
    lines: tuple[int, ...] = ()
    stops: bool = False


def label_counts(rows: Sequence[Row], key: str) -> dict[str, int]:
    """The number of rows with each label, the most frequent first; rows without a label are not counted."""
    counts = Counter(label for row in rows if (label := written(row.cells.get(key, ""))).strip())
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def empty(rows: Sequence[Row], keys: Sequence[str]) -> list[Problem]:
    """The rows with an empty cell under one of *keys*."""
    found = []
    for row in rows:
        bare = [
            key for key in keys if row.cells.get(key, "") in ([], {}) or not written(row.cells.get(key, "")).strip()
        ]
        if bare:
            found.append(Problem(row.line, f"has nothing under {', '.join(bare)}"))
    return found


def same(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    """A key that is equal for equal rows: their cells under *keys*, ignoring case and spacing."""
    return tuple(" ".join(written(row.cells.get(key, "")).casefold().split()) for key in keys)


def duplicates(rows: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line, line of the first equal row) of every row that repeats an earlier one."""
    first: dict[tuple[str, ...], int] = {}
    before = [(row.line, first.setdefault(same(row, keys), row.line)) for row in rows]
    return [(line, earlier) for line, earlier in before if earlier != line]


def overlap(train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line in dev, line of the first equal row in train)."""
    first: dict[tuple[str, ...], int] = {}
    for row in train:
        first.setdefault(same(row, keys), row.line)
    return [(row.line, first[said]) for row in dev if (said := same(row, keys)) in first]


def similar(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of labels that differ by case or spaces only."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in dict.fromkeys(labels):
        groups["".join(label.casefold().split())].append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def contradictions(rows: Sequence[Row], keys: Sequence[str], label: str) -> list[tuple[int, int]]:
    """(line, line of the first row with the same text and another label)."""
    labels = {row.line: written(row.cells.get(label, "")) for row in rows}
    return [(line, before) for line, before in duplicates(rows, keys) if labels[line] != labels[before]]


def preflight(train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str], label: str | None = None) -> list[Finding]:
    """All findings about the rows of a run, those that prevent it first. *keys*: the cells that are its texts; *label*:
    the cell to predict, if it is a class. *dev* may be empty if it is not chosen yet."""
    found = labels(train, dev, label) if label is not None else []
    pairs = contradictions(train, keys, label) if label is not None else []
    named = set(pairs)
    if pairs:
        found.append(
            counted(pairs, "repeats an earlier text with another label", "repeat an earlier text with another label")
        )
    if again := [pair for pair in duplicates(train, keys) if pair not in named]:
        found.append(counted(again, "duplicates an earlier row", "duplicate an earlier row"))
    if both := overlap(train, dev, keys):
        found.append(
            counted(
                both, *(f"of the {len(dev):,} validation rows {be} training rows too" for be in ("is among the", "are"))
            )
        )
    if bare := empty([*train, *dev], [*keys, label] if label is not None else keys):
        found.append(counted([(p.line, 0) for p in bare], "lacks a text or a label", "lack a text or a label"))
    return sorted(found, key=lambda finding: not finding.stops)


def counted(pairs: Sequence[tuple[int, int]], one: str, many: str) -> Finding:
    """“3 rows …: line 7 (as line 2), …”, naming the first three. *one*, *many*: the predicate, singular and plural."""
    first = ", ".join(f"line {line}" + (f" (as line {before})" if before else "") for line, before in pairs[:3])
    more = ", …" if len(pairs) > 3 else ""
    what = f"1 row {one}" if len(pairs) == 1 else f"{len(pairs):,} rows {many}"
    return Finding(f"{what}: {first}{more}.", tuple(line for line, _ in pairs))


def labels(train: Sequence[Row], dev: Sequence[Row], label: str) -> list[Finding]:
    """Findings about the classes."""
    counts, tried = label_counts(train, label), label_counts(dev, label)
    found = []
    if len(counts) < 2:
        only = f"Every row has the label “{next(iter(counts))[:40]}”" if counts else "No row has a label"
        found.append(Finding(f"{only}; at least two different ones are needed. Choose another column.", stops=True))
    if len(counts) > MAX_CLASSES:
        what = f"{len(counts):,} different labels; the limit is {MAX_CLASSES:,}. Is this column the label?"
        found.append(Finding(what, stops=True))
    elif once := [name for name, count in counts.items() if count == 1]:
        alone = set(once)
        lines = tuple(row.line for row in train if written(row.cells.get(label, "")) in alone)
        found.append(Finding(f"{listed(once)} {'have' if len(once) > 1 else 'has'} only one example.", lines))
    if unseen := {name: count for name, count in tried.items() if name not in counts}:
        lines = tuple(row.line for row in dev if written(row.cells.get(label, "")) in unseen)
        found.append(Finding(f"{listed(list(unseen))}: only in the validation data.", lines))
    if untried := [name for name, count in counts.items() if tried and name not in tried and count > 1]:
        which = f"{len(untried):,} of {len(counts):,} labels have" if len(untried) > 1 else f"{listed(untried)} has"
        found.append(Finding(f"{which} no validation row, so the metrics say nothing about {listed(untried)}."))
    for group in similar([*counts, *tried]):
        found.append(Finding(f"{listed(group)} differ by case or spaces only: one class, or several?"))
    return found


def listed(names: Sequence[str]) -> str:
    """The first three of *names* in quotation marks."""
    parts = [f"“{name[:40]}”" for name in names[:3]]
    return ", ".join(parts) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")

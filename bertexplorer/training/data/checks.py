"""Checks of the rows before a run: labels, duplicates, contradictions, overlap of training and validation."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from bertexplorer.training.data.rows import Problem, Row, cell_text

MAX_CLASSES = 1_000


@dataclass(frozen=True)
class Finding:
    """A message about the rows, the lines it concerns, and whether it prevents the run."""

    what: str
    lines: tuple[int, ...] = ()
    stops: bool = False


def label_counts(rows: Sequence[Row], key: str) -> dict[str, int]:
    """The number of rows with each label, the most frequent first; rows without a label are not counted."""
    counts = Counter(label for row in rows if (label := cell_text(row.cells.get(key, ""))).strip())
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def empty_cells(rows: Sequence[Row], keys: Sequence[str]) -> list[Problem]:
    """The rows with an empty cell under one of *keys*."""
    problems = []
    for row in rows:
        missing = [
            key for key in keys if row.cells.get(key, "") in ([], {}) or not cell_text(row.cells.get(key, "")).strip()
        ]
        if missing:
            problems.append(Problem(row.line, f"has nothing under {', '.join(missing)}"))
    return problems


def row_key(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    """A key that equal rows share: their cells under *keys*, ignoring case and spacing."""
    return tuple(" ".join(cell_text(row.cells.get(key, "")).casefold().split()) for key in keys)


def duplicates(rows: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line, line of the first equal row) of every row that repeats an earlier one."""
    first: dict[tuple[str, ...], int] = {}
    before = [(row.line, first.setdefault(row_key(row, keys), row.line)) for row in rows]
    return [(line, earlier) for line, earlier in before if earlier != line]


def overlap(train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line in dev, line of the first equal row in train)."""
    first: dict[tuple[str, ...], int] = {}
    for row in train:
        first.setdefault(row_key(row, keys), row.line)
    return [(row.line, first[key]) for row in dev if (key := row_key(row, keys)) in first]


def similar_labels(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of labels that differ by case or spaces only."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in dict.fromkeys(labels):
        groups["".join(label.casefold().split())].append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def contradictions(rows: Sequence[Row], keys: Sequence[str], label: str) -> list[tuple[int, int]]:
    """(line, line of the first row with the same text and another label)."""
    labels = {row.line: cell_text(row.cells.get(label, "")) for row in rows}
    return [(line, before) for line, before in duplicates(rows, keys) if labels[line] != labels[before]]


def row_findings(
    train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str], label: str | None = None
) -> list[Finding]:
    """All findings about the rows of a run, those that prevent it first. *keys*: the cells that are its texts; *label*:
    the cell to predict, if it is a class. *dev* may be empty if it is not chosen yet."""
    findings = label_findings(train, dev, label) if label is not None else []
    contradictory = contradictions(train, keys, label) if label is not None else []
    contradicting = set(contradictory)
    if contradictory:
        findings.append(
            rows_finding(
                contradictory, "repeats an earlier text with another label", "repeat an earlier text with another label"
            )
        )
    if repeated := [pair for pair in duplicates(train, keys) if pair not in contradicting]:
        findings.append(rows_finding(repeated, "duplicates an earlier row", "duplicate an earlier row"))
    if shared := overlap(train, dev, keys):
        findings.append(
            rows_finding(
                shared,
                *(f"of the {len(dev):,} validation rows {be} training rows too" for be in ("is among the", "are")),
            )
        )
    if incomplete := empty_cells([*train, *dev], [*keys, label] if label is not None else keys):
        findings.append(
            rows_finding([(p.line, 0) for p in incomplete], "lacks a text or a label", "lack a text or a label")
        )
    return sorted(findings, key=lambda finding: not finding.stops)


def rows_finding(pairs: Sequence[tuple[int, int]], singular: str, plural: str) -> Finding:
    """“3 rows …: line 7 (as line 2), …”, naming the first three. *singular*, *plural*: the predicate, singular and
    plural."""
    examples = ", ".join(f"line {line}" + (f" (as line {before})" if before else "") for line, before in pairs[:3])
    ellipsis = ", …" if len(pairs) > 3 else ""
    message = f"1 row {singular}" if len(pairs) == 1 else f"{len(pairs):,} rows {plural}"
    return Finding(f"{message}: {examples}{ellipsis}.", tuple(line for line, _ in pairs))


def label_findings(train: Sequence[Row], dev: Sequence[Row], label: str) -> list[Finding]:
    """Findings about the classes."""
    counts, dev_counts = label_counts(train, label), label_counts(dev, label)
    findings = []
    if len(counts) < 2:
        only = f"Every row has the label “{next(iter(counts))[:40]}”" if counts else "No row has a label"
        findings.append(Finding(f"{only}; at least two different ones are needed. Choose another column.", stops=True))
    if len(counts) > MAX_CLASSES:
        message = f"{len(counts):,} different labels; the limit is {MAX_CLASSES:,}. Is this column the label?"
        findings.append(Finding(message, stops=True))
    elif rare := [name for name, count in counts.items() if count == 1]:
        rare_labels = set(rare)
        lines = tuple(row.line for row in train if cell_text(row.cells.get(label, "")) in rare_labels)
        findings.append(Finding(f"{quoted_names(rare)} {'have' if len(rare) > 1 else 'has'} only one example.", lines))
    if unseen := {name: count for name, count in dev_counts.items() if name not in counts}:
        lines = tuple(row.line for row in dev if cell_text(row.cells.get(label, "")) in unseen)
        findings.append(Finding(f"{quoted_names(list(unseen))}: only in the validation data.", lines))
    if unvalidated := [name for name, count in counts.items() if dev_counts and name not in dev_counts and count > 1]:
        subject = (
            f"{len(unvalidated):,} of {len(counts):,} labels have"
            if len(unvalidated) > 1
            else f"{quoted_names(unvalidated)} has"
        )
        findings.append(
            Finding(f"{subject} no validation row, so the metrics say nothing about {quoted_names(unvalidated)}.")
        )
    for group in similar_labels([*counts, *dev_counts]):
        findings.append(Finding(f"{quoted_names(group)} differ by case or spaces only: one class, or several?"))
    return findings


def quoted_names(names: Sequence[str]) -> str:
    """The first three of *names* in quotation marks."""
    parts = [f"“{name[:40]}”" for name in names[:3]]
    return ", ".join(parts) + (f" and {len(names) - 3:,} more" if len(names) > 3 else "")

"""Checks of the rows before a run: labels, duplicates, contradictions, overlap of training and validation. And their
split into training and validation rows, reproducible, with no text in both."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bertexplorer.errors import Channel, ExplorerError, Hint, worded
from bertexplorer.training.data.near_duplicates import near_duplicates
from bertexplorer.training.data.rows import Row, cell_parts, cell_text

MAX_CLASSES = 1_000
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2},\d{3}")
OTHER_COLUMN: Hint = {"page": "Choose another column.", "cli": "Name another column with --map label=COLUMN."}
NEAR_CHARACTERS = 2_000_000  # of all rows, up to which near duplicates are looked for: two seconds
ALWAYS = 10  # with up to this many classes, the validation rows have all of them, whatever the share


@dataclass(frozen=True)
class Finding:
    """A message about the rows."""

    what: str
    lines: tuple[int, ...] = ()  # that it concerns
    stops: bool = False  # whether it prevents the run
    hint: Hint | None = None  # what to do, if *what* does not say it

    def render(self, channel: Channel = "page") -> str:
        """The message in the words of *channel*."""
        return worded(self.what, self.hint, channel)


def row_labels(row: Row, key: str, several: bool = False) -> tuple[str, ...]:
    """The label of *row*, as it is trained, or *several* of them; none if its cell is empty."""
    cell = row.cells.get(key, "")
    if several:
        return cell_parts(cell)
    label = cell_text(cell).strip()
    return (label,) if label else ()


def label_counts(rows: Sequence[Row], key: str, several: bool = False) -> dict[str, int]:
    """The number of rows with each label, the most frequent first; rows without a label are not counted. *several*: a
    cell may hold several labels."""
    counts = Counter(label for row in rows for label in row_labels(row, key, several))
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))


def row_key(row: Row, keys: Sequence[str]) -> tuple[str, ...]:
    """A key that equal rows share: their cells under *keys*, ignoring case and spacing."""
    return tuple(" ".join(cell_text(row.cells.get(key, "")).casefold().split()) for key in keys)


def duplicates(rows: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line, line of the first equal row) of every row that repeats an earlier one."""
    first: dict[tuple[str, ...], int] = {}  # key -> line
    pairs = []
    for row in rows:
        earlier = first.setdefault(row_key(row, keys), row.line)
        if earlier != row.line:
            pairs.append((row.line, earlier))
    return pairs


def overlap(train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line in dev, line of the first equal row in train)."""
    first: dict[tuple[str, ...], int] = {}  # key -> line
    for row in train:
        first.setdefault(row_key(row, keys), row.line)
    pairs = []
    for row in dev:
        key = row_key(row, keys)
        if key in first:
            pairs.append((row.line, first[key]))
    return pairs


def similar_labels(labels: Sequence[str]) -> list[tuple[str, ...]]:
    """Groups of labels that differ by case or spaces only."""
    groups: dict[str, list[str]] = defaultdict(list)
    for label in dict.fromkeys(labels):
        groups["".join(label.casefold().split())].append(label)
    return [tuple(group) for group in groups.values() if len(group) > 1]


def contradictions(
    rows: Sequence[Row], keys: Sequence[str], label: str, several: bool = False
) -> list[tuple[int, int]]:
    """(line, line of the first row with the same text and another label)."""
    labels = {row.line: set(row_labels(row, label, several)) for row in rows}
    return [(line, before) for line, before in duplicates(rows, keys) if labels[line] != labels[before]]


def row_findings(
    train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str], label: str | None = None, several: bool = False
) -> list[Finding]:
    """All findings about the rows of a run, those that prevent it first. *keys*: the cells that are its texts; *label*:
    the cell to predict, if it is a class, or *several*. *dev* may be empty if it is not chosen yet."""
    findings: list[Finding] = []
    contradictory: list[tuple[int, int]] = []
    if label is not None:
        findings += label_findings(train, dev, label, several)
        contradictory = contradictions(train, keys, label, several)
    if contradictory:
        singular, plural = "repeats an earlier text with another label", "repeat an earlier text with another label"
        findings.append(rows_finding(contradictory, singular, plural))
    contradicting = set(contradictory)
    repeated = [pair for pair in duplicates(train, keys) if pair not in contradicting]
    if repeated:
        findings.append(rows_finding(repeated, "duplicates an earlier row", "duplicate an earlier row"))
    shared = overlap(train, dev, keys)
    if shared:
        singular, plural = "is among the training rows too", "are training rows too"
        findings.append(rows_finding(shared, singular, plural, validation_rows=len(dev)))
    nearly = near_overlap(train, dev, keys)
    if nearly:
        singular, plural = "nearly repeats a training row", "nearly repeat a training row"
        findings.append(rows_finding(nearly, singular, plural, validation_rows=len(dev)))
    return sorted(findings, key=lambda finding: not finding.stops)


def near_overlap(train: Sequence[Row], dev: Sequence[Row], keys: Sequence[str]) -> list[tuple[int, int]]:
    """(line in dev, line of the row in train that it is most like) of near duplicates. None is looked for among more
    than NEAR_CHARACTERS."""
    texts = [" ".join(row_key(row, keys)) for row in (*train, *dev)]
    if not dev or sum(map(len, texts)) > NEAR_CHARACTERS:
        return []
    lines = [row.line for row in (*train, *dev)]
    return [(lines[near.text], lines[near.earlier]) for near in near_duplicates(texts, known=len(train))]


def comma_findings(rows: Sequence[Row], keys: Sequence[str]) -> list[Finding]:
    """A finding for each column of numbers whose commas may all separate thousands."""
    findings = []
    for key in keys:
        numbers = []  # those with a comma
        lines = []  # of these
        for row in rows:
            cell = cell_text(row.cells.get(key, "")).strip()
            if "," in cell:
                numbers.append(cell)
                lines.append(row.line)
        if numbers and all(map(THOUSANDS.fullmatch, numbers)):
            first = numbers[0]
            message = f"“{first}” is read as {first.replace(',', '.')}. If commas separate thousands, remove them."
            findings.append(Finding(f"The numbers under {key} have decimal commas: {message}", tuple(lines)))
    return findings


def rows_finding(pairs: Sequence[tuple[int, int]], singular: str, plural: str, *, validation_rows: int = 0) -> Finding:
    """“3 rows …: line 7 (as line 2), …”, naming the first three. *singular*, *plural*: the predicate, singular and
    plural. *validation_rows*: how many there are, if these are some of them."""
    count = len(pairs)
    if validation_rows and count == validation_rows > 1:
        subject = f"All {count:,} validation rows"
    elif validation_rows:
        subject = f"{count:,} of the {validation_rows:,} validation rows"
    else:
        subject = "1 row" if count == 1 else f"{count:,} rows"
    examples = []
    for line, before in pairs[:3]:
        examples.append(f"line {line} (as line {before})" if before else f"line {line}")
    end = ", …" if count > 3 else "."
    message = f"{subject} {singular if count == 1 else plural}: {', '.join(examples)}{end}"
    return Finding(message, tuple(line for line, _ in pairs))


def label_findings(train: Sequence[Row], dev: Sequence[Row], label: str, several: bool = False) -> list[Finding]:
    """Findings about the classes."""
    counts, dev_counts = label_counts(train, label, several), label_counts(dev, label, several)
    findings = []

    def lines_with(names: Sequence[str], rows: Sequence[Row]) -> tuple[int, ...]:
        wanted = set(names)
        return tuple(row.line for row in rows if not wanted.isdisjoint(row_labels(row, label, several)))

    # 1. Too few classes, too many, or one with a single example
    rare = [name for name, count in counts.items() if count == 1]
    if len(counts) < 2:
        findings.append(too_few_labels(counts, dev_counts))
    if len(counts) > MAX_CLASSES:
        message = f"{len(counts):,} different labels; the limit is {MAX_CLASSES:,}. Is this column the label?"
        findings.append(Finding(message, stops=True))
    elif rare:
        have = "have" if len(rare) > 1 else "has"
        findings.append(Finding(f"{quoted_names(rare)} {have} only one example.", lines_with(rare, train)))

    # 2. Classes that only one side has
    unseen = [name for name in dev_counts if name not in counts]
    if unseen:
        findings.append(Finding(f"{quoted_names(unseen)}: only in the validation data.", lines_with(unseen, dev)))
    unvalidated = [name for name, count in counts.items() if dev_counts and name not in dev_counts and count > 1]
    if unvalidated:
        named = quoted_names(unvalidated)
        have = f"{named} has" if len(unvalidated) == 1 else f"{len(unvalidated):,} of {len(counts):,} labels have"
        findings.append(Finding(f"{have} no validation row, so the metrics say nothing about {named}."))

    # 3. Names that may mean the same
    for group in similar_labels([*counts, *dev_counts]):
        findings.append(Finding(f"{quoted_names(group)} differ by case or spaces only: one class, or several?"))
    return findings


def too_few_labels(counts: Mapping[str, int], dev_counts: Mapping[str, int]) -> Finding:
    """The finding about training rows with one label or none. *counts*, *dev_counts*: label -> number of rows."""
    label, count = next(iter(counts.items()), ("", 0))
    has_label = f"the label “{label[:40]}”"
    wanted = "at least two different ones are needed."
    if dev_counts.keys() <= counts.keys():
        subject = f"Every row has {has_label}" if counts else "No row has a label"
        return Finding(f"{subject}; {wanted}", stops=True, hint=OTHER_COLUMN)
    subject = "No training row has a label"
    if count:
        subject = f"The only training row has {has_label}" if count == 1 else f"All training rows have {has_label}"
    what = f"{subject}; {wanted} Other labels are only in the validation rows. Add rows of each label."
    return Finding(what, stops=True)


def quoted_names(names: Sequence[str]) -> str:
    """The first three of *names* in quotation marks, and how many more there are."""
    quoted = ", ".join(f"“{name[:40]}”" for name in names[:3])
    if len(names) > 3:
        return f"{quoted} and {len(names) - 3:,} more"
    return quoted


def split_rows(
    rows: Sequence[Row], share: float, seed: int, label: str | None = None, keys: Sequence[str] = ()
) -> tuple[list[Row], list[Row]]:
    """(train, dev) in the order of *rows*; dev has about *share* of them, drawn with *seed*. Rows that are equal under
    *keys* (default: all cells but the label), ignoring case and spacing, stay together: give "context" to keep a
    passage's questions together. Rows that have no text there, such as passages that only extend a collection, are in
    train. With a *label*, each class is split separately and is on both sides if it has two distinct texts; a class
    with one is only in train. If one row per class would exceed twice the share (and ten rows), dev has rows of the
    largest classes only. Raises ExplorerError for a share outside 0 to 1, and if no two texts differ."""
    if not 0 < share < 1:
        raise ExplorerError(f"The validation share is {share}; wanted a number between 0 and 1, such as 0.1.")
    # 1. Groups of rows that stay together.
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for i, row in enumerate(rows):
        key = row_key(row, keys or [name for name in row.cells if name != label])
        if any(key):
            groups[key].append(i)
    if len(groups) < 2:
        raise ExplorerError(
            f"There are {len(rows)} rows with {len(groups)} different texts; wanted at least 2, one for training "
            "and one for validation. Add rows, or give a validation file."
        )
    # 2. The groups of each class; without a label there is one class.
    classes: dict[str, list[list[int]]] = defaultdict(list)
    for group in groups.values():
        name = "" if label is None else "".join(row_labels(rows[group[0]], label))
        classes[name].append(group)
    # 3. Some of each class are for validation.
    rng = random.Random(seed)
    sizes = {name: len(members) for name, members in classes.items()}
    dev: set[int] = set()
    for name in classes_to_split(sizes, round(share * len(rows)), rng):
        dev.update(draw_groups(classes[name], share, rng))
    if not dev:  # every class has one text
        dev.update(rng.choice(list(groups.values())))
    train_rows = [row for i, row in enumerate(rows) if i not in dev]
    dev_rows = [row for i, row in enumerate(rows) if i in dev]
    return train_rows, dev_rows


def classes_to_split(sizes: dict[str, int], target: int, rng: random.Random) -> list[str]:
    """The classes from which *target* validation rows are drawn: all of several texts, or, if there are too many, the
    largest. *sizes*: class -> number of texts."""
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
    """The members of some of *groups*, about *share* of all: of one group none, of several at least one on either
    side."""
    if len(groups) < 2:
        return []
    order = rng.sample(groups, len(groups))
    target = max(1, round(share * sum(map(len, groups))))
    chosen: list[list[int]] = []
    for group in order[:-1]:
        if sum(map(len, chosen)) + len(group) <= target:
            chosen.append(group)
    if not chosen:  # all are larger than the share
        chosen.append(min(order, key=len))
    members: list[int] = []
    for group in chosen:
        members += group
    return members

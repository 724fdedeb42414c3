"""Error analysis: where a classifier goes wrong in a file with labels, whether its probabilities can be believed, and
which of the labels may be wrong themselves.

Kinds of rows are compared by Fisher's exact test with Holm's correction. A temperature is judged on rows that did not
choose it. A label is doubtful if the checkpoint is sure of another one, and most of the nearest rows have that one."""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np

from bertexplorer import engine
from bertexplorer.answers.bootstrap import Interval
from bertexplorer.answers.readout import require_one_label
from bertexplorer.answers.task_head import caveats, own_training_of
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import encode_sentence, own_or_mean, unit_vectors
from bertexplorer.diagnosis.calibration import Calibration, calibrate, losses
from bertexplorer.diagnosis.doubtful import doubtful, nearest, votes
from bertexplorer.diagnosis.slices import Slice, Traits, find_slices, members_of
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.training.data.checks import contradictions
from bertexplorer.training.data.guess import say_columns, usual_columns
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow
from bertexplorer.training.finetuning.compare import wilson
from bertexplorer.views import facts
from bertexplorer.views.error_analysis.sets import Name, rows_of
from bertexplorer.views.rows import NumberedRow, RowCells, cell_text, first_cell, split_readable

if TYPE_CHECKING:
    from jaxtyping import Float

    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Encoding

MAX_ROWS = 10_000
NEAR = 10  # part of the rows that are neighbours of one, at most
CONFIDENT = 0.8  # probability from which the model contradicts a label
KEYS, MEASURE = ("metric",), "value"


@dataclass(frozen=True)
class Options:
    set: Annotated[Name, Option("Rows", info="built in, for sentiment; or upload rows with text and label")] = (
        "reviews with faults"
    )
    labels: Annotated[str, Option("Labels of the file", info="if they have other names: 0=negative, 1=positive")] = ""
    neighbours: Annotated[int, Option("Neighbours of a row", 1, 50, info="at most a tenth of the rows")] = 10
    most: Annotated[int, Option("Rows at most", 1, MAX_ROWS, info="of a longer file, as many drawn at random")] = 1000
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in rows", by_page=True)] = ""


class LabelledRow(NamedTuple):
    """A row with its label, in the checkpoint's name for it."""

    line: int
    text: str
    pair: str  # the second text, or ""
    label: str
    category: str


class Answered(NamedTuple):
    """A row, and what the checkpoint says of it."""

    row: LabelledRow
    said: str
    probability: float  # of *said*, 0 to 1
    log_p: float  # of the label, in nats
    vote: str  # the most frequent label among its neighbours; "" without any
    share: float  # of the neighbours that have it, 0 to 1
    doubtful: bool  # whether both contradict the label
    repeats: int  # the line of an earlier row with the same text and another label; 0 if there is none

    @property
    def right(self) -> bool:
        return self.said == self.row.label


@dataclass(frozen=True)
class ErrorAnalysis:
    """A classifier on n rows with labels."""

    name: str  # of the built-in rows, or "uploaded rows"
    labels: tuple[str, ...]  # of the checkpoint
    answers: tuple[Answered, ...]  # in the order of the file
    interval: Interval  # of the share that is right, 95 %, Wilson
    baseline: float  # the share that always the most frequent label would get right
    calibration: Calibration
    slices: tuple[Slice, ...]
    neighbours: int  # of each row; 0 if there are fewer than NEAR
    unusable: tuple[RowProblem, ...]  # rows that were not used, with the reason
    left_out: int  # rows beyond Options.most
    caveats: tuple[str, ...]  # where the answer of a run differs from that of its head, as sentences
    columns_said: str = ""  # which columns were read under another name, as a sentence

    @property
    def right(self) -> float:
        """The share of the rows that is right, 0 to 1."""
        return sum(answer.right for answer in self.answers) / len(self.answers)

    @property
    def wrong(self) -> tuple[Answered, ...]:
        return tuple(answer for answer in self.answers if not answer.right)

    @property
    def doubtful(self) -> tuple[Answered, ...]:
        return tuple(answer for answer in self.answers if answer.doubtful)

    @property
    def named(self) -> tuple[Slice, ...]:
        """The slices that are worse than the others, one after the other."""
        named = [part for part in self.slices if part.named]
        return tuple(sorted(named, key=lambda part: part.named))


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    rows: Sequence[NumberedRow] | None = None,
) -> ErrorAnalysis:
    """Ask the checkpoint for the label of each of *rows*, or of the built-in ones. *text* is not read.

    The columns are text and label, for a pair also pair, and category where rows are of several kinds. Raises
    ExplorerError for other columns, if none of the rows can be used, and for a checkpoint that does not give one label
    for a text."""
    check_given("rows", options.rows, rows)
    readout = require_one_label(checkpoint)
    labelled, unusable, columns_said = read(rows or rows_of(options.set), checkpoint.labels, options.labels)
    total = len(labelled)
    if total > options.most:
        chosen = sorted(random.Random(0).sample(range(total), options.most))
        labelled = [labelled[i] for i in chosen]

    # 1. What the checkpoint says.
    used: list[LabelledRow] = []
    encodings: list[Encoding] = []
    for row in labelled:
        try:
            encodings.append(readout.encode(Text(row.text, row.pair)))
            used.append(row)
        except ExplorerError as error:
            unusable.append(RowProblem(row.line, f"cannot be read: {error}"))
    if not used:
        raise ExplorerError(f"None of the rows can be used: line {unusable[0].line} {unusable[0].what}")
    progress.expect(2 * sum(map(len, encodings)))

    def ask() -> Float[np.ndarray, "n labels"]:
        return np.stack(list(readout.rows(encodings, [0] * len(encodings))))

    key = ("labels of rows", engine.fingerprint(encodings))
    log_probs: Float[np.ndarray, "n labels"] = checkpoint.cache.keep(key, ask, lambda kept: kept.nbytes)
    labels = list(checkpoint.labels)
    gold = np.array([labels.index(row.label) for row in used])
    right = log_probs.argmax(axis=1) == gold

    # 2. Which labels are contradicted, by the model and the nearest rows, or by a row with the same text.
    neighbours = nearest(vectors_of(checkpoint, used), min(options.neighbours, len(used) // NEAR))
    voted = votes(neighbours, gold)
    in_doubt = doubtful(log_probs, gold, voted, CONFIDENT)
    cells = [Row(row.line, {"text": row.text, "pair": row.pair, "label": row.label}) for row in used]
    repeated = dict(contradictions(cells, ["text", "pair"], "label"))
    answers = []
    for i, row in enumerate(used):
        said = int(log_probs[i].argmax())
        loss = float(losses(log_probs[i : i + 1], gold[i : i + 1])[0])
        answers.append(
            Answered(
                row=row,
                said=labels[said],
                probability=float(np.exp(log_probs[i, said])),
                log_p=-loss,
                vote=labels[int(voted.label[i])] if neighbours.size else "",
                share=float(voted.share[i]),
                doubtful=bool(in_doubt[i]),
                repeats=repeated.get(row.line, 0),
            )
        )
    return ErrorAnalysis(
        name="uploaded rows" if rows else options.set,
        labels=tuple(labels),
        answers=tuple(answers),
        interval=Interval(*wilson(float(right.mean()), len(right))),
        baseline=Counter(row.label for row in used).most_common(1)[0][1] / len(used),
        calibration=calibrate(log_probs, gold),
        slices=find_slices(members_of(traits(checkpoint, used, encodings)), right),
        neighbours=neighbours.shape[1],
        unusable=tuple(sorted(unusable, key=lambda problem: problem.line)),
        left_out=total - len(labelled),
        caveats=caveats(own_training_of(checkpoint)),
        columns_said=columns_said,
    )


def read(
    rows: Sequence[NumberedRow], labels: Sequence[str], names: str
) -> tuple[list[LabelledRow], list[RowProblem], str]:
    """(the rows with a text and a label of the checkpoint, the others with the reason, which columns were read under
    another name). *labels*: those that the checkpoint gives; *names*: as in Options.labels. Raises ExplorerError for
    other columns, and if no row can be used."""
    readable, unusable = split_readable(rows)
    meant = parse_names(names, labels)
    columns: dict[str, None] = {}
    for _, cells in readable:
        columns.update(dict.fromkeys(map(str, cells)))
    own_columns = columns_of(columns)
    labelled: list[LabelledRow] = []
    for line, cells in readable:
        own = {name: cells.get(column) for name, column in own_columns.items()}
        try:
            labelled.append(read_row(line, own, labels, meant))
        except UnusableRow as error:
            unusable.append(RowProblem(line, str(error)))
    if not labelled:
        in_file = Counter(cell_text(cells.get(own_columns["label"])) for _, cells in readable)
        listed = ", ".join(name[:40] or "none" for name, _ in in_file.most_common(5))
        raise ExplorerError(
            f"None of the rows can be used: line {unusable[0].line} {unusable[0].what}. The labels of the file are "
            f"{listed}; the checkpoint gives {', '.join(labels):.200}. If they are the same under other names, say "
            f"which is which in “Labels of the file” (labels), such as 0={labels[0][:40]}."
        )
    return labelled, unusable, say_columns(own_columns)


def columns_of(columns: Collection[str]) -> dict[str, str]:
    """{text, label, and pair and category where they are: the column of a file that is it}, also by other usual names.
    Raises ExplorerError without a text and a label."""
    # 1. By the names that we use, but that a category is the label where nothing else can be.
    exact = {column.strip().lower(): column for column in columns}
    own = usual_columns([column for column in columns if column != exact.get("category")], ["label"])
    if not own:
        own = usual_columns(columns, ["label"])
    for name in ("text", "pair", "category"):
        if name in exact and exact[name] not in own.values():
            own[name] = exact[name]
    # 2. The text, or two of them, by other names.
    if "text" not in own:
        others = [column for column in columns if column not in own.values()]
        two_texts = usual_columns(others, ["text_a", "text_b"])
        if len(two_texts) == 2:
            own |= {"text": two_texts["text_a"], "pair": two_texts["text_b"]}
        else:
            own |= usual_columns(others, ["text"])
    if not {"text", "label"} <= own.keys():
        raise ExplorerError(
            f"The columns are {', '.join(sorted(columns))[:200] or 'none'}; wanted text and label, and for pairs of "
            "texts also pair."
        )
    return {name: own[name] for name in ("text", "pair", "label", "category") if name in own}


def read_row(line: int, cells: RowCells, labels: Sequence[str], meant: Mapping[str, str]) -> LabelledRow:
    """A row of the file. *meant*: label of the file -> label of the checkpoint. Raises UnusableRow without a text, and
    for a label that the checkpoint does not give."""
    typed = first_cell(cells, "label")
    return LabelledRow(
        line=line,
        text=first_cell(cells, "text"),
        label=find_label(meant.get(typed, typed), labels),
        pair=cell_text(cells.get("pair")),
        category=cell_text(cells.get("category")),
    )


def find_label(label: str, labels: Sequence[str]) -> str:
    """The one of *labels* that is *label*, or is but for capitals. Raises UnusableRow if none is, or several are."""
    if label in labels:
        return label
    by_letters: dict[str, list[str]] = {}
    for name in labels:
        by_letters.setdefault(name.casefold(), []).append(name)
    same = by_letters.get(label.casefold(), [])
    if len(same) == 1:
        return same[0]
    problem = f"has the label {label!r:.40}, which the checkpoint does not give"
    close = difflib.get_close_matches(label.casefold(), [name.casefold() for name in labels], 1)
    if close:
        raise UnusableRow(f"{problem}; the nearest one is {by_letters[close[0]][0]!r:.40}")
    raise UnusableRow(problem)


def parse_names(names: str, labels: Sequence[str]) -> dict[str, str]:
    """Label of the file -> label of the checkpoint, from "0=negative, 1=positive". Raises ExplorerError for another
    form, and for a label that the checkpoint does not give."""
    meant = {}
    for part in filter(None, map(str.strip, re.split(r"[,\n]", names))):
        ours, _, theirs = (side.strip() for side in part.partition("="))
        if not ours or theirs not in labels:
            raise ExplorerError(
                f"The setting labels has {part!r:.60}; wanted a label of the file, =, and one that the checkpoint "
                f"gives: {', '.join(labels):.200}."
            )
        meant[ours] = theirs
    return meant


def vectors_of(checkpoint: Checkpoint, rows: Sequence[LabelledRow]) -> Float[np.ndarray, "n d"]:
    """The sentence vectors, of length 1, as the checkpoint's files say, or the mean of the last layer."""
    encodings = [encode_sentence(checkpoint, Text(row.text, row.pair), "") for row in rows]
    pooling = own_or_mean(checkpoint, "own")
    made = engine.kept_sentence_vectors(checkpoint, encodings, layer=checkpoint.config.num_layers, pooling=pooling)
    return unit_vectors(made.numpy()).astype(np.float32)


def traits(checkpoint: Checkpoint, rows: Sequence[LabelledRow], encodings: Sequence[Encoding]) -> list[Traits]:
    """What is known of each row before its answer."""
    unknown_id = checkpoint.tokenizer.unknown_id
    traits_by_row = []
    for row, encoding in zip(rows, encodings, strict=True):
        traits_by_row.append(
            Traits(
                text=f"{row.text}\n{row.pair}" if row.pair else row.text,
                label=row.label,
                category=row.category,
                tokens=len(encoding),
                unknown=sum(token == unknown_id for token in encoding.ids),
                left_out=encoding.left_out,
            )
        )
    return traits_by_row


def rows(result: ErrorAnalysis) -> list[dict[str, object]]:
    """A row for each row of the file: what the checkpoint says, and whether the label is doubtful."""
    return [
        {
            "line": answer.row.line,
            "text": answer.row.text,
            "pair": answer.row.pair,
            "label": answer.row.label,
            "answer": answer.said,
            "right": answer.right,
            "probability": answer.probability,
            "log_p": answer.log_p,
            "neighbours": answer.vote,
            "neighbours_share": answer.share,
            "doubtful": answer.doubtful,
            "repeats": answer.repeats or "",
        }
        for answer in result.answers
    ]


def summary_rows(result: ErrorAnalysis) -> list[dict[str, object]]:
    """The metrics with their 95 % intervals, where they have one. Log losses are in nats."""
    calibration = result.calibration
    table = [
        metric("right", result.right, result.interval),
        metric("calibration error", calibration.error),
        metric("calibration error by chance", calibration.by_chance),
        metric("confidence minus right", calibration.excess, calibration.interval),
        metric("log loss", calibration.log_loss),
    ]
    if calibration.temperature:
        temperature = calibration.temperature
        table += [
            metric("temperature", temperature.value),
            metric("log loss gained by it", temperature.gain, temperature.interval),
            metric("calibration error with it", temperature.error),
        ]
    return table


def metric(name: str, value: float, interval: Interval | None = None) -> dict[str, object]:
    """A row of the table of metrics. The ends are empty without an interval, and for one that could not be found."""
    row: dict[str, object] = {"metric": name, "value": value, "low": "", "high": ""}
    if interval and np.isfinite(interval.low):
        row |= {"low": interval.low, "high": interval.high}
    return row


def tables(result: ErrorAnalysis) -> dict[str, list[dict[str, object]]]:
    """The metrics; the slices, the clearest first; the curve of calibration."""
    slices: list[dict[str, object]] = [
        {
            "kind": part.kind,
            "name": part.name,
            "rows": len(part.rows),
            "right": part.right,
            "low": part.interval.low,
            "high": part.interval.high,
            "others": part.others,
            "p": part.p,
            "named": part.named or "",
        }
        for part in result.slices
    ]
    bins: list[dict[str, object]] = [row._asdict() for row in result.calibration.bins]
    return {"summary": summary_rows(result), "slices": slices, "calibration": bins}


class Facts(facts.Facts[ErrorAnalysis]):
    def rows(self) -> float:
        """Rows that were used."""
        return len(self._result.answers)

    def right(self) -> float:
        """Share of the rows that is right, 0 to 1."""
        return self._result.right

    def slices(self) -> float:
        """Kinds of rows that are wrong more often than the others by more than chance, one after the other."""
        return len(self._result.named)

    def slice(self, rank: int = 1) -> str:
        """The kind of rows with this rank: label, category, length, cut, unknown, number, name or word."""
        return facts.item(self._result.named, rank, "slice").kind

    def slice_right(self, rank: int = 1) -> float:
        """Share of the rows of that kind that is right, 0 to 1."""
        return facts.item(self._result.named, rank, "slice").right

    def excess(self) -> float:
        """Mean confidence minus the share that is right: above 0 if the checkpoint is too sure."""
        return self._result.calibration.excess

    def calibration_error(self) -> float:
        """Expected calibration error, 0 to 1."""
        return self._result.calibration.error

    def temperature(self) -> float:
        """The temperature with the least log loss; 0 if too few rows are right or wrong to fit one."""
        temperature = self._result.calibration.temperature
        return temperature.value if temperature else 0.0

    def doubtful(self) -> float:
        """Labels that the checkpoint and the nearest rows contradict."""
        return len(self._result.doubtful)

    def repeats(self) -> float:
        """Rows that repeat an earlier text with another label."""
        return sum(answer.repeats > 0 for answer in self._result.answers)

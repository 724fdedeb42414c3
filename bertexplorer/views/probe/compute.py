"""Probe: from which layer a linear classifier reads a property of words or sentences, compared with a control task.

The checkpoint stays frozen. At each layer a logistic regression learns the labels of some rows from their vectors and
is tested on rows of other documents, over several random splits. Its accuracy alone does not say what the checkpoint
knows, as a probe may memorise the words; selectivity, the accuracy minus that on a control task with random
labels, says how much of it is not memory (Hewitt and Liang, 2019).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.answers.uploads import check_given
from bertexplorer.engine import progress
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views import facts
from bertexplorer.views.probe.fit import (
    control_held_out_rows,
    control_labels,
    fit,
    held_out_rows,
    quiet_single_thread,
)
from bertexplorer.views.probe.rows import ProbeData, ProbeRow, Task, Unit, built_in, read_rows
from bertexplorer.views.rows import NumberedRow

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FEW = 100  # rows below which an accuracy says little
KEYS, MEASURE = ("layer",), "accuracy"


@dataclass(frozen=True)
class Options:
    task: Annotated[Task, Option("Task", info="built in; or upload rows of your own")] = "word order"
    seeds: Annotated[int, Option("Seeds", 1, 10, info="random splits, each with its own control labels")] = 3
    most: Annotated[int, Option("Rows at most", 20, 1000, info="the same number of each label")] = 300
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in task", by_page=True)] = ""


@dataclass(frozen=True)
class Probe:
    """n rows, probed at each of 1 + l layers. Layer 0 is the input of the first layer."""

    name: str
    unit: Unit
    labels: tuple[str, ...]  # sorted
    examples: tuple[ProbeRow, ...]
    accuracies: Float[np.ndarray, "layers seeds"]  # share of held-out rows that the probe gets right, 0 to 1
    controls: Float[np.ndarray, "layers seeds"]  # the same for the control task
    majorities: Float[np.ndarray, " seeds"]  # share of held-out rows that have their most frequent label
    predicted: Int[np.ndarray, "layers seeds n"]  # index of the answer in labels; -1 where the row was in training
    margins: Float[np.ndarray, "layers seeds n"]  # probability of the label minus the best other one; NaN in training
    types: int  # different words or sentences, each with its own control label
    known: float  # share of held-out rows whose type, the word or the sentence, occurs in training, 0 to 1
    recurring: float  # the same for the rows that the control task holds out
    unconverged: int  # fits that ended before they converged
    unusable: tuple[RowProblem, ...]  # rows that were not used, with the reason
    left_out: int  # rows beyond Options.most

    @property
    def accuracy(self) -> Float[np.ndarray, " layers"]:
        """Mean over the seeds."""
        return self.accuracies.mean(axis=1)

    @property
    def control(self) -> Float[np.ndarray, " layers"]:
        """Mean over the seeds."""
        return self.controls.mean(axis=1)

    @property
    def deviation(self) -> Float[np.ndarray, " layers"]:
        """Standard deviation of the accuracy over the seeds; 0 for a single one."""
        return deviation(self.accuracies)

    @property
    def control_deviation(self) -> Float[np.ndarray, " layers"]:
        """The same for the control task."""
        return deviation(self.controls)

    @property
    def majority(self) -> float:
        return float(self.majorities.mean())

    @property
    def best(self) -> int:
        """The layer with the highest accuracy, the first of equal ones."""
        return int(np.argmax(np.round(self.accuracy, 9)))


def deviation(values: Float[np.ndarray, "layers seeds"]) -> Float[np.ndarray, " layers"]:
    """The standard deviation over the seeds; 0 for a single one."""
    deviations = values.std(axis=1, ddof=1) if values.shape[1] > 1 else np.zeros(len(values))
    return np.round(deviations, 12)  # of equal values exactly 0


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    rows: Sequence[NumberedRow] | None = None,
) -> Probe:
    """Probe every layer for the labels of *rows*, or of the built-in task. *text* is not read.

    The vector of a word is the mean over its pieces, that of a sentence the mean over all its tokens. Raises
    ExplorerError for rows that cannot be probed: other columns, fewer than 20 or more than 10,000 rows, one label
    only, a label that occurs once or in one document."""
    check_given("rows", options.rows, rows)
    data = read_rows(checkpoint, rows or built_in(options.task), options.most)
    fits = 2 * options.seeds * (checkpoint.config.num_layers + 1) * len(data.examples)  # a fit: a token for each row
    progress.expect(sum(map(len, data.encodings)) + fits)
    vectors = engine.word_vectors(checkpoint, data.encodings, [[positions] for positions in data.positions]).numpy()
    with quiet_single_thread():
        return run_probes("uploaded rows" if rows else options.task, data, vectors, options.seeds)


def run_probes(name: str, data: ProbeData, vectors: Float[np.ndarray, "layers n d"], seeds: int) -> Probe:
    """The probes of all layers and seeds. Reports its progress; between two fits the work can be stopped."""
    labels = tuple(sorted({example.label for example in data.examples}))
    targets = np.array([labels.index(example.label) for example in data.examples])
    documents = [example.document for example in data.examples]
    types = np.array(data.types)
    size = len(vectors)
    count = len(targets)
    accuracies, controls = np.zeros((2, size, seeds))
    predicted = np.full((size, seeds, count), -1)
    margins = np.full((size, seeds, count), np.nan)
    majorities, known, recurring = np.zeros((3, seeds))
    unconverged = 0
    done = 0
    total = 2 * seeds * size * count
    progress.report(done, total)
    for seed in range(seeds):
        # 1. What this split holds out, of the task and of its control.
        held_out = held_out_rows(targets, documents, seed)
        majorities[seed] = np.bincount(targets[held_out]).max() / held_out.sum()
        known[seed] = np.isin(types[held_out], types[~held_out]).mean()
        control_targets = control_labels(targets, data.types, seed)
        control_held_out = control_held_out_rows(data.types, held_out.sum(), seed)
        recurring[seed] = np.isin(types[control_held_out], types[~control_held_out]).mean()
        for layer in range(size):
            # 2. Two fits at each layer.
            layer_vectors = vectors[layer].astype(np.float64)
            task = fit(layer_vectors, targets, held_out, len(labels))
            progress.check()
            control = fit(layer_vectors, control_targets, control_held_out, len(labels))
            unconverged += (not task.converged) + (not control.converged)
            # 3. How often each is right.
            answers = task.probabilities.argmax(axis=1)
            control_answers = control.probabilities.argmax(axis=1)
            predicted[layer, seed, held_out] = answers
            margins[layer, seed, held_out] = margin(task.probabilities, targets[held_out])
            accuracies[layer, seed] = (answers == targets[held_out]).mean()
            controls[layer, seed] = (control_answers == control_targets[control_held_out]).mean()
            done += 2 * count
            progress.report(done, total)
    return Probe(
        name=name,
        unit=data.unit,
        labels=labels,
        examples=data.examples,
        accuracies=accuracies,
        controls=controls,
        majorities=majorities,
        predicted=predicted,
        margins=margins,
        types=len(set(data.types)),
        known=float(known.mean()),
        recurring=float(recurring.mean()),
        unconverged=unconverged,
        unusable=data.unusable,
        left_out=data.left_out,
    )


def margin(
    probabilities: Float[np.ndarray, "held labels"], targets: Int[np.ndarray, " held"]
) -> Float[np.ndarray, " held"]:
    """Probability of the wanted label minus that of the most probable other one, -1 to 1."""
    row_indices = np.arange(len(targets))
    other_probabilities = probabilities.copy()
    other_probabilities[row_indices, targets] = -1
    return probabilities[row_indices, targets] - other_probabilities.max(axis=1)


def rows(result: Probe) -> list[dict[str, object]]:
    """A row for each layer, then one for each row of the file that was not used. Layer 0 is the input of the first."""
    layers: list[dict[str, object]] = [
        {
            "layer": layer,
            "accuracy": float(result.accuracy[layer]),
            "deviation": float(result.deviation[layer]),
            "control": float(result.control[layer]),
            "control_deviation": float(result.control_deviation[layer]),
            "selectivity": float(result.accuracy[layer] - result.control[layer]),
            "majority": result.majority,
            "line": "",
            "problem": "",
        }
        for layer in range(len(result.accuracy))
    ]
    empty = dict.fromkeys(layers[0], "")
    unusable = [{**empty, "line": problem.line, "problem": problem.what} for problem in result.unusable]
    return [*layers, *unusable]


def mistake_rows(result: Probe) -> list[dict[str, object]]:
    """A row for each layer and each row of the file that its probe got wrong where it was held out, with the most
    frequent wrong answer. *wrong* of the *held_out* splits are wrong."""
    mistakes: list[dict[str, object]] = []
    for layer, predicted in enumerate(result.predicted):
        for i, example in enumerate(result.examples):
            answers = [result.labels[k] for k in predicted[:, i] if k >= 0]
            wrong = Counter(answer for answer in answers if answer != example.label)
            if not wrong:
                continue
            mistakes.append(
                {
                    "layer": layer,
                    "line": example.line,
                    "text": example.text,
                    "word": example.word,
                    "label": example.label,
                    "answer": wrong.most_common(1)[0][0],
                    "wrong": wrong.total(),
                    "held_out": len(answers),
                }
            )
    return mistakes


def tables(result: Probe) -> dict[str, list[dict[str, object]]]:
    """The mistakes of each layer."""
    return {"mistakes": mistake_rows(result)}


class Facts(facts.Facts[Probe]):
    """*layer*: from 1; 0 is the input of the first layer."""

    def accuracy(self, layer: int) -> float:
        """Share of held-out rows that the probe gets right at this layer, 0 to 1."""
        return float(facts.item_at_layer(self._result.accuracy, layer))

    def control(self, layer: int) -> float:
        """The same for the control task with random labels."""
        return float(facts.item_at_layer(self._result.control, layer))

    def selectivity(self, layer: int) -> float:
        """Accuracy minus that of the control task, -1 to 1."""
        return self.accuracy(layer) - self.control(layer)

    def best(self) -> float:
        """The layer with the highest accuracy."""
        return self._result.best

    def majority(self) -> float:
        """Share of held-out rows that have their most frequent label."""
        return self._result.majority

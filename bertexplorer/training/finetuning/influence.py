"""Which training rows taught a run its answers: TracIn (Pruthi et al., 2020) over the checkpoints that it saved."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.training.checkpointing import list_commits
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import open_learner
from bertexplorer.training.finetuning.gradients import (
    answer_gradient,
    cosine_similarities,
    directional_derivatives,
    head_inputs,
    mean_vectors,
    require_gradients,
)
from bertexplorer.training.finetuning.trainable import learning_schedule, rate_scale
from bertexplorer.training.labels import plant_wrong_labels
from bertexplorer.training.learner import Traceable
from bertexplorer.training.optimiser import rate
from bertexplorer.training.texts import Item
from bertexplorer.wording import counted

MAX_ROWS = 2_000  # training rows that are examined, drawn at random if there are more
MAX_TOKENS = 256_000  # tokens of those rows
MAX_CHECKPOINTS = 6  # besides the best


@dataclass(frozen=True)
class Influence:
    """The influence of one training row. *score*: for `influence`, above 0 if training on the row made the explained
    answer likelier; for `suspects`, the row's influence on its own loss, never below 0. Its unit is that of the loss
    times a factor that is the same for all rows."""

    line: int  # of the file
    texts: tuple[str, ...]
    label: str  # as trained: a label, tags, an answer or a score, as text
    score: float
    cosine: float = 0.0  # of its vector with that of the explained text, by the best checkpoint
    loss: float = 0.0  # in nats, of the best checkpoint
    truth: str = ""  # the label before a wrong one was planted; "" for all other rows


@dataclass(frozen=True)
class Influences:
    """The training rows, the highest score first. *label*: the explained one, "" for `suspects`; *steps*: of the
    checkpoints that were used; *left_out*: training rows that were not examined."""

    label: str
    rows: tuple[Influence, ...]
    steps: tuple[int, ...]
    left_out: int

    @property
    def nearest(self) -> list[Influence]:
        """The rows by cosine, the baseline that needs no gradients."""
        return sorted(self.rows, key=lambda row: -row.cosine)

    @property
    def by_label(self) -> tuple[list[Influence], list[Influence]]:
        """(rows with the explained label, rows with another one), the largest scores first, whatever their sign."""
        strongest = sorted(self.rows, key=lambda row: -abs(row.score))
        same = [row for row in strongest if row.label == self.label]
        return same, [row for row in strongest if row.label != self.label]

    @property
    def planted(self) -> int:
        """The number of rows whose label is a planted wrong one."""
        return sum(bool(row.truth) for row in self.rows)

    def found(self, key: Callable[[Influence], float] = lambda row: row.score) -> int:
        """The number of planted rows among the first `planted` rows, sorted by *key* from high to low."""
        top = sorted(self.rows, key=lambda row: -key(row))[: self.planted]
        return sum(bool(row.truth) for row in top)


@dataclass(frozen=True)
class TracedCheckpoint:
    """A saved checkpoint of a run. *weight*: the sum of the learning rates of the steps since the previous one."""

    folder: Path
    step: int
    weight: float


class TracedRun:
    """A finished or stopped run with the rows that it learned from. Raises ExplorerError if its task has no loss for
    each row, or if it has no checkpoint."""

    def __init__(self, folder: Path) -> None:
        # 1. The best checkpoint, and all rows as they were trained
        self.spec, rows, _ = specs.read_run(folder)
        best = list_commits(folder / "best")[-1:]
        if not best:
            raise ExplorerError("This run has no checkpoint yet. Wait for its first evaluation.")
        self.best = best[0]
        learner = self.learner(self.best)
        examples, _ = self.spec.definition.examples(rows, self.spec.task_options)
        self.examples, self.truths = plant_wrong_labels(examples, self.spec.task_options)

        # 2. The checkpoints that are compared, with the learning rates that led to them
        tuning = self.spec.tuning
        steps = specs.number_of_steps(tuning, len(learner.read(self.examples)))
        learning = learning_schedule(tuning, learner.checkpoint.config, steps)
        rates = [rate(step / steps, learning) for step in range(steps)]
        self.checkpoints = traced_checkpoints(folder, self.best, rates, complete=not learner.extra)

        # 3. The rows that are examined, as indices of `examples`: as many as MAX_ROWS and MAX_TOKENS allow
        sampled = random.Random(0).sample(range(len(examples)), min(MAX_ROWS, len(examples)))
        tokens = [sum(len(item.ids) for item in learner.read([self.examples[number]])) for number in sampled]
        count = max(1, int(np.searchsorted(np.cumsum(tokens), MAX_TOKENS, side="right")))
        self.numbers = sorted(sampled[:count])
        self.left_out = len(examples) - len(self.numbers)

    def learner(self, folder: Path) -> Traceable:
        """The learner at the checkpoint in *folder*, in evaluation mode; gradients are enabled for the parameters that
        the run trained. Raises ExplorerError if its rows have no loss each."""
        learner = open_learner(folder, about=self.best)
        if not isinstance(learner, Traceable):
            raise ExplorerError(
                "This works for labels, tags, answers to questions, similarities and relevance; this run is of the "
                f"task {self.spec.definition.title}."
            )
        require_gradients(learner, self.spec.tuning)
        learner.modules.eval()
        return learner

    def items(self, learner: Traceable) -> list[list[Item]]:
        """The items of each examined row: several if its passage is read in windows."""
        return [learner.read([self.examples[number]]) for number in self.numbers]

    def ranked(
        self,
        learner: Traceable,
        label: str,
        scores: Sequence[float],
        *,
        cosines: Sequence[float] = (),
        losses: Sequence[float] = (),
    ) -> Influences:
        """The examined rows by *scores*, a number for each. *label*: the explained one, "" for none; *cosines*,
        *losses*: a number for each as well, or none."""
        influences = []
        for i, number in enumerate(self.numbers):
            example = self.examples[number]
            texts, answer = learner.describe_example(example)
            influence = Influence(
                line=example.line,
                texts=texts,
                label=answer,
                score=float(scores[i]),
                cosine=float(cosines[i]) if cosines else 0.0,
                loss=float(losses[i]) if losses else 0.0,
                truth=" | ".join(self.truths.get(number, ())),
            )
            influences.append(influence)
        influences.sort(key=lambda row: -row.score)
        steps = tuple(checkpoint.step for checkpoint in self.checkpoints)
        return Influences(label, tuple(influences), steps, self.left_out)


def influence(folder: Path, cells: Mapping[str, str], label: str = "") -> Generator[float, None, Influences]:
    """The influence of each training row of the run in *folder* on its answer *label* to a new row: the sum over the
    saved checkpoints of learning rate x gradient of the row's loss x gradient of the answer's loss, over all trained
    parameters (Pruthi et al., 2020, TracInCP). The answer's loss is that of a row which has it as its label; for a
    similarity it is the cosine, negated.

    *cells*: column of the task -> text; *label*: see `example_to_explain` of the task's learner, "" for its own answer.
    Yields the progress, 0 to 1. Raises ExplorerError as TracedRun does, for an empty text and for an answer that
    cannot be given."""
    # 1. The new row, with the answer that is explained
    traced = TracedRun(folder)
    best = traced.learner(traced.best)
    if label and not best.accepts_answer:
        raise ExplorerError(f"This task has only one answer to explain; leave the label {label!r:.60} out.")
    explained = best.example_to_explain(cells, label)
    text_count = len(best.describe_example(explained.example).texts)
    expected = len(best.describe_example(traced.examples[0]).texts)
    if text_count != expected:
        raise ExplorerError(f"The row has {counted(text_count, 'text')}; wanted {expected}. Fill in each of them.")

    # 2. The scores, checkpoint by checkpoint
    scores = np.zeros(len(traced.numbers))
    count = len(traced.checkpoints)
    for number, checkpoint in enumerate(traced.checkpoints):
        learner = traced.learner(checkpoint.folder)
        scale = rate_scale(traced.spec.tuning, learner.checkpoint.config)
        gradient = answer_gradient(learner, learner.read([explained.example]), scale)
        rows = traced.items(learner)
        items = [item for row in rows for item in row]
        row_of_item = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
        done = 0
        for indices, products in directional_derivatives(learner, items, gradient):
            np.add.at(scores, row_of_item[indices], checkpoint.weight * products)
            done += len(indices)
            yield (number + done / len(items)) / count

    # 3. The vectors, for comparison
    [vector] = mean_vectors(best, [best.read([explained.example])])
    cosines = cosine_similarities(vector, mean_vectors(best, traced.items(best)))
    return traced.ranked(best, explained.answer, scores.tolist(), cosines=cosines)


def suspects(folder: Path) -> Generator[float, None, Influences]:
    """The influence of each training row on its own loss, over the parameters of the head. It is high for rows that
    the run could only memorise, such as those with a wrong label (Pruthi et al., 2020, section 4.1). Yields and
    raises as `influence` does, and ExplorerError for a run without a head."""
    traced = TracedRun(folder)
    learner = traced.learner(traced.best)
    scores = np.zeros(len(traced.numbers))
    count = len(traced.checkpoints)
    losses: list[float] = []  # of the best checkpoint
    for number, checkpoint in enumerate(traced.checkpoints):
        learner = traced.learner(checkpoint.folder)
        learner.checkpoint.encoder.requires_grad_(False)
        parameters = [p for p in learner.modules.parameters() if p.requires_grad]
        if not parameters:
            raise ExplorerError("Wrong labels are found by the head, and this task trains none.")
        rows = traced.items(learner)
        for i, (row, inputs) in enumerate(zip(rows, head_inputs(learner, rows), strict=True)):
            items = [replace(item, vectors=vectors) for item, vectors in zip(row, inputs, strict=True)]
            loss = learner.row_losses(learner.collate(items).to(learner.checkpoint.device)).sum()
            gradients = torch.autograd.grad(loss, parameters, allow_unused=True)
            squares = [float(gradient.square().sum()) for gradient in gradients if gradient is not None]
            scores[i] += checkpoint.weight * sum(squares)
            if checkpoint.folder == traced.best:
                losses.append(float(loss.detach()))
            yield (number + i / len(traced.numbers)) / count
    return traced.ranked(learner, "", scores.tolist(), losses=losses)


def run_to_end(work: Generator[float, None, Influences]) -> Influences:
    """Run the generator *work* to its end and return its result."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return cast(Influences, done.value)


def traced_checkpoints(folder: Path, best: Path, rates: Sequence[float], *, complete: bool) -> list[TracedCheckpoint]:
    """The snapshots of a run and its best checkpoint in the order of their steps, each step once. If there are more
    than MAX_CHECKPOINTS, as many that are evenly spread, and the best.

    *rates*: the learning rate of each step of the run. *complete*: whether model.safetensors holds all that was
    trained; if not, the snapshots of version 0.1 are left out, as they lack the file of the other parts."""
    # 1. The folder of each step.
    folders: dict[int, Path] = {}
    for path in list_commits(folder / "snapshots"):
        if complete or (path / "task.safetensors").exists():
            folders[step_number(path)] = path
    folders[step_number(best)] = best
    steps = sorted(folders)
    # 2. Not too many.
    if len(steps) > MAX_CHECKPOINTS:
        chosen = {step_number(best)}
        for i in range(MAX_CHECKPOINTS):
            chosen.add(steps[round(i * (len(steps) - 1) / (MAX_CHECKPOINTS - 1))])
        steps = sorted(chosen)
    # 3. Their weights.
    checkpoints = []
    for previous, step in pairwise([0, *steps]):
        checkpoints.append(TracedCheckpoint(folders[step], step, weight=sum(rates[previous:step])))
    return checkpoints


def step_number(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))

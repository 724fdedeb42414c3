"""Which training rows taught a run its answers: TracIn (Pruthi et al., 2020) over the checkpoints that it kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.func import functional_call, jvp
from torch.nn.attention import SDPBackend, sdpa_kernel

from bertexplorer.errors import ExplorerError
from bertexplorer.training.checkpointing import committed
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import opened
from bertexplorer.training.finetuning.batch_sampler import steps_of
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.finetuning.trainable import learning_of, prepare, scale_of
from bertexplorer.training.learner import Traceable
from bertexplorer.training.optimiser import rate
from bertexplorer.training.tasks.classification import planted
from bertexplorer.training.texts import Item, by_length

MOST_ROWS = 2_000  # training rows that are examined; of more, as many are drawn
MOST_TOKENS = 256_000  # of them
MOST_CHECKPOINTS = 6
CHUNK = 64  # rows whose vectors are in memory at once


@dataclass(frozen=True)
class Influence:
    """The influence of one training row. *score*: for `influence`, above 0 if training on the row made the explained
    answer likelier; for `suspects`, the row's influence on its own loss, never below 0. Its unit is that of the loss
    times a factor that is the same for all rows."""

    line: int  # of the file
    texts: tuple[str, ...]
    label: str  # as trained: a label, tags, an answer or a score, in words
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
    def planted(self) -> int:
        return sum(bool(row.truth) for row in self.rows)

    def found(self, key: Callable[[Influence], float] = lambda row: row.score) -> int:
        """How many planted rows stand among as many first rows by *key*, the highest first."""
        first = sorted(self.rows, key=lambda row: -key(row))[: self.planted]
        return sum(bool(row.truth) for row in first)


@dataclass(frozen=True)
class Kept:
    """A checkpoint that a run kept. *weight*: the sum of the learning rates of the steps since the one before."""

    folder: Path
    step: int
    weight: float


class Traced:
    """A finished or stopped run with the rows that it learned from. Raises ExplorerError if its task has no loss for
    each row, or if it kept no checkpoint."""

    def __init__(self, folder: Path) -> None:
        self.spec, rows, _ = specs.read(folder)
        best = committed(folder / "best")[-1:]
        if not best:
            raise ExplorerError("This run has kept no checkpoint yet. Wait for its first evaluation.")
        self.best = best[0]
        learner = self.learner(self.best)
        found = self.spec.module.examples(rows, self.spec.task_options)[0]
        self.examples, self.truths = planted(found, self.spec.task_options)
        tuning = self.spec.tuning
        lengths = [len(item.ids) for item in learner.read(self.examples)]
        per_epoch, _ = steps_of(lengths, tuning.batch, tuning.accumulate, tuning.seed)
        steps = max(1, round(tuning.epochs * per_epoch))
        rates = [rate(step / steps, learning_of(tuning, learner.checkpoint.config)) for step in range(steps)]
        self.kept = kept(folder, self.best, rates, whole=not learner.extra)
        drawn = random.Random(0).sample(range(len(found)), min(MOST_ROWS, len(found)))
        sizes = [sum(len(item.ids) for item in learner.read([self.examples[number]])) for number in drawn]
        count = max(1, int(np.searchsorted(np.cumsum(sizes), MOST_TOKENS, side="right")))
        self.numbers = sorted(drawn[:count])
        self.left_out = len(found) - len(self.numbers)

    def learner(self, folder: Path) -> Traceable:
        """The learner as it was at a kept checkpoint, with the parameters that learned as those with gradients."""
        made = opened(folder, about=self.best)
        if not isinstance(made, Traceable):
            raise ExplorerError(
                "This works for labels, tags, answers to questions, similarities and relevance; this run is of the "
                f"task {self.spec.module.TITLE}."
            )
        learning(made, self.spec.tuning)
        made.modules.eval()
        return made

    def items(self, learner: Traceable) -> list[list[Item]]:
        """Those of each row: several if its passage is read in windows."""
        return [learner.read([self.examples[number]]) for number in self.numbers]

    def sorted(self, learner: Traceable, label: str, scores: Sequence[float], **more: Sequence[float]) -> Influences:
        shown = [learner.shown(self.examples[number]) for number in self.numbers]
        found = [
            Influence(
                self.examples[number].line,
                shown[i][0],
                shown[i][1],
                float(scores[i]),
                truth=" | ".join(self.truths.get(number, ())),
                **{name: float(values[i]) for name, values in more.items()},
            )
            for i, number in enumerate(self.numbers)
        ]
        rows = tuple(sorted(found, key=lambda row: -row.score))
        return Influences(label, rows, tuple(one.step for one in self.kept), self.left_out)


def influence(folder: Path, cells: Mapping[str, str], label: str = "") -> Generator[float, None, Influences]:
    """The influence of each training row of the run in *folder* on its answer *label* to a new row: the sum over the
    kept checkpoints of learning rate x gradient of the row's loss x gradient of the answer's loss, over all parameters
    that learned (Pruthi et al., 2020, TracInCP). The answer's loss is that of a row which has it as its label; for a
    similarity it is the cosine, negated.

    *cells*: column of the task -> text; *label*: see `explained` of the task's learner, "" for its own answer. Yields
    the share that is done, 0 to 1. Raises ExplorerError as Traced does, for an empty text and for an answer that cannot
    be given."""
    traced = Traced(folder)
    best = traced.learner(traced.best)
    if label and not best.chooses:
        raise ExplorerError(f"This task has only one answer to explain; leave the label {label!r:.60} out.")
    label, asked = best.explained(cells, label)
    given, wanted = (len(best.shown(one)[0]) for one in (asked, traced.examples[0]))
    if given != wanted:
        raise ExplorerError(f"The row has {given} text{'s' * (given != 1)}; wanted {wanted}. Fill in each of them.")
    scores = np.zeros(len(traced.numbers))
    parts = len(traced.kept)
    for number, one in enumerate(traced.kept):
        learner = traced.learner(one.folder)
        slope = gradient(learner, learner.read([asked]), scale_of(traced.spec.tuning, learner.checkpoint.config))
        rows = traced.items(learner)
        owners, done = np.repeat(np.arange(len(rows)), [len(row) for row in rows]), 0
        for indices, products in along(learner, [item for row in rows for item in row], slope):
            np.add.at(scores, owners[indices], one.weight * products)
            done += len(indices)
            yield (number + done / len(owners)) / parts
    own, others = pooled(best, [best.read([asked])])[0], pooled(best, traced.items(best))
    return traced.sorted(best, label, scores.tolist(), cosine=cosines(own, others))


def suspects(folder: Path) -> Generator[float, None, Influences]:
    """The influence of each training row on its own loss, over the parameters of the head. It is high for rows that
    the run could only memorise, such as those with a wrong label (Pruthi et al., 2020, section 4.1). Yields and
    raises as `influence` does, and ExplorerError for a run without a head."""
    traced = Traced(folder)
    learner = traced.learner(traced.best)
    scores, parts = np.zeros(len(traced.numbers)), len(traced.kept)
    losses: list[float] = []
    for number, one in enumerate(traced.kept):
        learner = traced.learner(one.folder)
        learner.checkpoint.encoder.requires_grad_(False)
        held = [p for p in learner.modules.parameters() if p.requires_grad]
        if not held:
            raise ExplorerError("Wrong labels are found by the head, and this task trains none.")
        losses = []
        rows = traced.items(learner)
        for i, (row, outputs) in enumerate(zip(rows, vectors(learner, rows), strict=True)):
            read = [replace(item, vectors=output) for item, output in zip(row, outputs, strict=True)]
            loss = learner.row_losses(learner.collate(read).to(learner.checkpoint.device)).sum()
            found = torch.autograd.grad(loss, held, allow_unused=True)
            scores[i] += one.weight * sum(float(part.square().sum()) for part in found if part is not None)
            losses.append(float(loss.detach()))
            yield (number + i / len(traced.numbers)) / parts
    return traced.sorted(learner, "", scores.tolist(), loss=losses)


def finish(work: Generator[float, None, Influences]) -> Influences:
    """What *work* returns in the end."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return cast(Influences, done.value)


def kept(folder: Path, best: Path, rates: Sequence[float], *, whole: bool) -> list[Kept]:
    """The snapshots of a run and its best checkpoint in the order of their steps, each step once. *rates*: of all
    steps; *whole*: whether transformers knows all trained parts. If not, snapshots that lack the others, from version
    0.1, are left out."""
    there = {
        step_of(one): one for one in committed(folder / "snapshots") if whole or (one / "task.safetensors").exists()
    }
    there[step_of(best)] = best
    steps = sorted(there)
    if len(steps) > MOST_CHECKPOINTS:
        steps = [steps[round(i * (len(steps) - 1) / (MOST_CHECKPOINTS - 1))] for i in range(MOST_CHECKPOINTS)]
    return [Kept(there[step], step, sum(rates[last:step])) for last, step in pairwise([0, *steps])]


def step_of(folder: Path) -> int:
    return int(folder.name.removeprefix("step-"))


def learning(learner: Traceable, tuning: Tuning) -> None:
    """Require gradients of the parameters that learned in the run. Those of LoRA are merged into queries and values by
    now, whose weights stand for them."""
    if tuning.method != "lora":
        return prepare(learner, tuning)
    learner.modules.requires_grad_(True)
    encoder = learner.checkpoint.encoder.requires_grad_(False)
    for name, module in encoder.named_modules():
        if name.endswith((".query", ".value")):
            module.weight.requires_grad_(True)
    return None


def gradient(learner: Traceable, items: Sequence[Item], scale: Callable[[str], float]) -> dict[str, Tensor]:
    """The gradient of the summed `answer_losses` of *items*, by parameter, times its share of the rate."""
    named = {name: one for name, one in learner.modules.named_parameters() if one.requires_grad}
    batch = learner.collate(items).to(learner.checkpoint.device)
    found = torch.autograd.grad(learner.answer_losses(batch).sum(), list(named.values()), materialize_grads=True)
    return {name: scale(name) * slope for name, slope in zip(named, found, strict=True)}


class RowLosses(nn.Module):
    """The losses of a batch as a module, whose parameters torch.func can replace."""

    def __init__(self, learner: Traceable) -> None:
        super().__init__()
        self.learner, self.held = learner, learner.modules

    def forward(self, batch: Any) -> Float[Tensor, " b"]:
        return self.learner.row_losses(batch)


def along(
    learner: Traceable, items: Sequence[Item], slope: Mapping[str, Tensor]
) -> Generator[tuple[list[int], Float[np.ndarray, " b"]], None, None]:
    """The product of each item's gradient with *slope*, in batches: (indices of the items, their products). It is the
    derivative of the item's loss along *slope*, so one pass in forward mode gives those of a whole batch."""
    module = RowLosses(learner)
    held = {f"held.{name}": one.detach() for name, one in learner.modules.named_parameters() if name in slope}
    tangents = {f"held.{name}": one for name, one in slope.items()}
    for indices in by_length(items):
        batch = learner.collate([items[i] for i in indices]).to(learner.checkpoint.device)

        def losses(parameters: dict[str, Tensor], batch: Any = batch) -> Tensor:
            return functional_call(module, parameters, (batch,))

        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # the fused kernels have no forward mode
            products = jvp(losses, (held,), (tangents,))[1].cpu().numpy()
        yield indices, products  # outside of no_grad, which belongs to a thread: the next step may come from another


def vectors(learner: Traceable, rows: Sequence[Sequence[Item]]) -> Iterator[list[Float[np.ndarray, "s d"]]]:
    """What the head reads of each row's items."""
    for start in range(0, len(rows), CHUNK):
        part = rows[start : start + CHUNK]
        found = iter(learner.outputs([item for row in part for item in row]))
        yield from ([next(found) for _ in row] for row in part)


def pooled(learner: Traceable, rows: Sequence[Sequence[Item]]) -> Float[np.ndarray, "n d"]:
    """The mean of the vectors of each row, over its windows if it has several."""
    return np.stack([np.mean([one.mean(0) for one in found], axis=0) for found in vectors(learner, rows)])


def cosines(one: Float[np.ndarray, " d"], others: Float[np.ndarray, "n d"]) -> list[float]:
    return list(others @ one / (np.linalg.norm(others, axis=1) * np.linalg.norm(one)))

"""Which training rows taught a run its answers: TracIn (Pruthi et al., 2020) over the checkpoints that it kept."""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
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
from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import opened
from bertexplorer.training.finetuning.batch_sampler import steps_of
from bertexplorer.training.finetuning.spec import Tuning
from bertexplorer.training.finetuning.trainable import learning_of, prepare, scale_of
from bertexplorer.training.learners.classification import Classifier
from bertexplorer.training.optimiser import rate
from bertexplorer.training.tasks.classification import planted
from bertexplorer.training.texts import Item, TextBatch, by_length, encode

MOST_ROWS = 2_000  # training rows that are examined; of more, as many are drawn
MOST_CHECKPOINTS = 6


@dataclass(frozen=True)
class Influence:
    """The influence of one training row. *score*: for `influence`, above 0 if training on the row made the explained
    label likelier; for `suspects`, the row's influence on its own loss, never below 0. Its unit is that of the loss
    times a factor that is the same for all rows."""

    line: int  # of the file
    texts: tuple[str, ...]
    label: str  # as trained
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
    """A finished or stopped run with the rows that it learned from. Raises ExplorerError if its task has no labels for
    whole texts, or if it kept no checkpoint."""

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
        self.numbers = sorted(drawn)
        self.left_out = len(found) - len(drawn)

    def learner(self, folder: Path) -> Classifier:
        """The learner as it was at a kept checkpoint, with the parameters that learned as those with gradients."""
        made = opened(folder, about=self.best)
        if not isinstance(made, Classifier):
            raise ExplorerError(
                f"This works for labels of whole texts and of pairs; this run is of the task {self.spec.module.TITLE}."
            )
        learning(made, self.spec.tuning)
        made.modules.eval()
        return made

    def items(self, learner: Classifier) -> list[Item]:
        return learner.read([self.examples[number] for number in self.numbers])

    def sorted(self, label: str, scores: Sequence[float], **more: Sequence[float]) -> Influences:
        found = [
            Influence(
                self.examples[number].line,
                self.examples[number].texts,
                " | ".join(self.examples[number].labels),
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
    kept checkpoints of learning rate x gradient of the row's loss x gradient of the new row's loss, over all parameters
    that learned (Pruthi et al., 2020, TracInCP).

    *cells*: column of the task -> text; *label* "": the likeliest. Yields the share that is done, 0 to 1. Raises
    ExplorerError as Traced does, for an empty text and for an unknown label."""
    traced = Traced(folder)
    best = traced.learner(traced.best)
    label = label or best.predict([cells])[0]["labels"][0]["label"]
    if label not in best.labels:
        raise ExplorerError(f"The run knows no label {label!r:.60}; it knows {', '.join(best.labels)[:200]}.")
    asked = traced.spec.module.examples([Row(0, {**cells, "label": label})], traced.spec.task_options)[0]
    if not asked:
        raise ExplorerError("The row lacks a text. Fill in each of them.")
    scores = np.zeros(len(traced.numbers))
    parts = len(traced.kept)
    for number, one in enumerate(traced.kept):
        learner = traced.learner(one.folder)
        slope = gradient(learner, learner.read(asked), scale_of(traced.spec.tuning, learner.checkpoint.config))
        for indices, products in along(learner, traced.items(learner), slope):
            scores[indices] += one.weight * products
            yield (number + len(indices) / len(scores)) / parts
    own = vectors(best, best.read(asked))[0]
    others = np.stack([found.mean(0) for found in vectors(best, traced.items(best))])
    return traced.sorted(label, scores.tolist(), cosine=cosines(own.mean(0), others))


def suspects(folder: Path) -> Generator[float, None, Influences]:
    """The influence of each training row on its own loss, over the parameters of the head. It is high for rows that
    the run could only memorise, such as those with a wrong label (Pruthi et al., 2020, section 4.1). Yields and
    raises as `influence` does."""
    traced = Traced(folder)
    scores, parts = np.zeros(len(traced.numbers)), len(traced.kept)
    losses: list[float] = []
    for number, one in enumerate(traced.kept):
        learner = traced.learner(one.folder)
        items = traced.items(learner)
        read = [replace(item, vectors=found) for item, found in zip(items, vectors(learner, items), strict=True)]
        learner.checkpoint.encoder.requires_grad_(False)
        losses = []
        for i, item in enumerate(read):
            loss = learner.row_losses(learner.collate([item]).to(learner.checkpoint.device))[0]
            held = [p for p in learner.modules.parameters() if p.requires_grad]
            found = torch.autograd.grad(loss, held, allow_unused=True)
            scores[i] += one.weight * sum(float(part.square().sum()) for part in found if part is not None)
            losses.append(float(loss.detach()))
            yield (number + i / len(read)) / parts
    return traced.sorted("", scores.tolist(), loss=losses)


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


def learning(learner: Classifier, tuning: Tuning) -> None:
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


def gradient(learner: Classifier, items: Sequence[Item], scale: Callable[[str], float]) -> dict[str, Tensor]:
    """The gradient of the summed losses of *items*, by parameter, each times its share of the learning rate."""
    named = {name: one for name, one in learner.modules.named_parameters() if one.requires_grad}
    batch = learner.collate(items).to(learner.checkpoint.device)
    found = torch.autograd.grad(learner.row_losses(batch).sum(), list(named.values()), materialize_grads=True)
    return {name: scale(name) * slope for name, slope in zip(named, found, strict=True)}


class RowLosses(nn.Module):
    """The losses of a batch as a module, whose parameters torch.func can replace."""

    def __init__(self, learner: Classifier) -> None:
        super().__init__()
        self.learner, self.held = learner, learner.modules

    def forward(self, batch: TextBatch) -> Float[Tensor, " b"]:
        return self.learner.row_losses(batch)


def along(
    learner: Classifier, items: Sequence[Item], slope: Mapping[str, Tensor]
) -> Generator[tuple[list[int], Float[np.ndarray, " b"]], None, None]:
    """The product of each item's gradient with *slope*, in batches: (indices of the items, their products). It is the
    derivative of the item's loss along *slope*, so one pass in forward mode gives those of a whole batch."""
    module = RowLosses(learner)
    held = {f"held.{name}": one.detach() for name, one in learner.modules.named_parameters() if name in slope}
    tangents = {f"held.{name}": one for name, one in slope.items()}
    for indices in by_length(items):
        batch = learner.collate([items[i] for i in indices]).to(learner.checkpoint.device)

        def losses(parameters: dict[str, Tensor], batch: TextBatch = batch) -> Tensor:
            return functional_call(module, parameters, (batch,))

        with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):  # the fused kernels have no forward mode
            products = jvp(losses, (held,), (tangents,))[1].cpu().numpy()
        yield indices, products  # outside of no_grad, which belongs to a thread: the next step may come from another


def vectors(learner: Classifier, items: Sequence[Item]) -> list[Float[np.ndarray, "s d"]]:
    """The outputs of the encoder that the head reads: of the first token, or of all."""

    def compute(part: list[Item], batch: Any) -> list[np.ndarray]:
        last = encode(learner.modules["encoder"], batch).float().cpu().numpy()
        return [last[row, : 1 if learner.first_only else len(item.ids)] for row, item in enumerate(part)]

    return learner.in_batches(items, compute)


def cosines(one: Float[np.ndarray, " d"], others: Float[np.ndarray, "n d"]) -> list[float]:
    return list(others @ one / (np.linalg.norm(others, axis=1) * np.linalg.norm(one)))

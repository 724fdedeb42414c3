"""Compute a fine-tuning run, from its start or from its last commit, and report it as events. A run is a folder:

RUN/spec.json, data/       settings and rows
RUN/events.jsonl, log.txt  the log, as a JSON object per line and as text
RUN/commits/STEP/          weights, moments and state.json, for an exact resume
RUN/best/STEP/             the best checkpoint in transformers format, with its task, metrics and predictions
RUN/snapshots/STEP/        checkpoints along the way
RUN/stop                   anyone may create it; it ends the run after a commit, as SIGTERM and SIGINT do
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.training import learners, weights
from bertexplorer.training.data.rows import Row
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.distributed import Distributed, follows
from bertexplorer.training.events import Event
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import keep, write
from bertexplorer.training.finetuning.batch_sampler import Order, epoch_of, steps_of
from bertexplorer.training.finetuning.diagnostics import alarms, memory_mb
from bertexplorer.training.finetuning.spec import Spec
from bertexplorer.training.finetuning.trainable import frozen_vectors, learning_of, prepare, scale_of
from bertexplorer.training.learner import Learner
from bertexplorer.training.loop import Budget, Window, train
from bertexplorer.training.optimiser import adamw
from bertexplorer.training.run_driver import RunDriver
from bertexplorer.training.run_process import work
from bertexplorer.training.tasks.classification import planted
from bertexplorer.training.texts import Item, TextBatch

TELL = 2.0  # seconds between two events about steps
COMMIT = 60.0  # seconds between two commits, at least
SPENT = 0.05  # largest share of the time for commits


def finetune(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Continue the run in *folder* until it is done or *stop* returns True. Yields each event after writing it to the
    log.

    Raises ExplorerError; commits stay intact."""
    spec, train_rows, dev_rows = specs.read(folder)
    if follows():
        for _ in Run(folder, spec, train_rows, dev_rows, stop).events():
            pass
        return
    yield from work(folder, lambda ending: Run(folder, spec, train_rows, dev_rows, ending), stop)


@dataclass
class Best:
    """The best evaluation so far."""

    value: float = float("nan")
    step: int = -1
    waited: int = 0  # evaluations since the last better value
    start: float = float("nan")  # before the first step
    loss: float = float("inf")  # breaks ties

    def after(self, step: int, value: float, loss: float, *, higher: bool) -> "Best":
        """The best evaluation after *step*. Of equal values the one with the lower loss is best, but only a better
        value resets the patience."""
        gain = value - self.value if higher else self.value - value
        better = gain > 0 or self.step < 0
        waited = 0 if better else self.waited + 1
        if better or (gain == 0 and loss < self.loss):
            return replace(self, value=value, step=step, loss=loss, waited=waited)
        return replace(self, waited=waited)


class Run(RunDriver):
    """A fine-tuning run while it is computed."""

    def __init__(
        self,
        folder: Path,
        spec: Spec,
        train_rows: Sequence[Row],
        dev_rows: Sequence[Row],
        stop: Callable[[], bool],
    ) -> None:
        self.spec, self.task, self.tuning = spec, spec.module, spec.tuning
        self.rows = train_rows, dev_rows
        self.best = Best()
        self.placement = Distributed()
        tuning, device = self.tuning, self.placement.device
        super().__init__(folder, stop, threads=tuning.threads, precision=tuning.precision, device=device)

    def events(self) -> Iterator[Event]:
        learner, train_items, dev = self.learner()
        optimiser = self.optimiser(learner)
        source = yield from self.newest_commit()
        more = yield from self.resume(learner.modules, optimiser, source)
        if more:
            self.best = Best(**more["best"])
        if self.tuning.method == "frozen":
            yield {"event": "reading", "text": "The frozen encoder reads every row once."}
            train_items = frozen_vectors(learner, train_items, self.folder / "vectors")
        order = getattr(learner, "order", epoch_of)  # some learners choose which rows share a batch
        if self.placement.count > 1 and order is not epoch_of:
            yield {
                "event": "warning",
                "text": "Each process gets a part of a batch, so a row is compared with fewer others.",
            }
        batches = self.batches(learner, train_items, order)
        yield {
            "event": "ready",
            "rows": len(train_items),
            "dev_rows": len(dev),
            "cut": sum(item.left_out > 0 for item in train_items),
            "steps": self.steps,
            "rate": self.learning.peak,
            "learning": sum(p.numel() for p in learner.modules.parameters() if p.requires_grad),
            "precision": "bf16" if self.bf16 else "fp32",
            "device": str(self.device),
            "processes": self.placement.count,
            "floors": self.floors,
        }
        yield from self.learn(learner, optimiser, batches, dev)

    def learner(self) -> tuple[Learner, list[Item], list[Any]]:
        """The untrained learner, the training rows as items, and the validation examples."""
        options, tuning = self.spec.task_options, self.tuning
        checkpoint = load(self.spec.folder, name=self.spec.checkpoint, precision="fp32", device=self.device)
        train_examples, _ = self.task.examples(self.rows[0], options)
        train_examples = planted(train_examples, options)[0]
        dev, _ = self.task.examples(self.rows[1], options)
        if not train_examples or not dev:
            empty = "for training" if not train_examples else "for validation"
            raise ExplorerError(f"No row {empty} can be used. Check which columns hold what.")
        learner = learners.create(self.task, checkpoint, train_examples, options, seed=tuning.seed)
        learner.set_max_tokens(tuning.max_tokens)
        learner.bf16 = self.bf16
        prepare(learner, tuning)
        weights.set_dropout(learner.modules, tuning.dropout)
        floors = self.task.floors(train_examples, dev, options)
        self.floors = {metric: {"name": name, "value": value} for metric, (name, value) in floors.items()}
        return learner, learner.read(train_examples), dev

    def optimiser(self, learner: Learner) -> torch.optim.Optimizer:
        config = learner.checkpoint.config
        self.learning = learning_of(self.tuning, config)
        return adamw(learner.modules, self.learning, scale_of(self.tuning, config))

    def batches(
        self, learner: Learner, items: Sequence[Item], order: Order = epoch_of
    ) -> Callable[[int], list[TextBatch]]:
        """A step's number -> its batches, each divided among the processes if there are several. Sets how many steps an
        epoch and the run have."""
        tuning, count = self.tuning, self.placement.count
        lengths = [len(item.ids) for item in items]
        self.per_epoch, rows_of = steps_of(lengths, tuning.batch, tuning.accumulate, tuning.seed, order)
        self.steps = max(1, round(tuning.epochs * self.per_epoch))

        def drawn(step: int) -> list[TextBatch]:
            parts = [rows[i::count] for rows in rows_of(step) for i in range(count) if rows[i::count]]
            return [learner.collate([items[row] for row in part]) for part in parts]

        return drawn

    def learn(
        self,
        learner: Learner,
        optimiser: torch.optim.Optimizer,
        batches: Callable[[int], list[TextBatch]],
        dev: Sequence[Any],
    ) -> Iterator[Event]:
        """Steps, with evaluations, commits and snapshots between them."""
        tuning, state = self.tuning, self.state
        count = 1 if tuning.dropout or self.device.type != "cpu" else self.threads
        torch.set_num_threads(max(1, self.threads // count))
        workers = DataParallel(learner, count, self.device, bf16=self.bf16, placement=self.placement)
        every = max(1, self.per_epoch // tuning.evaluations)
        parts = tuning.snapshots + 1
        looks = {round(self.steps * i / parts) for i in range(1, parts)} - {0, self.steps}
        if state.step == 0:
            yield from self.evaluated(learner, dev)
        budget = Budget(steps=self.steps)
        window, ended = Window(), False
        committed, spent = time.monotonic(), 0.0
        for step in train(workers, optimiser, batches, state, learning=self.learning, budget=budget, seed=tuning.seed):
            window.steps.append(step)
            last = state.step >= self.steps
            if time.monotonic() - window.since >= TELL or last:
                yield {"event": "steps"} | self.so_far() | window.tell() | {"memory_mb": memory_mb()}
                window = Window()
            if state.step in looks and self.placement.main:
                yield self.snapshot(lambda into: write(learner, self.spec, torch.bfloat16, into))
            if state.step % every == 0 or last:
                yield from self.evaluated(learner, dev)
                ended = bool(tuning.patience) and self.best.waited >= tuning.patience
            stopped = self.placement.any(self.stop())
            since = time.monotonic() - committed
            if last or ended or stopped or since >= max(COMMIT, spent / SPENT):
                if window.steps and (stopped or ended):
                    yield {"event": "steps"} | self.so_far() | window.tell()
                event = self.commit(learner, optimiser)
                committed, spent = time.monotonic(), event["seconds"]
                yield event
            if stopped and not last:
                yield {"event": "stopped"} | self.so_far()
                return
            if ended:
                break
        yield from self.finished()

    def so_far(self) -> Event:
        share = self.state.step / self.steps
        left = self.state.seconds / self.state.step * (self.steps - self.state.step) if self.state.step else None
        return {"share": share, "epoch": self.state.step / self.per_epoch, "seconds_left": left}

    def evaluated(self, learner: Learner, dev: Sequence[Any]) -> Iterator[Event]:
        """Evaluate on the validation rows and save the learner if it is the best so far."""
        began = time.monotonic()
        found = learner.evaluate(dev)
        value = found.metrics[self.task.METRIC]
        yield {"event": "evaluated"} | self.so_far() | {"metrics": found.metrics, "seconds": time.monotonic() - began}
        if self.state.step == 0:
            self.best = replace(self.best, start=value)
            return
        yield from alarms(found, start=self.best.start, value=value, higher=self.task.HIGHER)
        loss = found.metrics.get("loss", float("inf"))
        self.best = self.best.after(self.state.step, value, loss, higher=self.task.HIGHER)
        if self.best.step == self.state.step:
            if self.placement.main:
                keep(learner, self.folder / "best", self.spec, self.state.step, found)
            yield {"event": "best", "metric": self.task.METRIC, "value": value}

    def commit(self, learner: Learner, optimiser: torch.optim.Optimizer) -> Event:
        """Write a commit. Of several processes the main one writes it and the others wait."""
        began = time.monotonic()
        event = {"event": "committed", "commit": self.name}
        if self.placement.main:
            best = asdict(self.best)
            event = self.committed(
                lambda into: weights.write(learner.modules, optimiser, self.state, self.threads, into, best=best)
            )
        self.placement.wait()
        return event | {"seconds": time.monotonic() - began}

    def finished(self) -> Iterator[Event]:
        yield (
            {"event": "finished"}
            | self.so_far()
            | {
                "metric": self.task.METRIC,
                "value": self.best.value,
                "best_step": self.best.step,
                "seconds": self.state.seconds,
            }
        )

"""Compute a fine-tuning run, from its start or from its last commit, and report it as events. A run is a folder:

RUN/spec.json, data/       settings and rows
RUN/events.jsonl, log.txt  the log, as a JSON object per line and as text
RUN/commits/STEP/          weights, moments and state.json, for an exact resume
RUN/best/STEP/             the best checkpoint in transformers format, with its task, metrics and predictions
RUN/snapshots/STEP/        checkpoints along the way
RUN/stop                   any process may create this file; it ends the run after a commit, as SIGTERM and SIGINT do
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import isnan
from pathlib import Path
from typing import Any, NamedTuple

import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.training import learners
from bertexplorer.training.data.rows import Row
from bertexplorer.training.data_parallel import DataParallel, Distributed, is_secondary_process
from bertexplorer.training.events import Event
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import save_best, write_checkpoint
from bertexplorer.training.finetuning.batch_sampler import Order, shuffled_batches, step_schedule, steps_per_epoch
from bertexplorer.training.finetuning.compare import evaluation_warnings
from bertexplorer.training.finetuning.spec import Spec
from bertexplorer.training.finetuning.trainable import frozen_vectors, learning_schedule, rate_scale, set_trainable
from bertexplorer.training.labels import plant_wrong_labels
from bertexplorer.training.learner import Learner
from bertexplorer.training.loop import Budget, Window, train
from bertexplorer.training.optimiser import Learning, adamw
from bertexplorer.training.run_driver import RunDriver, set_dropout, write_training_state
from bertexplorer.training.run_process import log_events, memory_mb
from bertexplorer.training.texts import Item, TextBatch
from bertexplorer.training.trackers import Reports, tracker_names

REPORT = 2.0  # seconds between two events about steps
COMMIT = 60.0  # seconds between two commits, at least
SPENT = 0.05  # largest share of the time for commits


def finetune(folder: Path, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Continue the run in *folder* until it is done or *stop* returns True. Yields each event after writing it to the
    log; of several processes, the others than the main one compute without events.

    Raises ExplorerError; commits stay intact."""
    spec, train_rows, dev_rows = specs.read_run(folder)

    def create_run(ending: Callable[[], bool]) -> FinetuningRun:
        return FinetuningRun(folder, spec, train_rows, dev_rows, ending)

    if is_secondary_process():
        for _ in create_run(stop).events():
            pass
        return
    settings = asdict(spec.tuning) | {"task": spec.task}
    reports = Reports(folder, tracker_names(spec.tuning.report_to), settings)
    yield from log_events(folder, create_run, stop, reports)


@dataclass
class Best:
    """The best evaluation so far, and the one before the first step. Values are those of the task's headline metric."""

    value: float = float("nan")
    step: int = -1  # -1: there is none yet
    waited: int = 0  # evaluations since the last improvement
    start: float = float("nan")  # the value before the first step
    loss: float = float("inf")  # breaks ties
    start_loss: float = 0.0  # before the first step

    def after(self, step: int, value: float, loss: float, *, higher: bool) -> "Best":
        """The best evaluation after *step*. Of equal values the one with the lower loss is best, but only a better
        value resets the patience. Any number is better than NaN."""
        gain = value - self.value if higher else self.value - value
        better = gain > 0 or self.step < 0 or (isnan(self.value) and not isnan(value))
        waited = 0 if better else self.waited + 1
        if better or (gain == 0 and loss < self.loss):
            return replace(self, value=value, step=step, loss=loss, waited=waited)
        return replace(self, waited=waited)


class TrainingData(NamedTuple):
    """What a run begins with: an untrained learner, the training rows as it reads them, the validation examples."""

    learner: Learner
    items: list[Item]
    dev: list[Any]


class FinetuningRun(RunDriver):
    """A fine-tuning run while it is computed."""

    # Set by `prepare`
    baselines: dict[str, dict[str, Any]]  # metric -> name and value of what needs no training
    per_epoch: int  # steps of an epoch
    steps: int  # of the run
    learning: Learning

    def __init__(
        self,
        folder: Path,
        spec: Spec,
        train_rows: Sequence[Row],
        dev_rows: Sequence[Row],
        stop: Callable[[], bool],
    ) -> None:
        self.spec = spec
        self.task = spec.definition
        self.tuning = spec.tuning
        self.rows = train_rows, dev_rows
        self.best = Best()
        self.distributed = Distributed()
        super().__init__(
            folder,
            stop,
            threads=self.tuning.threads,
            precision=self.tuning.precision,
            device=self.distributed.device,
        )

    def events(self) -> Iterator[Event]:
        torch.set_num_threads(self.threads)

        # 1. The learner, as it begins or as it was when the last commit was written
        learner, train_items, dev = self.prepare()
        optimiser = self.optimiser(learner)
        commit = yield from self.newest_commit()
        resumed = yield from self.resume(learner.modules, optimiser, commit)
        if resumed:
            self.best = Best(**resumed["best"])

        # 2. The batches of each step
        if self.tuning.method == "frozen":
            yield {"event": "reading", "text": "The frozen encoder reads every row once."}
            train_items = frozen_vectors(learner, train_items, self.folder / "vectors")
        order = getattr(learner, "order", shuffled_batches)  # some learners decide which rows share a batch
        if self.distributed.count > 1 and order is not shuffled_batches:
            yield {
                "event": "warning",
                "text": "Each process gets a part of a batch, so a row is compared with fewer others.",
            }
        batches = self.batches(learner, train_items, order)

        # 3. The steps
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
            "processes": self.distributed.count,
            "floors": self.baselines,
        }
        if self.out_of_patience:  # it was resumed after its last step
            yield from self.finish()
        else:
            yield from self.train_steps(learner, optimiser, batches, dev)

    @property
    def out_of_patience(self) -> bool:
        """Whether so many evaluations brought no improvement that the run ends early."""
        return 0 < self.tuning.patience <= self.best.waited

    def prepare(self) -> TrainingData:
        """What the run begins with. Also sets the attributes of the run that follow from it. Raises ExplorerError if no
        row can be used."""
        # 1. The checkpoint and the examples
        options, tuning = self.spec.task_options, self.tuning
        checkpoint = load(self.spec.folder, name=self.spec.checkpoint, precision="fp32", device=self.device)
        train_rows, dev_rows = self.rows
        usable_examples, _ = self.task.examples(train_rows, options)
        train_examples, _ = plant_wrong_labels(usable_examples, options)  # if the options ask for some
        dev, _ = self.task.examples(dev_rows, options)
        if not train_examples:
            raise ExplorerError("No row for training can be used. Check the choice of columns.")
        if not dev:
            raise ExplorerError("No row for validation can be used. Check the choice of columns.")

        # 2. The learner
        learner = learners.create(self.task, checkpoint, train_examples, options, seed=tuning.seed)
        learner.set_max_tokens(tuning.max_tokens)
        learner.bf16 = self.bf16
        set_trainable(learner, tuning)
        set_dropout(learner.modules, tuning.dropout)

        # 3. What follows from them
        items = learner.read(train_examples)
        self.per_epoch = steps_per_epoch(len(items), tuning.batch, tuning.accumulate)
        self.steps = specs.number_of_steps(tuning, len(items))
        self.learning = learning_schedule(tuning, learner.checkpoint.config, self.steps)
        self.baselines = {}
        for metric, (name, value) in self.task.baselines(train_examples, dev, options).items():
            self.baselines[metric] = {"name": name, "value": value}
        return TrainingData(learner, items, dev)

    def optimiser(self, learner: Learner) -> torch.optim.Optimizer:
        """AdamW over what is trained, at the learning rates of the run."""
        return adamw(learner.modules, self.learning, rate_scale(self.tuning, learner.checkpoint.config))

    def batches(
        self, learner: Learner, items: Sequence[Item], order: Order = shuffled_batches
    ) -> Callable[[int], list[TextBatch]]:
        """A step's number -> its batches, each divided among the processes if there are several."""
        tuning, count = self.tuning, self.distributed.count
        lengths = [len(item.ids) for item in items]
        rows_of = step_schedule(lengths, tuning.batch, tuning.accumulate, tuning.seed, order)

        def step_batches(step: int) -> list[TextBatch]:
            batches = []
            for rows in rows_of(step):
                for process in range(count):
                    part = rows[process::count]
                    if part:
                        batches.append(learner.collate([items[row] for row in part]))
            return batches

        return step_batches

    def train_steps(
        self,
        learner: Learner,
        optimiser: torch.optim.Optimizer,
        batches: Callable[[int], list[TextBatch]],
        dev: Sequence[Any],
    ) -> Iterator[Event]:
        """Steps, with evaluations, commits and snapshots between them."""
        # 1. What is done when
        tuning, state = self.tuning, self.state
        evaluate_every = max(1, self.per_epoch // tuning.evaluations)
        intervals = tuning.snapshots + 1
        snapshot_steps = {round(self.steps * i / intervals) for i in range(1, intervals)} - {0, self.steps}

        # 2. Who does it: a copy of the learner for each core; a single one if dropout draws random numbers
        count = 1 if tuning.dropout or self.device.type != "cpu" else self.threads
        torch.set_num_threads(max(1, self.threads // count))
        workers = DataParallel(learner, count, self.device, bf16=self.bf16, distributed=self.distributed)

        # 3. Step by step
        if state.step == 0:
            yield from self.evaluate(learner, dev)
        budget = Budget(steps=self.steps)
        window = Window()
        last_commit, commit_seconds = time.monotonic(), 0.0
        for step in train(workers, optimiser, batches, state, learning=self.learning, budget=budget, seed=tuning.seed):
            window.steps.append(step)
            last = state.step >= self.steps
            if time.monotonic() - window.since >= REPORT or last:
                yield {"event": "steps"} | self.progress() | window.summary() | {"memory_mb": memory_mb()}
                window = Window()
            if state.step in snapshot_steps and self.distributed.main:
                yield self.write_snapshot(lambda into: write_checkpoint(learner, self.spec, torch.bfloat16, into))
            if state.step % evaluate_every == 0 or last:
                yield from self.evaluate(learner, dev)
            stopped = self.distributed.any(self.stop())
            elapsed = time.monotonic() - last_commit
            overdue = elapsed >= max(COMMIT, commit_seconds / SPENT)
            due = self.distributed.any(self.distributed.main and overdue)  # by the clock of the main process
            if last or self.out_of_patience or stopped or due:
                if window.steps and (stopped or self.out_of_patience):
                    yield {"event": "steps"} | self.progress() | window.summary()
                event = self.commit(learner, optimiser)
                last_commit, commit_seconds = time.monotonic(), event["seconds"]
                yield event
            if stopped and not last:
                yield {"event": "stopped"} | self.progress()
                return
            if self.out_of_patience:
                break
        yield from self.finish()

    def progress(self) -> Event:
        """The share of the run that is done, the epoch, and the seconds left at the pace so far, None before the first
        step."""
        done, steps = self.state.step, self.steps
        left = self.state.seconds / done * (steps - done) if done else None
        return {"share": done / steps, "epoch": done / self.per_epoch, "seconds_left": left}

    def evaluate(self, learner: Learner, dev: Sequence[Any]) -> Iterator[Event]:
        """Evaluate on the validation rows, warn of what looks wrong, and save the learner if it is the best so far."""
        began = time.monotonic()
        evaluation = learner.evaluate(dev)
        seconds = time.monotonic() - began
        yield {"event": "evaluated"} | self.progress() | {"metrics": evaluation.metrics, "seconds": seconds}
        value = evaluation.metrics[self.task.metric]
        loss = evaluation.metrics.get("loss", float("inf"))
        if self.state.step == 0:
            self.best = replace(self.best, start=value, start_loss=loss)
            return
        yield from evaluation_warnings(
            evaluation,
            start=self.best.start,
            value=value,
            higher=self.task.higher,
            start_loss=self.best.start_loss,
        )
        self.best = self.best.after(self.state.step, value, loss, higher=self.task.higher)
        if self.best.step == self.state.step:
            if self.distributed.main:
                save_best(learner, self.folder / "best", self.spec, self.state.step, evaluation)
            yield {"event": "best", "metric": self.task.metric, "value": value}

    def commit(self, learner: Learner, optimiser: torch.optim.Optimizer) -> Event:
        """Write a commit. If there are several processes, the main one writes it and the others wait."""
        began = time.monotonic()
        event = {"event": "committed", "commit": self.name}
        if self.distributed.main:
            best = asdict(self.best)
            event = self.write_commit(
                lambda into: write_training_state(learner.modules, optimiser, self.state, self.threads, into, best=best)
            )
        self.distributed.wait()
        return event | {"seconds": time.monotonic() - began}

    def finish(self) -> Iterator[Event]:
        best = {"metric": self.task.metric, "value": self.best.value, "best_step": self.best.step}
        yield {"event": "finished"} | self.progress() | best | {"seconds": self.state.seconds}

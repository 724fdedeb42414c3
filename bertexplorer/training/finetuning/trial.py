"""A trial: the first steps of a run, to estimate its time and memory. It changes nothing."""

import time
from collections.abc import Callable
from pathlib import Path

from bertexplorer.model.scheduler import torch_threads
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.run import FinetuningRun
from bertexplorer.training.loop import Budget, train
from bertexplorer.training.run_process import memory_mb

TIMED = 3  # steps of a dry run


def dry_run(folder: Path, tell: Callable[[str], object]) -> dict[str, float]:
    """Run three real steps after one to warm up, and evaluate some rows, without writing anything. Returns the
    estimated time of the whole run ("seconds"), its "steps", and peak memory ("memory_mb"). *tell* receives progress
    messages."""
    tell("Loading the checkpoint…")
    spec, train_rows, dev_rows = specs.read_run(folder)
    run = FinetuningRun(folder, spec, train_rows, dev_rows, lambda: False)
    with torch_threads(run.threads):
        return measure(run, tell)


def measure(run: FinetuningRun, tell: Callable[[str], object]) -> dict[str, float]:
    """The estimate of `dry_run`, from the time of a few steps and of the evaluation of a few rows. Trains *run*."""
    # 1. The steps. A message says what comes next.
    learner, items, dev = run.prepare()
    tuning = run.spec.tuning
    steps = train(
        DataParallel(learner, 1, run.device, bf16=run.bf16, distributed=run.distributed),
        run.optimiser(learner),
        run.batches(learner, items),
        run.state,
        learning=run.learning,
        budget=Budget(steps=TIMED + 1),
        seed=tuning.seed,
    )
    tell("Warming up…")
    times = []
    for number, step in enumerate(steps):
        times.append(step.seconds)
        tell(f"Timing step {number + 1} of {TIMED}…" if number < TIMED else "Timing an evaluation…")
    times = times[1:]  # without the step to warm up

    # 2. An evaluation.
    sample = dev[:64]
    began = time.monotonic()
    learner.evaluate(sample)
    sample_seconds = time.monotonic() - began

    # 3. The whole run.
    seconds_per_step = sum(times) / len(times)
    seconds_per_evaluation = sample_seconds * len(dev) / len(sample)
    evaluations = 1 + max(1, round(tuning.epochs * tuning.evaluations))  # the first is before the first step
    seconds = run.steps * seconds_per_step + evaluations * seconds_per_evaluation
    return {"seconds": seconds, "steps": run.steps, "memory_mb": memory_mb()}

"""Examples a second of a fine-tuning run, compared with transformers.Trainer on the same rows in one process.

    python -m bench.finetune [--rows 960] [--rounds 3] [--threads 2]

The bundled checkpoint, sentence classification, batches of 32, texts padded to the longest of their batch. The rows
are those of ../shared/data/sst2 if it exists, else the built-in ones, repeated. "same": fp32, dropout 0.1, the same
batches in the same order. "defaults": ours with bf16 if the CPU supports it and batches of similar lengths, theirs
unchanged. "frozen": epochs of the head alone after the vectors were computed, compared with our full fine-tuning."""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
import transformers

from bench.common import MINI, machine
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.batch_sampler import shuffled_batches
from bertexplorer.training.finetuning.run import FinetuningRun
from bertexplorer.training.finetuning.trainable import frozen_vectors, learning_schedule, rate_scale
from bertexplorer.training.loop import Budget, LoopState, train
from bertexplorer.training.optimiser import adamw
from bertexplorer.training.run_process import keep_freed_memory

ROOT = Path(__file__).parents[1]
SST2 = ROOT.parent / "shared" / "data" / "sst2" / "train.tsv"
BATCH = 32


def rows_of(count: int) -> list[Row]:
    path = SST2 if SST2.is_file() else ROOT / "assets" / "data" / "classification.csv"
    table = read(path.read_bytes(), path.name, max_rows=100_000)
    result = map_columns(table, {"text": table.columns[0], "label": "label"})
    order = np.random.default_rng(0).permutation(len(result))
    return [result[order[i % len(order)]] for i in range(count)]


def as_they_come(lengths: Sequence[int], batch: int, seed: int, epoch: int) -> list[list[int]]:
    """The original order, unsorted."""
    return [list(range(i, min(i + batch, len(lengths)))) for i in range(0, len(lengths), batch)]


def ours(rows: list[Row], threads: int, *, same: bool, **values: object) -> tuple[float, float]:
    """(seconds of an epoch, seconds before the first step: vectors, if they are computed)."""
    settings = {"epochs": 1, "batch": BATCH, "snapshots": 0, "precision": "fp32" if same else "auto", **values}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "run"
        specs.write_run_folder(folder, specs.make_spec("classification", "mini", str(MINI), settings), rows, rows[:8])
        run = FinetuningRun(folder, *specs.read_run(folder), lambda: False)
        learner, items, _ = run.prepare()
        tuning, config = run.tuning, learner.checkpoint.config
        torch.set_num_threads(threads)
        began = time.perf_counter()
        if tuning.method == "frozen":
            items = frozen_vectors(learner, items, folder / "vectors")
        before = time.perf_counter() - began
        run.learning = learning_schedule(tuning, config, run.steps)
        optimiser = adamw(learner.modules, run.learning, rate_scale(tuning, config))
        workers = DataParallel(learner, 1, run.device, bf16=run.bf16, distributed=run.distributed)
        batches = run.batches(learner, items, as_they_come if same else shuffled_batches)
        steps = run.steps
        went = train(
            workers, optimiser, batches, LoopState(), learning=run.learning, budget=Budget(steps=steps), seed=0
        )
        next(went)  # the first step allocates its memory
        began = time.perf_counter()
        count = sum(1 for _ in went)
        return (time.perf_counter() - began) * steps / count, before


def theirs(rows: list[Row], threads: int, *, same: bool) -> float:
    """Seconds of an epoch of transformers.Trainer."""
    torch.set_num_threads(threads)
    tokenizer = transformers.AutoTokenizer.from_pretrained(MINI)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(MINI, num_labels=2, dtype=torch.float32)
    labels = {label: i for i, label in enumerate(sorted({str(row.cells["label"]) for row in rows}))}
    data = [
        tokenizer(str(row.cells["text"]), truncation=True, max_length=128) | {"labels": labels[str(row.cells["label"])]}
        for row in rows
    ]
    at: list[float] = []

    class Clock(transformers.TrainerCallback):
        def on_step_end(self, *_: object, **__: object) -> None:
            at.append(time.perf_counter())

    class Ordered(transformers.Trainer):
        def _get_train_sampler(self, dataset: object = None) -> torch.utils.data.Sampler[int] | None:
            return torch.utils.data.SequentialSampler(data) if same else super()._get_train_sampler(dataset)

    with tempfile.TemporaryDirectory() as folder:
        arguments = transformers.TrainingArguments(
            folder,
            num_train_epochs=1,
            per_device_train_batch_size=BATCH,
            report_to=[],
            save_strategy="no",
            disable_tqdm=True,
            logging_strategy="no",
            use_cpu=True,
        )
        collate = transformers.DataCollatorWithPadding(tokenizer)
        Ordered(model, arguments, collate, data, callbacks=[Clock()]).train()
    return (at[-1] - at[0]) * len(at) / (len(at) - 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=960)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    given = parser.parse_args()
    keep_freed_memory()
    transformers.logging.set_verbosity_error()
    rows, threads = rows_of(given.rows), given.threads
    cases: dict[str, Callable[[], float]] = {
        "Trainer, same": lambda: theirs(rows, threads, same=True),
        "ours, same": lambda: ours(rows, threads, same=True)[0],
        "Trainer, defaults": lambda: theirs(rows, threads, same=False),
        "ours, defaults": lambda: ours(rows, threads, same=False)[0],
        "ours, frozen": lambda: ours(rows, threads, same=False, method="frozen")[0],
    }
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(given.rounds):
        for name, case in cases.items():
            times[name].append(case())
    speed = {name: len(rows) / sorted(result)[len(result) // 2] for name, result in times.items()}
    print(f"{machine()}; {given.threads} threads used, {len(rows)} rows\n")
    print("| case | examples/s | against |\n|---|---|---|")
    against = {
        "ours, same": "Trainer, same",
        "ours, defaults": "Trainer, defaults",
        "ours, frozen": "ours, defaults",
    }
    for name, value in speed.items():
        other = against.get(name)
        print(f"| {name} | {value:,.0f} | {f'{value / speed[other]:.1f}× {other}' if other else ''} |")


if __name__ == "__main__":
    main()

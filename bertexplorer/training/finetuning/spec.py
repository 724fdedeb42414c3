"""The settings of a fine-tuning run, as in spec.json: task, checkpoint, origin of the rows, and all options."""

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.model.config import EncoderConfig
from bertexplorer.options import Option, build
from bertexplorer.training import trackers
from bertexplorer.training.checkpointing import flush
from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning.batch_sampler import steps_per_epoch
from bertexplorer.training.task import AnyTask
from bertexplorer.training.tasks import BY_NAME

FORMAT = 1
SHORT = 500  # steps up to which a run is short
FEW_STEPS, ENOUGH_STEPS = 30, 40  # fewer teach little (60 rows in 3 epochs are 6); so many do for a small file


class SizeRates(NamedTuple):
    """The learning rates of checkpoints up to a hidden size."""

    hidden_size: float
    rate: float
    short_rate: float  # in a short run


RATES = (
    SizeRates(128, rate=3e-4, short_rate=3e-4),
    SizeRates(512, rate=1e-4, short_rate=3e-4),
    SizeRates(768, rate=5e-5, short_rate=5e-5),
    SizeRates(math.inf, rate=2e-5, short_rate=2e-5),
)


@dataclass(frozen=True)
class Tuning:
    """How a run trains. A rate of 0 means `learning_rate`."""

    method: Annotated[
        Literal["full", "frozen", "lora"],
        Option("Trainable weights", info="full: all; frozen: the head alone; lora: low-rank matrices added to them"),
    ] = "full"
    epochs: Annotated[float, Option("Epochs", 0.01, 1000.0, "passes over all rows")] = 3.0
    rate: Annotated[float, Option("Learning rate", 0.0, 1.0, "peak; 0: chosen to suit the run")] = 0.0
    batch: Annotated[int, Option("Batch size", 1, 1024, "rows per step")] = 32
    max_tokens: Annotated[int, Option("Maximum length", 8, 8192, "in tokens; longer texts are cut, and counted")] = 128
    seed: Annotated[int, Option("Seed", 0, 2**31 - 1, "of the new head, the order of the rows and dropout")] = 0
    accumulate: Annotated[int, Option("Gradient accumulation", 1, 1024, "batches per step")] = 1
    warmup: Annotated[float, Option("Warm-up", 0.0, 1.0, "share of the steps in which the learning rate rises")] = 0.1
    decay: Annotated[Literal["linear", "cosine"], Option("Learning rate decay", info="to 0 at the end")] = "linear"
    weight_decay: Annotated[float, Option("Weight decay", 0.0, 1.0, "except of biases and norms")] = 0.01
    clip: Annotated[float, Option("Gradient clipping", 0.0, 1e6, "maximum norm; 0: none")] = 1.0
    dropout: Annotated[float, Option("Dropout", 0.0, 0.9)] = 0.1
    frozen_layers: Annotated[
        int, Option("Frozen layers", 0, 48, "number of first layers that are not trained; nor are the embeddings then")
    ] = 0
    layer_decay: Annotated[
        float, Option("Layer-wise decay", 0.1, 1.0, "learning rate of a layer as a share of the next")
    ] = 1.0
    rank: Annotated[int, Option("LoRA rank", 1, 256, "of the low-rank matrices")] = 8
    evaluations: Annotated[int, Option("Evaluations per epoch", 1, 1000, "on the validation rows")] = 1
    patience: Annotated[
        int, Option("Patience", 0, 1000, "evaluations without improvement before early stopping; 0: none")
    ] = 0
    snapshots: Annotated[int, Option("Snapshots", 0, 50, "checkpoints to keep along the way")] = 4
    precision: Annotated[Literal["auto", "fp32", "bf16"], Option("Precision")] = "auto"
    threads: Annotated[int, Option("Threads", 0, 1024, "1 keeps the page fast; 0: all cores")] = 1
    report_to: Annotated[str, Option("Report to", info=trackers.INFO)] = ""


@dataclass(frozen=True)
class Spec:
    """A run without its rows."""

    task: str  # a key of tasks.BY_NAME
    checkpoint: str  # its name
    folder: str  # of the checkpoint
    name: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)  # of the task
    tuning: Tuning = field(default_factory=Tuning)
    data: Mapping[str, Any] = field(default_factory=dict)  # file, how it was read, mapping, counts

    @property
    def definition(self) -> AnyTask:
        return task_of(self.task)

    @property
    def task_options(self) -> Any:
        return build(self.definition.options, dict(self.options))


def task_of(name: str) -> AnyTask:
    """A task by its name. Raises ExplorerError for an unknown name."""
    if name not in BY_NAME:
        raise ExplorerError(f"There is no task {name!r:.60}; wanted one of {', '.join(BY_NAME)}.")
    return BY_NAME[name]


def number_of_steps(tuning: Tuning, rows: int) -> int:
    """The steps of a run over *rows* items."""
    return max(1, round(tuning.epochs * steps_per_epoch(rows, tuning.batch, tuning.accumulate)))


def enough_epochs(tuning: Tuning, rows: int) -> float:
    """The epochs of *tuning*, or as many as make ENOUGH_STEPS if those are fewer than FEW_STEPS."""
    if number_of_steps(tuning, rows) >= FEW_STEPS:
        return tuning.epochs
    return float(math.ceil(ENOUGH_STEPS / steps_per_epoch(rows, tuning.batch, tuning.accumulate)))


def learning_rate(tuning: Tuning, config: EncoderConfig, steps: int) -> float:
    """The rate of *tuning*. If it is 0, one by the size of the checkpoint (Turc et al., 2019, for the small ones) and
    whether the run is short: docs/benchmarks.md has what mini learns at each. A new head alone and LoRA tolerate a
    higher one."""
    if tuning.rate:
        return tuning.rate
    rates = next(rates for rates in RATES if config.hidden_size <= rates.hidden_size)
    full = rates.short_rate if steps <= SHORT else rates.rate
    return {"full": full, "frozen": 1e-3, "lora": 5 * full}[tuning.method]


def make_spec(
    task: str, checkpoint: str, folder: str, values: Mapping[str, Any], *, by_name: bool = False, **more: Any
) -> Spec:
    """A Spec from flat *values* of the settings of Tuning and the task, each validated; missing ones get the task's
    defaults. *by_name*: as for `build`. Raises ExplorerError for an unknown setting or an invalid value."""
    definition = task_of(task)
    task_values = {name: values[name] for name in values if name in definition.options.__dataclass_fields__}
    others = {name: value for name, value in values.items() if name not in task_values}
    options = asdict(build(definition.options, task_values, by_name=by_name))
    tuning = build(Tuning, {**definition.defaults, **others}, by_name=by_name)
    trackers.parse_trackers(tuning.report_to)
    return Spec(task, checkpoint, folder, options=options, tuning=tuning, **more)


def spec_json(spec: Spec) -> dict[str, Any]:
    """The contents of spec.json."""
    return {"format": FORMAT, "kind": "finetuning", **asdict(spec)}


def write_rows(folder: Path, train: Sequence[Row], dev: Sequence[Row]) -> None:
    """Write the rows of a run to *folder*/data. Raises FileExistsError if there is such a folder."""
    (folder / "data").mkdir(parents=True)
    for name, rows in (("train", train), ("dev", dev)):
        lines = "".join(json.dumps({"line": row.line, "cells": row.cells}) + "\n" for row in rows)
        (folder / "data" / f"{name}.jsonl").write_text(lines, "utf-8")


def write_run_folder(folder: Path, spec: Spec, train: Sequence[Row], dev: Sequence[Row]) -> None:
    """Create the folder of a run with its rows and spec.json, flushed to disk. Raises ExplorerError if it holds a run
    or cannot be written."""
    try:
        write_rows(folder, train, dev)
        partial = folder / ".spec.partial"
        partial.write_text(json.dumps(spec_json(spec), indent=1), "utf-8")
        for path in (folder / "data" / "train.jsonl", folder / "data" / "dev.jsonl", partial):
            flush(path)
        os.replace(partial, folder / "spec.json")
        flush(folder)
    except FileExistsError as error:
        if (folder / "spec.json").exists():
            raise ExplorerError(
                f"{folder} holds a run already. Name another folder, or resume it: train {folder}"
            ) from error
        raise ExplorerError(f"{folder} holds a folder called data already. Name another folder.") from error
    except OSError as error:
        raise ExplorerError(f"The run cannot be written to {folder} ({error.strerror or error}). Make room.") from error


def read_run(folder: Path) -> tuple[Spec, list[Row], list[Row]]:
    """(spec, training rows, validation rows). Raises ExplorerError if *folder* is not a fine-tuning run."""
    try:
        saved = json.loads((folder / "spec.json").read_text("utf-8"))
        if (saved.pop("format"), saved.pop("kind")) != (FORMAT, "finetuning"):
            raise ValueError("another kind of run")
        spec = Spec(**{**saved, "tuning": build(Tuning, saved["tuning"])})
        train, dev = (read_rows(folder / "data" / f"{name}.jsonl") for name in ("train", "dev"))
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ExplorerError):
            raise
        raise ExplorerError(f"{folder} does not contain a fine-tuning run ({error}). Name another folder.") from error
    return spec, train, dev


def read_rows(path: Path) -> list[Row]:
    """The rows in a file of `write_rows`."""
    return [Row(**json.loads(line)) for line in path.read_text("utf-8").splitlines()]

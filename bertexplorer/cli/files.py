"""Commands that write files: vectors of many lines, and the checkpoint of a run."""

import argparse
import sys
from pathlib import Path

import numpy as np

from bertexplorer.bert import Bert
from bertexplorer.cli.analyse import fetch
from bertexplorer.cli.waiting import watched
from bertexplorer.errors import ExplorerError
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training_runs import TrainingRun
from bertexplorer.wording import counted


def encode(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write a vector for each line of a file that is not empty."""
    lines = read_lines(flags.file)
    texts = [line for line in lines if line]
    if not texts:
        raise ExplorerError(f"{flags.file} has no text. Give a file with a text on each line.")
    if len(texts) < len(lines):
        print(f"note: {counted(len(lines) - len(texts), 'empty line')} left out", file=sys.stderr)
    fetch(library, flags.checkpoint)
    bert = Bert(library.get(flags.checkpoint, flags.precision))
    with watched():
        vectors = bert.encode(texts, prompt=flags.prompt, pooling=flags.pooling, layer=flags.layer)
    try:
        with flags.out.open("wb") as file:
            np.save(file, vectors.astype(np.float32))
    except OSError as error:
        raise ExplorerError(f"{flags.out} cannot be written: {error.strerror}. Choose another path.") from error
    print(f"{vectors.shape[0]:,} vectors of {vectors.shape[1]:,} numbers in {flags.out}", file=sys.stderr)
    return 0


def read_lines(file: Path) -> list[str]:
    """The lines of a file, or of stdin if it is called -, without the spaces around them."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except OSError as error:
        raise ExplorerError(f"{file} cannot be read: {error.strerror}. Give the path of a file.") from error
    except UnicodeDecodeError as error:
        raise ExplorerError(f"{file} is not UTF-8. Save it as plain text in UTF-8.") from error
    return [line.strip() for line in text.splitlines()]


def export(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write the best checkpoint of a run, by the suffix of the path."""
    from bertexplorer.runs import export as writers
    from bertexplorer.runs.service import RunDetail
    from bertexplorer.store.runs import Run

    out: Path = flags.out
    if out.exists():
        raise ExplorerError(f"{out} exists already. Choose another name.")
    kind = out.suffix.lower()
    if kind not in ("", ".zip", ".onnx"):
        raise ExplorerError(f"{out.name} ends in {kind}; wanted a folder, or a file that ends in .zip or .onnx.")
    best = library.find(flags.run) if flags.run.startswith("run:") else TrainingRun(Path(flags.run)).best
    if best is None:
        raise ExplorerError(f"There is no run {flags.run}. `bertexplorer checkpoints` lists the runs of the page.")
    detail = RunDetail(Run(flags.run), [], None, best)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with watched():
            if kind == ".onnx":
                writers.onnx_to(lambda: out, detail)
            elif kind == ".zip":
                writers.zip_to(out, detail, with_rows=flags.with_rows)
            else:
                writers.copy_to(out, detail, with_rows=flags.with_rows)
    except OSError as error:
        raise ExplorerError(f"{out} cannot be written: {error.strerror}. Choose another path.") from error
    print(f"{out}: the checkpoint {best.name} of {flags.run}", file=sys.stderr)
    return 0

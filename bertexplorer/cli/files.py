"""Commands that write files: vectors of many lines, and the checkpoint of a run."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.multi_vectors import encode_tokens
from bertexplorer.answers.vectors import cut_note
from bertexplorer.cli.analyse import fetch
from bertexplorer.cli.parser import ENCODING, chosen
from bertexplorer.cli.waiting import watched
from bertexplorer.errors import ExplorerError
from bertexplorer.python.bert import encode_texts
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.multi_vector import Task


def encode(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write a vector for each line of a file that is not empty."""
    lines = read_lines(flags.file)
    texts = [line for line in lines if line]
    if not texts:
        raise ExplorerError(f"{flags.file} has no text. Give a file with a text on each line.")
    if len(texts) < len(lines):
        print(f"note: {counted(len(lines) - len(texts), 'empty line')} left out", file=sys.stderr)
    if not flags.out.parent.is_dir():
        raise ExplorerError(f"{flags.out} cannot be written: there is no folder {flags.out.parent}. Create it.")
    fetch(library, flags.checkpoint)
    checkpoint = library.get(flags.checkpoint, flags.precision)
    settings = {name: chosen(setting, getattr(flags, name)) for name, setting in ENCODING.items()}
    lengths: list[int] = []
    with watched():
        if flags.tokens:
            vectors, lengths, notes = token_vectors(checkpoint, texts, flags.tokens)
        else:
            vectors, notes = encode_texts(checkpoint, texts, flags.prompt, **settings)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
    try:
        with flags.out.open("wb") as file:
            if flags.tokens:
                np.savez(file, vectors=vectors, lengths=np.array(lengths))
            else:
                np.save(file, vectors)
    except OSError as error:
        raise ExplorerError(f"{flags.out} cannot be written: {error.strerror}. Choose another path.") from error
    print(f"{vectors.shape[0]:,} vectors of {vectors.shape[1]:,} numbers in {flags.out}", file=sys.stderr)
    return 0


def token_vectors(
    checkpoint: Checkpoint, texts: Sequence[str], task: Task
) -> tuple[Float[np.ndarray, "t d"], list[int], list[str]]:
    """(the vectors of the tokens of all *texts*, how many each text has, a note if some were cut)."""
    made = encode_tokens(checkpoint, texts, task)
    note = cut_note([tokens.encoding for tokens in made], "text")
    vectors = np.concatenate([tokens.vectors for tokens in made])
    return vectors, [len(tokens.vectors) for tokens in made], [note] if note else []


def read_lines(file: Path) -> list[str]:
    """The lines of a file, or of stdin if it is called -, without the spaces around them."""
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8-sig")
    except OSError as error:
        raise ExplorerError(f"{file} cannot be read: {error.strerror}. Give the path of a file.") from error
    except UnicodeDecodeError as error:
        raise ExplorerError(f"{file} is not UTF-8. Save it as plain text in UTF-8.") from error
    return [line.strip() for line in text.removesuffix("\n").split("\n")]  # a line ends at nothing else


def export(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write the best checkpoint of a run, by the suffix of the path."""
    from bertexplorer.runs import export as writers
    from bertexplorer.runs.run_folder import Run
    from bertexplorer.runs.service import RunDetail

    out: Path = flags.out
    if out.exists():
        raise ExplorerError(f"{out} exists already. Choose another name.")
    kind = out.suffix.lower()  # of anything else, a folder is made
    best = best_of(library, flags.run)
    is_encoder = not Path(flags.run).is_dir() or (Path(flags.run) / "config.json").is_file()
    if best is None and kind == ".onnx" and is_encoder:
        return export_encoder(library, flags)
    if best is None:
        raise ExplorerError(
            f"There is no run {flags.run!r:.80}. Give its folder, or run:ID as `bertexplorer checkpoints` lists it."
        )
    if kind == ".onnx" and not (best / "task.json").is_file():
        raise ExplorerError(
            f"{flags.run} is no run of fine-tuning, so it has no task for ONNX. Export a folder or a ZIP."
        )
    partial = out.with_name(f".{out.name}.partial{kind}")  # nothing of that name stays after a failure
    detail = RunDetail(Run(flags.run), [], None, best)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with watched():
            if kind == ".onnx":
                writers.onnx_to(lambda: partial, detail)
            elif kind == ".zip":
                writers.zip_to(partial, detail, with_rows=flags.with_rows)
            else:
                writers.copy_to(partial, detail, with_rows=flags.with_rows)
        partial.rename(out)
    except OSError as error:
        raise ExplorerError(f"{out} cannot be written: {error.strerror}. Choose another path.") from error
    finally:
        if partial.is_dir():
            shutil.rmtree(partial, ignore_errors=True)
        partial.unlink(missing_ok=True)
    print(f"{out}: the checkpoint {best.name} of {flags.run}", file=sys.stderr)
    return 0


def best_of(library: CheckpointRegistry, run: str) -> Path | None:
    """The folder of the best checkpoint of *run*; None if there is no such run."""
    from bertexplorer.store.trained import best_checkpoint, is_run

    if run.startswith("run:"):
        return library.find(run)
    return best_checkpoint(Path(run)) if is_run(Path(run)) else None


def export_encoder(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write a sentence encoder with its pooling as ONNX."""
    from bertexplorer.model.onnx import write_encoder

    fetch(library, flags.run)
    checkpoint = library.get(flags.run, "fp32")
    out: Path = flags.out
    with watched():
        write_encoder(checkpoint, out)
    print(f"{out}: {checkpoint.name}, with its pooling: {checkpoint.sentence_encoder}", file=sys.stderr)
    print(f"note: give it at most {checkpoint.sentence_tokenizer.max_tokens:,} tokens of a text.", file=sys.stderr)
    return 0

"""Evaluate any checkpoint on held-out documents. Command: FOLDER … --text … --heldout LIST."""

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.training.pretraining import heldout
from bertexplorer.training.pretraining.corpus import Shard, tokenize_files
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.run import CACHE
from bertexplorer.training.pretraining.sentences import text_files


def measure(folder: Path, text: Sequence[str], hashes: Path, *, count: int, cache: Path = CACHE) -> dict[str, float]:
    """Losses in nats and accuracies of the checkpoint in *folder*, computed in fp32 (see `heldout.evaluate`), with the
    baselines. Raises ExplorerError if it has no MLM head, or if none of the *text* is held out."""
    checkpoint = load(folder, precision="fp32")
    _ = checkpoint.masked_lm
    parts = tokenize_files(text_files(text), checkpoint.tokenizer, cache)
    shards = [shard for shard in parts if isinstance(shard, Shard)]
    held_out = heldout.split_masks(shards, heldout.read_hashes(hashes))[1]
    longest = checkpoint.config.max_positions
    batches = heldout.draw_held_out(shards, held_out, checkpoint.tokenizer, count=count, longest=longest)
    objective = MaskedLanguage(checkpoint, pairs="next_sentence" in checkpoint.heads)
    return heldout.evaluate(objective, batches, checkpoint.device, bf16=False) | batches.baselines()


def main(arguments: Sequence[str] | None = None) -> int:
    """Print one line of JSON for each checkpoint. Returns 0, or 2 after printing an error to stderr."""
    parser = argparse.ArgumentParser("python -m bertexplorer.training.pretraining.measure", description=__doc__)
    parser.add_argument("folder", nargs="+", help="folders with config.json, model.safetensors and a tokenizer")
    parser.add_argument("--text", nargs="+", required=True, help="text files or folders, held-out documents among them")
    parser.add_argument("--heldout", required=True, help="list of held-out documents")
    parser.add_argument("--count", type=int, default=1000, help="pairs of 128 tokens; 3 x as many short sentences")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    try:
        for folder in options.folder:
            metrics = measure(Path(folder), options.text, Path(options.heldout), count=options.count)
            sys.stdout.write(json.dumps({"checkpoint": folder} | metrics) + "\n")
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())

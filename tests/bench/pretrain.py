"""Training tokens/s of our loop and of the transformers example loop, on the same examples, in one process.

    python -m tests.bench.pretrain [--checkpoint FOLDER] [--rounds 3] [--threads 2]

On a busy machine use --threads 1 and read the column per CPU second: it counts no waiting.

Both: pairs of exactly 128 tokens, 64 of them a step, MLM at 15 % and next sentence, AdamW. Theirs:
DataCollatorForLanguageModeling and BertForPreTraining in fp32, logits at all positions, all cores in each product."""

import argparse
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
import transformers

from bertexplorer.engine.masking import Masking
from bertexplorer.model import precision
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import available
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.optimiser import Learning, adamw
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.examples import Example
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.run_process import keep_memory

LENGTH, BATCH = 128, 64


def drawn(step: int, vocabulary: int) -> list[Example]:
    """The speed does not depend on what the words are."""
    draw = np.random.default_rng(step)
    half = (LENGTH - 3) // 2
    ids = draw.integers(1000, vocabulary, size=(BATCH, LENGTH - 3))
    return [Example(row[:half], row[half:], int(draw.integers(2))) for row in ids]


def ours(folder: Path, bf16: bool, threads: int) -> Callable[[int], None]:
    checkpoint = load(folder, precision="fp32", device="cpu")
    objective = MaskedLanguage(checkpoint, pairs=True)
    objective.modules.requires_grad_(True).train()
    workers = DataParallel(objective, threads, torch.device("cpu"), bf16=bf16)
    optimiser = adamw(objective.modules, Learning())
    collator = Collator.of(checkpoint.tokenizer, Masking())

    def step(number: int) -> None:
        torch.set_num_threads(1)
        examples = drawn(number, checkpoint.config.vocab_size)
        workers.gradients(collator.batches(examples, 2048, np.random.default_rng(number)))
        torch.nn.utils.clip_grad_norm_(objective.modules.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def theirs(folder: Path, threads: int) -> Callable[[int], None]:
    model = transformers.BertForPreTraining.from_pretrained(folder, dtype=torch.float32).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step(number: int) -> None:
        torch.set_num_threads(threads)
        rows = []
        for example in drawn(number, model.config.vocab_size):
            ids = [101, *example.first, 102, *example.second, 102]
            kinds = [0] * (len(example.first) + 2) + [1] * (len(example.second) + 1)
            rows.append({"input_ids": ids, "token_type_ids": kinds, "next_sentence_label": example.label})
        model(**collate(rows)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", type=Path, default=Path("assets/checkpoints/mini"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=available())
    given = parser.parse_args()
    loops = {"transformers, fp32": theirs(given.checkpoint, given.threads)}
    loops["ours, fp32"] = ours(given.checkpoint, False, given.threads)
    if precision.has_bf16(torch.device("cpu")):
        loops["ours, bf16"] = ours(given.checkpoint, True, given.threads)
    spent: dict[str, list[tuple[float, float]]] = {name: [] for name in loops}
    for name, step in loops.items():
        if name.startswith("ours"):
            keep_memory()  # part of ours; it cannot be taken back, so theirs come first
        for number in range(given.rounds + 1):
            began = time.perf_counter(), time.process_time()
            step(number)
            spent[name].append((time.perf_counter() - began[0], time.process_time() - began[1]))
    rate = {name: BATCH * LENGTH / np.median(rounds[1:], axis=0) for name, rounds in spent.items()}
    for name, (wall, cpu) in rate.items():
        times, cheaper = rate[name] / rate["transformers, fp32"]
        print(f"{name:<20} {wall:8,.0f} tokens/s {times:.2f}x {cpu:8,.0f} per CPU second {cheaper:.2f}x")


if __name__ == "__main__":
    main()

"""Training tokens/s of our loop and of the example loop of transformers, on the same examples, in one process; and
the speed of drawing examples alone.

    python -m bench.pretrain [--checkpoint FOLDER] [--rounds 3] [--threads 2]

On a busy machine use --threads 1 and read the column per CPU second, which excludes waiting.

Both: pairs of exactly 128 tokens, 64 of them a step, MLM at 15 % and next sentence, AdamW; with the dropout of the
checkpoint, and with none, the default of our runs. Theirs: DataCollatorForLanguageModeling and BertForPreTraining in
fp32, logits at all positions, all cores in each product.

"of matmul": the floating-point operations of a step per CPU second, as a share of those of a plain product of two
matrices of 2,048 x 2,048 in the same precision with as many threads, measured after each step. Operations of a step:
6 x parameters of the layers x tokens + 12 x layers x hidden size x length x tokens (attention) + 6 x hidden size x
(hidden size + vocabulary) x positions of the head (15 % of ours, all of theirs). The rest is not counted.

The pipeline alone draws, collates and masks examples as a run with default settings does, from 20,000 documents of
random ids, in one thread."""

import argparse
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import torch
import transformers

from bertexplorer.engine.masking import Masking
from bertexplorer.model import precision
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import available_cores
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.optimiser import Learning, adamw
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.examples import Drawing, draw_examples, parse_buckets
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.pool import DocumentPool, Examples
from bertexplorer.training.pretraining.spec import Running
from bertexplorer.training.run_driver import set_dropout
from bertexplorer.training.run_process import keep_freed_memory

LENGTH, BATCH, CHOSEN = 128, 64, 0.15
SIDE = 2048  # of the matrices multiplied for comparison
Step = Callable[[int], None]


@dataclass
class Clock:
    """Seconds of each round: wall and CPU."""

    rounds: list[tuple[float, float]] = field(default_factory=list)

    @contextmanager
    def round(self) -> Iterator[None]:
        began = time.perf_counter(), time.process_time()
        yield
        self.rounds.append((time.perf_counter() - began[0], time.process_time() - began[1]))

    def rates(self, count: float) -> tuple[float, float]:
        """*count* a second, of wall and of CPU: medians, without the first round."""
        wall, cpu = count / np.median(self.rounds[1:], axis=0)
        return float(wall), float(cpu)


def drawn(step: int, vocabulary: int) -> Examples:
    """The speed does not depend on the words."""
    draw = np.random.default_rng(step)
    first = (LENGTH - 3) // 2
    ids = draw.integers(1000, vocabulary, size=BATCH * (LENGTH - 3))
    return Examples(ids, np.tile([first, LENGTH - 3 - first], (BATCH, 1)), draw.integers(2, size=BATCH))


def ours(folder: Path, bf16: bool, threads: int, dropout: float) -> Step:
    checkpoint = load(folder, precision="fp32", device="cpu")
    objective = MaskedLanguage(checkpoint, pairs=True)
    objective.modules.requires_grad_(True).train()
    set_dropout(objective.modules, dropout)
    workers = DataParallel(objective, threads, torch.device("cpu"), bf16=bf16)
    optimiser = adamw(objective.modules, Learning())
    collator = Collator.of(checkpoint.tokenizer, Masking(chosen=CHOSEN))

    def step(number: int) -> None:
        torch.set_num_threads(1)
        batches = collator.batches(drawn(number, checkpoint.config.vocab_size), 2048, np.random.default_rng(number))
        workers.gradients(batches)
        torch.nn.utils.clip_grad_norm_(objective.modules.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def theirs(folder: Path, threads: int, dropout: float) -> Step:
    model = transformers.BertForPreTraining.from_pretrained(
        folder, dtype=torch.float32, hidden_dropout_prob=dropout, attention_probs_dropout_prob=dropout
    ).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    collate = transformers.DataCollatorForLanguageModeling(tokenizer, mlm_probability=CHOSEN)
    optimiser = torch.optim.AdamW(model.parameters(), lr=1e-5)

    def step(number: int) -> None:
        torch.set_num_threads(threads)
        rows, examples = [], drawn(number, model.config.vocab_size)
        for (first, second), label in zip(examples.segments(), examples.labels.tolist(), strict=True):
            ids = [101, *first, 102, *second, 102]
            kinds = [0] * (len(first) + 2) + [1] * (len(second) + 1)
            rows.append({"input_ids": ids, "token_type_ids": kinds, "next_sentence_label": label})
        model(**collate(rows)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()

    return step


def operations(config: EncoderConfig, layers: int, head: float) -> float:
    """Floating-point operations of a step, as the docstring above counts them. *layers*: parameters of all layers;
    *head*: share of the positions that it predicts."""
    size = config.hidden_size
    attention = 12 * config.num_layers * size * LENGTH
    return BATCH * LENGTH * (6 * layers + attention + 6 * head * size * (size + config.vocab_size))


def product(dtype: torch.dtype, threads: int) -> Step:
    a, b = torch.randn(2, SIDE, SIDE).to(dtype)

    def step(_: int) -> None:
        torch.set_num_threads(threads)
        for _ in range(5):
            a @ b

    return step


def pipeline(folder: Path, rounds: int) -> None:
    draw = np.random.default_rng(0)
    sentences = draw.integers(2, 60, size=20_000)
    lengths = np.clip(draw.lognormal(2.9, 0.6, sentences.sum()).astype(int), 2, 200)
    offsets, documents = np.cumsum([0, *lengths]), np.cumsum([0, *sentences])
    ids = draw.integers(1000, 30_000, size=offsets[-1]).astype(np.uint16)
    hashes = np.arange(len(sentences), dtype=np.uint64)
    pool = DocumentPool([Shard("random", ids, offsets, documents, hashes)], [1.0], [np.ones(len(hashes), bool)])
    collator = Collator.of(load(folder, device="cpu").tokenizer, Masking())
    parts, running, clock, steps = parse_buckets(Drawing().lengths, 512), Running(), Clock(), 20
    tokens = padded = 0
    for number in range(rounds + 1):
        with clock.round():
            for step in range(steps * number, steps * (number + 1)):
                text, masks = np.random.default_rng([0, step]), np.random.default_rng([1, step])
                result = draw_examples(pool, parts, "next", Drawing(), running.batch_tokens, text)
                batches = collator.batches(result, running.piece_tokens, masks)
                tokens += sum(batch.tokens for batch in batches)
                padded += sum(batch.ids.numel() for batch in batches)
    wall, cpu = clock.rates(tokens / (rounds + 1))
    print(
        f"{'pipeline alone':<30} {wall:10,.0f} tokens/s {cpu:10,.0f} per CPU second, padding {1 - tokens / padded:.1%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--checkpoint", type=Path, default=Path("assets/checkpoints/mini"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=available_cores())
    given = parser.parse_args()
    pipeline(given.checkpoint, given.rounds)
    checkpoint = load(given.checkpoint, device="cpu")
    config, layers = checkpoint.config, sum(p.numel() for p in checkpoint.encoder.layers.parameters())
    has_bf16 = precision.has_bf16(torch.device("cpu"))
    if not has_bf16:
        print("This processor does not multiply bf16 in hardware: runs use fp32.")
    base = {}
    for name in ("theirs, fp32", "ours, fp32", "ours, bf16")[: 2 + has_bf16]:
        own, dtype = name.startswith("ours"), torch.bfloat16 if name.endswith("bf16") else torch.float32
        if own:
            keep_freed_memory()  # part of ours; it cannot be undone, so theirs come first
        for dropout in (0.1, 0.0):
            made = (given.threads, dropout)
            step = ours(given.checkpoint, dtype == torch.bfloat16, *made) if own else theirs(given.checkpoint, *made)
            multiply, clock, plain = product(dtype, given.threads), Clock(), Clock()
            for number in range(given.rounds + 1):
                with clock.round():
                    step(number)
                with plain.round():
                    multiply(number)
            wall, cpu = clock.rates(BATCH * LENGTH)
            base.setdefault(dropout, (wall, cpu))
            share = clock.rates(operations(config, layers, CHOSEN if own else 1.0))[1] / plain.rates(10 * SIDE**3)[1]
            times, cheaper = wall / base[dropout][0], cpu / base[dropout][1]
            print(
                f"{name}, dropout {dropout:<8} {wall:10,.0f} tokens/s {times:.2f}x {cpu:10,.0f} per CPU second "
                f"{cheaper:.2f}x, {share:.0%} of matmul"
            )


if __name__ == "__main__":
    main()

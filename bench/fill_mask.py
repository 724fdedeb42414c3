"""Benchmark: from a sentence to its top five, compared with other engines on the same weights in one process.

    python -m bench.fill_mask [--rounds 9] [--tokens 9 16 64 128 512]

Medians of calls in blocks that take turns, 2 threads, batch 1: transformers' fill-mask pipeline, onnxruntime and
OpenVINO (if installed) with the head at the mask alone, and ours, loaded as the page loads it. BERT-base's shape has
random weights: speed does not depend on them. The engines' answers must be ours. The share of the limit compares our
time in fp32 with what the machine needs to read the weights once, or for the products alone, whichever takes longer.
Agreement compares the five likeliest pieces in bf16 and in fp32 on the examples of the page; a pair closer than one
part in thirty is a tie. Peak memory is measured in a separate process, above that of the interpreter with torch
imported.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from tokenizers import Tokenizer

from bench.alternatives import best_ids, engines, installed
from bench.common import MINI, base_shape, machine, medians, multiply_ms, read_ms
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.precision import has_bf16
from bertexplorer.model.prepacked_linear import HalfPackedLinear
from bertexplorer.views import VIEWS
from bertexplorer.views.fill_mask import compute as fill_mask

LENGTHS = (9, 16, 64, 128, 512)
BLOCK = 8  # calls of one engine in a row
TOP5 = fill_mask.Options(top=5)
MEMORY = """
import json, sys, torch
peak = lambda: int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) * 1024
torch.set_num_threads(2); torch.randn(64, 64) @ torch.randn(64, 64)
before = peak()
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.model.load import load
checkpoint = load(sys.argv[1], precision=sys.argv[2])
fill_mask.run(checkpoint, "the " * 124 + "[MASK] .", options=fill_mask.Options(top=5))
print(json.dumps([peak() - before, checkpoint.num_bytes]))
"""


def speed(name: str, folder: Path, lengths: Sequence[int], rounds: int) -> None:
    """Print a row for each of *lengths*."""
    import transformers

    pipeline = transformers.pipeline(
        "fill-mask", model=str(folder), tokenizer=str(folder), device="cpu", dtype=torch.float32
    )
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    mask_id = tokenizer.token_to_id("[MASK]")
    others = engines(folder)
    precisions = ("fp32", "bf16") if has_bf16(torch.device("cpu")) else ("fp32",)
    ours = {precision: load(folder, precision=precision, device="cpu", frozen=True) for precision in precisions}
    for length in lengths:
        text = " ".join(["the"] * (length - 4)) + " [MASK] ."
        cases: dict[str, Callable[[], object]] = {"pipeline": lambda text=text: pipeline(text, top_k=5)}
        for title, engine in others.items():
            cases[title] = lambda e=engine, text=text: best_ids(e, tokenizer, text, mask_id)
            (blank,) = fill_mask.run(ours["fp32"], text, options=TOP5).blanks
            assert best_ids(engine, tokenizer, text, mask_id) == [c.id for c in blank.candidates], title
        for precision, checkpoint in ours.items():
            cases[precision] = lambda c=checkpoint, text=text: (
                c.cache.clear(),  # a new pass every time
                fill_mask.run(c, text, options=TOP5),
            )
        found = medians(cases, rounds, max(1, BLOCK * 32 // (32 + length)))
        ratios = [f"{found['pipeline'] / found['fp32']:.1f}×"]
        ratios += [f"**{found[title] / found['fp32']:.2f}×**" for title in others]
        limit = limit_ms(ours["fp32"], length)
        cells = [name, str(length), *(f"{ms:.1f}" for ms in found.values()), *ratios, f"{limit / found['fp32']:.2f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def limit_ms(checkpoint: Checkpoint, tokens: int) -> float:
    """Milliseconds for reading what a text of *tokens* tokens reads of the weights, or for its products with the
    layers and in attention, whichever is longer."""
    config = checkpoint.config
    layers = sum(p.numel() for p in checkpoint.encoder.layers.parameters())
    head = config.vocab_size * config.word_size
    half = isinstance(checkpoint.masked_lm.output, HalfPackedLinear)
    attention = 4 * config.num_layers * config.hidden_size * tokens**2
    return max(read_ms((2 if half else 4) * (layers + head)), multiply_ms(2 * (tokens * layers + head) + attention))


def agreement(fp32: Checkpoint, bf16: Checkpoint) -> None:
    """Print on how many blanks of the page's examples the two precisions name the same five pieces."""
    texts = [e.text for view in VIEWS.values() for e in view.examples if "[MASK]" in e.text and "{" not in e.text]
    same = ties = blanks = 0
    for text in texts:
        wide = fill_mask.Options(top=10)
        pairs = zip(
            fill_mask.run(fp32, text, options=wide).blanks, fill_mask.run(bf16, text, options=TOP5).blanks, strict=True
        )
        for exact, quick in pairs:
            blanks += 1
            missed = {c.token for c in exact.candidates[:5]} - {c.token for c in quick.candidates}
            sixth = exact.candidates[5].probability
            same += not missed
            ties += bool(missed) and all(
                c.probability < sixth * 31 / 30 for c in exact.candidates[:5] if c.token in missed
            )
    print(f"Top 5 of bf16 and fp32 on {blanks} blanks: the same on {same}, a tie with the sixth on {ties}, ", end="")
    print(f"different on {blanks - same - ties}.")


def memory(folder: Path) -> None:
    stored = (folder / "model.safetensors").stat().st_size
    for precision in ("fp32", "bf16"):
        out = subprocess.run(
            [sys.executable, "-c", MEMORY, str(folder), precision], capture_output=True, check=True, text=True
        )
        peak, weights = json.loads(out.stdout)
        print(
            f"Peak memory, base shape, {precision}: {peak / 1e6:.0f} MB; {peak / weights:.2f}× the weights it holds "
            f"({weights / 1e6:.0f} MB), {peak / stored:.2f}× the file ({stored / 1e6:.0f} MB)."
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--tokens", type=int, nargs="*", default=LENGTHS)
    options = parser.parse_args()
    torch.set_num_threads(2)
    print(f"{machine()}\n")
    titles = ["pipeline", *installed(), "ours, fp32", *(["ours, bf16"] if has_bf16(torch.device("cpu")) else [])]
    ratios = ["fp32 beside pipeline", *(f"beside {title}" for title in installed()), "share of the limit"]
    print(f"| shape | tokens | {' | '.join(titles + ratios)} |\n|{'---|' * (2 + len(titles + ratios))}")
    with tempfile.TemporaryDirectory() as scratch:
        base = base_shape(Path(scratch))
        speed("mini", MINI, options.tokens, options.rounds)
        speed("BERT-base", base, options.tokens, options.rounds)
        print()
        agreement(load(MINI, precision="fp32"), load(MINI, precision="bf16"))
        memory(base)


if __name__ == "__main__":
    main()

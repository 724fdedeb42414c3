"""Benchmark: from a sentence to its top five, compared with transformers' fill-mask pipeline on the same weights in
one process.

    python -m tests.bench.fill_mask [--rounds 41]

Interleaved runs, medians, 2 threads, batch 1. BERT-base's shape has random weights: speed does not depend on them.
Agreement compares the five likeliest pieces in bf16 and in fp32 on the examples of the page; a pair closer than one
part in thirty is a tie. Peak memory is measured in a separate process, above that of the interpreter with torch
imported.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch

from bertexplorer.analysis import fill_mask
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.precision import has_bf16
from bertexplorer.views import VIEWS
from tests.bench.common import MINI, base_shape, machine, medians

LENGTHS = (16, 128, 512)
TOP5 = fill_mask.Options(top=5)
MEMORY = """
import json, sys, torch
peak = lambda: int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) * 1024
torch.set_num_threads(2); torch.randn(64, 64) @ torch.randn(64, 64)
before = peak()
from bertexplorer.analysis import fill_mask
from bertexplorer.model.load import load
checkpoint = load(sys.argv[1], precision=sys.argv[2])
fill_mask.run(checkpoint, "the " * 124 + "[MASK] .", options=fill_mask.Options(top=5))
print(json.dumps([peak() - before, checkpoint.num_bytes]))
"""


def speed(name: str, folder: Path, rounds: int) -> None:
    import transformers

    pipeline = transformers.pipeline(
        "fill-mask", model=str(folder), tokenizer=str(folder), device="cpu", dtype=torch.float32
    )
    precisions = ("fp32", "bf16") if has_bf16(torch.device("cpu")) else ("fp32",)
    ours = {precision: load(folder, precision=precision, device="cpu", frozen=True) for precision in precisions}
    for length in LENGTHS:
        text = " ".join(["the"] * (length - 4)) + " [MASK] ."
        cases = {"pipeline": lambda text=text: pipeline(text, top_k=5)}
        for precision, checkpoint in ours.items():
            cases[precision] = lambda c=checkpoint, text=text: (
                c.cache.clear(),  # a new pass every time
                fill_mask.run(c, text, options=TOP5),
            )
        result = medians(cases, max(5, rounds * 16 // length) if length > 128 else rounds)
        theirs = result.pop("pipeline")
        cells = " | ".join(f"{ms:.1f} ms, **{theirs / ms:.1f}×**" for ms in result.values())
        print(f"| {name} | {length} | {theirs:.1f} ms | {cells} |", flush=True)


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
    parser.add_argument("--rounds", type=int, default=41)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(2)
    print(f"{machine()}\n")
    print("| shape | tokens | pipeline, fp32 | ours, fp32 | ours, auto (bf16) |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        base = base_shape(Path(scratch))
        speed("mini", MINI, rounds)
        speed("BERT-base", base, rounds)
        print()
        agreement(load(MINI, precision="fp32"), load(MINI, precision="bf16"))
        memory(base)


if __name__ == "__main__":
    main()

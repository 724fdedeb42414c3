"""Benchmark: minimal pairs scored by a suite, compared with a loop over transformers that masks one token at a time.

    python -m bench.suites [--pairs 1000] [--loop 50]

Both in one process, on the same weights and sentences of 11 to 13 tokens. The loop runs over fewer pairs, as it takes
so long, and both must agree on their margins. With --rows, a suite of so many rows in a folder, and its memory.
"""

import argparse
import itertools
import resource
import tempfile
import time
from pathlib import Path

import torch
import transformers

from bench.common import machine
from bertexplorer.model.load import load
from bertexplorer.runs.suite_folder import MAX_ROWS, SuiteFolder
from bertexplorer.settings import ASSETS
from bertexplorer.store import catalogue
from bertexplorer.views.rows import NumberedRow
from bertexplorer.views.suite.cases import cases
from bertexplorer.views.suite.scores import CaseOutcome, Scorer

MINI = ASSETS / "checkpoints" / "mini"
NOUNS = ("author", "king", "child", "dog", "girl", "teacher", "book", "man", "boy", "woman", "farmer", "doctor")
NOUNS = (*NOUNS, "soldier", "horse", "bird", "house", "tree", "car", "ship", "door")
PLACES = ("near the old house", "of the small town", "with the long road", "by the big river", "from the dark forest")
ENDS = ("very happy today", "in the garden", "still very old", "known to all", "not far away", "seen by many")
ENDS = (*ENDS, "well liked here", "quite new", "on fire", "at home now")


def pairs(count: int) -> list[NumberedRow]:
    """*count* sentences with a singular and a plural verb, no two alike."""
    made = itertools.product(NOUNS, PLACES, ENDS)
    rows = [
        {"good": f"The {n} {p} is {e}.", "bad": f"The {n} {p} are {e}."} for n, p, e in itertools.islice(made, count)
    ]
    return list(enumerate(rows, 2))


def loop(model: transformers.PreTrainedModel, tokenizer: transformers.PreTrainedTokenizerBase, text: str) -> float:
    """A pseudo-log-likelihood with one pass per token, as in published scorers. All words here are one piece."""
    ids = tokenizer(text, return_tensors="pt")["input_ids"]
    result = 0.0
    for spot in range(1, ids.shape[1] - 1):
        hidden = ids.clone()
        hidden[0, spot] = tokenizer.mask_token_id
        with torch.no_grad():
            result += float(model(hidden).logits[0, spot].log_softmax(-1)[ids[0, spot]])
    return result


def memory(rows: int) -> tuple[float, float]:
    """(seconds, peak GB) of a suite of so many next-sentence rows in a folder, on `tiny`."""
    given = [(n, {"first": f"He went to shop {n}.", "second": "He bought milk.", "next": "yes"}) for n in range(rows)]
    checkpoint = load(catalogue.snapshots()[-1].folder, name="tiny", precision="fp32")
    with tempfile.TemporaryDirectory() as folder:
        started = time.perf_counter()
        suite = SuiteFolder(Path(folder), checkpoint, given, "the whole sentence")
        for _ in suite.run():
            pass
        return time.perf_counter() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--pairs", type=int, default=1000)
    parser.add_argument("--loop", type=int, default=50)
    parser.add_argument("--rows", type=int, default=0, help=f"of a suite in a folder, such as {MAX_ROWS}; 0: none")
    asked = parser.parse_args()
    print(machine())
    if asked.rows:
        seconds, gigabytes = memory(asked.rows)
        print(f"{asked.rows:,} next-sentence rows in a folder: {seconds:.0f} s, at most {gigabytes:.2f} GB")
        return
    checkpoint = load(MINI, name="mini", precision="fp32")
    model = transformers.AutoModelForMaskedLM.from_pretrained(MINI, dtype=torch.float32).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(MINI)
    kind, result, _ = cases(pairs(asked.pairs))
    started = time.perf_counter()
    outcomes = list(Scorer(checkpoint, kind, "the whole sentence").outcomes(result))
    ours = time.perf_counter() - started
    started = time.perf_counter()
    margins = [
        loop(model, tokenizer, case.texts[0]) - loop(model, tokenizer, case.texts[1]) for case in result[: asked.loop]
    ]
    theirs = (time.perf_counter() - started) / asked.loop * asked.pairs
    apart = max(
        abs(one.score - margin) for one, margin in zip(outcomes, margins, strict=False) if isinstance(one, CaseOutcome)
    )
    print(
        f"{asked.pairs:,} pairs: suite {ours:.1f} s; loop with transformers {theirs:.1f} s: {theirs / ours:.1f} times"
    )
    print(f"largest difference of a margin: {apart:.1e} nats")


if __name__ == "__main__":
    main()

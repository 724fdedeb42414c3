"""Benchmark: the vectors of 1,000 texts, compared with sentence-transformers on the same weights in one process.

    python -m bench.encode [--rounds 5] [--texts 1000]

Texts of 4 to 60 words, as search and clustering have them, in random order; mean pooling; both sort by length and pad.
Medians of interleaved runs, 2 threads, the same precision on both sides. Ours is the call that a person makes,
`bert.encode(texts)`, tokenising included."""

import argparse
import json
import random
import shutil
import tempfile
from pathlib import Path

import torch

import bertexplorer as bx
from bench.common import MINI, base_shape, machine, medians
from bertexplorer.answers.sample_sentences import SAMPLE, TOPICS
from bertexplorer.model.precision import has_bf16

SENTENCES = [*SAMPLE, *(sentence for group in TOPICS.values() for sentence in group)]


def make_texts(count: int) -> list[str]:
    draw = random.Random(0)
    return [" ".join(draw.choices(SENTENCES, k=draw.choice((1, 1, 1, 2, 3, 5)))) for _ in range(count)]


def as_sentence_encoder(folder: Path, size: int) -> Path:
    """The files of sentence-transformers for mean pooling."""
    kinds = ("Transformer", "Pooling")
    modules = [
        {
            "idx": i,
            "name": str(i),
            "path": "" if i == 0 else f"{i}_{kind}",
            "type": f"sentence_transformers.models.{kind}",
        }
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": size, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def compare(name: str, folder: Path, texts: list[str], rounds: int) -> None:
    from sentence_transformers import SentenceTransformer

    kinds = (
        {"fp32": torch.float32, "bf16": torch.bfloat16} if has_bf16(torch.device("cpu")) else {"fp32": torch.float32}
    )
    for precision, dtype in kinds.items():
        theirs = SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": dtype})
        ours = bx.load(folder, precision=precision)
        found = medians(
            {
                "theirs": lambda theirs=theirs: theirs.encode(texts, show_progress_bar=False),
                "ours": lambda ours=ours: ours.encode(texts),
            },
            rounds,
        )
        ratio = found["theirs"] / found["ours"]
        print(
            f"| {name}, {precision} | {found['theirs']:,.0f} ms | {found['ours']:,.0f} ms | **{ratio:.2f}×** |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--texts", type=int, default=1000)
    options = parser.parse_args()
    torch.set_num_threads(2)
    texts = make_texts(options.texts)
    print(f"{machine()}\n\n| weights | sentence-transformers | ours | |\n|---|---|---|---|")
    with tempfile.TemporaryDirectory() as scratch:
        mini = as_sentence_encoder(Path(shutil.copytree(MINI, Path(scratch) / "mini")), 384)
        compare("mini", mini, texts, options.rounds)
        base = as_sentence_encoder(base_shape(Path(scratch) / "base", "BertModel"), 768)
        compare("BERT-base", base, texts[: options.texts // 4], options.rounds)


if __name__ == "__main__":
    main()

"""The checkpoints that the picker offers, with facts that are known before loading, and the training that ships with
the app: one small model at several steps, from random weights to the last step."""

import re
from dataclasses import dataclass
from pathlib import Path

from bertexplorer.settings import ASSETS
from bertexplorer.store.trained import SavedCheckpoint

BUNDLED = ASSETS / "checkpoints"
SHIPPED = "tiny"  # the name of that model
STEP_FOLDER = re.compile(r"step-(\d{1,12})")


@dataclass(frozen=True)
class Entry:
    """A checkpoint that the picker offers. Sizes are those of the published file, including the heads."""

    name: str  # of a bundled folder or on the hub
    parameters: float  # millions
    megabytes: float
    heads: tuple[str, ...]  # names from heads.HEADS, without the pooler
    licence: str
    about: str


BOTH = ("masked_lm", "next_sentence")
MLM = ("masked_lm",)
CATALOGUE = (
    Entry("mini", 22.9, 45.8, BOTH, "apache-2.0", "BERT, 6 layers, 384 wide; comes with the app"),
    Entry("tiny", 1.5, 3.0, BOTH, "apache-2.0", "2 layers, 128 wide; comes with its training, from step 0"),
    Entry(
        "sentiment",
        *(22.7, 0.4, ("sequence_classifier",), "apache-2.0"),
        "mini with an adapter that tells praise from complaint; comes with the app",
    ),
    # In the order of what people use: sentence encoders and a re-ranker first, then those that fill masks.
    Entry(
        "sentence-transformers/all-MiniLM-L6-v2", 22.7, 90.9, (), "apache-2.0", "a vector for a sentence, 384 numbers"
    ),
    Entry(
        "cross-encoder/ms-marco-MiniLM-L6-v2",
        *(22.7, 90.9, ("sequence_classifier",), "apache-2.0"),
        "how well a passage fits a question, one score",
    ),
    Entry("BAAI/bge-small-en-v1.5", 33.4, 133.5, (), "mit", "a vector for search, that of [CLS], 384 numbers"),
    Entry("google-bert/bert-base-uncased", 110.1, 440.4, BOTH, "apache-2.0", "the original, 12 layers, 768 wide"),
    Entry(
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        *(117.7, 470.6, (), "apache-2.0"),
        "a vector for a sentence in any of 50 languages",
    ),
    Entry(
        "sentence-transformers/all-mpnet-base-v2",
        *(109.5, 438.0, (), "apache-2.0"),
        "a vector for a sentence, 768 numbers",
    ),
    Entry("answerdotai/ModernBERT-base", 149.7, 598.6, MLM, "apache-2.0", "22 layers, up to 8,192 tokens"),
    Entry("FacebookAI/roberta-base", 125.3, 501.2, MLM, "mit", "BERT trained longer, without next sentence"),
    Entry("distilbert/distilbert-base-uncased", 67.0, 267.9, MLM, "apache-2.0", "half of BERT's layers"),
    Entry("google-bert/bert-base-cased", 108.9, 435.7, BOTH, "apache-2.0", "tells US from us"),
    Entry("google-bert/bert-base-multilingual-cased", 178.6, 714.3, BOTH, "apache-2.0", "104 languages"),
    Entry("google-bert/bert-large-uncased", 336.2, 1344.9, BOTH, "apache-2.0", "24 layers, 1,024 wide"),
    Entry("google/bert_uncased_L-2_H-128_A-2", 4.4, 17.7, BOTH, "apache-2.0", "BERT-tiny, 2 layers, 128 wide"),
    Entry("google/bert_uncased_L-4_H-256_A-4", 11.3, 45.1, BOTH, "apache-2.0", "BERT-mini, 4 layers, 256 wide"),
    Entry(
        "google/multiberts-seed_0-step_2000k",
        *(110.1, 440.5, BOTH, "apache-2.0"),
        "BERT-base, with five earlier steps of its training to fetch",
    ),
    Entry("google/electra-small-generator", 13.5, 54.2, MLM, "apache-2.0", "ELECTRA's word proposer"),
    Entry("google/electra-small-discriminator", 13.5, 54.2, ("replaced_token",), "apache-2.0", "spots replaced tokens"),
)
BY_NAME = {entry.name: entry for entry in CATALOGUE}
# Trainings with several published checkpoints: name -> label, in their order. MultiBERTs: Sellam et al., 2022.
STEPS = (20, 60, 140, 300, 900, 2000)  # thousands
MULTIBERTS = {f"google/multiberts-seed_0-step_{step}k": f"MultiBERTs seed 0, step {1000 * step:,}" for step in STEPS}
SERIES = (MULTIBERTS,)


def series_of(name: str) -> dict[str, str]:
    """Name -> label of the published training that *name* belongs to; {} if it belongs to none."""
    return next((series for series in SERIES if name in series), {})


def snapshots(root: Path = BUNDLED / SHIPPED) -> list[SavedCheckpoint]:
    """The checkpoints in the order of training: tiny@STEP each, except that the last one is called tiny."""
    folders = {
        int(match[1]): path
        for path in root.glob("step-*")
        if (match := STEP_FOLDER.fullmatch(path.name)) and (path / "config.json").is_file()
    }
    last = max(folders, default=None)
    return [
        SavedCheckpoint(SHIPPED if step == last else f"{SHIPPED}@{step}", f"{SHIPPED}, step {step:,}", folders[step])
        for step in sorted(folders)
    ]


def snapshot_series(name: str) -> list[SavedCheckpoint]:
    """All snapshots if *name* is one of them, else []."""
    saved = snapshots() if name.startswith(SHIPPED) else []
    return saved if any(snapshot.name == name for snapshot in saved) else []


def find_snapshot(name: str) -> Path | None:
    """The folder of the snapshot *name*; None for any other name."""
    return next((snapshot.folder for snapshot in snapshot_series(name) if snapshot.name == name), None)

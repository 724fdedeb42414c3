"""The checkpoints that the picker offers, with facts that are known before loading, and the training that ships with
the app: one small model at several steps, from random weights to the last step."""

from dataclasses import dataclass
from pathlib import Path

from bertexplorer.settings import ASSETS
from bertexplorer.store.trained import STEP_FOLDER, SavedCheckpoint

BUNDLED = ASSETS / "checkpoints"
SHIPPED = "tiny"  # the name of that model


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
    Entry(
        name="mini",
        parameters=22.9,
        megabytes=45.8,
        heads=BOTH,
        licence="apache-2.0",
        about="BERT, 6 layers, 384 wide; comes with the app",
    ),
    Entry(
        name="tiny",
        parameters=1.5,
        megabytes=3.0,
        heads=BOTH,
        licence="apache-2.0",
        about="2 layers, 128 wide; comes with its training, from step 0",
    ),
    Entry(
        name="sentiment",
        parameters=22.7,
        megabytes=0.4,
        heads=("sequence_classifier",),
        licence="apache-2.0",
        about="mini with an adapter that tells praise from complaint; comes with the app",
    ),
    # In the order of what people use: sentence encoders and a re-ranker first, then those that fill masks.
    Entry(
        name="sentence-transformers/all-MiniLM-L6-v2",
        parameters=22.7,
        megabytes=90.9,
        heads=(),
        licence="apache-2.0",
        about="a vector for a sentence, 384 numbers",
    ),
    Entry(
        name="cross-encoder/ms-marco-MiniLM-L6-v2",
        parameters=22.7,
        megabytes=90.9,
        heads=("sequence_classifier",),
        licence="apache-2.0",
        about="how well a passage fits a question, one score",
    ),
    Entry(
        name="BAAI/bge-small-en-v1.5",
        parameters=33.4,
        megabytes=133.5,
        heads=(),
        licence="mit",
        about="a vector for search, that of [CLS], 384 numbers",
    ),
    Entry(
        name="google-bert/bert-base-uncased",
        parameters=110.1,
        megabytes=440.4,
        heads=BOTH,
        licence="apache-2.0",
        about="the original, 12 layers, 768 wide",
    ),
    Entry(
        name="sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        parameters=117.7,
        megabytes=470.6,
        heads=(),
        licence="apache-2.0",
        about="a vector for a sentence in any of 50 languages",
    ),
    Entry(
        name="sentence-transformers/all-mpnet-base-v2",
        parameters=109.5,
        megabytes=438.0,
        heads=(),
        licence="apache-2.0",
        about="a vector for a sentence, 768 numbers",
    ),
    Entry(
        name="answerdotai/ModernBERT-base",
        parameters=149.7,
        megabytes=598.6,
        heads=MLM,
        licence="apache-2.0",
        about="22 layers, up to 8,192 tokens",
    ),
    Entry(
        name="FacebookAI/roberta-base",
        parameters=125.3,
        megabytes=501.2,
        heads=MLM,
        licence="mit",
        about="BERT trained longer, without next sentence",
    ),
    Entry(
        name="distilbert/distilbert-base-uncased",
        parameters=67.0,
        megabytes=267.9,
        heads=MLM,
        licence="apache-2.0",
        about="half of BERT's layers",
    ),
    Entry(
        name="google-bert/bert-base-cased",
        parameters=108.9,
        megabytes=435.7,
        heads=BOTH,
        licence="apache-2.0",
        about="tells US from us",
    ),
    Entry(
        name="google-bert/bert-base-multilingual-cased",
        parameters=178.6,
        megabytes=714.3,
        heads=BOTH,
        licence="apache-2.0",
        about="104 languages",
    ),
    Entry(
        name="google-bert/bert-large-uncased",
        parameters=336.2,
        megabytes=1344.9,
        heads=BOTH,
        licence="apache-2.0",
        about="24 layers, 1,024 wide",
    ),
    Entry(
        name="google/bert_uncased_L-2_H-128_A-2",
        parameters=4.4,
        megabytes=17.7,
        heads=BOTH,
        licence="apache-2.0",
        about="BERT-tiny, 2 layers, 128 wide",
    ),
    Entry(
        name="google/bert_uncased_L-4_H-256_A-4",
        parameters=11.3,
        megabytes=45.1,
        heads=BOTH,
        licence="apache-2.0",
        about="BERT-mini, 4 layers, 256 wide",
    ),
    Entry(
        name="google/multiberts-seed_0-step_2000k",
        parameters=110.1,
        megabytes=440.5,
        heads=BOTH,
        licence="apache-2.0",
        about="BERT-base, with five earlier steps of its training to fetch",
    ),
    Entry(
        name="google/electra-small-generator",
        parameters=13.5,
        megabytes=54.2,
        heads=MLM,
        licence="apache-2.0",
        about="ELECTRA's word proposer",
    ),
    Entry(
        name="google/electra-small-discriminator",
        parameters=13.5,
        megabytes=54.2,
        heads=("replaced_token",),
        licence="apache-2.0",
        about="spots replaced tokens",
    ),
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
    folders = {}
    for path in root.glob("step-*"):
        match = STEP_FOLDER.fullmatch(path.name)
        if match and (path / "config.json").is_file():
            folders[int(match[1])] = path
    last = max(folders, default=None)
    saved = []
    for step in sorted(folders):
        name = SHIPPED if step == last else f"{SHIPPED}@{step}"
        saved.append(SavedCheckpoint(name, f"{SHIPPED}, step {step:,}", folders[step]))
    return saved


def snapshot_series(name: str) -> list[SavedCheckpoint]:
    """All snapshots if *name* is one of them, else []."""
    if not name.startswith(SHIPPED):
        return []
    saved = snapshots()
    return saved if any(snapshot.name == name for snapshot in saved) else []


def find_snapshot(name: str) -> Path | None:
    """The folder of the snapshot *name*; None for any other name."""
    return next((snapshot.folder for snapshot in snapshot_series(name) if snapshot.name == name), None)

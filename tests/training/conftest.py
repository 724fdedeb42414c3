"""A small text of random sentences, its ids, and runs on it that take a second."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bertexplorer.model.text import Tokenizer
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.corpus import Shard, tokenize_files
from bertexplorer.training.pretraining.pool import DocumentPool
from bertexplorer.training.pretraining.spec import StageSpec
from tests.tiny import WORDS, wordpiece

Begin = Callable[..., Path]  # the fixture `begin`
LENGTHS = "24:0.4:0.5, 60:0.6:0.1"
QUICK = {"steps": 6, "batch_tokens": 256, "piece_tokens": 100, "heldout_documents": 20, "heldout_pairs": 12}
QUICK |= {"lengths": LENGTHS, "layers": 1, "hidden": 16, "heads": 2, "positions": 64, "pieces": 120, "threads": 2}


def sentence(draw: np.random.Generator) -> str:
    words = draw.choice(WORDS, size=draw.integers(3, 12))
    return " ".join(words).capitalize() + draw.choice([".", "!", "?"])


def document(draw: np.random.Generator) -> str:
    lines = [" ".join(sentence(draw) for _ in range(draw.integers(1, 4))) for _ in range(draw.integers(2, 5))]
    return "\n".join(lines)


@pytest.fixture(scope="session")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two files, 90 and 40 documents."""
    folder, draw = tmp_path_factory.mktemp("texts"), np.random.default_rng(0)
    for name, count in (("first", 90), ("second", 40)):
        (folder / f"{name}.txt").write_text("\n\n".join(document(draw) for _ in range(count)) + "\n", "utf-8")
    return folder


@pytest.fixture(scope="session")
def tokenizer() -> Tokenizer:
    return Tokenizer(wordpiece(), max_tokens=64)


@pytest.fixture(scope="session")
def shards(texts: Path, tokenizer: Tokenizer, tmp_path_factory: pytest.TempPathFactory) -> list[Shard]:
    cache = tmp_path_factory.mktemp("cache")
    result = tokenize_files(sorted(texts.iterdir()), tokenizer, cache)
    return [shard for shard in result if isinstance(shard, Shard)]


@pytest.fixture(scope="session")
def pool(shards: list[Shard]) -> DocumentPool:
    """All documents of the text."""
    return DocumentPool(shards, [1, 1], [np.ones(len(s.hashes), bool) for s in shards])


@pytest.fixture(scope="session")
def vocabulary(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the tiny WordPiece tokenizer."""
    folder = tmp_path_factory.mktemp("vocabulary")
    wordpiece().save(str(folder / "tokenizer.json"))
    return folder


@pytest.fixture
def begin(texts: Path, vocabulary: Path, tmp_path: Path) -> Begin:
    """Settings -> the folder of a run that has not begun."""

    def made(name: str = "run", *, plain: dict[str, object] | None = None, **values: object) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        given = {"text": (str(texts),), "vocabulary": str(vocabulary), "cache": str(tmp_path / "cache")}
        specs.save_stages([specs.make_spec({**given, **(plain or {})}, QUICK | values)], folder / "spec.json")
        return folder

    return made


def add_stage(folder: Path, **values: object) -> StageSpec:
    stages = specs.read_stages(folder / "spec.json")
    stages.append(specs.make_spec({}, values, stages[-1]))
    specs.save_stages(stages, folder / "spec.json")
    return stages[-1]

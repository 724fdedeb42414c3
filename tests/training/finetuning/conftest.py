"""A tiny checkpoint, learnable rows, and runs on them that take a second or two."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning import spec as specs
from tests.conftest import Tiny

GOOD, BAD = ("good", "great", "paris", "nurse"), ("bad", "terrible", "berlin", "doctor")


def rows(count: int, seed: int) -> list[Row]:
    """Sentences with one word that decides the label."""
    draw = np.random.default_rng(seed)
    result = []
    for line in range(2, count + 2):
        label = ("neg", "pos")[int(draw.integers(2))]
        word = draw.choice(GOOD if label == "pos" else BAD)
        tail = " ".join(draw.choice(["the", "film", "was", "in", "a", "city"], size=draw.integers(1, 6)))
        result.append(Row(line, {"text": f"the {word} {tail}", "label": label}))
    return result


@pytest.fixture
def begin(tiny: Tiny, tmp_path: Path) -> Callable[..., Path]:
    """Make a run of a tiny checkpoint: begin("name", method="lora", …)."""

    def make(name: str = "run", family: str = "bert", task: str = "classification", **values: Any) -> Path:
        quick = {"epochs": 6, "batch": 16, "rate": 3e-3, "max_tokens": 32, "precision": "fp32", "snapshots": 1}
        spec = specs.make_spec(task, "tiny", str(tiny(family)), {**quick, **values}, name=name)
        specs.write_run_folder(tmp_path / name, spec, rows(120, 0), rows(60, 1))
        return tmp_path / name

    return make

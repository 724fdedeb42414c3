"""The training that ships with the app: one small model at several steps, from random weights to the last step."""

import re
from pathlib import Path

from bertexplorer.store.catalogue import BUNDLED
from bertexplorer.store.runs import Saved

NAME = "tiny"
STEP = re.compile(r"step-(\d{1,12})")


def saved(root: Path = BUNDLED / NAME) -> list[Saved]:
    """Its checkpoints in the order of training: tiny@STEP each, except that the last one is called tiny."""
    found = {
        int(m[1]): p for p in root.glob("step-*") if (m := STEP.fullmatch(p.name)) and (p / "config.json").is_file()
    }
    steps = sorted(found)
    return [
        Saved(NAME if step == steps[-1] else f"{NAME}@{step}", f"{NAME}, step {step:,}", found[step]) for step in steps
    ]


def series(name: str) -> list[Saved]:
    """All of them if *name* is one of them, else none."""
    there = saved() if name.startswith(NAME) else []
    return there if any(one.name == name for one in there) else []


def find(name: str) -> Path | None:
    """The folder of the snapshot *name*; None for any other name."""
    return next((one.folder for one in series(name) if one.name == name), None)

"""Sharing: a run that its owner shows to others, who see its curve and nothing else.

Whoever has the link sees the run's name, its state, its curve and its best values: no row, no checkpoint, no setting.
FOLDER/ID holds the key of the run; it is random, so a link cannot be guessed.
"""

from __future__ import annotations

import math
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.runs import learning
from bertexplorer.runs.report import curve
from bertexplorer.runs.service import RunService
from bertexplorer.training.tasks import BY_NAME

KEY = re.compile(r"[0-9a-f]{16}")
MAX_POINTS = 300  # of the loss of the training rows


class SharedRuns:
    """The runs that are shared, in *folder*: a file for each, named by its id. Safe to call from many threads."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def share(self, id: str) -> str:
        """The key under which the run *id* is shared from now on, or was before."""
        self.folder.mkdir(parents=True, exist_ok=True)
        new = self.folder / f".{secrets.token_hex(8)}"
        new.write_text(secrets.token_hex(8), "utf-8")
        try:
            os.link(new, self.folder / id)  # in one piece, and only if there is none
        except FileExistsError:
            pass
        finally:
            new.unlink()
        return self.key_of(id)

    def end(self, id: str) -> None:
        """Share the run *id* no longer."""
        (self.folder / id).unlink(missing_ok=True)

    def key_of(self, id: str) -> str:
        """The key of the run *id*; "" if it is not shared."""
        try:
            return (self.folder / id).read_text("utf-8")
        except FileNotFoundError:
            return ""

    def run_of(self, key: str) -> str:
        """The id of the run with this *key*. Raises ExplorerError if there is none."""
        if KEY.fullmatch(key) and self.folder.is_dir():
            for path in self.folder.glob("[!.]*"):
                if self.key_of(path.name) == key:
                    return path.name
        raise ExplorerError("This run is not shared (any more). Ask its owner for a new link.", code="shared")


def shared_report(service: RunService, id: str) -> dict[str, Any]:
    """What others see of the run *id*: name, state, curves by epoch, and their description. Raises ExplorerError if it
    was deleted."""
    detail = service.detail(id, None)
    run, task = detail.run, BY_NAME.get(detail.run.task)
    if run.state == "deleted":
        raise ExplorerError("This run was deleted. Its owner can restore it within a week.", code="shared")
    about = {"name": run.name, "state": run.state, "progress": run.progress}
    if task is None:
        return {**about, "said": "", "metric": "", "values": [], "loss": [], "floor": None, "share": False}
    drawn = curve(detail)
    losses = [(event["epoch"], mean_loss(event)) for event in detail.events if event["event"] == "steps"]
    return {
        **about,
        "said": learning.say([drawn], higher=task.higher),
        "metric": drawn.words,
        "values": finite(drawn.evaluations),
        "loss": thinned(finite(losses)),
        "floor": list(drawn.floor) if drawn.floor else None,
        "share": learning.is_share(drawn.metric),
    }


def mean_loss(event: Mapping[str, Any]) -> float:
    """The loss of the steps that *event* reports, averaged over its parts."""
    losses = event["loss"].values()
    return float(sum(losses) / max(1, len(losses)))


def finite(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """*points* without those whose value is not a number, as of a run that diverged."""
    return [(epoch, value) for epoch, value in points if math.isfinite(value)]


def thinned(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """At most MAX_POINTS of *points*, evenly spaced, with the last one."""
    step = -(-len(points) // MAX_POINTS) or 1
    return points[::-1][::step][::-1]

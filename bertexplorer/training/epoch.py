"""Epoch: which process owns a run.

Whoever starts one on a cluster raises the number in RUN/epoch. A process that finds a higher number than its own was
believed dead, has a successor, and writes nothing more. Nor does a process whose files nobody carries to the server any
more, since its parent is gone."""

import os
from pathlib import Path

from bertexplorer.errors import ExplorerError

VARIABLE = "BERTEXPLORER_EPOCH"  # of the process of a run; without it, locks alone keep two processes apart
PARENT = "BERTEXPLORER_PARENT"  # the process that carries the files of a run to the server; without it, nobody has to


class Superseded(ExplorerError):
    """Raised in a process whose run has a later owner."""


def current(folder: Path) -> int:
    """The epoch of the run in *folder*, 0 if it never had one."""
    try:
        return int((folder / "epoch").read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return 0


def succeed(folder: Path) -> int:
    """Begin a new epoch and return it: from now on, earlier owners write nothing more."""
    mine = current(folder) + 1
    aside = folder / f"epoch.{os.getpid()}"
    aside.write_text(str(mine), "utf-8")
    aside.replace(folder / "epoch")
    return mine


def check(folder: Path) -> None:
    """Raises Superseded if this process is not the last that was given the run in *folder*."""
    mine = os.environ.get(VARIABLE, "")
    parent = os.environ.get(PARENT, "")
    if (mine.isdecimal() and current(folder) > int(mine)) or (parent and parent != str(os.getppid())):
        raise Superseded(f"Another process goes on with the run in {folder}. This one stops without a trace.")

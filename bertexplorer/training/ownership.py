"""Which process owns a run, if it may run on several machines.

Each start on a cluster increments the number in RUN/epoch, a fencing token. A process that finds a higher number than
its own has been replaced, because the cluster took it for dead, and writes nothing more. A process whose parent has
ended also stops writing, since the parent copied its files to the server."""

import os
from pathlib import Path

from bertexplorer.errors import ExplorerError

VARIABLE = "BERTEXPLORER_EPOCH"  # the epoch of this process; without it, only the lock keeps a second process out
PARENT = "BERTEXPLORER_PARENT"  # the process that copies a run's files to the server; unset if no copy is needed


class Superseded(ExplorerError):
    """Raised in a process whose run another process has taken over."""


def current_epoch(folder: Path) -> int:
    """The epoch of the run in *folder*, 0 if it never had one."""
    try:
        return int((folder / "epoch").read_text("utf-8"))
    except (FileNotFoundError, ValueError):
        return 0


def begin_epoch(folder: Path) -> int:
    """Begin a new epoch and return it: earlier owners write nothing from now on."""
    epoch = current_epoch(folder) + 1
    partial = folder / f"epoch.{os.getpid()}"
    partial.write_text(str(epoch), "utf-8")
    partial.replace(folder / "epoch")
    return epoch


def check(folder: Path) -> None:
    """Raise Superseded if another process has taken over the run in *folder*."""
    own_epoch = os.environ.get(VARIABLE, "")
    parent = os.environ.get(PARENT, "")
    is_replaced = own_epoch.isdecimal() and current_epoch(folder) > int(own_epoch)
    is_orphan = parent and parent != str(os.getppid())
    if is_replaced or is_orphan:
        raise Superseded(
            f"Another process has taken over the run in {folder}. This one stops without writing anything."
        )

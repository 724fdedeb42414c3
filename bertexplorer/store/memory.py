"""Memory: checks whether a checkpoint fits before it is read, as a server that runs out of memory is killed."""

from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from bertexplorer.errors import ExplorerError

RESERVE_BYTES = 500_000_000  # to leave free for computing answers
ITEM_BYTES = {"fp32": 4, "bf16": 2}
CGROUP = Path("/sys/fs/cgroup")  # limits of a container
MEMINFO = Path("/proc/meminfo")


def free_bytes() -> int | None:
    """The free memory of this machine or container; None if unknown."""
    limits = []
    if MEMINFO.is_file():
        limits += [1024 * int(line.split()[1]) for line in MEMINFO.read_text().splitlines() if "MemAvailable" in line]
    try:
        limit, used = (CGROUP / "memory.max").read_text().strip(), int((CGROUP / "memory.current").read_text())
        cached = [
            int(line.split()[1]) for line in (CGROUP / "memory.stat").read_text().splitlines() if "_file " in line
        ]
        if limit != "max":
            limits.append(int(limit) - used + sum(cached))
    except (OSError, ValueError):
        pass  # the container has no limit
    return min(limits) if limits else None


def weight_bytes(folder: Path, precision: str) -> int:
    """Bytes that the weights in *folder* need at *precision* (fp32 or bf16), by the shapes in their headers. 0 if a
    header cannot be read, which loading reports."""
    count = 0
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, framework="np") as tensors:
                count += sum(prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
        except (SafetensorError, OSError):
            return 0
    return count * ITEM_BYTES[precision]


def missing_bytes(name: str, folder: Path, precision: str, evictable: int) -> int:
    """How many of the *evictable* bytes, those of loaded checkpoints, must be freed before the checkpoint fits. Raises
    ExplorerError if all of them are not enough."""
    needed, free = weight_bytes(folder, precision), free_bytes()
    if free is None:
        return 0
    available = max(0, free + evictable - RESERVE_BYTES)
    if needed > available:
        raise ExplorerError(
            f"{name} takes {needed / 1e9:,.1f} GB of memory and {available / 1e9:,.1f} GB are available. Choose a "
            "smaller checkpoint, or precision bf16 where the processor has it."
        )
    return max(0, needed + RESERVE_BYTES - free)

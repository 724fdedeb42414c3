"""Memory: whether a checkpoint fits. This is checked before it is read, so that the server is not killed."""

from math import prod
from pathlib import Path

from safetensors import SafetensorError, safe_open

from bertexplorer.errors import ExplorerError

RESERVE = 500_000_000  # bytes to leave free for computing answers
WIDTH = {"fp32": 4, "bf16": 2}  # bytes of a number
GROUP = Path("/sys/fs/cgroup")  # limits of a container
MEMINFO = Path("/proc/meminfo")


def free_bytes() -> int | None:
    """The free memory of this machine or container; None if unknown."""
    found = []
    if MEMINFO.is_file():
        found += [1024 * int(line.split()[1]) for line in MEMINFO.read_text().splitlines() if "MemAvailable" in line]
    try:
        most, used = (GROUP / "memory.max").read_text().strip(), int((GROUP / "memory.current").read_text())
        cached = [int(line.split()[1]) for line in (GROUP / "memory.stat").read_text().splitlines() if "_file " in line]
        if most != "max":
            found.append(int(most) - used + sum(cached))
    except (OSError, ValueError):
        pass  # no such limit
    return min(found) if found else None


def wanted_bytes(folder: Path, precision: str) -> int:
    """Bytes that the weights in *folder* need at *precision* (fp32 or bf16), by the shapes in their headers. 0 if no
    header can be read: loading reports that better."""
    numbers = 0
    for file in folder.glob("*.safetensors"):
        try:
            with safe_open(file, framework="np") as opened:
                numbers += sum(prod(opened.get_slice(name).get_shape()) for name in opened.keys())  # noqa: SIM118
        except (SafetensorError, OSError):
            return 0
    return numbers * WIDTH[precision]


def missing_bytes(name: str, folder: Path, precision: str, droppable: int) -> int:
    """How much must be dropped before the checkpoint fits. Raises ExplorerError with both numbers if the *droppable*
    bytes are not enough."""
    wanted, free = wanted_bytes(folder, precision), free_bytes()
    if free is None:
        return 0
    had = max(0, free + droppable - RESERVE)
    if wanted > had:
        raise ExplorerError(
            f"{name} takes {wanted / 1e9:,.1f} GB of memory and {had / 1e9:,.1f} GB are available. Choose a smaller "
            "checkpoint, or precision bf16 where the processor has it."
        )
    return max(0, wanted + RESERVE - free)

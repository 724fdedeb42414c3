"""bertexplorer site: writes the explorer as a folder of files."""

import argparse
import sys
from collections.abc import Mapping
from typing import Any

from bertexplorer.cli.analyse import fetch
from bertexplorer.cli.waiting import tell
from bertexplorer.site.folder import write
from bertexplorer.store.registry import CheckpointRegistry


def site(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write the site, and say how large it is and how to see it."""
    for name in flags.checkpoint:
        fetch(library, name)
    kind = None if flags.weights == "auto" else flags.weights
    written = write(
        library,
        flags.out,
        flags.checkpoint,
        kind,
        address=flags.address,
        views=flags.views,
        lessons=flags.lessons,
        tell=tell,
    )
    tell("")
    size, first = written["bytes"] / 1e6, written["first_visit"] / 1e6
    print(
        f"{flags.out}: {size:,.1f} MB, of which a first visit fetches about {first:,.1f}; {describe(written)}",
        file=sys.stderr,
    )
    for other in written["others"]:
        print(f"{other['name']}: {describe(other)}", file=sys.stderr)
    print(f"python -m http.server --directory {flags.out}")
    return 0


def describe(written: Mapping[str, Any]) -> str:
    """How the weights of a checkpoint travel, what its page takes, and which views it lacks."""
    said = f"weights in {written['weights']}"
    if written["masks"]:
        said += f", which move a probability by {written['moved']:.3f} at most (at {written['masks']:,} masks)"
    said += f". An open page takes about {written['memory'] / 1e6:,.0f} MB of memory."
    if written["left_out"]:
        left_out = ", ".join(written["left_out"])
        said += f"\nLeft out, as this checkpoint or a browser does not answer them: {left_out}."
    return said

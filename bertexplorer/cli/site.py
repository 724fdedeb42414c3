"""bertexplorer site: writes the explorer as a folder of files."""

import argparse
import sys

from bertexplorer.cli.analyse import fetch
from bertexplorer.cli.waiting import tell
from bertexplorer.site.folder import write
from bertexplorer.store.registry import CheckpointRegistry


def site(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write the site, and say how large it is and how to see it."""
    fetch(library, flags.checkpoint)
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
    measured = ""
    if written["masks"]:
        measured = f", which move a probability by {written['moved']:.3f} at most (at {written['masks']:,} masks)"
    print(
        f"{flags.out}: {written['bytes'] / 1e6:,.1f} MB, of which a first visit fetches about "
        f"{written['first_visit'] / 1e6:,.1f}; weights in {written['weights']}{measured}. An open page takes about "
        f"{written['memory'] / 1e6:,.0f} MB of memory.",
        file=sys.stderr,
    )
    if written["left_out"]:
        left_out = ", ".join(written["left_out"])
        print(f"Left out, as this checkpoint or a browser does not answer them: {left_out}.", file=sys.stderr)
    print(f"python -m http.server --directory {flags.out}")
    return 0

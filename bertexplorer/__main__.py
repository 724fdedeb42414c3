"""python -m bertexplorer, and the command bertexplorer."""

import sys
from collections.abc import Sequence

from bertexplorer.interrupt import ends_at_once


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; Ctrl-C ends it silently, while it is still imported too."""
    try:
        with ends_at_once():
            from bertexplorer.cli import main as run

        return run(arguments)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())

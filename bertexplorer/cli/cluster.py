"""bertexplorer cluster check: reports what is wrong with the nodes of a Ray cluster, and what to do."""

import argparse
import sys
from collections.abc import Sequence

from bertexplorer.cluster.check import check_cluster
from bertexplorer.settings import Settings
from bertexplorer.wording import counted


def make_parser() -> argparse.ArgumentParser:
    about = "Report what is wrong with the nodes of a Ray cluster, and what to do. Settings are environment variables."
    parser = argparse.ArgumentParser("bertexplorer cluster", description=about)
    parser.add_argument("what", choices=("check",))
    return parser


def command(settings: Settings, arguments: Sequence[str]) -> int:
    """Run `bertexplorer cluster check`. Returns 0, or 1 if something is wrong. Raises ExplorerError if the cluster
    cannot be joined."""
    make_parser().parse_args(arguments)
    problems = 0
    for node, problem in check_cluster(settings):
        problems += bool(problem)
        print(f"{node}: {problem or 'no problems'}")
    if problems:
        print(f"bertexplorer: {counted(problems, 'problem')} to fix.", file=sys.stderr)
    return 1 if problems else 0

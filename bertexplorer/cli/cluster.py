"""bertexplorer cluster check: what is wrong with the nodes of a Ray cluster, and what to do."""

import sys
from collections.abc import Sequence

from bertexplorer.cluster.check import check_cluster
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings


def command(settings: Settings, arguments: Sequence[str]) -> int:
    """Run `bertexplorer cluster check`. Returns 0, or 1 if something is wrong. Raises ExplorerError if the cluster
    cannot be joined."""
    if list(arguments) != ["check"]:
        raise ExplorerError("bertexplorer cluster has one command: check. Its settings are environment variables.")
    faults = 0
    for node, fault in check_cluster(settings):
        faults += bool(fault)
        print(f"{node}: {fault or 'all is well'}")
    if faults:
        print(f"bertexplorer: {faults} thing{'s' * (faults > 1)} to fix.", file=sys.stderr)
    return 1 if faults else 0

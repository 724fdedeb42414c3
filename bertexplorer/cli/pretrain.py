"""The command line of a pretraining run: start, resume or extend it; a signal ends it after a commit."""

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.options import option_specs
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.new_run import PLAIN, prepare_folder
from bertexplorer.training.pretraining.run import pretrain
from bertexplorer.training.run_process import catch_stop_signals, keep_freed_memory, print_events


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, 3 after a stop, or 2 after printing an error to stderr."""
    options = parser().parse_args(arguments)
    os.environ["TOKENIZERS_PARALLELISM"] = "true"  # no other process shares the cores
    keep_freed_memory()
    try:
        folder = Path(options.run)
        names = [*PLAIN, *(s.name for group in specs.GROUPS.values() for s in option_specs(group))]
        values = {name: value for name in names if (value := getattr(options, name)) is not None}
        prepare_folder(folder, options.text or [], values, new_stage=options.stretch)
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error}\n")
        return 2
    return print_events(pretrain(folder, catch_stop_signals()))


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser("python -m bertexplorer pretrain", description=__doc__)
    arguments.add_argument("run", help="the run's folder; created if it does not exist, resumed if it does")
    arguments.add_argument("--text", nargs="+", help="text files (.txt, .txt.xz) or folders of them")
    arguments.add_argument("--stretch", action="store_true", help="append a stage with the settings given here")
    for name, note in PLAIN.items():
        arguments.add_argument(f"--{name}", help=note)
    for group in specs.GROUPS.values():
        for setting in option_specs(group):
            flag = "--" + setting.name.replace("_", "-")
            arguments.add_argument(flag, help=setting.help(), choices=setting.choices or None)
    return arguments


if __name__ == "__main__":
    sys.exit(main())

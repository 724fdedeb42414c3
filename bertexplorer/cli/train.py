"""The command line of a fine-tuning run: start one from a file, resume one, or time its first steps; a signal ends it
after a commit."""

import argparse
import json
import secrets
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError, need
from bertexplorer.options import option_specs
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.new_run import read_collection, read_table, write_run
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.finetuning.trial import dry_run
from bertexplorer.training.run_process import catch_stop_signals, print_events
from bertexplorer.training.tasks import BY_NAME


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser("python -m bertexplorer train", description=__doc__)
    arguments.add_argument("run", nargs="?", help="folder of a run to resume; --out names that of a new one")
    arguments.add_argument("--task", choices=sorted(BY_NAME))
    arguments.add_argument(
        "--data",
        nargs="+",
        help="a file: CSV, TSV, JSONL, JSON, CoNLL, TXT; three: queries, documents, judgements (qrels); or hub:NAME",
    )
    arguments.add_argument("--dev", help="validation file; default: a tenth of --data")
    arguments.add_argument("--checkpoint", default="mini", help="a name from the list, a hub name or a folder")
    arguments.add_argument("--out", help="folder of the new run")
    arguments.add_argument("--name", default="", help="name of the run")
    arguments.add_argument("--map", nargs="*", default=[], metavar="COLUMN=FILE_COLUMN", help="which column is which")
    arguments.add_argument(
        "--trial", action="store_true", help="time three steps of the run in the folder, change nothing"
    )
    arguments.add_argument(
        "--strict", action="store_true", help="stop at rows that cannot be used, instead of skipping them"
    )
    arguments.add_argument("--set", nargs="*", default=[], metavar="NAME=VALUE", help="settings of the task")
    for setting in option_specs(specs.Tuning):
        flag = "--" + setting.name.replace("_", "-")
        arguments.add_argument(flag, help=setting.help(), choices=setting.choices or None)
    return arguments


def main(arguments: Sequence[str] | None, find: Callable[[str], Path], runs: Path) -> int:
    """Run one command. *find*: a checkpoint's name -> its folder; *runs*: where new runs go. Returns 0, 3 after a
    stop, or 2 after printing an error to stderr."""
    options = parser().parse_args(arguments)
    try:
        need("train", "Fine-tuning")
        folder = resumed_folder(options) if options.run else create_run(options, find, runs)
        if options.trial:
            print_line(json.dumps(dry_run(folder, print_line)))
            return 0
        return print_events(finetune(folder, catch_stop_signals()))
    except ExplorerError as error:
        sys.stderr.write(f"bertexplorer: {error.render('cli')}\n")
        return 2


def print_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def resumed_folder(options: argparse.Namespace) -> Path:
    """The folder of the run to resume. Raises ExplorerError for settings that a resume would ignore."""
    given = {name for name, value in vars(options).items() if value != parser().get_default(name)}
    if ignored := [f"--{name.replace('_', '-')}" for name in sorted(given - {"run", "trial"})]:
        raise ExplorerError(
            f"{options.run} is the folder of a run to resume, which continues with its own settings. "
            f"Omit {', '.join(ignored)}, or start a new run: --out names its folder."
        )
    return Path(options.run)


def create_run(options: argparse.Namespace, find: Callable[[str], Path], runs: Path) -> Path:
    """Create the folder of a new run. Problems with rows are printed to stderr."""
    if not options.task or not options.data:
        raise ExplorerError("Name the folder of a run to resume it, or --task and --data to start one.")
    values = {}
    for setting in option_specs(specs.Tuning):
        value = getattr(options, setting.name)
        if value is not None:
            values[setting.name] = value
    if len(options.data) > 1:
        table = read_collection(options.data, options.task)
    else:
        table = read_table(options.data[0])
    folder = write_run(
        Path(options.out) if options.out else runs / secrets.token_hex(16),
        options.task,
        table,
        read_table(options.dev) if options.dev else None,
        checkpoint=(options.checkpoint, find(options.checkpoint)),
        values=values | parse_pairs(options.set, "--set"),
        columns=parse_pairs(options.map, "--map"),
        file=Path(options.data[0]).name,
        name=options.name,
        strict=options.strict,
        tell=lambda words: sys.stderr.write(words + "\n"),
    )
    sys.stderr.write(f"note: the run is in {folder}\n")
    return folder


def parse_pairs(arguments: Sequence[str], flag: str) -> dict[str, Any]:
    """Parse NAME=VALUE arguments."""
    parts = [part.partition("=") for part in arguments]
    if malformed := [name for name, sign, _ in parts if not sign]:
        raise ExplorerError(f"{flag} got {malformed[0]!r:.60}; wanted NAME=VALUE.")
    return {name: value for name, _, value in parts}

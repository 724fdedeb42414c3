"""Main: finds the command, and turns errors into a sentence and an exit code."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from bertexplorer.cli.parser import make_parser
from bertexplorer.cli.serve import command as serve_command
from bertexplorer.errors import ExplorerError
from bertexplorer.interrupt import ends_at_once
from bertexplorer.python.result import as_table
from bertexplorer.settings import QUIET, Settings
from bertexplorer.store import trained
from bertexplorer.store.catalogue import CATALOGUE
from bertexplorer.store.registry import CheckpointRegistry

WRITERS = {"encode": "files", "export": "files", "site": "site"}  # commands that write files -> their module


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0; 1 if a check has found something; 2 after printing an error to stderr; 3 for a run
    that was stopped and can be resumed; 130 if it was interrupted."""
    os.environ.update(QUIET)  # before huggingface_hub is imported
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        return run(arguments)
    except ExplorerError as error:
        print("bertexplorer:", error.render("cli"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run(arguments: list[str]) -> int:
    """Run one command. Raises ExplorerError."""
    # 1. Commands with parsers of their own.
    command, rest = arguments[:1], arguments[1:]
    if command == ["serve"]:
        return serve_command(rest)
    if arguments == ["worker"]:  # a server starts it
        return int(import_module("bertexplorer.cluster.worker").main())
    library = CheckpointRegistry(Settings.from_env(os.environ), anywhere=True)
    if command == ["train"]:
        import_libraries()
        return train(library, rest)
    if command == ["pretrain"]:
        import_libraries()
        return int(import_module("bertexplorer.cli.pretrain").main(rest))
    if command in (["lesson"], ["doctor"], ["cluster"]):
        subject: Any = library.settings if command == ["cluster"] else library
        return int(import_module(f"bertexplorer.cli.{command[0]}").command(subject, rest))
    # 2. The others.
    flags = make_parser(*command).parse_args(arguments)
    if flags.command == "mcp":
        return int(import_module("bertexplorer.api.tools").main(library, library.settings))
    if flags.command == "checkpoints":
        return list_checkpoints(library, flags.json)
    if flags.command == "completion":
        print(import_module("bertexplorer.cli.completion").completion(flags.shell))
        return 0
    import_libraries()
    if module := WRITERS.get(flags.command):
        return int(getattr(import_module(f"bertexplorer.cli.{module}"), flags.command)(library, flags))
    return int(import_module("bertexplorer.cli.analyse").analyse(library, flags))


def import_libraries() -> None:
    """Import torch, and what commands need of it, while Ctrl-C ends the process at once."""
    with ends_at_once():
        for module in ("model.load", "engine.inference", "cli.analyse"):
            import_module(f"bertexplorer.{module}")


def train(library: CheckpointRegistry, arguments: Sequence[str]) -> int:
    """Download the checkpoint and start a fine-tuning run, or resume the run in a folder, of any kind."""
    spec = (trained.read_spec(Path(arguments[0])) or {}) if len(arguments) == 1 else {}
    if spec.get("kind") == "suite":
        from bertexplorer.runs.analysis import compute
        from bertexplorer.training.run_process import catch_stop_signals, print_events

        return print_events(compute(Path(arguments[0]), catch_stop_signals()))
    if "stretches" in spec:
        return int(import_module("bertexplorer.cli.pretrain").main(arguments))
    from bertexplorer.cli.analyse import fetch

    def find(name: str) -> Path:
        fetch(library, name)
        return library.find(name) or Path(name)

    return int(import_module("bertexplorer.cli.train").main(arguments, find, library.settings.data_dir / "runs"))


def list_checkpoints(library: CheckpointRegistry, as_json: bool) -> int:
    offline = library.offline()
    rows: list[dict[str, Any]] = []
    for entry in CATALOGUE:
        rows.append(
            {
                "checkpoint": entry.name,
                "parameters": f"{entry.parameters:g} M",
                "size": f"{entry.megabytes:g} MB",
                "heads": ", ".join(entry.heads),
                "licence": entry.licence,
                "on this disk": "yes" if entry.name in offline else "no",
                "run": "",
            }
        )
    empty = dict.fromkeys(rows[0], "")
    catalogued = {entry.name for entry in CATALOGUE}
    for name in offline:
        if name not in catalogued:
            rows.append({**empty, "checkpoint": name, "on this disk": "yes"})
    for title, name in library.trained():
        rows.append({**empty, "checkpoint": name, "on this disk": "yes", "run": title})
    print(json.dumps(rows, indent=2, ensure_ascii=False) if as_json else as_table(rows))
    return 0

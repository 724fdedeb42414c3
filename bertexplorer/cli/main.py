"""Main: every analysis as a command, with its Options as flags; the list of checkpoints; training runs."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.analysis import FIRST
from bertexplorer.cli.serve import command as serve_command
from bertexplorer.errors import ExplorerError
from bertexplorer.options import build, option_specs
from bertexplorer.result import Comparison, Result, as_table, compare
from bertexplorer.settings import QUIET, Settings
from bertexplorer.store import runs
from bertexplorer.store.catalogue import CATALOGUE
from bertexplorer.store.registry import PRECISIONS, CheckpointRegistry
from bertexplorer.version import __version__

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FILES = {"lines": "CSV, TSV or TXT", "rows": "CSV, TSV or JSONL"}  # settings that take a file


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns 0, or 2 after printing an error to stderr."""
    os.environ.update(QUIET)  # before huggingface_hub is imported
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    try:
        if arguments[:1] == ["serve"]:
            return serve_command(arguments[1:])
        if arguments == ["worker"]:  # a server starts it
            return int(import_module("bertexplorer.cluster.worker").main())
        library = CheckpointRegistry(Settings.from_env(os.environ), anywhere=True)
        if arguments[:1] == ["train"]:
            return train(library, arguments[1:])
        if arguments[:1] == ["pretrain"]:
            return import_module("bertexplorer.training.pretraining.command").main(arguments[1:])
        if arguments[:1] in (["lesson"], ["cluster"]):
            module, subject = f"bertexplorer.cli.{arguments[0]}", {"lesson": library, "cluster": library.settings}
            return int(import_module(module).command(subject[arguments[0]], arguments[1:]))
        return run(library, make_parser().parse_args(arguments))
    except ExplorerError as error:
        print("bertexplorer:", error.render("cli"), file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # the reader, such as head, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def run(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Run a command of `make_parser`."""
    if flags.command == "mcp":
        return int(import_module("bertexplorer.api.tools").main(library, library.settings))
    if flags.command == "checkpoints":
        return list_checkpoints(library)
    return analyse(library, flags)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("python -m bertexplorer", description="See what BERT-style models have learned.")
    parser.add_argument("--version", action="version", version=f"bertexplorer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    commands.add_parser("serve", help="open the page: serve [--public] [--host H] [--port P] [--open]")
    commands.add_parser("train", help="fine-tune a checkpoint: train --task … --data …, or train RUN to resume it")
    commands.add_parser("pretrain", help="pretrain an encoder on plain text: pretrain RUN --text …")
    commands.add_parser(
        "lesson", help="lesson list, or lesson check [FILE …]: the lessons, and whether their claims hold"
    )
    commands.add_parser("cluster", help="cluster check: report what is wrong with the nodes of a Ray cluster")
    commands.add_parser("mcp", help="serve the analyses to MCP clients over stdio; takes no arguments")
    commands.add_parser("checkpoints", help="list the checkpoints: size, heads, licence, whether on this disk")
    for module in import_module("bertexplorer.analysis").ANALYSES:
        name = module.__name__.rpartition(".")[2].replace("_", "-")
        about = (module.__doc__ or "").splitlines()[0].partition(": ")[2] or (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(name, help=about.removesuffix("."), description=module.__doc__)
        settings = option_specs(module.Options)
        if first := FIRST.get(name):
            spec = next(setting for setting in settings if setting.name == first)
            command.add_argument(first, nargs="?", default=spec.default, choices=spec.choices, help=spec.option.label)
            command.set_defaults(text="", pair="")
        else:
            command.add_argument("text", help="a sentence, [MASK] where a word is hidden")
            command.add_argument("pair", nargs="?", default="", help="a second sentence, read as segment B")
        several: dict[str, Any] = {"action": "append", "default": []} if name == "suite" else {"default": "mini"}
        about = "a name from the list, a hub name or a folder"
        if name == "suite":
            about += "; repeat it to compare several"
        command.add_argument("--checkpoint", help=about, **several)
        command.add_argument("--precision", default="auto", choices=PRECISIONS)
        command.add_argument("--pick", default="", help="the word of the text that the analysis is about")
        command.add_argument("--json", action="store_true", help="print JSON, with the question and the provenance")
        for setting in (setting for setting in settings if setting.name != first):
            flag = "--" + setting.name.replace("_", "-")
            file = f"{setting.option.label}: a {FILES[setting.name]} file" if setting.name in FILES else ""
            help, choices = file or setting.help(), setting.choices or None
            command.add_argument(flag, default=setting.default, help=help, choices=choices)
        if name == "suite":
            command.add_argument(
                "--out", type=Path, help="a folder in which to score all rows; repeat the command to resume"
            )
        command.set_defaults(module=module)
    return parser


def train(library: CheckpointRegistry, arguments: Sequence[str]) -> int:
    """Download the checkpoint and start a fine-tuning run, or resume the run in a folder, of any kind."""
    spec = (runs.read_spec(Path(arguments[0])) or {}) if len(arguments) == 1 else {}
    if spec.get("kind") == "suite":
        from bertexplorer.runs.suite import score
        from bertexplorer.training.run_process import catch_stop_signals, print_events

        return print_events(score(Path(arguments[0]), catch_stop_signals()))
    if "stretches" in spec:
        return int(import_module("bertexplorer.training.pretraining.command").main(arguments))
    from bertexplorer.training.finetuning import command

    def find(name: str) -> Path:
        fetch(library, name)
        return library.find(name) or Path(name)

    return command.main(arguments, find, library.settings.data_dir / "runs")


def fetch(library: CheckpointRegistry, name: str) -> None:
    """Download a checkpoint, with the progress on stderr."""
    for progress in library.fetch(name):
        end = "\n" if progress.done >= progress.total else ""
        print(f"\r{name}: {progress.done:.0f} of {progress.total:.0f} MB", end=end, file=sys.stderr)


def analyse(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    from bertexplorer.analysis import Summarised, export
    from bertexplorer.core.state import find_word_spans
    from bertexplorer.model.text import Text
    from bertexplorer.views import VIEWS

    view = VIEWS[flags.command]
    module: Any = view.analysis
    values = {setting.name: getattr(flags, setting.name) for setting in option_specs(module.Options)}
    more, sources = {}, {name: values[name] for name in FILES if values.get(name)}
    for name, file in sources.items():
        more[name], values[name] = read(Path(file), name), ""
    options = build(module.Options, values)
    names = [flags.checkpoint] if isinstance(flags.checkpoint, str) else flags.checkpoint or ["mini"]
    for name in names:
        fetch(library, name)
    checkpoint = library.get(names[0], flags.precision)
    if getattr(flags, "out", None):
        if len(names) > 1:
            raise ExplorerError(f"--out scores one checkpoint; {len(names)} were given. Give each a folder of its own.")
        return score(flags.out, checkpoint, options, more.get("rows"))
    text = Text(
        flags.text, flags.pair, picked=find_word_spans(checkpoint.tokenizer, flags.text, flags.pair, flags.pick)
    )
    for note in checkpoint.tokenizer.encode(text).notes if flags.text else ():
        print(f"note: {note}", file=sys.stderr)
    if len(names) > 1:
        checkpoints = [library.get(name, flags.precision) for name in names]
        results = [
            Result(flags.command, view.run(each, text, options, **more), each, text, options, sources)
            for each in checkpoints
        ]
        return print_comparison(compare(*results), flags.json)
    result = view.run(checkpoint, text, options, **more)
    if isinstance(module, Summarised):  # the rows are single cases
        name = flags.module.__name__.rpartition(".")[2]
        print(Result(name, result, checkpoint, text, options).said, file=sys.stderr)
        print(as_table(module.summary_rows(result)), file=sys.stderr)
    rows = module.rows(result)
    if flags.json:
        print(export.as_json(module, checkpoint, text, options, rows, "", sources, export.tables(module, result)))
    else:
        print(as_table(rows))
    return 0


def print_comparison(several: Comparison, as_json: bool) -> int:
    """Print the sentences, scores and paired tests of suites, then the cases on which they differ."""
    print(several.said, file=sys.stderr)
    for table in ("summary", "tests"):
        print(as_table(several.tables[table]), file=sys.stderr)
    print(several.to_json() if as_json else as_table(several.tables["differences"]))
    return 0


def score(out: Path, checkpoint: Checkpoint, options: Any, rows: Sequence[Any] | None) -> int:
    """Score a whole suite in the folder *out*, or resume it, with the progress on stderr."""
    from bertexplorer.analysis.suite import summary_rows
    from bertexplorer.analysis.suite_cases import built_in
    from bertexplorer.store.suite_folder import SuiteFolder
    from bertexplorer.training.run_process import catch_stop_signals
    from bertexplorer.views import suite

    folder, done = SuiteFolder(out, checkpoint, built_in(options.suite) if rows is None else rows, options.scoring), 0
    for progress in folder.run(catch_stop_signals()):
        done, left = progress.done, progress.seconds_left
        rest = ""
        if left is not None:
            rest = f", about {left / 60:.0f} min left" if left > 90 else f", about {left:.0f} s left"
        print(f"\r{done:,} of {progress.total:,} cases{rest}    ", end="", file=sys.stderr)
    print(file=sys.stderr)
    if done < progress.total:
        print(f"Stopped. Repeat the command to resume {out}.", file=sys.stderr)
        return 130
    result = folder.result()
    print(suite.say(result))
    print(as_table(summary_rows(result)))
    print(f"The cases are in {out / 'cases.csv'}, this table in {out / 'summary.csv'}.")
    return 0


def read(file: Path, what: str) -> Sequence[Any]:
    """The lines or rows of *file*. Prints a note about how they were read. Raises ExplorerError."""
    from bertexplorer.store.text_uploads import parse_lines, parse_rows, read_file

    content: Any = read_file(file, parse_lines if what == "lines" else parse_rows)
    print(f"note: {content.summary}", file=sys.stderr)
    return content.lines if what == "lines" else content.rows


def list_checkpoints(library: CheckpointRegistry) -> int:
    offline = library.offline()
    rows: list[dict[str, object]] = [
        {
            "checkpoint": entry.name,
            "parameters": f"{entry.parameters:g} M",
            "size": f"{entry.megabytes:g} MB",
            "heads": ", ".join(entry.heads),
            "licence": entry.licence,
            "on this disk": "yes" if entry.name in offline else "no",
            "run": "",
        }
        for entry in CATALOGUE
    ]
    others = [(name, "") for name in offline if name not in {entry.name for entry in CATALOGUE}]
    others += [(name, title) for title, name in library.trained()]
    empty = dict.fromkeys(rows[0], "")
    rows += [{**empty, "checkpoint": name, "on this disk": "yes", "run": title} for name, title in others]
    print(as_table(rows))
    return 0

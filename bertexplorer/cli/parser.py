"""The parser of the commands: every analysis with its settings as flags, and the commands around them."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path
from typing import Any

from bertexplorer.answers.encoding import Options
from bertexplorer.cli.suggest import Parser
from bertexplorer.core.state import read_spans
from bertexplorer.options import OptionSpec, option_specs
from bertexplorer.python.describe import explain
from bertexplorer.store.registry import PRECISIONS
from bertexplorer.version import __version__
from bertexplorer.views import VIEWS
from bertexplorer.views.view import View

FILES = {  # settings that take a file -> its kinds
    "lines": "CSV, TSV, JSONL or TXT",
    "rows": "CSV, TSV or JSONL",
    "vectors": "JSONL",
}
ENCODING = {setting.name: setting for setting in option_specs(Options)}  # of encode
VALUES = {int: "N", float: "X", bool: "yes|no", str: "TEXT"}  # what a flag takes, in its help
CHECKPOINT = "a name from `bertexplorer checkpoints`, a name on the hub, run:ID, or a folder"
FORWARDED = {  # commands with parsers of their own
    "serve": "open the page: serve [--public] [--host H] [--port P] [--open]",
    "train": "fine-tune a checkpoint: train --task … --data …, or train RUN to resume it",
    "pretrain": "pretrain an encoder on plain text: pretrain RUN --text …",
    "lesson": "lesson list, or lesson check [FILE …]: the lessons, and whether their claims hold",
    "doctor": "doctor MODEL --vectors FILE: how another program made its vectors, and what differs from the files",
    "cluster": "cluster check: report what is wrong with the nodes of a Ray cluster",
}
SHOWN = 100  # rows that a terminal shows
CODES = (
    "exit codes: 0 done, 1 a check found something, 2 an error, 3 a run that was stopped and can be resumed, "
    "130 interrupted"
)


def make_parser(command: str = "") -> argparse.ArgumentParser:
    """*command*: that which is called; if there is one of this name, the views of other commands are not imported."""
    parser = Parser("bertexplorer", description="See what BERT-style models have learned.", epilog=CODES)
    parser.add_argument("--version", action="version", version=f"bertexplorer {__version__}")
    commands = parser.add_subparsers(dest="command", required=True, metavar="command")
    for name, about in FORWARDED.items():
        commands.add_parser(name, help=about)
    commands.add_parser("mcp", help="serve the analyses to MCP clients over stdio; takes no arguments")
    listing = commands.add_parser(
        "checkpoints", help="list the checkpoints: size, heads, licence, whether on this disk"
    )
    listing.add_argument("--json", action="store_true", help="print JSON")
    add_encode(commands)
    add_export(commands)
    add_site(commands)
    completion = commands.add_parser("completion", help="print what makes a shell complete these commands")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"))
    if command not in {*commands.choices, "--version"}:
        for view in [VIEWS[command]] if command in VIEWS else VIEWS.values():
            add_analysis(commands, view)
    return parser


def add_analysis(commands: Any, view: View) -> None:
    """The command of one analysis."""
    module = view.analysis
    lines = (module.__doc__ or "").splitlines()
    about = lines[0].partition(": ")[2] or lines[0]
    command = commands.add_parser(
        view.slug,
        help=about.removesuffix("."),
        description=f"{module.__doc__}\n\n{view.question}",
        epilog=f"example:\n  {example(view)}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    settings = {setting.name: setting for setting in option_specs(module.Options)}
    if first := view.first:
        setting = settings.pop(first)
        choices = ", ".join(map(hyphenated, setting.choices))
        kind = FILES[view.upload] if view.upload else ""
        help = f"{explain(setting)}: {choices}; or a {kind} file"
        positional = command.add_argument(
            first, nargs="?", default=setting.default, help=help, metavar=f"{first.upper()}|FILE"
        )
        positional.completions = tuple(map(hyphenated, setting.choices))
        command.set_defaults(text="", pair="", mask=[], pick=[])
    else:
        command.add_argument("text", type=sentence, help="a sentence; [MASK] stands for a hidden word; - reads stdin")
        command.add_argument("pair", nargs="?", default="", help="a second sentence, read as segment B")
        add_words(command, "--mask", "a word to hide wherever it occurs; repeat it for several")
        picks = "the word that the analysis is about" if view.chips == "pick" else argparse.SUPPRESS
        add_words(command, "--pick", picks)
    several: dict[str, Any] = {"default": "mini", "action": Once}
    if view.name == "suite":
        several = {"action": "append", "default": []}
    more = "; repeat it to compare several" if view.name == "suite" else ""
    command.add_argument("--checkpoint", help=CHECKPOINT + more, metavar="NAME", **several)
    command.add_argument("--precision", default="auto", choices=PRECISIONS, help="auto: what this processor is fast in")
    command.add_argument(
        "--json", action="store_true", help="print JSON, with the sentence, notes, question and provenance"
    )
    command.add_argument("--all", action="store_true", help=f"print more than {SHOWN} rows to a terminal, too")
    for setting in settings.values():
        add_setting(command, setting)
    if view.name == "suite":
        command.add_argument(
            "--out", type=Path, help="a folder in which to score all rows; repeat the command to resume"
        )
    command.set_defaults(view=view)


class Once(argparse.Action):
    """A flag that may be given once; argparse would take the last one in silence."""

    def __call__(self, parser: argparse.ArgumentParser, flags: argparse.Namespace, value: Any, *given: Any) -> None:
        if self.dest in vars(flags).setdefault("given", set()):
            parser.error(f"{self.option_strings[0]} was given twice; wanted one. The page and Python compare two.")
        flags.given.add(self.dest)
        setattr(flags, self.dest, value)


def sentence(typed: str) -> str:
    """A text as typed; "-" is what stdin holds."""
    return sys.stdin.read().strip() if typed == "-" else typed


def add_words(command: argparse.ArgumentParser, flag: str, help: str) -> None:
    command.add_argument(flag, action="append", default=[], metavar="WORD", help=help)


def add_setting(command: argparse.ArgumentParser, setting: OptionSpec) -> None:
    """The flag of a setting. Values with spaces are written with hyphens; with spaces they are accepted too."""
    flag = "--" + hyphenated(setting.name.replace("_", "-"))
    shown = hyphenated(str(setting.default))
    if setting.kind is bool:
        shown = "yes" if setting.default else "no"
    default = f"; default: {shown}" if shown else ""
    help = f"{explain(setting)}{default}".replace("%", "%%")
    if setting.name in FILES:
        command.add_argument(
            flag, default=setting.default, metavar="FILE", help=f"{setting.option.label}: a {FILES[setting.name]} file"
        )
    elif setting.choices:
        choices = {hyphenated(choice): choice for choice in setting.choices}
        command.add_argument(flag, default=setting.default, type=hyphenated, choices=list(choices), help=help)
    else:
        command.add_argument(flag, default=setting.default, metavar=VALUES[setting.kind], help=help)


def chosen(setting: OptionSpec, value: Any) -> Any:
    """The value of a setting as its Options have it."""
    return {hyphenated(choice): choice for choice in setting.choices}.get(hyphenated(str(value)), value)


def hyphenated(text: str) -> str:
    return text.replace("_", "-").replace(" ", "-")


def example(view: View) -> str:
    """The command that asks the first example of a view."""
    first = view.examples[0]
    words = ["bertexplorer", view.slug, *(text for text in (first.text, first.pair) if text)]
    options = dict(first.options)
    if value := options.pop(view.first, ""):
        words.append(hyphenated(str(value)))
    for side, start, end in read_spans(first.picked):
        words += ["--pick", (first.text, first.pair)[side][start:end]]
    choices = {setting.name for setting in option_specs(view.analysis.Options) if setting.choices}
    for name, value in options.items():
        words += [f"--{hyphenated(name)}", hyphenated(str(value)) if name in choices else str(value)]
    return shlex.join(words)


def add_site(commands: Any) -> None:
    site = commands.add_parser(
        "site",
        help="write the explorer as a folder of files that needs no server",
        description="Write a folder for any web server: the checkpoint runs in the visitor's browser. A page of a "
        "university, a static Space or `python -m http.server` serves it.",
        epilog="example:\n  bertexplorer site public",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    site.add_argument("out", type=Path, metavar="FOLDER", help="an empty folder, or that of an earlier site")
    site.add_argument(
        "--checkpoint",
        nargs="+",
        default=["mini"],
        metavar="NAME",
        help=f"{CHECKPOINT}; of several, visitors can pick one, and the lessons are about the first",
    )
    site.add_argument(
        "--weights",
        default="auto",
        choices=("auto", "8-bit", "12-bit", "fp16", "fp32"),
        help="how the weights travel; auto: the smallest of which no answer suffers",
    )
    site.add_argument("--address", default="", metavar="URL", help="where it will be, for previews of its link")
    site.add_argument(
        "--views",
        nargs="+",
        default=(),
        metavar="VIEW",
        help="the views to offer, such as attention, besides those that its lessons show; without it, all",
    )
    site.add_argument(
        "--lessons",
        nargs="*",
        metavar="LESSON",
        help="the lessons to offer, such as welcome; with no name after it, no lesson; without it, all",
    )


def add_encode(commands: Any) -> None:
    encode = commands.add_parser(
        "encode",
        help="the vectors of the lines of a file, as a NumPy array",
        epilog="example: bertexplorer encode lines.txt -o vectors.npy",
    )
    encode.add_argument("file", type=Path, help="a text file with a text on each line, or - for stdin")
    encode.add_argument("-o", "--out", type=Path, required=True, metavar="FILE.npy", help="a row for each line")
    encode.add_argument("--checkpoint", default="mini", help=CHECKPOINT, metavar="NAME")
    encode.add_argument("--precision", default="auto", choices=PRECISIONS, help="auto: what this processor is fast in")
    for setting in ENCODING.values():
        add_setting(encode, setting)
    encode.add_argument(
        "--prompt", help="the name of a prompt in the checkpoint's files, such as query", metavar="NAME"
    )
    encode.add_argument(
        "--tokens",
        choices=("query", "document"),
        help="of a ColBERT: a vector for each token of lines read so; FILE.npz has vectors, and lengths of lines",
    )


def add_export(commands: Any) -> None:
    export = commands.add_parser(
        "export",
        help="the best checkpoint of a run, as a folder, a ZIP or ONNX; a sentence encoder as ONNX",
        description="A folder or a ZIP opens in transformers, that of a run which learned vectors in "
        "sentence-transformers too; an .onnx file in onnxruntime. That of a sentence encoder has its pooling, as the "
        "output sentence_embedding.",
        epilog="example: bertexplorer export runs/films -o films.zip",
    )
    export.add_argument("run", help="the folder of a run, or run:ID; for ONNX also the name of a sentence encoder")
    export.add_argument("-o", "--out", type=Path, required=True, help="a new folder, or a file: NAME.zip, NAME.onnx")
    export.add_argument(
        "--with-rows", action="store_true", help="also the validation rows with their answers, which are your own texts"
    )

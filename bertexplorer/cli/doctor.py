"""bertexplorer doctor: whose vectors are these?"""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from bertexplorer.cli.analyse import fetch
from bertexplorer.cli.parser import CHECKPOINT
from bertexplorer.cli.suggest import Parser
from bertexplorer.cli.waiting import watched
from bertexplorer.diagnosis import canary, files, server
from bertexplorer.diagnosis.answer import VectorDiagnosis, diagnose
from bertexplorer.diagnosis.given import Given, check
from bertexplorer.diagnosis.texts import TEXTS
from bertexplorer.errors import ExplorerError
from bertexplorer.python.result import as_table
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

ABOUT = """Compare the vectors of another program with a checkpoint, and say which step differs.

  doctor MODEL --vectors theirs.jsonl      lines of {"text": …, "vector": […]}
  doctor MODEL --vectors v.npy --texts t.txt
  doctor MODEL --url http://localhost:8080/embed
  doctor texts                             print ten texts that tell recipes apart
  doctor canary MODEL -o canary.json       write texts, their vectors and the recipe
  doctor canary.json --vectors v.jsonl     are they still the same?
  doctor MODEL --states dump.safetensors   where does my own BERT go wrong?
"""
CODES = "exit codes: 0 as the files say, 1 made in another way, 2 by none of the recipes, or an error"


def command(library: CheckpointRegistry, arguments: Sequence[str]) -> int:
    """Run `bertexplorer doctor`. Returns its exit code. Raises ExplorerError."""
    flags = make_parser().parse_args(arguments)
    if flags.what == "texts" and not flags.model:
        print("\n".join(text for _, text in TEXTS))
        return 0
    if flags.what == "canary":
        return write_canary(library, flags)
    if flags.model:
        raise ExplorerError(f"Two names were given: {flags.what} and {flags.model}. Give one checkpoint.")
    if flags.states is not None:
        return examine_states(library, flags)
    if flags.url:
        return ask_server(library, flags)
    if flags.vectors is None:
        raise ExplorerError(
            f"There are no vectors to compare {flags.what} with. Give them: --vectors theirs.jsonl; "
            "`bertexplorer doctor --help` says more."
        )
    given = files.read(flags.vectors, flags.texts)
    if Path(flags.what).suffix == ".json" and Path(flags.what).is_file():
        checked = canary.compare(canary.read(Path(flags.what)), given)
        tell(checked.said, checked.notes)
        print(json.dumps(asdict(checked), indent=2, ensure_ascii=False) if flags.json else as_table(list(checked.rows)))
        return checked.exit_code
    return print_answer(library, flags, given)


def print_answer(library: CheckpointRegistry, flags: argparse.Namespace, given: Given) -> int:
    """Search, and print what was found."""
    checkpoint = open_in_fp32(library, flags.what)
    with watched():
        answer = diagnose(checkpoint, given, flags.prompt)
    tell(answer.said, answer.notes)
    print(as_json(answer) if flags.json else as_table(list(answer.rows)))
    return answer.exit_code


def make_parser() -> argparse.ArgumentParser:
    parser = Parser(
        "bertexplorer doctor",
        description=ABOUT,
        epilog=CODES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("what", metavar="MODEL|FILE.json|texts|canary", help=f"{CHECKPOINT}; or a canary's file")
    parser.add_argument("model", nargs="?", default="", metavar="MODEL", help="of which canary is written")
    parser.add_argument(
        "--vectors", type=Path, metavar="FILE", help="a .jsonl file, or a .npy or .json file beside --texts"
    )
    parser.add_argument("--texts", type=Path, metavar="FILE", help="the texts of the vectors, one on each line")
    parser.add_argument(
        "--url", metavar="URL", help=f"a server: …/v1/embeddings or …/embed; its key is read from {server.KEY}"
    )
    parser.add_argument("--served", default="", metavar="NAME", help="the model's name on that server")
    parser.add_argument(
        "--states", type=Path, metavar="FILE.safetensors", help="the states of your own BERT, with input_ids"
    )
    parser.add_argument(
        "--map", action="append", default=[], metavar="YOURS=OURS", help="a name in it: blocks.0.q=layers.0.query"
    )
    parser.add_argument(
        "--prompt", metavar="NAME", help="the prompt in the checkpoint's files that should be before them"
    )
    parser.add_argument("-o", "--out", type=Path, metavar="FILE.json", help="where canary writes")
    parser.add_argument("--json", action="store_true", help="print JSON: the sentence, the recipe, the rows")
    return parser


def open_in_fp32(library: CheckpointRegistry, name: str) -> "Checkpoint":
    fetch(library, name)
    return library.get(name, "fp32")


def tell(said: str, notes: Sequence[str]) -> None:
    """The sentence and the notes, for people."""
    print(said, file=sys.stderr)
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def as_json(answer: VectorDiagnosis) -> str:
    return json.dumps({**asdict(answer), "notes": answer.notes, "rows": answer.rows}, indent=2, ensure_ascii=False)


def write_canary(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Write the canary of a checkpoint."""
    if not flags.model or flags.out is None:
        raise ExplorerError("Name the checkpoint and where to write: doctor canary MODEL -o canary.json.")
    content = canary.make(open_in_fp32(library, flags.model), flags.prompt)
    try:
        flags.out.write_text(json.dumps(content, indent=1, ensure_ascii=False), "utf-8")
    except OSError as error:
        raise ExplorerError(f"{flags.out} cannot be written: {error.strerror}. Choose another path.") from error
    print(
        f"{counted(len(content['texts']), 'text')} with their vectors in {flags.out}: {content['said']}",
        file=sys.stderr,
    )
    return 0


def examine_states(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Say where the states in a file depart from those of a checkpoint."""
    from bertexplorer.diagnosis.module import examine_file

    names = {}
    for pair in flags.map:
        yours, _, ours = pair.partition("=")
        if not ours:
            raise ExplorerError(f"--map: got {pair!r:.60}; wanted your name and ours: blocks.0.q=layers.0.query.")
        names[yours] = ours
    texts: list[str] = []
    if flags.texts is not None:
        _, texts = files.read_texts(flags.texts)
    answer = examine_file(open_in_fp32(library, flags.what), flags.states, texts, names)
    tell(answer.said, answer.notes)
    print(json.dumps(asdict(answer), indent=2, ensure_ascii=False) if flags.json else as_table(list(answer.rows)))
    return answer.exit_code


def ask_server(library: CheckpointRegistry, flags: argparse.Namespace) -> int:
    """Ask a server for the vectors of the texts, after saying what is sent, and search."""
    if flags.vectors is not None:
        raise ExplorerError("A server and a file of vectors were given. Give one of them.")
    texts = [text for _, text in TEXTS]
    what = "those of `bertexplorer doctor texts`"
    if flags.texts is not None:
        _, texts = files.read_texts(flags.texts)
        what = f"the lines of {flags.texts.name}"
    key = os.environ.get(server.KEY, "")
    server.body_for(flags.url, texts, flags.served)  # an address that cannot be used is said first
    print(f"Sends {counted(len(texts), 'text')}, {what}, to {flags.url}.", file=sys.stderr)
    vectors = server.fetch(flags.url, texts, model=flags.served, key=key)
    return print_answer(library, flags, check(texts, vectors))

"""Completion in a shell: the commands, their flags, and what the flags take, from the parsers themselves."""

import argparse
from collections.abc import Iterator
from importlib import import_module
from typing import Any, NamedTuple

from bertexplorer.cli.parser import make_parser
from bertexplorer.store.catalogue import CATALOGUE

PARSERS = {  # of the commands that have their own
    "serve": "bertexplorer.cli.serve:make_parser",
    "lesson": "bertexplorer.cli.lesson:make_parser",
    "doctor": "bertexplorer.cli.doctor:make_parser",
    "cluster": "bertexplorer.cli.cluster:make_parser",
    "train": "bertexplorer.cli.train:parser",
    "pretrain": "bertexplorer.cli.pretrain:parser",
}
BASH = """_bertexplorer() {{
  local cur="${{COMP_WORDS[COMP_CWORD]}}" words=""
  if [ "$COMP_CWORD" -eq 1 ]; then
    words="{commands}"
  else
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
{values}
    *)
      case "${{COMP_WORDS[1]}}" in
{flags}
      esac;;
    esac
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}}
complete -o default -F _bertexplorer bertexplorer"""


class Flag(NamedTuple):
    """A flag of a command; *name* "" for what stands without one."""

    name: str
    about: str
    values: tuple[str, ...]


def completion(shell: str) -> str:
    """The script that makes *shell* (bash, zsh, fish) complete `bertexplorer`."""
    if shell == "fish":
        return "\n".join(fish())
    begin = "autoload -U +X bashcompinit && bashcompinit\n" if shell == "zsh" else ""
    return begin + bash()


def bash() -> str:
    commands = {name: list(flags_of(name, parser)) for name, parser, _ in parsers()}
    values, flags = [], []
    for command, of_command in commands.items():
        words: list[str] = []
        for flag in sorted(of_command, key=lambda flag: bool(flag.name)):  # what has no name first
            words += [flag.name] if flag.name else flag.values
        flags.append(f'      {command}) words="{" ".join(words)}";;')
        values += [
            f'    "{command} {flag.name}") words="{" ".join(flag.values)}";;'
            for flag in of_command
            if flag.name and flag.values
        ]
    return BASH.format(commands=" ".join(commands), values="\n".join(values), flags="\n".join(flags))


def fish() -> Iterator[str]:
    for command, parser, about in parsers():
        yield f"complete -c bertexplorer -n __fish_use_subcommand -xa {command} -d {quoted(about)}"
        seen = f"-n {quoted(f'__fish_seen_subcommand_from {command}')}"
        for flag in flags_of(command, parser):
            takes = f" -xa {quoted(' '.join(flag.values))}" if flag.values else ""
            name = f" -l {flag.name.removeprefix('--')}" if flag.name else ""
            if name or takes:
                yield f"complete -c bertexplorer {seen}{name}{takes} -d {quoted(flag.about)}"


def parsers() -> Iterator[tuple[str, argparse.ArgumentParser, str]]:
    """(command, its parser, its help)."""
    [commands] = [action for action in make_parser()._actions if isinstance(action, argparse._SubParsersAction)]
    about = {action.dest: action.help or "" for action in commands._choices_actions}
    for name, parser in commands.choices.items():
        if name in PARSERS:
            module, _, function = PARSERS[name].partition(":")
            parser = getattr(import_module(module), function)()
        yield name, parser, about[name]


def flags_of(command: str, parser: argparse.ArgumentParser) -> Iterator[Flag]:
    """The flags of a command that its help shows."""
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        name = next((flag for flag in action.option_strings if flag.startswith("--")), "")
        yield Flag(name, (action.help or "").replace("%%", "%"), values_of(action))


def values_of(action: Any) -> tuple[str, ...]:
    """What a flag takes, where that is a list."""
    if action.dest == "checkpoint":
        return tuple(entry.name for entry in CATALOGUE)
    return tuple(map(str, action.choices or getattr(action, "completions", ())))


def quoted(text: str) -> str:
    """*text* as one word of fish."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\n", " ")
    return f"'{escaped}'"

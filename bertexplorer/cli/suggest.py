"""Suggest: a parser that names what a misspelt command, flag or choice is close to."""

import argparse
import re
from difflib import get_close_matches
from typing import NoReturn

CHOICES = re.compile(r"invalid choice: '(.*?)' \(choose from (.*)\)", re.DOTALL)
FLAGS = re.compile(r"unrecognized arguments: (.*)")


class Parser(argparse.ArgumentParser):
    """As argparse's, with "did you mean" in its errors. Subcommands use it too."""

    def error(self, message: str) -> NoReturn:
        typed = ""
        known: list[str] = []
        if found := CHOICES.search(message):
            typed = found[1]
            known = re.findall(r"'(.*?)'", found[2])
        elif found := FLAGS.search(message):
            flags = [word for word in found[1].split() if word.startswith("-")]
            if flags:
                typed = flags[0].partition("=")[0]
            known = self.flags()
        if close := get_close_matches(typed, known, n=1):
            message = f"{message.partition(' (choose from')[0]}; did you mean {close[0]}?"
        super().error(message)

    def flags(self) -> list[str]:
        """The flags of this parser and of its commands."""
        flags: list[str] = []
        for action in self._actions:
            flags += action.option_strings
            if isinstance(action, argparse._SubParsersAction):
                for command in action.choices.values():
                    flags += command.flags()
        return flags

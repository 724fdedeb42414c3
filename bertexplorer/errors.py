"""The one error that a person is meant to read: what was given, what was wanted, what to do."""

import logging
import secrets
from importlib.util import find_spec

ELSEWHERE = {  # sentences about the page -> the same where there is no page
    "cli": {
        ", or click a word to hide it": "",
        "Press “Second sentence” and type one.": "Give it after the first.",
        "Add a second sentence.": "Give it after the first.",
    },
    "http": {
        ", or click a word to hide it": ", or hide a word",
        "Press “Second sentence” and type one.": "Send it as pair.",
        "Add a second sentence.": "Send it as pair.",
    },
    "python": {
        ", or click a word to hide it": ", or name a word in mask=",
        "Press “Second sentence” and type one.": "Give it as pair.",
        "Add a second sentence.": "Give it as pair.",
    },
}
EXTRAS = {  # what pip installs as bertexplorer[…] -> its packages, by the names that they are imported by
    "train": ("accelerate", "nervaluate", "peft", "rouge_score", "sacrebleu"),
    "mcp": ("mcp",),
}


class ExplorerError(ValueError):
    """Raised on bad input of any kind; its text is shown as it is, on the page and by the command line.

    *missing*: "mask" or "pair" where the text only lacks that, so that the page can offer a button that adds it;
    "checkpoint" where it has yet to be fetched."""

    def __init__(self, text: str = "", *, missing: str = "") -> None:
        super().__init__(text)
        self.missing = missing


def unforeseen(log: logging.Logger, what: str, **more: str) -> str:
    """What a person is told of an error that nobody expected, which is being handled; *log* gets it under the same
    number, with *what* failed."""
    number = secrets.token_hex(4)
    log.exception(what, extra={"id": number, **more})
    return f"Something went wrong that should not have (error {number} in the log). What you entered is kept."


def in_words_of(where: str, told: str) -> str:
    """An error as it is shown *where* there is no page to click on: "cli", "http" or "python"."""
    for words, other in ELSEWHERE[where].items():
        told = told.replace(words, other)
    return told


def not_installed(extra: str) -> list[str]:
    """The packages of *extra* that are not installed. None is imported to find out."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str, what: str) -> None:
    """Raises ExplorerError, which names *what* cannot be done, if a package of *extra* is not installed."""
    if names := not_installed(extra):
        others = "package that is" if len(names) == 1 else "packages that are"
        raise ExplorerError(
            f"{what} needs {len(names)} {others} not installed: {', '.join(names)}. "
            f'Run: pip install "bertexplorer[{extra}]"'
        )

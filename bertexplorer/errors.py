"""The error for people: what was given, what was wanted, what to do."""

import logging
import re
import secrets
from importlib.util import find_spec

REPLACEMENTS = {  # advice about the page -> the same advice where there is no page
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
    "mcp": {
        ", or click a word to hide it": "",
        "Press “Second sentence” and type one.": "Give it as pair.",
        "Add a second sentence.": "Give it as pair.",
        ", or see the fields at /api/v1/docs": "",
    },
    "python": {
        ", or click a word to hide it": ", or name a word in mask=",
        "Press “Second sentence” and type one.": "Give it as pair.",
        "Add a second sentence.": "Give it as pair.",
    },
}
EXTRAS = {  # the extra in bertexplorer[…] -> its packages, by their import names
    "train": ("accelerate", "nervaluate", "peft", "rouge_score", "sacrebleu"),
    "mcp": ("mcp",),
    "ray": ("fsspec", "grpc", "ray"),
}
ADDRESS = re.compile(r"(?<!\S)\S*[/\\]\S*|\(?'?(?<!\d)\d+(\.\d+){3}\S*( \d+\))?")  # a path, a URL, or (host, port)


class ExplorerError(ValueError):
    """Raised for invalid input of any kind. The page and the command line show its text unchanged.

    *missing*: "mask" or "pair" if the text lacks only that, so that the page can offer a button that adds it;
    "checkpoint" if it must be downloaded first; "head" or "tuned" if the checkpoint lacks a head of pretraining or a
    fine-tuned one; "class" if there is no class with this code."""

    def __init__(self, text: str = "", *, missing: str = "") -> None:
        super().__init__(text)
        self.missing = missing


def first_clause(error: Exception) -> str:
    """What the first sentence of *error* says, as a part of another sentence: without its full stop and its capital.

    Example:
        >>> first_clause(ExplorerError("The text has 9 characters; the limit is 8. Shorten it."))
        'the text has 9 characters; the limit is 8'
    """
    sentence = re.split(r"\.(?: (?=[A-Z])|$)", str(error), maxsplit=1)[0]
    return sentence[0].lower() + sentence[1:] if re.match("(A|The|This) ", sentence) else sentence


def unforeseen(log: logging.Logger, what: str, **more: str) -> str:
    """Log the error that is being handled, and return the message for people, which contains its number in the log.
    *what*: what failed."""
    number = secrets.token_hex(4)
    log.exception(what, extra={"id": number, **more})
    return f"Something went wrong that should not have (error {number} in the log). What you entered is kept."


def in_words_of(where: str, sentence: str) -> str:
    """The error *sentence* for places without a page. *where*: "cli", "http", "mcp" or "python"."""
    for words, other in REPLACEMENTS[where].items():
        sentence = sentence.replace(words, other)
    return sentence


def not_installed(extra: str) -> list[str]:
    """The packages of *extra* that are not installed. This imports none of them."""
    return [name for name in EXTRAS[extra] if find_spec(name) is None]


def need(extra: str, what: str) -> None:
    """Raises ExplorerError, which says that *what* needs it, if a package of *extra* is not installed."""
    if names := not_installed(extra):
        packages = "package that is" if len(names) == 1 else "packages that are"
        raise ExplorerError(
            f"{what} needs {len(names)} {packages} not installed: {', '.join(names)}. "
            f'Run: pip install "bertexplorer[{extra}]"'
        )


def describe(error: object) -> str:
    """What failed, without paths and addresses, as visitors may read it."""
    words = (error.strerror if isinstance(error, OSError) else "") or str(error) or type(error).__name__
    return ADDRESS.sub("…", words)

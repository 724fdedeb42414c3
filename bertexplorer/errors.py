"""The error for people: what was given, what was wanted, what to do."""

from __future__ import annotations

import logging
import re
import secrets
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Literal

Channel = Literal["page", "cli", "http", "mcp", "python"]
Hint = Mapping[str, str]  # what to do, in the words of each channel; where one is left out, in those of the page

ADD_SECOND: Hint = {
    "page": "Add a second sentence.",
    "cli": "Give it after the first.",
    "http": "Send it as pair.",
    "mcp": "Give it as pair.",
    "python": "Give it as pair.",
}


def hide_word(mask: str) -> Hint:
    """How to hide a word. *mask*: the token that stands for it."""
    put = f"Put {mask} where a word is missing"
    return {
        "page": f"{put}, or click a word to hide it.",
        "cli": f"{put}, or name a word with --mask.",
        "http": f"{put}, or hide a word.",
        "mcp": f"{put}.",
        "python": f"{put}, or name a word in mask=.",
    }


EXTRAS = {  # the extra in bertexplorer[…] -> its packages, by their import names
    "train": ("accelerate", "nervaluate", "peft", "rouge_score", "sacrebleu"),
    "mcp": ("mcp",),
    "ray": ("fsspec", "grpc", "ray"),
}
ADDRESS = re.compile(r"(?<!\S)\S*[/\\]\S*|\(?'?(?<!\d)\d+(\.\d+){3}\S*( \d+\))?")  # a path, a URL, or (host, port)


class ExplorerError(ValueError):
    """Raised for invalid input of any kind. Its text is for people, and is shown as it is.

    Args:
        message: what was given and what was wanted, and, where that is the same everywhere, what to do.
        hint: what to do, in the words of each channel.
        code: what is missing, for programs: "mask" or "pair" if the text lacks only that, so that the page can offer a
            button that adds it; "checkpoint" if it must be downloaded first; "head" or "tuned" if the checkpoint lacks
            a head of pretraining or a fine-tuned one; "class" if there is no class with this code.

    Example:
        >>> error = ExplorerError("There is one text.", ADD_SECOND, code="pair")
        >>> str(error), error.render("http")
        ('There is one text. Add a second sentence.', 'There is one text. Send it as pair.')
    """

    def __init__(self, message: str = "", hint: Hint | None = None, *, code: str = "") -> None:
        self.message = message
        self.hint = hint
        self.code = code
        super().__init__(self.render("page"))

    @property
    def missing(self) -> str:
        """The former name of *code*."""
        return self.code

    def render(self, channel: Channel) -> str:
        """The message and the hint in the words of a channel.

        Args:
            channel: "page", "cli", "http", "mcp" or "python".

        Returns:
            The text for people who use that channel.
        """
        return worded(self.message, self.hint, channel)


def worded(message: str, hint: Hint | None, channel: Channel) -> str:
    """*message* with the *hint* in the words of *channel*."""
    return message if hint is None else f"{message} {hint.get(channel, hint['page'])}"


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
    return f"Internal error (number {number} in the log). Your input has been kept."


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

"""Linear patterns: whether a regular expression of somebody else's tokenizer finds its matches in bounded time.

The tokenizers library matches by backtracking and cannot be interrupted, so what may take cubic or exponential time is
refused before it runs. The rule is stricter than necessary, but all expressions of published encoders that we know
follow it: GPT-2's, Llama's, Qwen's, CLIP's, GPT-4o's and those of sentencepiece.
"""

import re
from dataclasses import dataclass

from bertexplorer.errors import ExplorerError

MAX_LENGTH = 1000  # characters of an expression
FEW = 8  # repetitions that count as a bounded number
MAX_OPTIONAL = 4  # parts of one alternative that may be absent: each may double the ways to match
GROUPS = ("?:", "?i:", "?=", "?!", "?<!", "?<=")  # what may begin a group, apart from nothing
QUANTIFIER = re.compile(r"(?:[*+?]|\{(?P<least>\d*)(?:(?P<comma>,)(?P<most>\d*))?\})[?+]?")
ESCAPE = re.compile(r"\\(?:[pP]\{\^?\w{1,40}\}|x[0-9A-Fa-f]{2}|x\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|[^1-9gkpPxu])")


@dataclass
class Item:
    """A part of an expression: a character, a class or a group, and how often it may be repeated."""

    group: bool = False
    optional: bool = False
    unbounded: int = 0  # repetitions without limit in it


class Refused(Exception):
    """Raised with the reason, which continues "The regular expression of its tokenizer"."""


def check_pattern(pattern: str) -> None:
    """Raises ExplorerError unless *pattern* is sure to take at most quadratic time."""
    try:
        if len(pattern) > MAX_LENGTH:
            raise Refused(f"is longer than {MAX_LENGTH:,} characters")
        end, _ = check_alternatives(pattern, 0)
        if end < len(pattern):
            raise Refused("has a bracket too many")
    except (Refused, IndexError, RecursionError) as error:
        reason = str(error) if isinstance(error, Refused) else "cannot be read"
        raise ExplorerError(
            f"The regular expression {pattern!r:.60} of its tokenizer {reason}, so it might take for ever. Choose "
            "another checkpoint."
        ) from error


def check_alternatives(pattern: str, at: int) -> tuple[int, int]:
    """Check the alternatives from *at* on, up to the end of their group; return where they end, and the most
    repetitions without limit in one of them. Raises Refused, and IndexError where the expression breaks off."""
    items: list[Item] = []
    unbounded = 0
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            unbounded = max(unbounded, check_sequence(items))
            items = []
            at += 1
            continue
        item, at = read_item(pattern, at)
        if match := QUANTIFIER.match(pattern, at):
            at = match.end()
            sign = match[0][0]
            if item.group and sign != "?":
                raise Refused("repeats a group")
            if sign == "{":
                least = int(match["least"] or 0)
                most = int(match["most"] or 0) if match["comma"] else least
                without_end = match["comma"] and not match["most"]  # as {2,}
                item.optional = least == 0
                repeats = most > FEW or without_end
            else:
                item.optional = sign in "*?"
                repeats = sign in "*+"
            if repeats:
                item.unbounded += 1
        items.append(item)
    return at, max(unbounded, check_sequence(items))


def read_item(pattern: str, at: int) -> tuple[Item, int]:
    """(the part that begins at *at*, where it ends). Raises as `check_alternatives` does."""
    sign = pattern[at]
    if sign == "\\":
        if not (match := ESCAPE.match(pattern, at)):
            raise Refused("refers to what it matched before")
        return Item(), match.end()
    if sign == "[":
        return Item(), end_of_class(pattern, at)
    if sign != "(":
        return Item(), at + 1
    at += 1
    if pattern[at] == "?":
        begin = next((start for start in GROUPS if pattern.startswith(start, at)), "")
        if not begin:
            raise Refused("has a group of a kind that is not read here")
        at += len(begin)
    end, unbounded = check_alternatives(pattern, at)
    if pattern[end] != ")":
        raise Refused("has a bracket too few")
    return Item(group=True, unbounded=unbounded), end + 1


def end_of_class(pattern: str, at: int) -> int:
    """Where the class of characters that begins at *at* ends; classes may hold others."""
    depth = 0
    while True:
        sign = pattern[at]
        if sign == "\\":
            at += 1
        elif sign == "[":
            depth += 1
        elif sign == "]":
            depth -= 1
        at += 1
        if not depth:
            return at


def check_sequence(items: list[Item]) -> int:
    """Check the parts of one alternative, and return the repetitions without limit in them. What may be absent at its
    end cannot fail, and the last part before that is tried once at each place; so at most one other part may be
    repeated without limit. Raises Refused."""
    if sum(item.optional for item in items) > MAX_OPTIONAL:
        raise Refused("has too many parts that may be absent")
    certain = list(items)
    while certain and certain[-1].optional:
        certain.pop()
    if sum(item.unbounded for item in certain[:-1]) > 1:
        raise Refused("repeats several parts")
    return sum(item.unbounded for item in items)


def letters(pattern: str) -> str:
    """The characters that stand for themselves in *pattern*, and one for each kind that it names, each once: texts that
    repeat them show how long it takes."""
    signs = re.sub(r"\\[pP]\{[^}]*\}|\\.|[][(){}|?*+^$.]", "", pattern)
    kinds = {"\\s": " ", "\\n": "\n", "\\r": "\r", "\\p{L}": "a", "\\p{N}": "1", "\\d": "1", "\\w": "a", "\\S": "!"}
    for kind, sign in kinds.items():
        if kind in pattern:
            signs += sign
    return "".join(dict.fromkeys(signs))

"""LM_syneval's own files (Marvin and Linzen, 2018): pickles of {category: [[sentence, worse sentence, …], …]}.

They are read as data. The opcodes of dictionaries, lists, tuples and strings are followed here, and any other refuses
the file, so nothing in a file can run.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bertexplorer.analysis.suite_cases import UNREAD
from bertexplorer.errors import ExplorerError

SUFFIXES = (".pickle", ".pkl")
MOST_BYTES = 20 * 2**20
MOST_STEPS = 5_000_000  # opcodes; a sentence needs about five

NO_EFFECT = {"PROTO", "FRAME", "STOP"}
STRINGS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
ADDED = {"APPEND", "APPENDS", "SETITEM", "SETITEMS"}
PUT = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
GET = {"GET", "BINGET", "LONG_BINGET"}
COUNTS = {"TUPLE1": 1, "TUPLE2": 2, "TUPLE3": 3, "APPEND": 1, "SETITEM": 2}  # the others take all since the last mark


def syneval(content: bytes, name: str) -> Iterator[dict[str, str]]:
    """A row for each pair of the file: good, bad and category, or UNREAD. Each group's first sentence is paired with
    every other one, so a triple of negative polarity gives two rows. As in LM_syneval, " ." ends each sentence.

    Raises ExplorerError before the first row if the file is not such a pickle.

    Example:
        >>> import pickle
        >>> list(syneval(pickle.dumps({"simple": [("the cat sleeps", "the cat sleep")]}), "simple.pickle"))
        [{'good': 'the cat sleeps .', 'bad': 'the cat sleep .', 'category': 'simple'}]
    """
    try:
        found = literal(content)
    except (IndexError, KeyError, ValueError) as error:
        what = str(error) if type(error) is ValueError else "it is damaged"
        raise ExplorerError(
            f"{name} cannot be read as a file of LM_syneval: {what}. Wanted: a pickle of a dictionary with lists of "
            "sentences. Give that, or a CSV with the columns good, bad and category."
        ) from error
    return rows(found)


def rows(found: dict[str, Any]) -> Iterator[dict[str, str]]:
    for category, groups in found.items():
        if not isinstance(groups, (list, tuple)):
            yield {UNREAD: f"of {category[:40]} is no list"}
            continue
        for group in groups:
            whole = isinstance(group, (list, tuple)) and len(group) > 1
            if not whole or not all(isinstance(text, str) for text in group):
                yield {UNREAD: f"of {category[:40]} is not two or more sentences"}
                continue
            good, *others = (f"{text.strip()} ." for text in group)
            yield from ({"good": good, "bad": bad, "category": category} for bad in others)


def literal(content: bytes) -> dict[str, Any]:
    """The dictionary in a pickle. Raises ValueError if there is none, or anything besides lists, tuples and strings in
    it, and IndexError or KeyError for a damaged file."""
    if len(content) > MOST_BYTES:
        raise ValueError(f"it has {len(content):,} bytes, the limit is {MOST_BYTES:,}")
    reader = Reader()
    for number, (opcode, value, _) in enumerate(pickletools.genops(content)):
        if number >= MOST_STEPS:
            raise ValueError(f"it is longer than {MOST_STEPS:,} steps")
        reader.follow(opcode.name, value)
    [found] = reader.stack
    if not isinstance(found, dict):
        raise ValueError("it is no dictionary")
    return found


class Reader:
    """The stack of a pickle, the places of its marks, and its memo."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def follow(self, name: str, value: Any) -> None:
        if name in NO_EFFECT:
            return
        if name in STRINGS:
            self.stack.append(value)
        elif name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name == "MARK":
            self.marks.append(len(self.stack))
        elif name in GATHERED:
            self.stack.append(GATHERED[name](self.taken(name)))
        elif name in ADDED:
            added(self.taken(name), self.stack[-1])
        elif name in PUT:
            self.memo[len(self.memo) if value is None else value] = self.stack[-1]
        elif name in GET:
            self.stack.append(self.memo[value])
        else:
            raise ValueError(f"it holds {name}, which is no sentence, list or dictionary")

    def taken(self, name: str) -> list[Any]:
        """The top of the stack, removed."""
        start = len(self.stack) - COUNTS[name] if name in COUNTS else self.marks.pop()
        if start < 0:
            raise IndexError(start)
        items = self.stack[start:]
        del self.stack[start:]
        return items


def pairs(items: Sequence[Any]) -> dict[str, Any]:
    """A dictionary of keys and values in turn. Its keys are strings: the hash of deep tuples would end the process."""
    if len(items) % 2 or not all(isinstance(key, str) for key in items[::2]):
        raise ValueError("a key in it is no string")
    return dict(zip(items[::2], items[1::2], strict=True))


def added(items: Sequence[Any], target: Any) -> None:
    if isinstance(target, dict):
        target.update(pairs(items))
    elif isinstance(target, list):
        target.extend(items)
    else:
        raise ValueError("it is damaged")


GATHERED: dict[str, Callable[[Sequence[Any]], Any]] = {
    "LIST": list,
    "TUPLE": tuple,
    "TUPLE1": tuple,
    "TUPLE2": tuple,
    "TUPLE3": tuple,
    "DICT": pairs,
}

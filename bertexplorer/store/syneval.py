"""Files of LM_syneval (Marvin and Linzen, 2018): pickles of {category: [[sentence, worse sentence, …], …]}.

They are read as data: this module interprets only the opcodes of dictionaries, lists, tuples and strings, and rejects
a file with any other, so no code in a file can run.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.views.rows import UNREAD

SUFFIXES = (".pickle", ".pkl")
MAX_BYTES = 20 * 2**20
MAX_OPCODES = 5_000_000  # a sentence needs about five
MAX_CHARACTERS = 50_000_000  # of all pairs together: a pickle may name one long sentence many times

NO_EFFECT = {"PROTO", "FRAME", "STOP"}
STRINGS = {"UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING", "SHORT_BINSTRING"}
EMPTY: dict[str, Callable[[], Any]] = {"EMPTY_DICT": dict, "EMPTY_LIST": list, "EMPTY_TUPLE": tuple}
EXTENDING = {"APPEND", "APPENDS", "SETITEM", "SETITEMS"}
PUT = {"PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"}
GET = {"GET", "BINGET", "LONG_BINGET"}
COUNTS = {
    "TUPLE1": 1,
    "TUPLE2": 2,
    "TUPLE3": 3,
    "APPEND": 1,
    "SETITEM": 2,
}  # the others take everything after the last mark


def syneval(content: bytes, name: str) -> Iterator[dict[str, str]]:
    """Yield a row for each pair of the file: good, bad and category, or UNREAD. The first sentence of each group is
    paired with every other one, so a triple of negative polarity gives two rows. As in LM_syneval, " ." ends each
    sentence.

    Raises ExplorerError before the first row if the file is not such a pickle.

    Example:
        >>> import pickle
        >>> list(syneval(pickle.dumps({"simple": [("the cat sleeps", "the cat sleep")]}), "simple.pickle"))
        [{'good': 'the cat sleeps .', 'bad': 'the cat sleep .', 'category': 'simple'}]
    """
    try:
        categories = read_dictionary(content)
    except (IndexError, KeyError, ValueError) as error:
        reason = str(error) if type(error) is ValueError else "it is damaged"
        raise ExplorerError(
            f"{name} cannot be read as a file of LM_syneval: {reason}. Wanted: a pickle of a dictionary with lists of "
            "sentences. Give that, or a CSV with the columns good, bad and category."
        ) from error
    return rows(categories, name)


def rows(categories: dict[str, Any], name: str) -> Iterator[dict[str, str]]:
    characters = 0
    for category, groups in categories.items():
        if not isinstance(groups, (list, tuple)):
            yield {UNREAD: f"of {category[:40]} is not a list"}
            continue
        for group in groups:
            complete = isinstance(group, (list, tuple)) and len(group) > 1
            if not complete or not all(isinstance(text, str) for text in group):
                yield {UNREAD: f"of {category[:40]} is not two or more sentences"}
                continue
            characters += sum(map(len, group)) + (len(group) - 2) * len(group[0])
            if characters > MAX_CHARACTERS:
                limit = f"more than {MAX_CHARACTERS:,} characters of sentences, which is the limit"
                raise ExplorerError(f"{name} has {limit}. Give part of it.")
            good, *others = (f"{text.strip()} ." for text in group)
            yield from ({"good": good, "bad": bad, "category": category} for bad in others)


def read_dictionary(content: bytes) -> dict[str, Any]:
    """The dictionary in a pickle. Raises ValueError if it contains anything but dictionaries, lists, tuples and
    strings, and IndexError or KeyError for a damaged file."""
    if len(content) > MAX_BYTES:
        raise ValueError(f"it has {len(content):,} bytes, the limit is {MAX_BYTES:,}")
    reader = PickleReader()
    for number, (opcode, value, _) in enumerate(pickletools.genops(content)):
        if number >= MAX_OPCODES:
            raise ValueError(f"it has more than {MAX_OPCODES:,} opcodes")
        reader.execute(opcode.name, value)
    [result] = reader.stack
    if not isinstance(result, dict):
        raise ValueError("it is not a dictionary")
    return result


class PickleReader:
    """The stack of a pickle, the positions of its marks, and its memo."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def execute(self, name: str, value: Any) -> None:
        if name in NO_EFFECT:
            return
        if name in STRINGS:
            self.stack.append(value)
        elif name in EMPTY:
            self.stack.append(EMPTY[name]())
        elif name == "MARK":
            self.marks.append(len(self.stack))
        elif name in BUILDERS:
            self.stack.append(BUILDERS[name](self.pop(name)))
        elif name in EXTENDING:
            items = self.pop(name)
            extend(self.stack[-1], items)
        elif name in PUT:
            self.memo[len(self.memo) if value is None else value] = self.stack[-1]
        elif name in GET:
            self.stack.append(self.memo[value])
        else:
            raise ValueError(f"it contains {name}, which is not a sentence, list or dictionary")

    def pop(self, name: str) -> list[Any]:
        """Remove the operands of the opcode *name* from the stack and return them."""
        start = len(self.stack) - COUNTS[name] if name in COUNTS else self.marks.pop()
        if start < 0:
            raise IndexError(start)
        items = self.stack[start:]
        del self.stack[start:]
        return items


def to_dictionary(items: Sequence[Any]) -> dict[str, Any]:
    """The dictionary of alternating keys and values. Keys must be strings: hashing a deep tuple would crash Python."""
    if len(items) % 2 or not all(isinstance(key, str) for key in items[::2]):
        raise ValueError("a key in it is not a string")
    return dict(zip(items[::2], items[1::2], strict=True))


def extend(target: Any, items: Sequence[Any]) -> None:
    if isinstance(target, dict):
        target.update(to_dictionary(items))
    elif isinstance(target, list):
        target.extend(items)
    else:
        raise ValueError("it is damaged")


BUILDERS: dict[str, Callable[[Sequence[Any]], Any]] = {
    "LIST": list,
    "TUPLE": tuple,
    "TUPLE1": tuple,
    "TUPLE2": tuple,
    "TUPLE3": tuple,
    "DICT": to_dictionary,
}

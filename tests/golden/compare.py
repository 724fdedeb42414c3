"""What differs between a golden answer and a new one, beyond what another processor may change.

Numbers may differ by the rounding of a pass through mini (see `tests.tolerance`), relative to the largest of their
column, and by one in the last digit that they are rounded to. So may numbers within a sentence. Entries that are sorted
by a number may change places where those numbers are that close: the columns then hold the same entries, and the
numbers still agree row by row. The figure of the largest differences may list them in any order.

Checked by comparing the answers of one machine with its fastest and with its plainest kernels:
ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 python -m tests.golden."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bertexplorer.model.load import load
from tests.conftest import BUNDLED
from tests.golden.files import read
from tests.golden.normalise import DIGITS
from tests.tolerance import of_encoder

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
ERRORS = "/completeness_error/"  # a column of what sums of numbers around one miss
MANY = 1000  # dots of a chart
LEAST = 0.05  # a column of smaller numbers is compared as if it held this
ROUNDING = of_encoder(load(BUNDLED, precision="fp32").config) + 10.0 ** (1 - DIGITS)  # of numbers around 1


def check(name: str, asked: Mapping[str, Callable[[], Any]]) -> None:
    """Fails if the answer called *name* is not that of its golden file."""
    changes = list(differences(read(name), asked[name]()))
    assert not changes, f"python -m tests.golden {name} shows them all. The first: {changes[:5]}"


def differences(wanted: Any, found: Any, path: str = "") -> Iterator[str]:
    """A line for each difference: where, what was wanted, what was found."""
    if isinstance(wanted, Mapping) and isinstance(found, Mapping):
        yield from of_objects(wanted, found, path)
    elif isinstance(wanted, list) and isinstance(found, list):
        yield from of_lists(wanted, found, path)
    elif is_number(wanted) and is_number(found):
        if not near(wanted, found, max(abs(wanted), abs(found))):
            yield f"{path}: {wanted} -> {found}"
    elif isinstance(wanted, str) and isinstance(found, str):
        if not same_words(wanted, found):
            yield f"{path}: {clip(wanted)} -> {clip(found)}"
    elif wanted != found:
        yield f"{path}: {clip(wanted)} -> {clip(found)}"


def as_many_dots(wanted: Mapping[str, Any], found: Mapping[str, Any]) -> bool:
    """Whether both are long lists of numbers, almost equally long. In a chart of a whole vocabulary, dots that fall
    into the same cell are one, so that rounding changes how many there are, and then which are kept as examples."""
    if not {"count", "some", "mean"} <= wanted.keys() & found.keys() or wanted["count"] < MANY:
        return False
    almost = 0 < abs(wanted["count"] - found["count"]) <= wanted["count"] / MANY
    return almost and all(near(wanted[key], found[key], abs(wanted["most"])) for key in ("least", "most"))


def of_objects(wanted: Mapping[str, Any], found: Mapping[str, Any], path: str) -> Iterator[str]:
    if "least" in wanted and "least" in found and wanted["count"] == found["count"]:
        scale = max(abs(wanted["least"]), abs(wanted["most"]))
        if near(wanted["mean"], found["mean"], scale):
            found = {**found, "mean": wanted["mean"]}
    if as_many_dots(wanted, found):
        return
    if "/difference/" in path and "label" in wanted and "label" in found:
        wanted, found = by_label(wanted), by_label(found)
    if is_table(wanted) and is_table(found) and wanted.keys() == found.keys() and reordered(wanted, found):
        return
    for name in [*wanted, *(name for name in found if name not in wanted)]:
        place = f"{path}/{name}"
        if name not in found:
            yield f"{place}: gone, it was {clip(wanted[name])}"
        elif name not in wanted:
            yield f"{place}: new, {clip(found[name])}"
        else:
            yield from differences(wanted[name], found[name], place)


def of_lists(wanted: list[Any], found: list[Any], path: str) -> Iterator[str]:
    if len(wanted) != len(found):
        yield f"{path}: {len(wanted)} entries -> {len(found)}"
        return
    scale = max((abs(value) for value in wanted if is_number(value)), default=0.0)
    if ERRORS in path:
        scale = max(scale, 1.0)
    for i, (one, other) in enumerate(zip(wanted, found, strict=True)):
        if is_number(one) and is_number(other):
            if not near(one, other, scale):
                yield f"{path}/{i}: {one} -> {other}"
        else:
            yield from differences(one, other, f"{path}/{i}")


def by_label(bars: Mapping[str, Any]) -> Mapping[str, Any]:
    """*bars*, a list of each of their fields, in the order of their labels."""
    labels = bars["label"]
    order = sorted(range(len(labels)), key=lambda i: str(labels[i]))
    return {name: [values[i] for i in order] for name, values in bars.items()}


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def near(one: float, other: float, scale: float) -> bool:
    """Whether rounding explains the difference of two numbers of a column whose largest is *scale*."""
    return one == other or abs(one - other) <= max(ROUNDING * max(scale, LEAST), last_digit(one, other))


def last_digit(one: float, other: float) -> float:
    """One in the last digit of two numbers that were rounded to four decimals or fewer; 0 for others."""
    written = [str(number) for number in (one, other)]
    decimals = max(len(number.partition(".")[2]) for number in written) if "e" not in "".join(written) else 0
    return 1.001 * 10.0**-decimals if 1 < decimals <= 4 and isinstance(one, float) else 0.0


def same_words(wanted: str, found: str) -> bool:
    """Whether two sentences agree but for one in the last digit of their numbers."""
    if wanted == found:
        return True
    wanted, found = (words.replace("> 99.9 %", "100 %") for words in (wanted, found))
    if NUMBER.sub("#", wanted) != NUMBER.sub("#", found):
        return False
    numbers = zip(NUMBER.findall(wanted), NUMBER.findall(found), strict=True)
    return all(last_digit_apart(one, other) for one, other in numbers)


def last_digit_apart(one: str, other: str) -> bool:
    """Whether two written numbers are equal, one apart in the last digit of the coarser of them, or as close as
    rounding leaves a difference of two numbers around 1. Small whole numbers count things: they must be equal."""
    decimals = min(len(number.partition(".")[2]) for number in (one, other))
    if "," in one and "," in other and "." not in one + other:  # a rank among thousands
        return abs(1 - int(one.replace(",", "")) / int(other.replace(",", ""))) < 1e-3
    if "." not in one + other:
        return one == other or (
            "," not in one + other and abs(int(one) - int(other)) <= 1 and min(len(one), len(other)) > 1
        )
    values = [float(number.replace(",", "")) for number in (one, other)]
    return abs(values[0] - values[1]) <= max(1.001 * 10.0**-decimals, ROUNDING)


def is_table(value: Mapping[str, Any]) -> bool:
    """Whether *value* is a list of objects as columns."""
    columns = list(value.values())
    return bool(columns) and all(isinstance(c, list) for c in columns) and len({len(c) for c in columns}) == 1


def reordered(wanted: Mapping[str, list[Any]], found: Mapping[str, list[Any]]) -> bool:
    """Whether two tables hold the same rows, some of which changed places with others of almost the same number."""
    if len(next(iter(wanted.values()))) != len(next(iter(found.values()))):
        return False
    floats = [name for name in wanted if any(isinstance(value, float) for value in wanted[name])]
    names = [name for name in wanted if name not in floats]
    rows = [sorted(zip(*(map(str, table[name]) for name in names), strict=True)) for table in (wanted, found)]
    in_place = [name for name in floats if not [*of_lists(wanted[name], found[name], "")]]
    return bool(names) and bool(in_place) and rows[0] == rows[1]


def clip(value: Any) -> str:
    words = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return words if len(words) <= 160 else f"{words[:157]}…"

"""Counts the steps of a regular expression, as a backtracking matcher takes them; Python's own does not tell.

The pattern becomes a small program (Russ Cox, Regular Expression Matching: the Virtual Machine Approach, 2009), and a
loop with a stack of places to return to runs it. Python's matcher takes short cuts, so it takes at most as many steps,
up to a constant factor.
"""

import re
from collections.abc import Callable, Iterator
from re import (
    _constants as op,  # type: ignore[attr-defined]
    _parser,  # type: ignore[attr-defined]
)
from typing import Any

UNROLLED = 4  # of a part that repeats a bounded number of times: enough to see whether its copies compete
Test = Callable[[str, int], bool]  # whether the character at this position fits
CATEGORIES = {
    op.CATEGORY_DIGIT: str.isdigit,
    op.CATEGORY_NOT_DIGIT: lambda sign: not sign.isdigit(),
    op.CATEGORY_SPACE: str.isspace,
    op.CATEGORY_NOT_SPACE: lambda sign: not sign.isspace(),
    op.CATEGORY_WORD: lambda sign: sign.isalnum() or sign == "_",
    op.CATEGORY_NOT_WORD: lambda sign: not (sign.isalnum() or sign == "_"),
}

EXAMPLES = {category: next(sign for sign in "1 a.x" if fits(sign)) for category, fits in CATEGORIES.items()}
INSIDE = {op.SUBPATTERN: 3, op.MAX_REPEAT: 2, op.MIN_REPEAT: 2, op.ASSERT: 1, op.ASSERT_NOT: 1}  # where the parts are


def steps(pattern: str, text: str, method: str, flags: int = 0, limit: int = 10**9) -> int:
    """The steps that *method* of the pattern takes on *text*, up to *limit*. Methods that look at every position, such
    as search and sub, are those that begin anew after each match or failure."""
    program = compile_program(pattern, flags)
    anchored = method in ("match", "fullmatch")
    total, start = 0, 0
    while start <= len(text):
        taken, end = run(program, text, start, method == "fullmatch", limit - total)
        total += taken
        if anchored or total >= limit or (method == "search" and end is not None):
            break
        start = end if end is not None and end > start else start + 1
    return total


def compile_program(pattern: str, flags: int) -> list[tuple[Any, ...]]:
    parsed = _parser.parse(pattern, flags)
    program: list[tuple[Any, ...]] = []
    emit(program, parsed, parsed.state.flags)
    program.append(("end",))
    return program


def emit(program: list[tuple[Any, ...]], parsed: Any, flags: int) -> None:
    """Append the instructions of *parsed*: char, split (try one place, then the other), jump, at, look and end."""
    for kind, given in parsed:
        if kind in (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN):
            program.append(("char", character_test(kind, given, flags)))
        elif kind is op.AT:
            program.append(("at", given, flags))
        elif kind is op.BRANCH:
            emit_branches(program, given[1], flags)
        elif kind is op.SUBPATTERN:
            emit(program, given[3], (flags | given[1]) & ~given[2])
        elif kind in (op.MAX_REPEAT, op.MIN_REPEAT):
            emit_repeat(program, *given, flags, greedy=kind is op.MAX_REPEAT)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            inner: list[tuple[Any, ...]] = []
            emit(inner, given[1], flags)
            inner.append(("end",))
            width = given[1].getwidth()[1] if given[0] < 0 else 0
            program.append(("look", inner, width, kind is op.ASSERT))
        else:
            raise NotImplementedError(f"{kind}: teach tests/regex_steps.py what it does")


def emit_branches(program: list[tuple[Any, ...]], branches: Any, flags: int) -> None:
    ends = []
    for branch in branches[:-1]:
        split = len(program)
        program.append(())
        emit(program, branch, flags)
        ends.append(len(program))
        program.append(())
        program[split] = ("split", split + 1, len(program))
    emit(program, branches[-1], flags)
    for end in ends:
        program[end] = ("jump", len(program))


def emit_repeat(
    program: list[tuple[Any, ...]], low: int, high: int, repeated: Any, flags: int, *, greedy: bool
) -> None:
    for _ in range(min(low, UNROLLED)):
        emit(program, repeated, flags)
    if high is op.MAXREPEAT or high - low > UNROLLED:
        split = len(program)
        program.append(())
        emit(program, repeated, flags)
        program.append(("jump", split))
        ways = (split + 1, len(program))
        program[split] = ("split", *(ways if greedy else ways[::-1]))
        return
    splits = []
    for _ in range(high - low):
        splits.append(len(program))
        program.append(())
        emit(program, repeated, flags)
    for split in splits:
        ways = (split + 1, len(program))
        program[split] = ("split", *(ways if greedy else ways[::-1]))


def character_test(kind: Any, given: Any, flags: int) -> Callable[[str], bool]:
    ignore_case = bool(flags & re.IGNORECASE)
    if kind is op.ANY:
        return lambda sign: sign != "\n"
    if kind in (op.LITERAL, op.NOT_LITERAL):
        wanted = {chr(given), *([chr(given).swapcase()] if ignore_case else [])}
        return lambda sign: (sign in wanted) is (kind is op.LITERAL)
    negated = bool(given) and given[0][0] is op.NEGATE
    tests = [member_test(*member) for member in given[negated:]]

    def fits(sign: str) -> bool:
        cases = (sign, sign.swapcase()) if ignore_case else (sign,)
        return any(test(case) for case in cases for test in tests) is not negated

    return fits


def member_test(kind: Any, given: Any) -> Callable[[str], bool]:
    if kind is op.LITERAL:
        return lambda sign: sign == chr(given)
    if kind is op.RANGE:
        return lambda sign: len(sign) == 1 and given[0] <= ord(sign) <= given[1]
    return CATEGORIES[given]


def run(program: list[tuple[Any, ...]], text: str, start: int, whole: bool, limit: int) -> tuple[int, int | None]:
    """(steps taken, the end of the match or None)."""
    returns: list[tuple[int, int]] = [(0, start)]
    taken = 0
    while returns and taken < limit:
        place, at = returns.pop()
        taken += 1
        name, *given = program[place]
        if name == "end":
            if not whole or at == len(text):
                return taken, at
        elif name == "split":
            returns += [(given[1], at), (given[0], at)]
        elif name == "jump":
            returns.append((given[0], at))
        elif name == "look":
            more, agrees = look(text, at, *given, limit - taken)
            taken += more
            returns += [(place + 1, at)] * agrees
        elif name == "at":
            returns += [(place + 1, at)] * holds(text, at, *given)
        elif at < len(text) and given[0](text[at]):
            returns.append((place + 1, at + 1))
    return taken, None


def look(text: str, at: int, inner: list[tuple[Any, ...]], width: int, wanted: bool, limit: int) -> tuple[int, bool]:
    """(steps taken, whether the text ahead of *at*, or the *width* characters before it, are as *wanted*)."""
    taken, end = run(inner, text, max(0, at - width), False, limit)
    found = end is not None and (not width or end == at)
    return taken, found is wanted


def holds(text: str, at: int, where: Any, flags: int) -> bool:
    if where is op.AT_BOUNDARY or where is op.AT_NON_BOUNDARY:
        sides = [0 <= i < len(text) and (text[i].isalnum() or text[i] == "_") for i in (at - 1, at)]
        return (sides[0] != sides[1]) is (where is op.AT_BOUNDARY)
    if where in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
        multiline = flags & re.MULTILINE and where is op.AT_BEGINNING
        return at == 0 or bool(multiline and text[at - 1] == "\n")
    if where is op.AT_END_STRING:
        return at == len(text)
    return at == len(text) or text[at:] == "\n" or bool(flags & re.MULTILINE and text[at] == "\n")


def alphabet(pattern: str, flags: int = 0) -> list[str]:
    """A character for each kind that the pattern tells apart, in order, and some that it does not mention."""
    return list(dict.fromkeys([*mentioned(_parser.parse(pattern, flags)), "x", " ", "\x01"]))


def mentioned(parsed: Any) -> Iterator[str]:
    for kind, given in parsed:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(given)
        elif kind is op.RANGE:
            yield chr(given[0])
        elif kind is op.CATEGORY:
            yield EXAMPLES[given]
        elif kind is op.BRANCH:
            for branch in given[1]:
                yield from mentioned(branch)
        elif kind is op.IN:
            yield from mentioned(given)
        elif kind in INSIDE:
            yield from mentioned(given[INSIDE[kind]])

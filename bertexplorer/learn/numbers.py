"""Numbers: the number that a person types, and the answer to a question as a number is shown. static/number.js reads
numbers by the same rules."""

from __future__ import annotations

import re

from bertexplorer.errors import ExplorerError

NUMBER = re.compile(r"\s*([-+]?(?:\d+(?:[.,]\d+)?|[.,]\d+|[1-9]\d{0,2}(?:,\d{3})+))\s*(?:(%)\s*)?")
MAX_TYPED = 100  # characters of a typed number
THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
MINUS = str.maketrans("\N{MINUS SIGN}", "-")


def in_percent(prompt: str) -> bool:
    """Whether a question asks for per cent."""
    return "%" in prompt


def readings(answer: object, prompt: str = "") -> list[float]:
    """The numbers that *answer* may mean, typed for the question *prompt*. The first one counts where no answer is
    known. 1,595 is 1595 or 1.595. If the question asks for per cent, 13 is 0.13, 0.4 is 0.004 or 0.4, and a comma is a
    decimal comma. Raises ExplorerError for anything but a number."""
    percent = in_percent(prompt)
    typed = ""
    if isinstance(answer, str) and len(answer) <= MAX_TYPED:
        typed = answer.translate(MINUS)
    elif type(answer) in (int, float):
        typed = str(answer)
    match = NUMBER.fullmatch(typed)
    if not match or (percent and typed.count(",") > 1):
        raise ExplorerError(f"{answer!r:.40} is not a number; wanted one such as 0.13 or 13 %.")
    digits, sign = match.groups()
    scale = 100 if percent or sign else 1
    numbers = []
    if not percent and THOUSANDS.fullmatch(digits):
        numbers.append(float(digits.replace(",", "")) / scale)
    if digits.count(",") < 2:
        numbers.append(float(digits.replace(",", ".")) / scale)
    if percent and not sign and abs(numbers[0]) < 0.01:
        numbers.append(100 * numbers[0])
    return numbers


def read_number(answer: object, prompt: str = "") -> float:
    """Parse 0.13, .13, 0,13, 1,300 or 13 %; if the question *prompt* asks for per cent, 13 is 0.13. Raises
    ExplorerError for anything else."""
    return readings(answer, prompt)[0]


def format_answer(key: float, prompt: str) -> str:
    """Format a number as an answer, in per cent if the question asks for that."""
    if in_percent(prompt):
        return f"{100 * key:.1f} %"
    if key == int(key):
        return f"{key:,.0f}"
    return f"{key:.3g}"

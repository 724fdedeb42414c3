"""JSON Lines, read strictly, and JSON files: a list of the same objects, or SQuAD's questions about passages, with
answers and their positions (Rajpurkar et al., 2016 and 2018)."""

import io
import json
import math
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.rows import MAX_COLUMNS, Entry, ParsedFile

MAX_DEPTH = 8  # lists within lists
MAX_DIGITS = 300
MAX_ITEMS = 2_000_000
SQUAD_COLUMNS = ("id", "title", "question", "context", "answers", "impossible")


def lines(text: str, max_lines: int) -> ParsedFile:
    """An object per line of *text*; any other line is a problem. Lines beyond *max_lines* are not parsed."""
    return ParsedFile(line_entries(text, max_lines), "JSON, one object per line")


def line_entries(text: str, max_lines: int) -> Iterator[Entry]:
    """Blank lines are skipped."""
    numbered = ((n, line.strip()) for n, line in enumerate(io.StringIO(text, newline=""), 1) if line.strip())
    for line, content in islice(numbered, max_lines):
        try:
            yield line, cells(parse_strict(content))
        except ValueError as error:
            yield line, error_reason(error)
    yield from ((line, "is beyond the limit") for line, _ in numbered)


def document(text: str, name: str) -> ParsedFile:
    """The objects of a JSON file: a list of them, or SQuAD's layout. Raises ExplorerError for any other file."""
    try:
        content = parse_strict(text)
    except ValueError as error:
        location = f" in line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise ExplorerError(
            f"{name} cannot be read{location}: it {error_reason(error)}. Save it again as JSON or JSONL."
        ) from error
    if isinstance(content, dict) and isinstance(content.get("data"), list):
        if is_squad(content["data"]):
            return ParsedFile(question_entries(content["data"]), "SQuAD JSON", SQUAD_COLUMNS, unit="question")
        content = content["data"]
    if isinstance(content, list) and len(content) > MAX_ITEMS:
        raise ExplorerError(f"{name} has {len(content):,} items; the limit is {MAX_ITEMS:,}. Give part of it.")
    if not isinstance(content, list):
        raise ExplorerError(
            f'{name} holds {type_name(content)}; wanted a list of objects, as [{{"text": "…", "label": "…"}}, …], '
            "or one object on each line."
        )
    return ParsedFile(item_entries(content), "a JSON list of objects", unit="item")


def item_entries(items: list[Any]) -> Iterator[Entry]:
    for number, item in enumerate(items, 1):
        try:
            yield number, cells(item)
        except ValueError as error:
            yield number, error_reason(error)


def parse_strict(text: str) -> Any:
    """Strict JSON. Raises ValueError for NaN, infinite or huge numbers, repeated names in an object, and deep
    nesting."""
    try:
        return json.loads(
            text,
            object_pairs_hook=unique_names,
            parse_constant=reject_constant,
            parse_float=parse_finite,
            parse_int=parse_integer,
        )
    except RecursionError:
        raise ValueError(f"is nested too deeply; {MAX_DEPTH} levels are read") from None


def cells(item: Any) -> dict[str, Any]:
    """An object as cells: texts unchanged, numbers and booleans as JSON, null as "", lists and objects unchanged.
    Raises ValueError with the reason if it cannot be used."""
    if not isinstance(item, dict):
        raise ValueError(f"is {type_name(item)}, not an object in {{braces}}")
    if not item:
        raise ValueError("is an empty object")
    if len(item) > MAX_COLUMNS:
        raise ValueError(f"has {len(item):,} columns; the limit is {MAX_COLUMNS}")
    if too_deep(item, MAX_DEPTH):
        raise ValueError(f"is nested too deeply; {MAX_DEPTH} levels are read")
    try:
        json.dumps(item, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half a character (a lone surrogate)") from None
    result = {name.strip() or f"column {i}": cell_value(value) for i, (name, value) in enumerate(item.items(), 1)}
    if len(result) < len(item):
        raise ValueError("has two names that differ by spaces only")
    if "answers" in result:
        result["answers"] = flatten_answers(result["answers"])
    return result


def cell_value(value: Any) -> Any:
    """A value as a cell: see `cells`."""
    if value is None:
        return ""
    return json.dumps(value) if isinstance(value, bool | int | float) else value


def too_deep(value: Any, levels: int) -> bool:
    """Whether lists and objects are nested more than *levels* deep."""
    if not isinstance(value, dict | list):
        return False
    inside = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(too_deep(part, levels - 1) for part in inside)


def unique_names(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object. Raises ValueError for a name that it has twice."""
    result = dict(pairs)
    if len(result) < len(pairs):
        (repeated, _), *_ = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f"names {repeated!r:.60} twice")
    return result


def reject_constant(word: str) -> Any:
    raise ValueError(f"holds {word}, which is not JSON")


def parse_finite(digits: str) -> float:
    if not math.isfinite(number := float(digits)):
        raise ValueError(f"holds a number that is too large, {digits:.20}")
    return number


def parse_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"holds a number of {len(digits):,} digits; {MAX_DIGITS} are read")
    return int(digits)


def type_name(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def error_reason(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"is not JSON: {error.msg} at character {error.colno:,}"
    return str(error)


def is_squad(data: list[Any]) -> bool:
    """Whether the "data" of a JSON file is a list of articles."""
    return any(isinstance(article, dict) and "paragraphs" in article for article in data)


def question_entries(data: list[Any]) -> Iterator[Entry]:
    """A row per question, numbered from 1 through the file: the texts "id", "title", "question" and "context",
    "answers" as [{"text", "start"}] with start in characters of the context, and "impossible", a bool."""
    number = 0
    for article in data:
        title = article.get("title", "") if isinstance(article, dict) else ""
        for paragraph in list_or_unreadable(article, "paragraphs"):
            context = paragraph.get("context") if isinstance(paragraph, dict) else None
            for question in list_or_unreadable(paragraph, "qas"):
                number += 1
                yield number, question_cells(title, context, question)


def list_or_unreadable(parent: Any, name: str) -> list[Any]:
    """The list of that name; [None], an unreadable question, if it is missing or not a list."""
    values = parent.get(name) if isinstance(parent, dict) else None
    return values if isinstance(values, list) else [None]


def question_cells(title: Any, context: Any, question: Any) -> dict[str, Any] | str:
    """The cells of a question, or the reason why it cannot be used."""
    if not isinstance(question, dict):
        return "is in an article or a passage that is not laid out as in SQuAD"
    question_id = str(question.get("id", ""))
    question_text = question.get("question")
    if not isinstance(context, str):
        return f"has no passage (id {question_id[:40]!r})"
    if not isinstance(question_text, str):
        return f"has no question (id {question_id[:40]!r})"
    answers = flatten_answers(question.get("answers", []))
    impossible = question.get("is_impossible", False)
    if not isinstance(impossible, bool):
        return f"is_impossible is {impossible!r:.40}; wanted true or false"
    if not is_answers(answers):
        return f"has answers without a text or a start (id {question_id[:40]!r})"
    if not answers and not impossible:
        return f"has no answer and is not marked as impossible (id {question_id[:40]!r})"
    texts = (question_id, str(title), question_text, context)
    try:
        "".join((*texts, *(answer["text"] for answer in answers))).encode()
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    return dict(zip(SQUAD_COLUMNS, (*texts, answers, impossible), strict=True))


def flatten_answers(answers: Any) -> Any:
    """Answers as [{"text", "start"}] from both published layouts: a list of {"text", "answer_start"}, or an object of
    two lists. Anything else is returned unchanged."""
    if isinstance(answers, dict):
        texts, starts = answers.get("text"), answers.get("answer_start")
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]
    if isinstance(answers, list) and all(isinstance(a, dict) and {"text", "answer_start"} <= set(a) for a in answers):
        return [{"text": answer["text"], "start": answer["answer_start"]} for answer in answers]
    return answers


def is_answers(answers: Any) -> bool:
    """Whether they are [{"text", "start"}]."""
    if not isinstance(answers, list):
        return False
    for answer in answers:
        if not isinstance(answer, dict):
            return False
        if not isinstance(answer.get("text"), str) or type(answer.get("start")) is not int:  # a bool is no position
            return False
    return True

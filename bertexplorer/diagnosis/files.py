"""Vectors and texts in files: lines of JSON, or NumPy's arrays and JSON beside a file of texts. No more is read of a
file than is used."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from bertexplorer.diagnosis.given import MAX_NUMBERS, MAX_TEXTS, Given, check
from bertexplorer.errors import ExplorerError

MAX_LINE = 1_000_000  # bytes: 16,384 numbers with all their digits, and a text
MAX_FILE = 64_000_000  # bytes of a file that is read as a whole
MAX_LINES = 1_000_000  # of a file of texts, which must be counted
NAMES = ("vector", "embedding", "vectors", "embeddings")  # of the vector in a line
EXAMPLE = '{"text": "Paris is a city.", "vector": [0.01, -0.2, …]}'


def read(vectors: Path, texts: Path | None = None) -> Given:
    """The vectors in *vectors*: a .jsonl file with the texts in it, or a .npy or .json file whose rows belong to the
    lines of *texts*. Raises ExplorerError for files that cannot be used."""
    suffix = vectors.suffix.lower()
    if suffix not in (".jsonl", ".ndjson", ".npy", ".json"):
        raise ExplorerError(
            f"{vectors.name} is not read here; wanted a .jsonl file of lines {EXAMPLE}, or a .npy file beside a file "
            "of texts. Pickles and archives are not opened, as they may run code."
        )
    try:
        if suffix in (".jsonl", ".ndjson"):
            if texts is not None:
                raise ExplorerError(f"{vectors.name} has the texts in it already. Leave out the file of texts.")
            return check(*read_lines(vectors))
        if texts is None:
            raise ExplorerError(f"{vectors.name} has vectors alone.", TEXTS_TOO)
        count, lines = read_texts(texts)
        array = read_npy(vectors) if suffix == ".npy" else vectors_of(read_json(vectors))
        if len(array) != count:
            raise ExplorerError(
                f"{texts.name} has {count:,} lines and {vectors.name} {len(array):,} vectors. Give a vector for each "
                "line, in the same order; a text must not contain a line end."
            )
        return check(lines, array[:MAX_TEXTS])
    except OSError as error:
        raise ExplorerError(
            f"{error.filename or vectors} cannot be read: {error.strerror}. Give the path of a file."
        ) from error


TEXTS_TOO = {
    "page": "Upload a .jsonl file with texts and vectors.",
    "cli": "Give their texts, one a line: --texts FILE.",
    "python": "Give their texts, too.",
}


def read_lines(file: Path) -> tuple[list[str], list[Any]]:
    """The texts and vectors of the first lines of a .jsonl file."""
    with file.open("rb") as opened:
        return parse(opened, file.name)


def parse(opened: BinaryIO, name: str, most_numbers: int = MAX_TEXTS * MAX_NUMBERS) -> tuple[list[str], list[Any]]:
    """The texts and vectors of the first lines of a .jsonl file called *name*: MAX_TEXTS of them at most, and no more
    than have *most_numbers* together. Raises ExplorerError for a line that is not a text with its vector."""
    texts: list[str] = []
    vectors: list[Any] = []
    width = 0
    for number, line in enumerate(lines_of(opened, name), 1):
        if not line.strip():
            continue
        where = f"Line {number:,} of {name}"
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise ExplorerError(f"{where} is not JSON; wanted {EXAMPLE}.") from error
        text = row.get("text") if isinstance(row, dict) else None
        vector = next((row[key] for key in NAMES if key in row), None) if isinstance(row, dict) else None
        if not isinstance(text, str) or not isinstance(vector, list) or not is_vector(vector):
            raise ExplorerError(f"{where} is {line.strip()[:60]!r}; wanted {EXAMPLE}.")
        if width and len(vector) != width:
            raise ExplorerError(
                f"{where} has a vector of {len(vector):,} numbers, those before it {width:,}. Vectors of one model "
                "have one width: leave out the others."
            )
        width = len(vector)
        texts.append(text)
        vectors.append(vector)
        if len(texts) == MAX_TEXTS or width * (len(texts) + 1) > most_numbers:
            break
    if not texts:
        raise ExplorerError(f"{name} has no line; wanted lines {EXAMPLE}.")
    return texts, vectors


def lines_of(opened: BinaryIO, name: str) -> Iterator[str]:
    """The lines of a file called *name*, one after the other. Raises ExplorerError at one that is too long."""
    while line := opened.readline(MAX_LINE + 1):
        if len(line) > MAX_LINE:
            raise ExplorerError(
                f"A line of {name} is longer than {MAX_LINE:,} bytes; wanted a text and its vector on each."
            )
        try:
            yield line.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ExplorerError(f"{name} is not UTF-8. Save it as plain text in UTF-8.") from error


def is_vector(value: object) -> bool:
    """Whether *value* is a list of numbers. null stands for NaN in some files, and is reported as one."""
    return isinstance(value, list) and 0 < len(value) <= MAX_NUMBERS and all(is_number(number) for number in value)


def is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def read_texts(file: Path) -> tuple[int, list[str]]:
    """(how many lines *file* has, the first MAX_TEXTS). Raises ExplorerError for a file that is empty, or too long."""
    texts: list[str] = []
    count = 0
    with file.open("rb") as opened:
        for line in lines_of(opened, file.name):
            count += 1
            if count > MAX_LINES:
                raise ExplorerError(f"{file.name} has more than {MAX_LINES:,} lines. Give the first {MAX_TEXTS:,}.")
            if len(texts) < MAX_TEXTS:
                texts.append(line.rstrip("\r\n"))
    if not count:
        raise ExplorerError(f"{file.name} is empty; wanted a text on each line.")
    return count, texts


def read_npy(file: Path) -> np.ndarray:
    """The array of a .npy file, of which only what is used is read. Raises ExplorerError for a file that has no rows of
    numbers."""
    try:
        array = np.load(file, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError) as error:
        raise ExplorerError(
            f"{file.name} is not an array of numbers as numpy.save writes it. Arrays of objects are not opened, as "
            "they may run code."
        ) from error
    if array.ndim != 2:
        raise ExplorerError(f"{file.name} has the shape {array.shape}; wanted n rows of numbers, one for each text.")
    return array


def read_json(file: Path) -> Any:
    """What is in a JSON file. Raises ExplorerError for one that is too large, or is none."""
    if file.stat().st_size > MAX_FILE:
        raise ExplorerError(
            f"{file.name} has {file.stat().st_size:,} bytes; wanted at most {MAX_FILE:,}. Save it as .npy."
        )
    try:
        return json.loads(file.read_bytes())
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"{file.name} is not JSON. Save the vectors as .npy or .jsonl.") from error


def vectors_of(content: Any) -> list[list[float]]:
    """The vectors in JSON: a list of lists, or the answer of a server, {"data": [{"index": 0, "embedding": […]}]}.
    Raises ExplorerError for anything else."""
    rows = content.get("data", content.get("embeddings")) if isinstance(content, dict) else content
    if isinstance(rows, list) and rows and all(isinstance(row, dict) for row in rows):
        rows = [row.get("embedding") for row in sorted(rows, key=lambda row: int(row.get("index") or 0))]
    if not isinstance(rows, list) or not rows or not all(is_vector(row) for row in rows):
        raise ExplorerError(
            f"The JSON is {json.dumps(content)[:60]}…; wanted a list of vectors, or a server's answer with "
            "data[].embedding."
        )
    if len({len(row) for row in rows}) > 1:
        raise ExplorerError("The vectors in the JSON differ in width. Vectors of one model have one width.")
    return rows

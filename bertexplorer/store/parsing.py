"""Parsing: reads large files from outside in a separate process, two at a time, so that none holds the process that
answers others, or takes its memory."""

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.store import sandbox
from bertexplorer.training.data.decode import display_name
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, RowProblem, Table

LARGE_BYTES = 1_000_000  # a larger file is parsed in a process of its own
SECONDS, MEGABYTES = 60, 600
TOGETHER = threading.BoundedSemaphore(2)  # such processes at a time


def parse_apart(filename: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """What the module-level *function* returns for *arguments*, in a separate process with limits on memory and time;
    all of it is JSON. Raises ExplorerError as the function does, and beyond a limit, naming *filename*."""
    with TOGETHER:
        try:
            return sandbox.call(function, *arguments, seconds=SECONDS, megabytes=MEGABYTES)
        except sandbox.SandboxError as error:
            name = display_name(filename)
            raise ExplorerError(f"{name} cannot be used: reading it {error}. Give part of it.") from error


def read_table(file: Path) -> Table:
    """The rows of *file*, see `training.data.read`. Raises ExplorerError as `read` does, and if the file cannot be
    read."""
    try:
        if file.stat().st_size <= LARGE_BYTES:
            return read(file.read_bytes(), file.name)
    except OSError as error:
        raise ExplorerError(f"{file.name} cannot be read: {error.strerror}. Upload it again.") from error
    content = parse_apart(file.name, table_as_json, str(file))
    columns = tuple(content.pop("columns"))
    rows = tuple(Row(line, cells) for line, cells in content.pop("rows"))
    problems = tuple(RowProblem(line, what) for line, what in content.pop("problems"))
    return Table(columns=columns, rows=rows, problems=problems, **content)  # what is left is as in a table


def table_as_json(file: str) -> dict[str, Any]:
    """The fields of the table in *file*: rows and problems as (line, content). Raises ExplorerError as `read` does."""
    table = read(Path(file).read_bytes(), Path(file).name)
    rows = [(row.line, row.cells) for row in table.rows]
    problems = [(problem.line, problem.what) for problem in table.problems]
    return {**vars(table), "rows": rows, "problems": problems}

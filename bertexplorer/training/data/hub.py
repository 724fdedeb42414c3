"""A data set of the Hugging Face Hub by its name, through the package datasets. Nothing else is downloaded."""

import re
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.read import MAX_ROWS
from bertexplorer.training.data.rows import Row, RowProblem, Table, length_problem

NAME = re.compile(r"(\w[\w.-]{0,95}(?:/\w[\w.-]{0,95})?)(?::([\w.-]{1,96}))?(?:@([\w.\[\]:%-]{1,60}))?")
PATIENCE_S = 5.0
WANTED = "NAME, NAME:CONFIGURATION or NAME:CONFIGURATION@SPLIT, such as nyu-mll/glue:sst2@train"


def fetch_dataset(name: str, max_rows: int = MAX_ROWS, *, as_operator: bool = True) -> Table:
    """The first *max_rows* rows of a split (default: train), with class labels by name, streamed. *as_operator*: with
    the token of the person who runs this process, if there is one. Raises ExplorerError for a malformed name, a missing
    network, data set or package."""
    match = NAME.fullmatch(name.strip())
    if not match or Path(match[1]).exists():  # datasets would read a folder of that name
        raise ExplorerError(f"{name!r:.80} is not a data set; wanted {WANTED}.")
    repository = match[1]
    configuration = match[2]
    split = match[3] or "train"
    try:
        import datasets
    except ImportError as error:
        raise ExplorerError("Data sets of the hub need one more package. Run: pip install datasets") from error
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError

    try:
        token = None if as_operator else False  # None: the one in HF_TOKEN or of `hf auth login`
        HfApi(token=token).dataset_info(repository, timeout=PATIENCE_S)  # fails quickly; datasets retries for minutes
        stream = datasets.load_dataset(repository, configuration, split=split, streaming=True, token=token)
        read = read_rows(stream, max_rows)
    except RepositoryNotFoundError as error:
        raise ExplorerError(f"The hub has no public data set {repository}. Check the spelling.") from error
    except ExplorerError:
        raise
    except ValueError as error:  # lists the configurations or splits
        raise ExplorerError(f"{repository}: {' '.join(str(error).split())[:400]} Wanted {WANTED}.") from error
    except Exception as error:  # the error depends on the version of the HTTP library
        raise ExplorerError(
            f"{repository} cannot be fetched ({type(error).__name__}). Check the network, or give a file."
        ) from error
    if len(read.rows) < 2:
        raise ExplorerError(f"{repository} holds {len(read.rows)} rows in {split}; wanted at least 2.")
    source = f"{repository}, {configuration}" if configuration else repository
    summary = f"{len(read.rows) + len(read.problems):,} rows of {split} of {source}, from the hub."
    if read.has_more:
        summary = f"The first {summary}"
    return Table(
        columns=tuple(read.rows[0].cells),
        rows=tuple(read.rows),
        problems=tuple(read.problems),
        summary=summary,
        kind="hub",
        unit="row",
    )


class ReadRows(NamedTuple):
    """The first rows of a data set."""

    rows: list[Row]
    problems: list[RowProblem]
    has_more: bool  # whether the data set has more rows


def read_rows(stream: Any, max_rows: int) -> ReadRows:
    """Columns of texts, numbers and lists are read, as far as all rows have them; others, such as images, are
    ignored."""
    names = {key: class_names(feature) for key, feature in (stream.features or {}).items()}
    records = iter(stream)
    rows: list[Row] = []
    problems: list[RowProblem] = []
    for number, record in enumerate(islice(records, max_rows), 1):
        cells = {str(key): cell_of(value, names.get(key)) for key, value in record.items() if is_plain(value)}
        problem = length_problem(cells)
        if problem:
            problems.append(RowProblem(number, problem))
        else:
            rows.append(Row(number, cells))
    has_more = next(records, None) is not None
    columns = set.intersection(*(set(row.cells) for row in rows)) if rows else set()
    complete = []
    for row in rows:
        complete.append(Row(row.line, {name: cell for name, cell in row.cells.items() if name in columns}))
    return ReadRows(complete, problems, has_more)


def class_names(feature: Any) -> list[str] | None:
    """The names of the classes of a column, or of the items of its lists; None if it has no classes."""
    while hasattr(feature, "feature"):  # of a list
        feature = feature.feature
    return getattr(feature, "names", None)


def is_plain(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | list)


def cell_of(value: Any, names: list[str] | None) -> Any:
    """The value as a file would contain it: a class by its name, -1 (hidden) as ""."""
    if names and isinstance(value, int):
        return names[value] if 0 <= value < len(names) else ""
    if isinstance(value, list):
        return [cell_of(item, names) for item in value] if names else value
    return "" if value is None else str(value)

"""The program of today, which the files of this folder ask."""

from collections.abc import Callable, Iterator

import httpx
import pytest

from bertexplorer.core.ask import Answerer
from tests.golden.answers import Document, documents, program

Asked = dict[str, Callable[[], Document]]
Program = tuple[httpx.Client, Answerer]


@pytest.fixture(scope="module")
def running() -> Iterator[Program]:
    with program() as running:
        yield running


@pytest.fixture(scope="module")
def asked(running: Program) -> Asked:
    return documents(running[0])


@pytest.fixture(scope="module")
def answerer(running: Program) -> Answerer:
    return running[1]

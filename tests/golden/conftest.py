"""The program of today, which the files of this folder ask."""

from collections.abc import Callable, Iterator

import pytest

from tests.golden.answers import Document, documents, serve

Asked = dict[str, Callable[[], Document]]


@pytest.fixture(scope="module")
def asked() -> Iterator[Asked]:
    with serve() as client:
        yield documents(client)

"""The answer to every example of every view, alone, compared and exported, is that of the golden files."""

import pytest

from tests.golden.compare import check
from tests.golden.conftest import Asked
from tests.golden.files import NAMES


@pytest.mark.golden
@pytest.mark.parametrize("name", [name for name in NAMES if name.startswith("views/")])
def test_answers_are_the_golden_ones(asked: Asked, name: str) -> None:
    check(name, asked)

"""A run of every task leaves behind what the golden file says."""

import pytest

from tests.golden.compare import check
from tests.golden.conftest import Asked


@pytest.mark.golden
def test_runs_are_the_golden_ones(asked: Asked) -> None:
    check("runs", asked)

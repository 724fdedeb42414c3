"""Paired tests of suites, and their correction for several."""

import pytest

from bertexplorer.analysis.bootstrap import holm


def test_several_tests_are_corrected_by_holms_method() -> None:
    """As R's p.adjust(…, "holm"), also with equal values."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.02, 0.02]) == pytest.approx([0.6, 0.06, 0.06]) and holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.3]) == [0.3] and holm([]) == []

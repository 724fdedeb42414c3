"""Paired tests of suites, and their correction for several."""

import numpy as np
import pytest
import scipy.stats

from bertexplorer.analysis.bootstrap import compare_paired, holm


def test_several_tests_are_corrected_by_holms_method() -> None:
    """As R's p.adjust(…, "holm"), also with equal values."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.02, 0.02]) == pytest.approx([0.6, 0.06, 0.06]) and holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.3]) == [0.3] and holm([]) == []


def test_the_interval_of_a_difference_is_mirrored_if_the_sides_are_swapped() -> None:
    none, every, some = np.zeros(8), np.ones(8), np.repeat([0.0, 1.0], 4)
    for first, second in ((none, every), (none, none), (every, every), (none, some), (some, some[::-1])):
        there, back = compare_paired(first, second).interval, compare_paired(second, first).interval
        assert there == pytest.approx((-back.high, -back.low), abs=0.01)  # resamples are drawn
    equal = compare_paired(some, some).interval
    assert equal == pytest.approx((-0.3694, 0.3694), abs=1e-4)  # 1 - 0.025 ** (1 / 8)
    assert compare_paired(every, none).interval == pytest.approx((-1, -0.6306), abs=1e-4)


def test_two_checkpoints_are_compared_by_mcnemars_test() -> None:
    first, second = np.repeat([1.0, 0, 1, 0], [50, 20, 12, 3]), np.repeat([1.0, 0, 0, 1], [50, 20, 12, 3])
    result = compare_paired(first, second)
    assert (result.only_first, result.only_second) == (12, 3) and result.difference == pytest.approx(-9 / 85)
    assert result.p == pytest.approx(2 * scipy.stats.binom.cdf(3, 15, 0.5))
    assert result.interval.low < result.difference < result.interval.high < 0
    assert compare_paired(first, first).p == 1

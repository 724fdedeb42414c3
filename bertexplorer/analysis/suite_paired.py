"""Paired tests of suites: checkpoints on the same cases, each against one of them, corrected for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from bertexplorer.analysis.bootstrap import PairedComparison, compare_paired, holm
from bertexplorer.analysis.suite import Suite


@dataclass(frozen=True)
class PairedTest:
    """A suite against another on the *count* cases that both could score. *corrected*: p by Holm's method for all tests
    that are made together."""

    count: int
    comparison: PairedComparison
    corrected: float


def paired_test(first: Suite, second: Suite) -> PairedTest | None:
    """*second* against *first*; None if no case was scored for both."""
    ours = {outcome.case: outcome.right for outcome in first.outcomes}
    pairs = [(ours[outcome.case], outcome.right) for outcome in second.outcomes if outcome.case in ours]
    if not pairs:
        return None
    comparison = compare_paired(*(np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1)))
    return PairedTest(len(pairs), comparison, comparison.p)


def paired_tests(results: Sequence[Suite], own: int = 0) -> list[PairedTest | None]:
    """Each of *results* against that at *own*, corrected for all; None for that one and where no case is shared."""
    tests = [None if i == own else paired_test(results[own], result) for i, result in enumerate(results)]
    made = [i for i, test in enumerate(tests) if test]
    corrected = holm([test.comparison.p for test in tests if test])
    found = dict(zip(made, corrected, strict=True))
    return [test and replace(test, corrected=found[i]) for i, test in enumerate(tests)]

"""Paired tests of suites: checkpoints on the same cases, each against one of them, corrected for their number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from bertexplorer.answers.bootstrap import PairedComparison, compare_paired, holm
from bertexplorer.views.suite.scores import CaseOutcome

Rows = list[dict[str, object]]


class Scored(Protocol):
    """A suite with its scored cases."""

    @property
    def outcomes(self) -> tuple[CaseOutcome, ...]:
        """In the order of the rows."""


@dataclass(frozen=True)
class PairedTest:
    """A suite against another on the *count* cases that both could score. *corrected*: p by Holm's method for all tests
    that are made together."""

    count: int
    comparison: PairedComparison
    corrected: float


def right_by_case(result: Scored) -> dict[Any, bool]:
    return {outcome.case: outcome.right for outcome in result.outcomes}


def paired_test(first: Mapping[Any, bool], second: Mapping[Any, bool]) -> PairedTest | None:
    """The test of *second* against *first*, which map a case to whether it is right; None if they share no case."""
    pairs = [(first[case], right) for case, right in second.items() if case in first]
    if not pairs:
        return None
    comparison = compare_paired(*(np.array([pair[side] for pair in pairs], dtype=float) for side in (0, 1)))
    return PairedTest(len(pairs), comparison, comparison.p)


def paired_tests(results: Sequence[Scored], own: int = 0) -> list[PairedTest | None]:
    """The test of each of *results* against the one at *own*, corrected for the number of tests; None for that one, and
    for results that share no case with it."""
    right = [right_by_case(result) for result in results]
    tests = [None if i == own else paired_test(right[own], other) for i, other in enumerate(right)]
    made = [i for i, test in enumerate(tests) if test]
    corrected = holm([test.comparison.p for test in tests if test])
    found = dict(zip(made, corrected, strict=True))
    return [test and replace(test, corrected=found[i]) for i, test in enumerate(tests)]


def comparison_tables(names: Sequence[str], results: Sequence[Scored], own: int = 0) -> dict[str, Rows]:
    """Each paired test against the result at *own*, and the cases on which the results differ."""
    tests = zip(names, paired_tests(results, own), strict=True)
    return {
        "tests": [test_row(name, names[own], test) for name, test in tests if test],
        "differences": differing_rows(names, results, own),
    }


def test_row(name: str, against: str, test: PairedTest) -> dict[str, object]:
    """*test* as a row of a table: the side *name*, which is the second of the comparison, against the side *against*,
    which is the first."""
    comparison = test.comparison
    return {
        "side": name,
        "against": against,
        "cases": test.count,
        "difference": comparison.difference,
        "low": comparison.interval.low,
        "high": comparison.interval.high,
        "only_this": comparison.only_second,
        "only_other": comparison.only_first,
        "p": comparison.p,
        "p_holm": test.corrected,
    }


def differing_rows(names: Sequence[str], results: Sequence[Scored], own: int = 0) -> Rows:
    """The cases that some results get right and others wrong, in the order of the one at *own*: the answer of each, and
    whether it is right; empty where it could not score the case."""
    outcomes = [{outcome.case: outcome for outcome in result.outcomes} for result in results]
    found: Rows = []
    for case in outcomes[own]:
        here = {name: side[case] for name, side in zip(names, outcomes, strict=True) if case in side}
        if len({outcome.right for outcome in here.values()}) < 2:
            continue
        row: dict[str, object] = {"line": case.line, "category": case.category, "text": case.texts[0]}
        row |= {"other": " | ".join(case.texts[1:]), "wanted": case.wanted(" | ")}
        for name in names:
            row |= {f"answer, {name}": here[name].said if name in here else ""}
            row |= {f"right, {name}": here[name].right if name in here else ""}
        found.append(row)
    return found

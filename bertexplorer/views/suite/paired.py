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
    shared = [case for case in second if case in first]
    if not shared:
        return None
    first_right = np.array([first[case] for case in shared], dtype=float)
    second_right = np.array([second[case] for case in shared], dtype=float)
    comparison = compare_paired(first_right, second_right)
    return PairedTest(len(shared), comparison, corrected=comparison.p)


def paired_tests(results: Sequence[Scored], own: int = 0) -> list[PairedTest | None]:
    """The test of each of *results* against the one at *own*, corrected for the number of tests; None for that one, and
    for results that share no case with it."""
    right = [right_by_case(result) for result in results]
    tests = [None if i == own else paired_test(right[own], other) for i, other in enumerate(right)]
    corrected = iter(holm([test.comparison.p for test in tests if test]))
    return [replace(test, corrected=next(corrected)) if test else None for test in tests]


def comparison_tables(names: Sequence[str], results: Sequence[Scored], own: int = 0) -> dict[str, Rows]:
    """Each paired test against the result at *own*, and the cases on which the results differ."""
    tests = []
    for name, test in zip(names, paired_tests(results, own), strict=True):
        if test:
            tests.append(test_row(name, names[own], test))
    return {"tests": tests, "differences": differing_rows(names, results, own)}


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
    rows: Rows = []
    for case in outcomes[own]:
        answers = {name: by_case[case] for name, by_case in zip(names, outcomes, strict=True) if case in by_case}
        if len({outcome.right for outcome in answers.values()}) < 2:
            continue
        row: dict[str, object] = {
            "line": case.line,
            "category": case.category,
            "text": case.texts[0],
            "other": " | ".join(case.texts[1:]),
            "wanted": case.wanted(" | "),
        }
        for name in names:
            outcome = answers.get(name)
            row[f"answer, {name}"] = outcome.said if outcome else ""
            row[f"right, {name}"] = outcome.right if outcome else ""
        rows.append(row)
    return rows

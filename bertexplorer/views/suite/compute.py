"""Suite: an evaluation on many cases, as the share that the checkpoint gets right, with its confidence interval."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from bertexplorer.answers.bootstrap import Interval, interval
from bertexplorer.answers.uploads import balanced_sample, check_given
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views import facts
from bertexplorer.views.rows import NumberedRow
from bertexplorer.views.suite.cases import BuiltIn, Kind, built_in, cases
from bertexplorer.views.suite.paired import comparison_tables as comparison_tables
from bertexplorer.views.suite.scores import CaseOutcome, Scorer, Scoring
from bertexplorer.views.suite.typed import Meaning, typed_rows

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FEW = 30  # cases below which a share says little
MAX_CASES = 1000  # cases at once
KEYS, MEASURE = ("category",), "right"


@dataclass(frozen=True)
class Options:
    suite: Annotated[BuiltIn, Option("Suite", info="built in; or upload rows of your own")] = "everyday"
    pairs: Annotated[
        str,
        Option(
            "Pairs of your own",
            several=True,
            info="one a line, in place of the suite. {He|She} is a {nurse|cook}. makes two",
        ),
    ] = ""
    pairs_mean: Annotated[
        Meaning, Option("Of these pairs", info="what is counted: how often the first is preferred")
    ] = "the first is right"
    scoring: Annotated[Scoring, Option("Score pairs by", info="the second needs pairs that differ in one piece")] = (
        "the whole sentence"
    )
    most: Annotated[int, Option("Cases at most", 1, MAX_CASES, info="the same number of each category")] = 200
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in suite", by_page=True)] = ""


@dataclass(frozen=True)
class Share:
    """The share of a category, or of all cases, that a checkpoint gets right."""

    name: str
    count: int
    right: float  # 0 to 1; for stereotype pairs, the share in which the stereotype is preferred
    interval: Interval  # 95 %, by bootstrap
    baseline: float | None  # the share that word frequency alone gets right, or always the most frequent answer
    top5: float | None = None  # of a cloze: the share whose answer is among the first five
    mrr: float | None = None  # of a cloze: mean reciprocal rank


@dataclass(frozen=True)
class Suite:
    name: str
    kind: Kind
    scoring: Scoring
    total: Share
    shares: tuple[Share, ...]  # by category, in the order of the rows; () if there is only one
    chance: float | None  # the share that guessing gets right; None where there is nothing to guess
    outcomes: tuple[CaseOutcome, ...]
    unusable: tuple[RowProblem, ...]  # rows that were not scored, with the reason
    left_out: int  # cases beyond Options.most


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    rows: Sequence[NumberedRow] | None = None,
) -> Suite:
    """Score each of *rows*, of the pairs that were typed, or of the built-in suite. *text* is not read.

    The columns of the rows determine the kind of suite, see `FORMATS` in suite/cases.py. Raises ExplorerError for rows
    that are not a suite, if none can be scored, and if the checkpoint lacks the head that is needed."""
    check_given("rows", options.rows, rows)
    kind, all_cases, unusable = cases(rows or own_or_built_in(options.suite, options.pairs, options.pairs_mean))
    categories = [case.category for case in all_cases]
    sampled = [all_cases[i] for i in balanced_sample(categories, options.most)]
    scorer = Scorer(checkpoint, kind, options.scoring)
    progress.expect(sum(map(scorer.cost, sampled)))
    outcomes: list[CaseOutcome] = []
    for outcome in scorer.outcomes(sampled):
        if isinstance(outcome, CaseOutcome):
            outcomes.append(outcome)
        else:
            unusable.append(outcome)
    return summary(
        name="uploaded rows" if rows else name_of(options.suite, options.pairs),
        kind=kind,
        scoring=options.scoring,
        chance=scorer.guess([outcome.case for outcome in outcomes]),
        outcomes=outcomes,
        unusable=unusable,
        left_out=len(all_cases) - len(sampled),
    )


def own_or_built_in(suite: BuiltIn, pairs: str, meaning: Meaning) -> list[NumberedRow]:
    """The rows of the pairs that were typed, or of the built-in *suite* if there are none."""
    return typed_rows(pairs, meaning) if pairs.strip() else built_in(suite)


def name_of(suite: BuiltIn, pairs: str) -> str:
    return "pairs of your own" if pairs.strip() else suite


def confusion_matrix(result: Suite) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """(the labels, the most frequent right one first; how many rows with the right label of each line were given the
    label of each column). Both are empty for any other kind than labels."""
    if result.kind != "labels":
        return (), ()
    gold_counts = Counter(outcome.case.answers[0] for outcome in result.outcomes)
    pairs = Counter((outcome.case.answers[0], outcome.said) for outcome in result.outcomes)
    by_frequency = [name for name, _ in gold_counts.most_common()]
    labels = tuple(dict.fromkeys([*by_frequency, *sorted(predicted for _, predicted in pairs)]))
    return labels, tuple(tuple(pairs[gold, predicted] for predicted in labels) for gold in labels)


def summary(
    name: str,
    kind: Kind,
    scoring: Scoring,
    chance: float | None,
    outcomes: Sequence[CaseOutcome],
    unusable: Sequence[RowProblem],
    left_out: int = 0,
) -> Suite:
    """The shares of scored cases. Raises ExplorerError if there are none."""
    if not outcomes:
        why = f": line {unusable[0].line} {unusable[0].what}" if unusable else ""
        raise ExplorerError(f"None of the rows can be scored{why}.")
    if kind in ("next sentence", "labels"):
        outcomes = with_baseline(outcomes)
    by_category: dict[str, list[CaseOutcome]] = {}
    for outcome in outcomes:
        by_category.setdefault(outcome.case.category, []).append(outcome)
    shares = [share(category, members) for category, members in by_category.items()]
    return Suite(
        name=name,
        kind=kind,
        scoring=scoring,
        total=share("all", outcomes),
        shares=tuple(shares) if len(shares) > 1 else (),
        chance=chance,
        outcomes=tuple(outcomes),
        unusable=tuple(sorted(unusable, key=lambda problem: problem.line)),
        left_out=left_out,
    )


def with_baseline(outcomes: Sequence[CaseOutcome]) -> list[CaseOutcome]:
    """*outcomes* with what always giving the most frequent right answer would score."""
    answers = Counter(outcome.case.answers[0] for outcome in outcomes)
    [(most_frequent, _)] = answers.most_common(1)
    return [replace(outcome, baseline=float(outcome.case.answers[0] == most_frequent)) for outcome in outcomes]


def share(name: str, outcomes: Sequence[CaseOutcome]) -> Share:
    """The share of one category; there is at least one outcome."""
    right = np.array([outcome.right for outcome in outcomes], dtype=float)
    guesses = [outcome.baseline for outcome in outcomes if outcome.baseline is not None]
    overall = Share(
        name=name,
        count=len(outcomes),
        right=float(right.mean()),
        interval=interval(right),
        baseline=float(np.mean(guesses)) if guesses else None,
    )
    if outcomes[0].case.kind != "cloze":
        return overall
    ranks = np.full(len(outcomes), np.inf)  # without a rank, for a wrong word of several pieces
    for i, outcome in enumerate(outcomes):
        if outcome.right:
            ranks[i] = 1
        elif outcome.rank:
            ranks[i] = outcome.rank
    return replace(overall, top5=float((ranks <= 5).mean()), mrr=float((1 / ranks).mean()))


def rows(result: Suite) -> list[dict[str, object]]:
    """A row for each scored case, then one for each row that was not scored."""
    scored: list[dict[str, object]] = [
        {
            "line": outcome.case.line,
            "category": outcome.case.category,
            "text": outcome.case.texts[0],
            "other": " | ".join(outcome.case.texts[1:]),
            "wanted": outcome.case.wanted(" | "),
            "answer": outcome.said,
            "right": outcome.right,
            "score": outcome.score,
            "rank": outcome.rank if outcome.rank is not None else "",
            "baseline": outcome.baseline if outcome.baseline is not None else "",
            "problem": "",
        }
        for outcome in result.outcomes
    ]
    empty = dict.fromkeys(scored[0], "")
    unscored = [{**empty, "line": problem.line, "problem": problem.what} for problem in result.unusable]
    return [*scored, *unscored]


def summary_rows(result: Suite) -> list[dict[str, object]]:
    """The score: a row for all cases, and one for each category. What a kind of suite does not have is empty."""
    return [
        {
            "category": share.name,
            "cases": share.count,
            "right": share.right,
            "low": share.interval.low,
            "high": share.interval.high,
            "chance": "" if result.chance is None else result.chance,
            "baseline": "" if share.baseline is None else share.baseline,
            "top5": "" if share.top5 is None else share.top5,
            "mrr": "" if share.mrr is None else share.mrr,
        }
        for share in (result.total, *result.shares)
    ]


def tables(result: Suite) -> dict[str, list[dict[str, object]]]:
    """The score."""
    return {"summary": summary_rows(result)}


class Facts(facts.Facts[Suite]):
    """*category*: its name; without one, all cases."""

    def right(self, category: str = "all") -> float:
        """Share of cases that the checkpoint gets right, 0 to 1."""
        return self._share(category).right

    def low(self, category: str = "all") -> float:
        """Lower end of the 95 % interval of that share."""
        return self._share(category).interval.low

    def high(self, category: str = "all") -> float:
        """Upper end of the 95 % interval of that share."""
        return self._share(category).interval.high

    def baseline(self, category: str = "all") -> float:
        """Share that word frequency alone, or always the most frequent answer, gets right."""
        baseline = self._share(category).baseline
        if baseline is None:
            raise ExplorerError("This suite has no baseline.")
        return baseline

    def cases(self, category: str = "all") -> float:
        """Cases that were scored."""
        return self._share(category).count

    def _share(self, category: str) -> Share:
        shares = {share.name: share for share in (*self._result.shares, self._result.total)}
        facts.name_index(list(shares), category, "category")  # raises if there is none of this name
        return shares[category]

"""Suite: many sentences given to a checkpoint: the share that it gets right, its uncertainty, and each case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np

from bertexplorer.analysis import facts
from bertexplorer.analysis.bootstrap import Interval, interval
from bertexplorer.analysis.suite_cases import BuiltIn, Case, Kind, Row, Unusable, built_in, cases
from bertexplorer.analysis.suite_scores import Outcome, Scorer, Scoring
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FEW = 30  # cases below which a share says little
MOST = 1000  # cases at once
KEYS, MEASURE = ("category",), "right"


@dataclass(frozen=True)
class Options:
    suite: Annotated[BuiltIn, Option("Suite", info="built in; or upload rows of your own")] = "everyday"
    scoring: Annotated[Scoring, Option("Score pairs by", info="the second needs pairs that differ in one piece")] = (
        "the whole sentence"
    )
    most: Annotated[int, Option("Cases at most", 1, MOST, info="the same number of each category")] = 200
    rows: Annotated[str, Option("Uploaded rows", info="empty: the built-in suite", by_page=True)] = ""


@dataclass(frozen=True)
class Share:
    """What a checkpoint gets right of a category, or of all cases."""

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
    outcomes: tuple[Outcome, ...]
    unusable: tuple[Unusable, ...]  # rows that were not scored, with the reason
    left_out: int  # cases beyond Options.most


def run(
    checkpoint: Checkpoint, text: Text | str = "", *, options: Options = Options(), rows: Sequence[Row] = ()
) -> Suite:
    """Score each of *rows*, or of the built-in suite. *text* is not read.

    The columns of the rows say what is asked, see `FORMATS` in suite_cases. Raises ExplorerError for rows that are no
    suite, if none can be scored, and if the checkpoint lacks the head that is needed."""
    if options.rows and not rows:
        raise ExplorerError(f"The rows {options.rows!r:.60} are no longer here. Upload the file again.")
    kind, found, unusable = cases(rows or built_in(options.suite))
    kept = spread(found, options.most)
    scorer = Scorer(checkpoint, kind, options.scoring)
    progress.expect(sum(map(scorer.cost, kept)))
    outcomes: list[Outcome] = []
    for one in scorer.outcomes(kept):
        (outcomes if isinstance(one, Outcome) else unusable).append(one)  # type: ignore[arg-type]
    name = "uploaded rows" if rows else options.suite
    return summary(name, kind, options.scoring, scorer.guess(kept), outcomes, unusable, len(found) - len(kept))


def confused(result: Suite) -> tuple[tuple[str, ...], tuple[tuple[int, ...], ...]]:
    """(the labels, the most frequent right one first; how many rows with the right label of each line were given the
    label of each column). Both are empty for any other kind than labels."""
    if result.kind != "labels":
        return (), ()
    right = Counter(one.case.answers[0] for one in result.outcomes)
    pairs = Counter((one.case.answers[0], one.said) for one in result.outcomes)
    labels = tuple(dict.fromkeys([*(name for name, _ in right.most_common()), *sorted(said for _, said in pairs)]))
    return labels, tuple(tuple(pairs[gold, said] for said in labels) for gold in labels)


def spread(found: Sequence[Case], most: int) -> list[Case]:
    """*most* of the cases: as many of each category as possible, in their order."""
    seen: Counter[str] = Counter()
    order = []
    for i, case in enumerate(found):
        order.append((seen[case.category], i))
        seen[case.category] += 1
    return [found[i] for i in sorted(i for _, i in sorted(order)[:most])]


def summary(
    name: str,
    kind: Kind,
    scoring: Scoring,
    chance: float | None,
    outcomes: Sequence[Outcome],
    unusable: Sequence[Unusable],
    left_out: int = 0,
) -> Suite:
    """The shares of scored cases. Raises ExplorerError if there are none."""
    if not outcomes:
        why = f": line {unusable[0].line} {unusable[0].what}" if unusable else ""
        raise ExplorerError(f"None of the rows can be scored{why}.")
    if kind in ("next sentence", "labels"):
        most = Counter(one.case.answers[0] for one in outcomes).most_common(1)[0][0]
        outcomes = [replace(one, baseline=float(one.case.answers[0] == most)) for one in outcomes]
    names = list(dict.fromkeys(one.case.category for one in outcomes))
    parts = [share(each, [one for one in outcomes if one.case.category == each]) for each in names]
    total = share("all", outcomes)
    ordered = tuple(sorted(unusable, key=lambda one: one.line))
    shares = tuple(parts) if len(parts) > 1 else ()
    return Suite(name, kind, scoring, total, shares, chance, tuple(outcomes), ordered, left_out)


def share(name: str, outcomes: Sequence[Outcome]) -> Share:
    right = np.array([one.right for one in outcomes], dtype=float)
    guesses = [one.baseline for one in outcomes if one.baseline is not None]
    baseline = float(np.mean(guesses)) if guesses else None
    found = Share(name, len(outcomes), float(right.mean()), interval(right), baseline)
    if outcomes[0].case.kind != "cloze":
        return found
    ranks = np.array([one.rank or (1 if one.right else np.inf) for one in outcomes])
    return replace(found, top5=float((ranks <= 5).mean()), mrr=float((1 / ranks).mean()))


def rows(result: Suite) -> list[dict[str, object]]:
    """A row for each scored case, then one for each row that was not scored."""
    scored: list[dict[str, object]] = [
        {
            "line": one.case.line,
            "category": one.case.category,
            "text": one.case.texts[0],
            "other": " | ".join(one.case.texts[1:]),
            "wanted": " | ".join(one.case.answers) or one.case.expected,
            "answer": one.said,
            "right": one.right,
            "score": one.score,
            "rank": one.rank if one.rank is not None else "",
            "baseline": one.baseline if one.baseline is not None else "",
            "problem": "",
        }
        for one in result.outcomes
    ]
    empty = dict.fromkeys(scored[0], "")
    return [*scored, *({**empty, "line": one.line, "problem": one.what} for one in result.unusable)]


def summary_rows(result: Suite) -> list[dict[str, object]]:
    """A row for all cases, and one for each category."""
    return [{"category": one.name, "right": one.right} for one in (result.total, *result.shares)]


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
        found = self._share(category).baseline
        if found is None:
            raise ExplorerError("This suite has no baseline.")
        return found

    def cases(self, category: str = "all") -> float:
        """Cases that were scored."""
        return self._share(category).count

    def weakest(self) -> str:
        """The category with the smallest share of right cases."""
        return min(self._result.shares or (self._result.total,), key=lambda one: one.right).name

    def _share(self, category: str) -> Share:
        held = {one.name: one for one in (*self._result.shares, self._result.total)}
        return held[[*held][facts.chosen([*held], category, "category")]]

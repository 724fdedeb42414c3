"""Referee: the faithfulness of each saliency method: words are hidden in its order, and in random orders."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float, Int

from bertexplorer.answers.attribution import (
    BASELINE,
    METHODS,
    SAMPLES,
    STEPS,
    Method,
    Part,
    announce_cost,
    ask_within_limit,
    attribute,
    hidden_units,
    positions_of,
)
from bertexplorer.answers.question import TAGGED_INFO, TARGET_INFO, Question, TargetKind
from bertexplorer.answers.word_merging import units
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("order", "curve", "hidden"), "probability"
PASS_TOKENS = 32_768  # tokens read for all curves; a long text has fewer points
FEWEST = 4  # steps of a curve
SEED = 0  # of the random orders


@dataclass(frozen=True)
class Options:
    target: Annotated[TargetKind, Option("Explain", info=TARGET_INFO)] = "answer"
    word: Annotated[
        str, Option("Answer to explain", info="a single piece, a label or a tag; empty: the first choice")
    ] = ""
    orders: Annotated[int, Option("Random orders", 3, 50)] = 10
    points: Annotated[int, Option("Steps of a curve", 4, 64, info="fewer where the text has fewer words")] = 10
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""


@dataclass(frozen=True)
class Trial:
    """The test of one method's order. Arrays are p long, like *Referee.hidden*. Insertion hides the least important
    words first, so what remains is what was inserted first."""

    method: Method
    deletion: Float[np.ndarray, " p"]  # probability of the answer when the most important words are hidden first
    insertion: Float[np.ndarray, " p"]  # the same when the least important are hidden first
    deletion_area: float  # mean over the hidden share; low: the right words went first
    insertion_area: float  # high: the right words came first


@dataclass(frozen=True)
class Referee:
    """Deletion and insertion (Petsiuk et al., 2018; Samek et al., 2017), with [MASK] for the pieces of hidden words.
    Masks, [CLS] and [SEP] stay. Probabilities are those of the answer, 0 to 1."""

    target: TargetKind
    answer: str  # as in Saliency
    count: int  # words that can be hidden
    hidden: Int[np.ndarray, " p"]  # how many are hidden, from 0 to *count*
    trials: tuple[Trial, ...]  # in the order of METHODS
    random: Float[np.ndarray, "orders p"]  # deletion in random orders; read from the right, it is insertion
    group: int  # neighbouring words that occlusion, LIME and SHAP hide together in a long text
    left_out: int  # tokens beyond the checkpoint's limit
    scored: bool = False  # whether the answer is a score: then the curves are in its unit, not probabilities
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences

    @property
    def random_areas(self) -> Float[np.ndarray, " orders"]:
        """The mean of each random curve."""
        return np.array([area(self.hidden, line) for line in self.random])

    def holds(self, trial: Trial) -> bool:
        """Whether *trial* beats each random order, deleting and inserting."""
        areas = self.random_areas
        return bool(trial.deletion_area < areas.min() and trial.insertion_area > areas.max())


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Referee:
    """Curves of all methods, with their default settings; scores instead of probabilities if the answer is a score.
    Raises ExplorerError as saliency does, for two texts that are compared, and where fewer than two words can be
    hidden."""
    question = ask_within_limit(checkpoint, text, options.target, options.word, options.tagged_word)
    if question.readout.apart:
        raise ExplorerError(
            f"{checkpoint.name} compares two texts. With all words of both hidden, they would be alike, so the curves "
            "would say nothing. Look at Saliency."
        )
    groups = units(checkpoint, question.encoding, merge=True)
    words = hidden_units(groups, question.hideable)
    if len(words) < 2:
        raise ExplorerError(
            f"{len(words)} of the words can be hidden besides the mask, [CLS] and [SEP], so there is no order to test. "
            "Type a longer sentence."
        )

    # 1. How many points each curve has
    lines = 2 * len(METHODS) + options.orders
    room = PASS_TOKENS // (lines * len(question.encoding))
    steps = min(options.points, len(words), max(FEWEST, room))
    announce_cost(question, METHODS, groups, STEPS, SAMPLES, lines * (steps - 1) * len(question.encoding))

    # 2. The orders in which words are hidden: those of the methods, and random ones
    orders = []
    group = 1
    for method in METHODS:
        attribution = attribute(question, method, groups, baseline=BASELINE, steps=STEPS, samples=SAMPLES)
        scores = np.array([attribution.scores[list(word)].sum() for word in words])
        orders.append(np.argsort(-scores, kind="stable"))
        group = max(group, attribution.group)
    random = np.random.default_rng(SEED)
    shuffled = [random.permutation(len(words)) for _ in range(options.orders)]

    # 3. The curves, by all orders in one call
    hidden = np.unique(np.linspace(0, len(words), steps + 1).round().astype(np.int64))
    backwards = [order[::-1] for order in orders]
    curves = probabilities(question, words, [*orders, *backwards, *shuffled], hidden)
    trials = []
    for i, method in enumerate(METHODS):
        deletion = curves[i]
        insertion = curves[len(METHODS) + i]
        trials.append(
            Trial(
                method=method,
                deletion=deletion,
                insertion=insertion,
                deletion_area=area(hidden, deletion),
                insertion_area=area(hidden, insertion),
            )
        )
    return Referee(
        target=question.target,
        answer=question.answer,
        count=len(words),
        hidden=hidden,
        trials=tuple(trials),
        random=curves[2 * len(METHODS) :],
        group=group,
        left_out=question.encoding.left_out,
        scored=question.readout.scored,
        caveats=question.caveats,
    )


def probabilities(
    question: Question, words: Part, orders: Sequence[Int[np.ndarray, " n"]], hidden: Int[np.ndarray, " p"]
) -> Float[np.ndarray, "orders p"]:
    """Probabilities of the answer, or scores, while the first *hidden* of the *words* are hidden, in each of *orders*.
    `Question.values` reads each text once."""
    texts = []
    for order in orders:
        for count in hidden:
            first = [words[i] for i in sorted(order[:count].tolist())]
            texts.append(question.hidden(positions_of([first])))
    values = question.values(texts)
    answers = values if question.readout.scored else question.probability(values)
    return answers.reshape(len(orders), len(hidden))


def area(hidden: Int[np.ndarray, " p"], line: Float[np.ndarray, " p"]) -> float:
    """Mean height of a curve over the share of words that is hidden, by the trapezoidal rule."""
    return float(np.trapezoid(line, hidden) / hidden[-1])


def rows(result: Referee) -> list[dict[str, object]]:
    """A row for each point of each curve. Random orders are counted from 1 and have no insertion of their own."""
    table: list[dict[str, object]] = []

    def add(order: str, curve: str, values: Float[np.ndarray, " p"], mean: float) -> None:
        for hidden, value in zip(result.hidden, values, strict=True):
            table.append(
                {
                    "order": order,
                    "curve": curve,
                    "hidden": int(hidden),
                    "of": result.count,
                    "score" if result.scored else "probability": float(value),
                    "area": mean,
                    "target": result.target,
                    "answer": result.answer,
                }
            )

    for trial in result.trials:
        add(trial.method, "deletion", trial.deletion, trial.deletion_area)
    for trial in result.trials:
        add(trial.method, "insertion", trial.insertion, trial.insertion_area)
    for i, (values, mean) in enumerate(zip(result.random, result.random_areas.tolist(), strict=True), 1):
        add(f"random {i}", "deletion", values, mean)
    return table


class Facts(facts.Facts[Referee]):
    """*method* is one of those of *Saliency*, such as "SHAP"."""

    def holds(self, method: str) -> bool:
        """Whether the method's order is better than every random order, deleting and inserting."""
        return self._result.holds(self._trial(method))

    def holding(self) -> float:
        """How many of the methods hold."""
        return sum(self._result.holds(trial) for trial in self._result.trials)

    def deletion(self, method: str) -> float:
        """Mean probability of the answer while the method's words are deleted, most important first, 0 to 1."""
        return self._trial(method).deletion_area

    def insertion(self, method: str) -> float:
        """Mean probability of the answer while they are inserted, 0 to 1."""
        return self._trial(method).insertion_area

    def random_deletion(self) -> float:
        """The same as deletion for random orders, averaged."""
        return float(self._result.random_areas.mean())

    def _trial(self, method: str) -> Trial:
        return self._result.trials[facts.name_index([trial.method for trial in self._result.trials], method, "method")]

"""Saliency: which tokens a prediction depends on, by gradients, by hiding words and, for comparison, by attention."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.attribution import (
    BASELINE,
    METHODS,
    SAMPLES,
    STEPS,
    Attribution,
    Baseline,
    announce_cost,
    ask_within_limit,
    attribute,
)
from bertexplorer.answers.question import TAGGED_INFO, TARGET_INFO, Readout, TargetKind
from bertexplorer.answers.readout import MaskReadout
from bertexplorer.answers.word_merging import Unit, units
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("method", "position", "token"), "share"


@dataclass(frozen=True)
class Options:
    method: Annotated[
        Literal["integrated gradients", "gradient x input", "occlusion", "LIME", "SHAP", "attention", "rollout", "all"],
        Option("Method", info="all: side by side"),
    ] = "integrated gradients"
    target: Annotated[TargetKind, Option("Explain", info=TARGET_INFO)] = "answer"
    word: Annotated[
        str, Option("Answer to explain", info="a single piece, a label or a tag; empty: the first choice")
    ] = ""
    baseline: Annotated[Baseline, Option("Baseline", info="what integrated gradients start from")] = BASELINE
    steps: Annotated[int, Option("Steps", 4, 256, info="of integrated gradients")] = STEPS
    samples: Annotated[int, Option("Samples", 50, 1000, info="texts that LIME and SHAP read")] = SAMPLES
    merge: Annotated[
        bool, Option("Merge pieces", info="a word is hidden as a whole, or gets the sum of its pieces")
    ] = True
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""


@dataclass(frozen=True)
class Saliency:
    """The scores of one or all methods for the units of a text: its tokens, or (merged) its words."""

    target: TargetKind
    answer: str  # the word in the mask, "is next", a label, a word with its tag, or where a span starts or ends
    value: float  # the number to explain: log p(answer) in nats, logit is next - logit is not next, or the score
    probability: float  # of the answer, 0 to 1; NaN for a score
    position: int  # 0-based, of the token that the answer is read from: the mask, [CLS], the word, or the span's end
    units: tuple[Unit, ...]
    attributions: tuple[Attribution, ...]  # a score for each unit, the sum over its tokens
    baseline: Baseline  # of integrated gradients
    precision: str  # of the passes without gradients; those with gradients run in fp32
    other_masks: int  # masks that are not explained
    left_out: int  # tokens beyond the checkpoint's limit
    pooled: bool = False  # whether the answer is read from the mean over all tokens
    merged: bool = True  # whether units are words
    readout: type[Readout] = MaskReadout  # how the answer is read
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Saliency:
    """Scores by the chosen method. Raises ExplorerError without a mask, a fine-tuned head or a pair, without the head
    that answers, for an unknown answer and, in a mask, for an answer of several pieces.

    For a mask or a label the methods explain the log-probability, not the logit: a change that raises all logits alike
    changes no prediction. So every method, and the referee, reads the same number."""
    question = ask_within_limit(checkpoint, text, options.target, options.word, options.tagged_word)
    groups = units(checkpoint, question.encoding, merge=options.merge)
    methods = [method for method in METHODS if options.method in (method, "all")]
    announce_cost(question, methods, groups, options.steps, options.samples)
    attributions = [
        attribute(question, method, groups, baseline=options.baseline, steps=options.steps, samples=options.samples)
        for method in methods
    ]
    value = question.values([question.encoding])
    return Saliency(
        target=question.target,
        answer=question.answer,
        value=float(value[0]),
        probability=float(question.probability(value)[0]),
        position=question.position,
        units=groups,
        attributions=tuple(sum_over_units(attribution, groups) for attribution in attributions),
        baseline=options.baseline,
        precision=checkpoint.precision,
        other_masks=question.other_masks,
        left_out=question.encoding.left_out,
        pooled=question.readout.pooled,
        merged=options.merge,
        readout=type(question.readout),
        caveats=question.caveats,
    )


def sum_over_units(attribution: Attribution, groups: Sequence[Unit]) -> Attribution:
    """The scores of units: the sums over their tokens, among which a unit's score and its error were shared."""

    def sums(values: Float[np.ndarray, " t"]) -> Float[np.ndarray, " u"]:
        return np.array([values[list(unit.positions)].sum() for unit in groups])

    errors = None if attribution.errors is None else sums(attribution.errors)
    return replace(attribution, scores=sums(attribution.scores), errors=errors)


def rows(result: Saliency) -> list[dict[str, object]]:
    """A row for each method and unit."""
    table: list[dict[str, object]] = []
    for attribution in result.attributions:
        share = shares(attribution)
        for i, unit in enumerate(result.units):
            table.append(
                {
                    "method": attribution.method,
                    "position": unit.positions[0],
                    "token": unit.label,
                    "special": unit.special,
                    "score": float(attribution.scores[i]),
                    "share": float(share[i]),
                    "target": result.target,
                    "answer": result.answer,
                    "value": result.value,
                    "completeness_error": attribution.completeness.error if attribution.completeness else "",
                    "standard_error": "" if attribution.errors is None else float(attribution.errors[i]),
                }
            )
    return table


def shares(attribution: Attribution) -> Float[np.ndarray, " n"]:
    """The scores divided by the sum of their absolute values, which makes methods comparable; zeros if that sum is
    0."""
    total = np.abs(attribution.scores).sum()
    return np.asarray(attribution.scores / total if total else attribution.scores)


class Facts(facts.Facts[Saliency]):
    """By the method of the view; where it shows all, by integrated gradients. Special tokens are left out."""

    def answer(self) -> str:
        """What is explained: the answer, "is next", or a tag as "word: tag"."""
        return self._result.answer

    def p(self) -> float:
        """Probability of the answer, 0 to 1."""
        return self._result.probability

    def score(self, word: str, nth: int = 1) -> float:
        """How much a word counts, in the unit of the method."""
        return float(self._scores()[facts.label_index([unit.label for unit in self._result.units], word, nth)])

    def order(self, rank: int = 1) -> str:
        """The word that counts most, for or against the answer, or the one with this rank."""
        scores = self._scores()
        ranked = sorted(range(len(scores)), key=lambda i: -abs(float(scores[i])))
        plain = [i for i in ranked if not self._result.units[i].special]
        return self._result.units[facts.item(plain, rank, "word")].label

    def _scores(self) -> Float[np.ndarray, " u"]:
        return self._result.attributions[0].scores

"""Results made by hand, with tokens that would run as HTML, and real ones of the bundled checkpoint."""

import math
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.candidates import Blank, Candidate
from bertexplorer.answers.word_scores import WordScore
from bertexplorer.model.load import load
from bertexplorer.views.contrast.compute import Contrast, Word
from bertexplorer.views.decoding.compute import METHODS, Decoding, Filling, Step
from bertexplorer.views.fill_mask.compute import FillMask
from bertexplorer.views.left_context.compute import LeftContext
from bertexplorer.views.pseudo_likelihood.compute import PseudoLikelihood
from bertexplorer.views.template.compute import Template
from tests.filling import FILLING

EVIL = "<img src=x onerror=1>"


def blank(
    *shares: float, original: Candidate | None = None, words: tuple[WordScore, ...] = (), position: int = 2
) -> Blank:
    candidates = tuple(Candidate(EVIL if i == 1 else f"word{i}", i, p, i) for i, p in enumerate(shares, 1))
    return Blank(position, candidates, original, 3.0, words)


def fill_mask(blanks: int = 1, left_out: int = 0) -> FillMask:
    words = (WordScore(EVIL, ("a",), math.log(0.02), 17), WordScore("two pieces", ("a", "##b"), math.log(0.01), None))
    first_blank = blank(0.5, 0.25, 0.0004, original=Candidate(EVIL, 99, 0.001, 1234), words=words)
    return FillMask(("[CLS]", EVIL, "[MASK]", "[SEP]"), (first_blank,) * blanks, left_out, 100)


def decoding(masks: int = 2) -> Decoding:
    places = tuple(range(2, 2 + masks))
    steps = tuple(Step(p, EVIL if p == 2 else f"word{p}", p, math.log(0.5)) for p in places)
    claimed = {"independent": -1.0, "left to right": -2.0, "most certain first": -2.5, "beam": -1.5}
    chained = {"independent": -4.0, "left to right": -2.0, "most certain first": -2.6, "beam": -1.5}
    fillings = tuple(
        Filling(m, steps[::-1] if m == "most certain first" else steps, claimed[m], chained[m]) for m in METHODS
    )
    return Decoding(
        ("[CLS]", "a", *["[MASK]"] * masks, "[SEP]"), places, fillings, tuple(f"{m} {EVIL}" for m in METHODS)
    )


def pseudo_likelihood(tokens: int = 3, unscored: int = 0) -> PseudoLikelihood:
    """Probabilities 1/2, 1/4, 1/8, … between [CLS] and [SEP]; only the first is what would have been written."""
    logs = -math.log(2) * np.arange(1, tokens + 1)
    names = ("[CLS]", *[EVIL if i == tokens - 1 else f"t{i}" for i in range(tokens)], "[SEP]")
    ranks = np.array([0, *range(1, tokens + 1), 0])
    total = float(logs.sum())
    scores = np.array([np.nan, *logs, np.nan], dtype=np.float32)
    return PseudoLikelihood(names, scores, ranks, total, math.exp(-total / tokens), tokens, unscored)


def contrast(size: int = 40, equal: bool = False) -> Contrast:
    first = np.full(size, 0.4 / (size - 2))
    first[:2] = 0.5, 0.1
    second = first[[1, 0, *range(2, size)]] if not equal else first
    logs = [np.log(p).astype(np.float32) for p in (first, second)]
    words = () if equal else (Word(EVIL, 0, math.log(0.5), math.log(0.1)), Word("b", 1, math.log(0.1), math.log(0.5)))
    vocabulary = tuple(EVIL if i in (0, 30) else f"w{i}" for i in range(size))
    return Contrast((f"A {EVIL} [MASK]", f"B {EVIL} [MASK]"), *logs, words, 0.25, vocabulary)


def left_context(tokens: int = 5) -> LeftContext:
    names = (EVIL, *(f"t{i}" for i in range(tokens - 1)))
    return LeftContext(
        names,
        blank(0.9, 0.05),
        blank(0.25, 0.2),
        np.ones((tokens, tokens), dtype=bool),
        np.tri(tokens, dtype=bool),
        vocab_size=100,
    )


def template(fillings: int = 2) -> Template:
    shares = np.array([[0.9, 0.1], [0.25, 0.15]] * fillings)[:fillings]
    chosen = tuple((EVIL, f"x{i}") for i in range(fillings))
    texts = tuple(f"{' '.join(c)} [MASK]" for c in chosen)
    return Template(chosen, texts, (EVIL, "she"), shares, (EVIL,) * fillings)


HAND: dict[str, list[Any]] = {
    "fill_mask": [fill_mask(), fill_mask(4), fill_mask(20, left_out=80)],
    "decoding": [decoding(), decoding(1), decoding(20)],
    "pseudo_likelihood": [pseudo_likelihood(), pseudo_likelihood(1), pseudo_likelihood(60), pseudo_likelihood(3, 9)],
    "contrast": [contrast(), contrast(5000), contrast(equal=True)],
    "left_context": [left_context(), left_context(100), left_context(2)],
    "template": [template(), template(1), template(64)],
}
OPTIONS = {"contrast": {"other": f"{EVIL} is the [MASK] of France."}, "template": {"words": "he, img"}}


def name_of(module: ModuleType) -> str:
    return module.__name__.split(".")[-2]  # of its folder


@pytest.fixture(scope="session")
def real(bundled: Path) -> dict[str, Any]:
    """Analysis -> its result on the bundled checkpoint, of a text with HTML in it."""
    mini = load(bundled, name="mini", precision="fp32", device="cpu")
    text = f"{EVIL} Paris is the {{capital|heart}} of [MASK] and the [MASK]."
    return {name_of(m): m.run(mini, text, options=m.Options(**OPTIONS.get(name_of(m), {}))) for m in FILLING}

"""Figure for saliency: bars and cells hold the result's own numbers, the sentence follows from them, tokens are as
typed."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.answers.attribution import METHODS, Attribution, Completeness
from bertexplorer.answers.readout import NextSentenceReadout
from bertexplorer.answers.word_merging import Unit
from bertexplorer.views.saliency import show as figure
from bertexplorer.views.saliency.compute import Saliency
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def saliency(words: int = 3, *methods: str, error: float = 0.01, answer: str = EVIL) -> Saliency:
    """[CLS], *words* words (the first one EVIL) and [SEP]; scores 0, 2, -1, 1, 0.5, 0.33, … , 0."""
    names = ["[CLS]", EVIL, *(f"word{i}" for i in range(1, words)), "[SEP]"][: words + 2]
    units = tuple(Unit(name, (i,), 0, i in (0, words + 1)) for i, name in enumerate(names))
    scores = np.array([0.0, *[2.0, -1.0, *(1 / i for i in range(1, words))][:words], 0.0])
    completeness = Completeness(4.0, error, 32)
    attributions = tuple(
        Attribution(m, scores, completeness if m == "integrated gradients" else None)  # type: ignore[arg-type]
        for m in methods or METHODS[:1]
    )
    return Saliency("mask", answer, -0.5, 0.6, 2, units, attributions, "[MASK]", "fp32", 0, 0)


CASES = [
    *(saliency(words, method) for words in (0, 1, 3, 510) for method in METHODS),
    *(saliency(words, *METHODS) for words in (0, 1, 12, 510)),
    replace(saliency(3, *METHODS), readout=NextSentenceReadout, answer="is next"),
]


@pytest.mark.parametrize("result", CASES)
def test_figures_are_valid_and_escaped(result: Saliency) -> None:
    fig = figure.draw(result)
    check(fig)
    assert len(fig.to_json()) < 100_000
    assert figure.say(result).endswith(".")


def test_long_texts_show_the_strongest() -> None:
    result = saliency(510)
    (panel,) = figure.draw(result).panels
    bars = panel.marks[0].bars
    assert len(bars) == figure.DRAWN and [bar.value for bar in bars[:3]] == [2, -1, 1]
    assert "the 40 strongest of 512" in panel.title
    assert "The 40 strongest of 512 are drawn." in figure.say(result)


def test_each_token_of_a_word_has_the_colour_of_the_word() -> None:
    merged = replace(saliency(1), units=(Unit("[CLS]", (0,), 0, True), Unit("a", (1, 2), 0, False)))
    merged = replace(merged, attributions=(Attribution("LIME", np.array([0.0, -3.0])),))
    assert figure.colours(merged) == {0: 0, 1: -1, 2: -1}


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (0.4, "error of +0.400, 10 % of it: 32 steps are too few."),
        (0.01, "error of +0.010, 0.2 % of it."),
        (0.001, "error of +0.001, less than 0.1 % of it."),
        (0.0001, "within 0.001."),
        (-9.0, "as large as itself: 32 steps"),
    ],
)
def test_the_sentence_says_how_far_the_scores_are_from_their_sum(error: float, words: str) -> None:
    sentence = figure.say(saliency(4, error=error))
    assert words in sentence and "error of 0" not in sentence


def test_the_sentence_on_attention_gives_shares() -> None:
    sentence = figure.say(saliency(3, "rollout"))
    assert "The mask takes most, by rollout, from" in sentence and "no answer in particular" in sentence
    sentence = figure.say(replace(saliency(3, "attention"), readout=NextSentenceReadout, answer="is next", value=1.25))
    assert "(log-odds +1.25)" in sentence and "[CLS] in the last layer looks most at" in sentence


def test_an_estimate_by_shap_has_its_error_in_the_sentence_and_at_each_bar() -> None:
    estimate = Attribution("SHAP", np.arange(5.0), samples=202, errors=np.array([0.0, 0.01, 0.0306, 0.02, 0.0]))
    result = replace(saliency(3), attributions=(estimate,))
    assert "SHAP is estimated from 202 texts: the standard error of a score is 0.031 at most." in figure.say(result)
    assert "± 0.031 (standard error)" in figure.hover(result, estimate, [2])[0]
    unknown = replace(estimate, errors=None)
    assert "202 texts, too few to say how far it is off." in figure.say(replace(result, attributions=(unknown,)))
    exact = replace(unknown, exact=True)
    assert "SHAP is exact: it read every combination, 202 texts." in figure.say(replace(result, attributions=(exact,)))


def test_the_sentence_on_several_methods_compares_them_and_mentions_omissions() -> None:
    low = Attribution("LIME", np.array([0.0, -1.0, -2.0, 0.0, 0.0]))
    result = replace(saliency(3), attributions=(*saliency(3, "integrated gradients", "occlusion").attributions, low))
    sentence = figure.say(result)
    assert f"What speaks for it most is “{EVIL}” for integrated gradients and occlusion; nothing for LIME." in sentence
    coarse = Attribution("LIME", np.zeros(5), group=16, samples=64)
    result = replace(saliency(3), attributions=(*saliency(3).attributions, coarse))
    sentence = figure.say(replace(result, precision="bf16", other_masks=2, left_out=1234))
    assert "LIME hid up to 16 neighbouring words at a time and read 64 texts." in sentence
    assert "LIME hid up to 16 neighbouring tokens at a time" in figure.say(replace(result, merged=False))
    assert (
        "Gradients were taken in fp32." in sentence
        and "the first of 3 masks" in sentence
        and "1,234 tokens beyond" in sentence
    )
    assert "fp32" not in figure.say(saliency(3)) and "fp32" not in figure.say(
        replace(saliency(3, "LIME"), precision="bf16")
    )

"""Figure for referee: curves, band and labels hold the result's own numbers; the sentence names what beats chance."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.analysis.attribution import METHODS
from bertexplorer.analysis.referee import Referee, Trial, area
from bertexplorer.views import referee as figure
from tests.figures.conftest import EVIL
from tests.figures.test_draw import check


def referee(count: int = 4, points: int = 5, whole: float = 0.8) -> Referee:
    """Random orders fall in straight lines to 0. The first method beats them both ways, the second neither way."""
    hidden = np.linspace(0, count, points).astype(np.int64)
    left = 1 - hidden / count
    random = np.array([whole * left**power for power in (0.8, 1.0, 1.25)])
    low, high = whole * left**4, whole * left**0.25

    def trial(method: str, deletion: np.ndarray, insertion: np.ndarray) -> Trial:
        return Trial(method, deletion, insertion, area(hidden, deletion), area(hidden, insertion))  # type: ignore[arg-type]

    trials = (trial(METHODS[0], low, high), *(trial(method, high, low) for method in METHODS[1:]))
    return Referee("mask", EVIL, count, hidden, trials, random, 1, 0)


@pytest.mark.parametrize(
    "result", [referee(), referee(2, 3), referee(510, 11), referee(whole=1e-7), referee(whole=0.0)]
)
def test_figures_are_valid_and_escaped(result: Referee) -> None:
    fig = figure.draw(result)
    check(fig)
    assert "&lt;img src=x …" in fig.layout.annotations[0].text
    assert len(fig.to_json()) < 100_000


def test_curves_show_the_result() -> None:
    result = referee()
    top, bottom, middle, first, *_ = figure.draw(result).data
    assert list(top.y) == list(result.random.max(axis=0)) and list(bottom.y) == list(result.random.min(axis=0))
    assert list(middle.y) == pytest.approx(result.random.mean(axis=0).tolist())
    assert list(first.x) == [0, 0.25, 0.5, 0.75, 1] and list(first.y) == list(result.trials[0].deletion)
    curve = figure.draw(result).data[7 + len(METHODS)]
    assert list(curve.x) == [0, 0.25, 0.5, 0.75, 1] and list(curve.y) == list(result.trials[0].insertion[::-1])
    assert curve.y[0] == 0 and curve.y[-1] == 0.8


def test_labels_do_not_overlap() -> None:
    result = referee()
    names = figure.draw(result).data[3 + len(METHODS)]
    assert len(names.text) == 1 + len(METHODS) and names.text[0].endswith(" % IG") and names.text[-1].endswith("random")
    heights = sorted(names.y)
    scale = figure.PANEL / figure.draw(result).layout.yaxis.range[1]
    assert min(b - a for a, b in zip(heights, heights[1:], strict=False)) * scale > 16


def test_the_sentence_names_the_methods_that_beat_chance() -> None:
    sentence = figure.say(referee())
    assert sentence.startswith(f"“{EVIL}” has 80 % in the whole text and < 0.1 % with all 4 tokens hidden.")
    left = np.array([1, 0.75, 0.5, 0.25, 0])

    def height(power: object) -> str:
        return f"{100 * np.mean([np.trapezoid(0.8 * left**p) / 4 for p in np.atleast_1d(power)]):.0f} %"

    assert f"of integrated gradients is the best: {height(4)} on average while its first tokens are hidden" in sentence
    assert f"{height(0.25)} while they are shown; with a random order, {height((0.8, 1.0, 1.25))}." in sentence
    assert "Better than each of 3 random orders (shaded), both ways: integrated gradients." in sentence
    assert "Not better: gradient x input, occlusion, LIME, SHAP, attention and rollout." in sentence
    assert "points" not in sentence


def test_the_sentence_mentions_limits_and_omissions() -> None:
    result = referee(510, 11)
    sentence = figure.say(replace(result, trials=result.trials[1:], group=16, left_out=1234))
    assert "No method beats all 3 random orders (shaded) both ways." in sentence and "Not so" not in sentence
    assert "have 11 points" in sentence and "up to 16 neighbouring" in sentence and "1,234 tokens" in sentence
    single = replace(result, trials=result.trials[:1])
    assert "Not so" not in figure.say(single)

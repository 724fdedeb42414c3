"""Figure for referee: curves, band and labels hold the result's own numbers; the sentence names what beats chance."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.answers.attribution import METHODS
from bertexplorer.views.referee import show as figure
from bertexplorer.views.referee.compute import Referee, Trial, area
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


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
    assert fig.panels[0].title == f"P({EVIL}) in deletion: lower is better"
    assert len(fig.to_json()) < 100_000


def test_names_have_the_means_of_their_lines_and_are_in_their_order() -> None:
    result = referee()
    deletion, insertion = (panel.marks[0] for panel in figure.draw(result).panels)
    assert (deletion.low, deletion.high) == (insertion.low, insertion.high) == (0, 0.8)
    for lines, best, verb in ((deletion.lines, -1, "hidden"), (insertion.lines, 0, "shown")):
        ends = [line.end for line in lines]
        assert len(ends) == 1 + len(METHODS) and ends[best].endswith(" % IG")
        means = [float(end.split()[0]) for end in ends]
        assert means == sorted(means, reverse=True)
        (random,) = [line for line in lines if line.end.endswith("random")]
        assert random.dash == "dot" and (random.low <= random.values + 1e-12).all()
        assert (random.values <= random.high + 1e-12).all() and random.high[1] > random.low[1] + 0.05
        assert random.hover[1].startswith(f"mean of 3 random orders, 25 % {verb}: ")
        method = lines[best]
        assert method.at == pytest.approx([0, 0.25, 0.5, 0.75, 1])
        assert method.values == pytest.approx(
            result.trials[0].deletion if verb == "hidden" else result.trials[0].insertion[::-1]
        )
    tones = {line.name: line.tone for line in deletion.lines}
    assert tones == {line.name: line.tone for line in insertion.lines} and len(set(tones.values())) == 8


def test_the_sentence_mentions_limits_and_omissions() -> None:
    result = referee(510, 11)
    sentence = figure.say(replace(result, trials=result.trials[1:], group=16, left_out=1234))
    assert "No method beats all 3 random orders (shaded) both ways." in sentence and "Not so" not in sentence
    assert "have 11 points" in sentence and "up to 16 neighbouring" in sentence and "1,234 tokens" in sentence
    single = replace(result, trials=result.trials[:1])
    assert "Not so" not in figure.say(single)

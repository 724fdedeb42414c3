"""Figures for masking, sentence pairs and pretraining runs: hand-made results, with tokens that would run as HTML."""

from typing import Any

import numpy as np
import pytest

from bertexplorer.engine import masking as kinds
from bertexplorer.runs import pretraining
from bertexplorer.runs.pretraining import PretrainingCurve
from bertexplorer.views.masking import show as masking
from bertexplorer.views.masking.compute import NOT_CHOSEN, Masked, Options
from bertexplorer.views.sentence_pairs import show as sentence_pairs
from bertexplorer.views.sentence_pairs.compute import NEXT, OTHER, SAME, Pair, SentencePairs
from tests.views.show.test_draw import check, strings

EVIL = "<img src=x onerror=1>"


def masked(tokens: int = 4, rolls: int = 3) -> Masked:
    """Of *tokens* between [CLS] and [SEP], the first masked in every roll, the second random, the third left."""
    names = ("[CLS]", EVIL, *(f"t{i}" for i in range(1, tokens)), "[SEP]")
    table = np.full((rolls, tokens + 2), NOT_CHOSEN)
    table[:, 1:4] = [kinds.MASKED, kinds.RANDOM, kinds.SAME]
    pieces = (("[CLS]", "[MASK]", EVIL, *names[3:]),) * rolls
    counts = np.zeros((tokens + 2, 3), dtype=int)
    counts[1, kinds.MASKED], counts[2, kinds.RANDOM], counts[3, kinds.SAME] = 300, 100, 100
    return Masked(names, table, pieces, counts, tokens, Options())


def pairs(head: bool = True) -> SentencePairs:
    examples = (Pair(EVIL, "b", NEXT), Pair("a", EVIL, OTHER), Pair("long " * 30, "c", SAME))
    return SentencePairs(examples, np.array([0.9, 0.4, 0.8]) if head else np.full(3, np.nan))


def curves(count: int = 2, steps: int = 2) -> list[PretrainingCurve]:
    def event(step: int, value: float) -> dict[str, Any]:
        return {"event": "evaluated", "step": step, "hours": step / 600, "probe": value, "pairs_accuracy": value / 2}

    return [
        PretrainingCurve(EVIL if i else "b", [event(s, 0.2 + 0.1 * s + 0.05 * i) for s in range(steps)])
        for i in range(count)
    ]


DRAWN = {
    "masking": masking.draw(masked()),
    "masking, long": masking.draw(masked(200)),
    "masking, one roll": masking.draw(masked(3, 1)),
    "pairs": sentence_pairs.draw(pairs()),
    "pairs, no head": sentence_pairs.draw(pairs(False)),
    "runs": pretraining.draw(curves(), "probe", "minutes"),
    "six runs": pretraining.draw(curves(6), "pairs_accuracy", "step"),
    "nothing yet": pretraining.draw(curves(2, 0), "probe", "minutes"),
}


@pytest.mark.parametrize("name", DRAWN)
def test_texts_are_shown_as_typed(name: str) -> None:
    check(DRAWN[name])
    assert any("<img" in text for text in strings(DRAWN[name].parts()))


def test_the_sentence_on_pairs_says_that_there_is_no_head() -> None:
    assert "no next-sentence head" in sentence_pairs.say(pairs(False)) and "no next" not in sentence_pairs.say(pairs())


def test_curves_have_the_requested_unit() -> None:
    (curve,) = curves(1)
    assert curve.points("probe", "minutes") == [(0.0, 0.2), (pytest.approx(0.1), pytest.approx(0.3))]
    assert [x for x, _ in curve.points("probe", "step")] == [0, 1]
    fig = pretraining.draw([curve], "probe", "step")
    probe, hidden = (panel.marks[0] for panel in fig.panels)
    assert probe.high == hidden.high == 1 and probe.unit == hidden.unit == "share"
    assert probe.lines[0].at == [0, 1] and probe.lines[0].hover == ["b, step 0.0: 20 %", "b, step 1.0: 30 %"]
    assert hidden.lines[0].values == pytest.approx([0.1, 0.15]) and fig.panels[1].x == "step"
    assert pretraining.say([curve], "probe", "step") == "Accuracy of the frozen probe. b: 20 % at first, now 30 %."
    assert pretraining.say(curves(2, 0), "probe", "step") == ""

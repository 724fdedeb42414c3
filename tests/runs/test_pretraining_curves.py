"""Figures for masking, sentence pairs and pretraining runs: hand-made results, with tokens that would run as HTML."""

import html
import json
import re
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure

from bertexplorer.engine import masking as kinds
from bertexplorer.runs import pretraining
from bertexplorer.runs.pretraining import Curve
from bertexplorer.views.masking import show as masking
from bertexplorer.views.masking.compute import NOT_CHOSEN, Masked, Options
from bertexplorer.views.sentence_pairs import show as sentence_pairs
from bertexplorer.views.sentence_pairs.compute import NEXT, OTHER, SAME, Pair, SentencePairs

EVIL = "<img src=x onerror=1>"
OURS = re.compile(r'<br>|</?b>|<span style="color:#?\w+">|</span>|<extra></extra>|< 0\.1 %|> 99\.9 %')


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


def curves(count: int = 2, steps: int = 2) -> list[Curve]:
    def event(step: int, value: float) -> dict[str, Any]:
        return {"event": "evaluated", "step": step, "hours": step / 600, "probe": value, "pairs_accuracy": value / 2}

    return [Curve(EVIL if i else "b", [event(s, 0.2 + 0.1 * s + 0.05 * i) for s in range(steps)]) for i in range(count)]


def strings(value: Any) -> list[str]:
    """All text in a figure's JSON."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


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
    fig: Figure = DRAWN[name]
    texts = strings(json.loads(fig.to_json(), parse_constant=lambda odd: pytest.fail(f"{odd} is no JSON")))
    for text in texts:
        bare = OURS.sub("", text)
        assert "<" not in bare and ">" not in bare, text
    assert any("<img" in html.unescape(text) for text in texts)
    assert 300 <= fig.layout.height <= 9000


def test_the_sentence_on_pairs_says_that_there_is_no_head() -> None:
    assert "no next-sentence head" in sentence_pairs.say(pairs(False)) and "no next" not in sentence_pairs.say(pairs())


def test_curves_have_the_requested_unit() -> None:
    (curve,) = curves(1)
    assert curve.points("probe", "minutes") == [(0.0, 0.2), (pytest.approx(0.1), pytest.approx(0.3))]
    assert [x for x, _ in curve.points("probe", "step")] == [0, 1]
    layout = pretraining.draw([curve], "probe", "step").layout
    assert tuple(layout.yaxis.range) == tuple(layout.yaxis2.range) == (0, 1)
    assert pretraining.say([curve], "probe", "step") == "Accuracy of the frozen probe. b: 20 % at first, now 30 %."
    assert pretraining.say(curves(2, 0), "probe", "step") == ""

"""Figure for attention flow: every number at its position, long texts cut to a readable length, and the sentence."""

from typing import Any

import numpy as np
import pytest

from bertexplorer.views.attention_flow import show as figure
from bertexplorer.views.attention_flow.compute import AttentionFlow
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def result(method: str = "rollout", tokens: int = 4, layers: int = 3, **more: Any) -> AttentionFlow:
    """After the last layer 50 % come from EVIL, 25 % from t2; the layer alone attends most to the last token (70 %)."""
    names = (*("[CLS]", EVIL, *(f"t{i}" for i in range(2, tokens)))[:tokens],)
    shares, raw = np.full((layers, tokens), 0.01), np.full((layers, tokens), 0.02)
    for position, share in ((1, 0.5), (2, 0.25)):
        shares[-1, min(position, tokens - 1)] = share
    raw[-1, -1] = 0.7
    fields = {"about": (0,), "picked": False, "layer": layers - 1, "left_out": 0, "positions": (*range(tokens),)} | more
    return AttentionFlow(method, names, shares=raw if method == "raw" else shares, raw=raw, **fields)


@pytest.mark.parametrize("method", ["rollout", "flow", "raw"])
@pytest.mark.parametrize(("tokens", "layers"), [(1, 1), (4, 3), (60, 24), (512, 12)])
def test_figures_are_valid_and_escaped(method: str, tokens: int, layers: int) -> None:
    fig = figure.draw(result(method, tokens, layers))
    check(fig)
    assert len(fig.to_json()) < 500_000


def test_a_long_text_keeps_the_strongest_tokens_and_the_explained_one() -> None:
    long = result(tokens=512, about=(300,))
    positions = figure.drawn_positions(long)
    assert len(positions) == figure.DRAWN and positions == sorted(positions) and {1, 2, 300} <= set(positions)
    assert np.asarray(figure.draw(long).panels[0].marks[0].values).shape == (60, 3)
    assert "The 60 strongest of 512 tokens are drawn." in figure.say(long)


def test_the_sentence_says_where_flow_no_longer_distinguishes_tokens() -> None:
    full = result("flow")
    assert "the maximal flow to" in figure.say(full) and "is 50 % from" in figure.say(full)
    assert "in full" not in figure.say(full)
    full.shares[-1] = 0.9999
    assert "at most >" not in figure.say(full) and "is > 99.9 % from" in figure.say(full)
    full.shares[-1] = 1.0
    assert figure.say(full).endswith("4 of 4 tokens could pass in full.")


def test_without_special_tokens_the_strip_is_coloured_at_the_positions_of_the_others() -> None:
    without = result(special="left out", positions=(1, 2, 3, 4))
    assert figure.colours(without)[2] == 1 and 0 not in figure.colours(without)
    assert "[CLS] and [SEP] are left out." in figure.say(without)
    assert figure.draw(without).buttons[0].door["set"] == {"special": "shown"}
    assert figure.draw(result()).buttons[0].door["set"] == {"special": "left out"}


def test_raw_attention_has_no_second_number() -> None:
    assert "gives 70 % to “t3” and 2.0 % to" in figure.say(result("raw"))
    for method, ticks in (("raw", 0), ("rollout", 1)):
        bars = figure.draw(result(method)).panels[1].marks[0].bars
        assert [len(bar.ticks) for bar in bars] == [ticks] * 4
    assert figure.say(result(left_out=9)).endswith("9 tokens beyond the checkpoint's limit were not read.")

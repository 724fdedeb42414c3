"""Figure for query and key: products, scores and weights of the same token on the same row; tokens are shown as
typed."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.heads import Head
from bertexplorer.answers.strongest_heads import HeadLink
from bertexplorer.views.query_key import compute as query_key, show as figure
from bertexplorer.views.query_key.compute import QueryKey
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def result(tokens: int = 4, size: int = 4, window: int = 99, **more: object) -> QueryKey:
    """EVIL is the query; the scores rise with the position."""
    query = np.linspace(-1, 1, size)
    keys = np.outer(np.arange(tokens), query)
    visible = np.abs(np.arange(tokens) - 1) <= window
    scores = np.where(visible, (keys @ query) / size**0.5, -np.inf)
    weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    names = tuple(EVIL if i == 1 else f"t{i}" for i in range(tokens))
    scale, distance = more.pop("scale", size**0.5), more.pop("distance", None)
    fields = {"picked": True, "others": 0, "left_out": 0, **more}
    return QueryKey(Head(4, 2), names, 1, query, keys, scale, distance, visible, weights, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "one", [result(), result(1), result(2, 1), result(600, 64), result(30, 8, 3), result(3, picked=False)]
)
def test_figures_are_valid_and_escaped(one: QueryKey) -> None:
    fig = figure.draw(one)
    check(fig)
    assert len(fig.panels[1].marks[0].values) <= figure.DRAWN


def test_tokens_outside_the_window_are_empty() -> None:
    _, cells, weights = (panel.marks[0] for panel in figure.draw(result(6, 4, 1)).panels)
    assert np.isnan(cells.values[:, 0]).tolist() == [False] * 3 + [True] * 3
    assert [bar.text for bar in weights.bars[3:]] == ["–"] * 3, "no score and no weight"
    assert "outside the window" in weights.bars[5].hover


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"picked": False}, "Press a token to see its query."),
        ({"others": 1}, "1 more picked token is not shown."),
        ({"others": 2}, "2 more picked tokens are not shown."),
        ({"left_out": 1200}, "1,200 tokens beyond the checkpoint's limit were not read."),
        ({"tokens": 1000}, "Of 1,000 tokens, the 40 with the largest weights are drawn."),
        ({"tokens": 8, "window": 2}, "4 tokens are outside the window of this layer."),
    ],
)
def test_the_sentence_says_what_is_not_shown(more: dict[str, Any], words: str) -> None:
    assert words in figure.say(result(**more)) and words not in figure.say(result())


def test_a_distance_adds_to_the_score() -> None:
    with_distance = result(scale=12**0.5, distance=np.array([0.5, 0.0, -0.25, 1.0]))
    assert np.allclose(with_distance.scores, with_distance.products.sum(axis=1) / 12**0.5 + with_distance.distance)
    bars = figure.draw(with_distance).panels[2].marks[0].bars
    assert bars[3].hover.startswith("t3: 6.67 ÷ 3.46 + 1.00 for the distance = 2.92")
    assert "divided by √(3 · 4) + 1.00 for the distance is a score of 2.9" in figure.say(with_distance)
    assert [row["distance"] for row in query_key.rows(with_distance)][::4] == [0.5, 0.0, -0.25, 1.0]


def test_a_button_leads_to_the_head_that_shows_most() -> None:
    link = HeadLink(Head(3, 1), 1, 2, 0.72, positional=False)
    shown = replace(result(), link=link)
    assert figure.draw(shown).buttons[0].door["set"] == {"layer": 4, "head": 2}
    assert "Its strongest look at another word is in head 4·2: 72 % to “" in figure.say(shown)
    there = replace(shown, link=replace(link, head=shown.head))
    assert not figure.draw(there).buttons and "strongest look" not in figure.say(there)

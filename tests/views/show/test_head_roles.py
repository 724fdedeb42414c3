"""Figure for head roles: a cell for each head, a map, and a sentence with the strongest or the most similar heads."""

from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.heads import Head
from bertexplorer.model.text import Span
from bertexplorer.views.head_roles import show as figure
from bertexplorer.views.head_roles.compute import AMONG, MEASURES, Found, HeadRoles, Measured, main_roles
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def result(show: str = "roles", pattern: str = "main role", layers: int = 2, heads: int = 3, **more: Any) -> HeadRoles:
    """Head 1·1 attends to the previous token (80 %, also among words), the last one to [SEP] (90 %); the others have no
    clear pattern. A gallery has one of each kind."""
    measures = {name: np.full((layers, heads), 0.1) for name in MEASURES}
    measures["previous"][0, 0], measures["[SEP]"][-1, -1] = 0.8, 0.9
    measures["distance"][-1, -1] = 7.25
    divergences = np.full((layers * heads,) * 2, 0.5)
    np.fill_diagonal(divergences, 0)
    divergences[1:3, 1:3] -= 0.4 * (1 - np.eye(2))[: len(divergences) - 1, : len(divergences) - 1]
    points = np.random.default_rng(0).normal(size=(layers, heads, 2))
    map_fields = (
        {"points": points, "preserved": 0.36, "divergences": divergences, "compared": 99} if show == "map" else {}
    )
    among = Measured(
        1 - measures["[SEP]"],
        {name: np.full((layers, heads), 0.1) for name in AMONG} | {"previous": measures["previous"]},
        dict.fromkeys(AMONG, 0.1),
    )
    if show == "gallery":
        picked, words = (Span(0, 4, 7),), (EVIL, "cat")
        found = Found("verb → object", Head(layers - 1, heads - 1), 0.9, 0.4, "The cat sat.", picked, words, -2)
        more = {"gallery": (Found("previous", Head(0, 0), 0.8, 0.1, "A cat."), found), **more}
    nothing = ((None,) * heads,) * layers
    roles = main_roles(measures, among, nothing)
    fields = {"points": None, "preserved": 0.0, "divergences": None, "compared": 0, "left_out": 0, **map_fields, **more}
    return HeadRoles(show, pattern, fields.pop("on", "sample"), 20, 249, measures, among, roles, nothing, **fields)


@pytest.mark.parametrize("show", ["roles", "gallery", "map"])
@pytest.mark.parametrize("pattern", ["main role", *MEASURES])
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 3), (12, 12), (24, 16)])
def test_figures_are_valid(show: str, pattern: str, layers: int, heads: int) -> None:
    fig = figure.draw(result(show, pattern, layers, heads))
    check(fig)
    assert len(fig.to_json()) < 500_000
    assert figure.say(result(show, pattern, layers, heads)).endswith(".")


def test_the_sentence_on_a_number_that_is_no_share_gives_both_ends() -> None:
    sentence = figure.say(result(pattern="distance", on="this text", left_out=3))
    assert "on this text" in sentence and "lowest in head 1·1 (0.1), highest in 2·3 (7.2), median 0.1" in sentence
    assert sentence.endswith("3 tokens beyond the checkpoint's limit were not read.")
    assert figure.draw(result(pattern="distance")).panels[0].marks[0].text[1][2] == "7.2"


def test_the_sentence_counts_the_heads_of_each_role() -> None:
    assert figure.say(result()) == (
        "Of 6 heads, measured on 20 plain sentences (249 tokens) with [CLS] and [SEP] left out, 1 looks at the "
        "previous token, 1 rests on [SEP] and 4 do none of this. Words give 77 % of their attention to words."
    )

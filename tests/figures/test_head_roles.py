"""Figure for head roles: a cell for each head, a map, and a sentence with the strongest or the most similar heads."""

from typing import Any

import numpy as np
import pytest

from bertexplorer.analysis.head_roles import AMONG, MEASURES, Found, HeadRoles, Measured, main_roles
from bertexplorer.analysis.heads import Head
from bertexplorer.model.text import Span
from bertexplorer.views import head_roles as figure
from tests.figures.conftest import EVIL
from tests.figures.test_draw import check

CLICK = {"view": "attention", "set": {"show": "head", "layer": 2, "head": 3, "heads": ""}}


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
        found = Found("verb → object", Head(1, 2), 0.9, 0.4, "The cat sat.", picked, words, -2)
        more = {"gallery": (Found("previous", Head(0, 0), 0.8, 0.1, "A cat."), found), **more}
    fields = {"points": None, "preserved": 0.0, "divergences": None, "compared": 0, "left_out": 0, **map_fields, **more}
    return HeadRoles(
        show, pattern, fields.pop("on", "sample"), 20, 249, measures, among, main_roles(measures, among), **fields
    )


@pytest.mark.parametrize("show", ["roles", "gallery", "map"])
@pytest.mark.parametrize("pattern", ["main role", *MEASURES])
@pytest.mark.parametrize(("layers", "heads"), [(1, 1), (2, 3), (12, 12), (24, 16)])
def test_figures_are_valid(show: str, pattern: str, layers: int, heads: int) -> None:
    fig = figure.draw(result(show, pattern, layers, heads))
    check(fig)
    assert len(fig.to_json()) < 500_000
    assert figure.say(result(show, pattern, layers, heads)).endswith(".")


def test_cells_show_the_main_roles() -> None:
    fig = figure.draw(result())
    heat = fig.data[0]
    assert [list(line) for line in heat.text] == [["←", "·", "·"], ["·", "·", "S"]]
    assert heat.customdata[1][2] == CLICK and "head 2·3: <br>" in heat.hovertext[1][2]
    assert "[SEP] 90 %" in heat.hovertext[1][2] and "distance 7.2 tokens, entropy 0.1 bits" in heat.hovertext[1][2]
    kinds = list(figure.COLOURS)
    broad = kinds.index("broad")
    assert np.asarray(heat.z).tolist() == [[0, broad, broad], [broad, broad, kinds.index("[SEP]")]]
    middle = (kinds.index("[SEP]") + 0.5) / len(kinds)
    below = [colour for position, colour in heat.colorscale if position < middle]
    assert below[-1] == figure.COLOURS["[SEP]"] and set(figure.SIGNS) == set(kinds)
    texts = [note.text for note in fig.layout.annotations]
    assert texts == ["←  the previous token (1)", "S  rests on [SEP] (1)", "·  none of these (4)"]


def test_cells_show_the_chosen_pattern() -> None:
    fig = figure.draw(result(pattern="previous"))
    assert [list(line) for line in fig.data[0].text] == [["80", "10", "10"], ["10", "10", "10"]]
    assert fig.layout.annotations[0].text == "per cent of attention to the previous token"
    assert figure.draw(result(pattern="distance")).data[0].text[1][2] == "7.2"


def test_the_map_shows_every_head() -> None:
    head_map = result("map")
    dots = figure.draw(head_map).data[0]
    assert head_map.points is not None
    np.testing.assert_array_equal(np.stack([dots.x, dots.y], axis=1), head_map.points.reshape(6, 2))
    assert dots.customdata[5] == CLICK and dots.text[5] == "S" and dots.marker.color[0] == figure.COLOURS["previous"]


def test_the_sentence_names_the_strongest_heads() -> None:
    source = "measured on 20 plain sentences (249 tokens)"
    assert figure.say(result()) == (
        f"Of 6 heads, {source} with [CLS] and [SEP] left out, 1 looks at the previous token, 1 rests on [SEP] and 4 do "
        "none of this. Words give 77 % of their attention to words."
    )
    assert figure.say(result(pattern="[SEP]")) == (
        f"The strongest head for [SEP] is 2·3 (90 %), {source}; the median over all 6 heads is 10 %."
    )
    sentence = figure.say(result(pattern="distance", on="this text", left_out=3))
    assert "on this text" in sentence and "lowest in head 1·1 (0.1), highest in 2·3 (7.2), median 0.1" in sentence
    assert sentence.endswith("3 tokens beyond the checkpoint's limit were not read.")


def test_the_sentence_on_the_map_names_the_most_similar_heads() -> None:
    sentence = figure.say(result("map"))
    assert "The two heads most alike on 20 plain sentences (249 tokens) are 1·2 and 1·3" in sentence
    assert "is 0.10 bits, the median over all pairs 0.50. The map holds 36 % " in sentence and "99 rows" in sentence


def test_the_gallery_leads_to_each_head_at_work() -> None:
    gallery = result("gallery")
    bars, lines = figure.draw(gallery).data
    assert list(bars.x) == [0.8, 0.9] and list(bars.text) == ["1·1  80 %", "2·3  90 %"] and list(lines.x) == [0.1, 0.4]
    door = bars.customdata[1]
    assert door["view"] == "attention" and (door["text"], door["picked"]) == ("The cat sat.", "0:4-7")
    assert door["set"] == {"show": "arcs", "layer": 2, "head": 3, "special": "discounted"}
    assert bars.customdata[0]["picked"] == "" and "always looking −2 words away 40 %" in bars.hovertext[1]
    assert EVIL not in bars.hovertext[1]
    assert figure.say(gallery) == (
        "The best head for each pattern, [CLS] and [SEP] left out. For verb → object it is 2·3: it looks at the right "
        "word in 90 % of the pairs of forty annotated sentences, the best fixed distance in 40 %. For 1 of 1 relations "
        "a head beats the distance by 10 points."
    )

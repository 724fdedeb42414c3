"""Figure for attention: the tiles, the map and the lines hold the result's own numbers; tokens are shown as typed."""

import base64
import html
import io
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from bertexplorer.answers.heads import Head
from bertexplorer.answers.word_merging import Unit
from bertexplorer.charts import tiles
from bertexplorer.charts.adaptors import cells as cells_of_plotly, chart
from bertexplorer.views.attention import show as figure
from bertexplorer.views.attention.compute import Attention
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check, parsed

DEFAULTS: dict[str, Any] = {"combine": "mean", "picked": True, "norms": False, "special": "shown"}


def attention(show: str = "head", tokens: int = 5, layers: int = 2, heads: int = 3, **more: Any) -> Attention:
    """[CLS], EVIL, t2, …, [SEP]; about EVIL, which gives 60 % to t2 in head 2·3 and 5 % elsewhere, most to [CLS]."""
    last = tokens - 1
    names = ["[CLS]", EVIL, *(f"t{i}" for i in range(2, last)), "[SEP]"][:tokens]
    units = tuple(Unit(name, (i,), 0, i in (0, last)) for i, name in enumerate(names))
    about = min(1, last)
    every = np.full((layers, heads, tokens, tokens), 0.02, dtype=np.float32)
    every[:, :, about, 0] = 0.9
    every[:, :, about, min(2, last)] = 0.05
    every[-1, -1, about, [0, min(2, last)]] = 0.3, 0.6
    chosen = more.pop("chosen", (Head(layers - 1, heads - 1),))
    matrix = np.mean([every[i, j] for i, j in chosen], axis=0)
    fields = {"chosen": chosen, "matrix": matrix, "about": (about,), **DEFAULTS, **more}
    return Attention(show, units, units, every, **fields)


@pytest.mark.parametrize("show", ["grid", "head", "arcs"])
@pytest.mark.parametrize("tokens", [1, 2, 5, 70, 512])
def test_figures_are_valid_escaped_and_small(show: str, tokens: int) -> None:
    fig = figure.draw(attention(show, tokens))
    check(fig)
    assert len(fig.to_json()) < 3_000_000
    assert tokens < 3 or "&lt;img" in json.dumps(parsed(fig)) or (show == "arcs" and tokens > 200)


def image(picture: str) -> np.ndarray:
    """The picture of the grid as shades: 0 transparent, 1 the palest."""
    content = base64.b64decode(picture.partition(",")[2])
    return np.asarray(Image.open(io.BytesIO(content)))


def test_each_tile_shows_its_head() -> None:
    result = attention("grid", 5)
    drawn = figure.draw(result)
    (mark,) = drawn.panels[0].marks
    shades = image(mark.picture)
    high, wide = shades.shape[0] // 2, shades.shape[1] // 3
    scale = tiles.SIDE // 5
    for (i, j), head in zip(np.ndindex(2, 3), result.every.reshape(6, 5, 5), strict=True):
        tile = shades[i * high : (i + 1) * high, j * wide : (j + 1) * wide]
        cells = tile[scale // 2 : 5 * scale : scale, scale // 2 : 5 * scale : scale]
        np.testing.assert_array_equal(cells, 1 + np.rint(31 * np.sqrt(head)))
        assert tile[-1].max() == tile[:, -1].max() == 0
    assert mark.doors[-1][-1] == {"set": {"show": "head", "layer": 2, "head": 3, "heads": ""}}
    assert (mark.rows, mark.columns) == (["1", "2"], ["1", "2", "3"])
    assert mark.hover[-1][-1] == f"head 2·3: {EVIL} gives 60 % to t2"
    fig = chart(drawn)
    markers = fig.data[0]
    assert fig.layout.images[0].source == mark.picture
    assert html.unescape(markers.hovertext[-1]) == mark.hover[-1][-1]


def test_the_palette_runs_from_light_to_dark_blue() -> None:
    shades = Image.open(io.BytesIO(base64.b64decode(tiles.png(np.arange(33, dtype=np.uint8)[None]).partition(",")[2])))
    colours = np.asarray(shades.convert("RGBA"))[0]
    assert colours[0, 3] == 0 and (colours[1:, 3] == 255).all()
    assert (np.diff(colours[1:, :3].astype(int).sum(axis=1)) < 0).all()


def test_a_large_grid_stays_small_and_keeps_the_largest_weights() -> None:
    noise = np.random.default_rng(0).random((12, 12, 128, 128), dtype=np.float32)
    picture, step = tiles.tiles(noise)
    assert step == 1 and len(picture) < 3_000_000
    picture, step = tiles.tiles(np.tile(noise, (1, 1, 2, 2)))
    assert step == 2 and len(picture) < 3_000_000
    values = np.arange(25.0).reshape(1, 1, 5, 5)
    assert tiles.pool(tiles.pool(values, 2, 2), 2, 3).tolist() == [[[[6, 8, 9], [16, 18, 19], [21, 23, 24]]]]


def test_repeated_tokens_have_rows_of_their_own() -> None:
    (few,), (many,) = (figure.draw(attention(tokens=tokens)).panels[0].marks for tokens in (5, 30))
    assert few.text[1] == ["30", "2", "60", "2", "2"], "numbers in the cells"
    assert not many.text
    result = attention()
    twice = replace(result, rows=(*result.rows[:4], result.rows[3]), columns=(*result.columns[:4], result.columns[3]))
    (cells,) = figure.draw(twice).panels[0].marks
    assert list(cells.rows) == list(cells.columns) == ["[CLS]", EVIL, "t2", "t3", "t3"]
    drawn = chart(figure.draw(twice))
    assert drawn.data[0].y is None, "rows have numbers, not names"
    assert list(drawn.layout.yaxis.tickvals) == [0, 1, 2, 3, 4]
    assert cells_of_plotly.distinct(["the", "the", "x", "the"]) == ["the", "the\u200b", "x", "the\u200b\u200b"]


def test_without_a_pick_lines_start_at_every_token() -> None:
    drawn = figure.draw(attention("arcs", picked=False))
    (arcs,) = drawn.panels[0].marks
    assert len(arcs.links) == 25 and not arcs.notes and not arcs.strong
    fig = chart(drawn)
    assert sum(len(trace.y) // 3 for trace in fig.data if trace.mode == "lines") == 25
    assert "%" not in "".join(fig.data[-1].text)
    long = attention("arcs", 200, picked=False)
    assert "96 tokens around it are drawn. The 400 strongest lines" in figure.say(long)


@pytest.mark.parametrize(
    ("chosen", "start"),
    [
        (tuple(Head(i, j) for i in range(2) for j in range(3)), "Over all 6 heads, averaged, “"),
        (tuple(Head(1, j) for j in range(3)), "In layer 2, its 3 heads averaged, “"),
        ((Head(0, 1), Head(1, 2)), "Over the heads 1·2, 2·3, averaged, “"),
    ],
)
def test_the_sentence_on_several_heads_describes_their_combination(chosen: tuple[Head, ...], start: str) -> None:
    sentence = figure.say(attention(chosen=chosen))
    assert sentence.startswith(start) and ("a random head" in sentence) is (len(chosen) < 6)
    assert "the largest of them" in figure.say(attention(chosen=chosen, combine="max"))


def test_the_sentence_mentions_norms_and_omissions() -> None:
    result = attention(norms=True, special="discounted", notes=("One thing.",))
    assert "takes in a vector of length 0.60 from “t2”; a random head gives 0.05" in figure.say(result)
    assert figure.say(result).endswith("Shares are of what is left without [CLS], [SEP]. One thing.")
    assert "[CLS] and [SEP] are left out." in figure.say(attention(special="hidden"))
    (arcs,) = figure.draw(replace(result, show="arcs")).panels[0].marks
    assert (arcs.right[2], arcs.notes[2], arcs.strong) == ("t2", "0.60", [1])
    assert chart(figure.draw(replace(result, show="arcs"))).data[-1].text[2] == "t2 0.60"
    sentence = figure.say(attention("grid"))
    assert f"In head 2·3 “{EVIL}” gives 60 % of its attention to “t2”, more than in any other head" in sentence
    sentence = figure.say(replace(attention("grid", 512, 12, 12), left_out=7))
    assert "4 neighbouring tokens share a pixel" in sentence and sentence.endswith("not read.")


def test_the_strip_is_coloured_by_the_weights() -> None:
    result = attention()
    two = replace(result, columns=(*result.columns[:2], Unit("t2", (2, 7), 0, False), *result.columns[3:]))
    assert figure.colours(two) == pytest.approx({0: 0.5, 1: 1 / 30, 2: 1, 7: 1, 3: 1 / 30, 4: 1 / 30})
    assert figure.colours(replace(result, matrix=np.zeros((5, 5)))) == dict.fromkeys(range(5), 0.0)

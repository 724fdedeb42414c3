"""Figure for the four views of vectors: the result's own numbers, names that do not overlap, tokens shown as typed."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertexplorer.answers.vectors import cosines
from bertexplorer.answers.word_occurrences import Occurrence
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import Figure
from bertexplorer.charts.style import excerpt
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views.embedding_map import compute as maps, show as embedding_map
from bertexplorer.views.embedding_map.compute import EmbeddingMap, Neighbour, Point
from bertexplorer.views.search import show as search
from bertexplorer.views.search.compute import Hit, Search
from bertexplorer.views.word_in_context import compute as analysed, show as word_in_context
from bertexplorer.views.word_in_context.compute import WordInContext
from bertexplorer.views.word_path import show as word_path
from bertexplorer.views.word_path.compute import WordPath
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import parsed, strings

SEED = np.random.default_rng(0)


def occurrence(number: int, label: str = "", source: str = "own", hidden: bool = False) -> Occurrence:
    sentence = f"{EVIL} bank {number}"
    start = len(EVIL) + 1
    return Occurrence("bank", sentence, start, start + 4, label, source, hidden, 0, (3,))


def context(count: int = 4, layers: int = 6, labels: str = "xxyy", **more: Any) -> WordInContext:
    occurrences = tuple(occurrence(i, labels[i] if i < len(labels) else "") for i in range(count))
    vectors = SEED.normal(size=(layers + 1, count, 8)) + 1
    fields = {"layer": layers, "subtract": True, "lacking": 0, "left_out": 0, "beyond": 0, **more}
    static = np.ones((count, count))
    return WordInContext(("bank",), occurrences, cosines(vectors), np.full(layers + 1, 0.25), static, **fields)


def path(count: int = 2, layers: int = 6, tokens: int = 9, **more: Any) -> WordPath:
    cosine = np.linspace(1, 0.4, layers + 1)
    fields = {"plane": "all words", "layer": layers, "left_out": 0, "beyond": 0, **more}
    return WordPath(
        ("bank",),
        tuple(occurrence(i) for i in range(count)),
        SEED.normal(size=(count, layers + 1, 2)),
        tuple(EVIL if i == 2 else f"t{i}" for i in range(tokens)),
        SEED.normal(size=(layers + 1, tokens, 2)),
        (0.2, 0.1),
        np.stack([cosine] * count),
        np.linspace(0.9, 0.3, layers + 1) if count > 1 else None,
        **fields,
    )


def a_map(count: int = 9, axes: int = 2, chosen: int | None = 1, unit: str = "tokens", **more: Any) -> EmbeddingMap:
    tokens = unit == "tokens"
    points = tuple(
        Point(EVIL if i == 1 else f"w{i % 4}", f"label {i % 3}", 0, i, f"0:{i}-{i + 1}" if tokens else "")
        for i in range(count)
    )
    options = maps.Options(unit, dimensions="3-D" if axes == 3 else "2-D", **more)
    neighbours = tuple(Neighbour(i, 0.9 - i / 10) for i in (2, 3) if i < count) if chosen is not None else ()
    nearness = None if chosen is None else np.linspace(-1, 1, count)
    places = SEED.normal(size=(count, axes))
    return EmbeddingMap(
        points,
        places,
        (0.3, 0.2),
        chosen,
        neighbours,
        nearness,
        0.81,
        0.5,
        0.25,
        options,
        6,
        "9 tokens of the text",
        "A note.",
    )


def hits(count: int = 3, text: str = f"A line {EVIL} " + "long " * 40, **more: Any) -> Search:
    result = tuple(Hit(i + 1, 7 + i, text, "law", 0.9 - i / 100) for i in range(count))
    fields = {"built_in": True, "indexed": "", "notes": "", **more}
    return Search("q", result, 60, chance=0.4, layer=6, pooling="mean", **fields)


def check(fig: Any) -> None:
    """No markup but line breaks and the colours of a line."""
    content = parsed(fig)
    assert 300 <= content["layout"]["height"] <= 9000 and content["data"]
    for text in strings(content):
        bare = re.sub(r'<br>|<extra></extra>|<span style="color:#[0-9a-f]{6}">|</span>', "", text)
        assert "<" not in bare and ">" not in bare, text


DRAWN = [
    *((word_in_context, r) for r in (context(), context(2, 1), context(40, 12), context(3, 48, ""))),
    *((word_path, r) for r in (path(), path(1, tokens=0), path(7, 12, 500), path(2, 1, layer=0))),
    *((embedding_map, r) for r in (a_map(), a_map(3), a_map(512), a_map(axes=3), a_map(40, 3, None))),
    *((embedding_map, a_map(60, axes, unit="sentences")) for axes in (2, 3)),
    *((embedding_map, a_map(30, colour=colour, chosen=None)) for colour in ("position", "label")),
    *((search, r) for r in (hits(), hits(1), hits(50), hits(3, "x" * 5000))),
]


@pytest.mark.parametrize(("figure", "result"), DRAWN)
def test_figures_are_valid_and_escaped(figure: Any, result: Any) -> None:
    fig = figure.draw(result)
    check(fig)
    text = (chart(fig) if isinstance(fig, Figure) else fig).to_json()
    assert "<img" not in text and "\\u003cimg" not in text
    assert len(text) < 1_000_000 and len(fig.to_json()) < 1_000_000
    assert figure.say(result).endswith((".", "”")) and "nan" not in figure.say(result)


@pytest.mark.slow
def test_a_figure_of_ten_thousand_points_is_small() -> None:
    for unit in ("tokens", "sentences"):
        fig = embedding_map.draw(a_map(10_000, unit=unit))
        assert len(fig.to_json()) < 3_000_000


def test_an_excerpt_keeps_the_word() -> None:
    sentence = "a" * 40 + " bank " + "b" * 40
    text = excerpt(sentence, 41, 45, 20)
    assert "bank" in text and text[0] == text[-1] == "…" and len(text) <= 22
    assert excerpt("short", 0, 5, 20) == "short" and excerpt(sentence, 41, 45, 20).count("a") > 3


def test_the_sentences_say_what_is_left_out() -> None:
    more = context(labels="", lacking=1, left_out=3, beyond=1)
    assert "3 more occurrences are not drawn. 1 sentence without the word. 1 comes after" in word_in_context.say(more)
    assert "sense" not in word_in_context.say(more) and "same sense have" in word_in_context.say(context())
    assert "of 500 other tokens 400 are drawn" in word_path.say(path(1, tokens=500)).lower()
    sentence = "The two occurrences have a mean cosine of 0.90 with each other at the input and 0.30 at the end."
    assert sentence in word_path.say(path())
    sentence = search.say(hits(indexed="kept", built_in=False, notes="A note."))
    assert sentence.startswith("Of 60 uploaded lines, from the search index, the nearest is “A line")
    assert "60 built-in sentences, compared one by one" in search.say(hits())


def test_the_strip_is_coloured_by_nearness_to_a_chosen_token() -> None:
    by_unit = {unit: embedding_map.draw(a_map(unit=unit)).panels[0].marks for unit in ("tokens", "sentences")}
    assert by_unit["tokens"][-1].doors[4] == {"set": {"point": -1}, "picked": "0:4-5"}
    assert by_unit["sentences"][-1].doors[4] == {"set": {"point": 4}}
    assert embedding_map.colours(a_map()) == pytest.approx({i: max(0.0, i / 4 - 1) for i in range(9)})
    assert embedding_map.colours(a_map(unit="sentences")) == embedding_map.colours(a_map(chosen=None)) == {}


def test_the_sentence_agrees_with_the_start_of_the_curve() -> None:
    """The sentence used to give 1.00, from the table, although the curve starts at 0.90, with positions added."""
    options = analysed.Options(word="bank", sentences="The bank lent him money. | He works at a bank.")
    result = analysed.run(CheckpointRegistry().get("mini"), "They sat on the bank.", options=options)
    sentence = word_in_context.say(result)
    assert "one vector (cosine 1.00)" in sentence and f"before layer 1, {result.mean[0]:.2f}." in sentence
    assert result.mean[0] < 0.995


def test_the_curves_are_drawn_on_the_scale_of_the_cells() -> None:
    """Both above random words, or both as they are."""
    result = context(labels="")
    for subtract in (True, False):
        panels = word_in_context.draw(replace(result, subtract=subtract)).panels
        assert ("mean cosine above random words, layer by layer" in [panel.title for panel in panels]) == subtract
        (mark,) = panels[1].marks
        lines = {line.name: line.values for line in mark.lines}
        assert ("random words" in lines) != subtract
        np.testing.assert_allclose(lines["the word"], result.mean - (result.baseline if subtract else 0), atol=1e-6)

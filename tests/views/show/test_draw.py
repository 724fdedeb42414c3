"""Every figure: valid JSON, a fixed height, and all typed text escaped."""

import html
import json
import re
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest

from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.marks import Figure
from tests.views.show.conftest import EVIL, HAND

CASES = [(name, i) for name, results in HAND.items() for i in range(len(results))]


def draw(name: str, result: Any) -> Chart | Figure:
    return import_module(f"bertexplorer.views.{name}.show").draw(result)


def say(name: str, result: Any) -> str:
    return import_module(f"bertexplorer.views.{name}.show").say(result)


def strings(value: Any) -> Iterator[str]:
    """All text in a figure's JSON."""
    if isinstance(value, dict):
        for item in value.values():
            yield from strings(item)
    elif isinstance(value, list):
        for item in value:
            yield from strings(item)
    elif isinstance(value, str):
        yield value


def parsed(fig: Chart | Figure) -> dict[str, Any]:
    """A chart as JSON; that of a figure of marks."""
    text = (chart(fig) if isinstance(fig, Figure) else fig).to_json()
    return json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} in a figure is no JSON"))


def check(fig: Chart | Figure) -> None:
    if isinstance(fig, Figure):
        assert chart(fig).plotly, "plotly accepts it"
        marks = json.loads(fig.to_json(), parse_constant=lambda name: pytest.fail(f"{name} in a figure is no JSON"))
        assert not any("&lt;" in text or "<b>" in text for text in strings(marks)), "texts are plain"
    content = parsed(fig)
    assert 300 <= content["layout"]["height"] <= 9000
    for text in strings(content):
        # ours: lines, bold words and the colours of a key; a space after < opens no tag
        bare = re.sub(r"</?b>|<br>|<extra></extra>|< 0\.1 %|> 99\.9 %", "", text)
        bare = re.sub(r'<span style="color:#[0-9a-f]{6}">|</span>', "", bare)
        assert "<" not in bare and ">" not in bare, text
    assert content["data"]


@pytest.mark.parametrize(("name", "number"), CASES)
def test_hand_made_results_are_drawn_escaped_and_left_as_they_were(name: str, number: int) -> None:
    result = HAND[name][number]
    before = repr(result)
    fig = draw(name, result)
    check(fig)
    say(name, result)
    assert repr(result) == before
    if name != "contrast" or result.words:
        texts = [html.unescape(text) for text in strings(parsed(fig))]
        assert any(start in text for start in ("<img src=x", "<img src=…", "<img sr") for text in texts), "still read"


@pytest.mark.parametrize("name", HAND)
def test_real_results_are_drawn_and_escaped(name: str, real: dict[str, Any]) -> None:
    check(draw(name, real[name]))
    assert say(name, real[name]).endswith((".", "?", "!", "”"))


def test_typed_text_reaches_the_sentence_unchanged() -> None:
    """say() is text: the page escapes it once, where it is shown."""
    assert EVIL in say("fill_mask", HAND["fill_mask"][0])
    assert "&lt;" not in "".join(say(name, HAND[name][0]) for name in HAND)

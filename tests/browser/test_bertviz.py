"""BertViz in a real browser: drawn offline in a sandbox, and a token that looks like HTML stays text."""

import html
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pytest
from playwright.sync_api import Browser, Frame, Page

from bertexplorer.views.bertviz import show as bertviz
from bertexplorer.views.bertviz.compute import BertViz

EVIL = "</script><img src=x onerror=window.PWN=1>"
Show = Callable[[BertViz], Frame]


def made(kind: str, tokens: int = 6, second: int | None = 3) -> BertViz:
    """Layers 2 and 4 with 3 heads; each token attends to itself in head 2, and evenly elsewhere."""
    even = np.full((2, 3, tokens, tokens), 1 / tokens, dtype=np.float32)
    even[:, 1] = np.eye(tokens)
    vectors = np.random.default_rng(0).normal(size=(2, 2, 3, tokens, 4)).astype(np.float32)
    both = vectors if kind == "neuron" else (None, None)
    names = ("[CLS]", EVIL, "&lt;b&gt;", *(f"t{i}" for i in range(tokens - 3)))
    return BertViz(kind, names, second, (1, 3), even, both[0], both[1], 0)


@pytest.fixture
def opened(browser: Browser) -> Iterator[Page]:
    """An empty page; fails at the end on any request, any error, and if the token ran."""
    page = browser.new_page(viewport={"width": 1000, "height": 800})
    page.set_default_timeout(8_000)
    wrong: list[str] = []
    page.on("request", lambda r: None if r.url.startswith("about:") else wrong.append(f"request: {r.url}"))
    page.on("pageerror", lambda e: wrong.append(f"page: {e}"))
    page.on("console", lambda m: wrong.append(f"console: {m.text}") if m.type == "error" else None)
    yield page
    hurt = [frame.evaluate("window.PWN") for frame in page.frames]
    page.close()
    assert not wrong and not any(hurt)


@pytest.fixture
def show(opened: Page) -> Show:
    def put(result: BertViz) -> Frame:
        document = html.escape(bertviz.draw(result), quote=True)
        height = bertviz.height(result)
        opened.set_content(
            f'<iframe sandbox="allow-scripts" width="990" height="{height}" srcdoc="{document}"></iframe>'
        )
        frame = opened.frames[-1]
        frame.wait_for_selector("#vis svg text", state="attached")
        return frame

    return put


@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
@pytest.mark.parametrize("second", [None, 3])
def test_a_view_is_drawn_offline_and_shows_html_as_typed(kind: str, second: int | None, show: Show) -> None:
    frame = show(made(kind, second=second))
    lines = frame.evaluate("document.querySelectorAll('#vis line, #vis path').length")
    assert lines >= {"head": 3 * 36, "model": 6 * 36, "neuron": 36}[kind]
    assert frame.evaluate("document.querySelectorAll('img').length") == 0
    if kind == "model":
        frame.evaluate("document.querySelectorAll('#vis rect')[1].dispatchEvent(new MouseEvent('click'))")
    texts = frame.evaluate("[...document.querySelectorAll('#vis text')].map((t) => t.textContent)")
    assert EVIL in texts and "&lt;b&gt;" in texts
    assert bool(second) == bool(frame.query_selector("#filter"))


def test_layers_and_heads_are_counted_from_one(show: Show) -> None:
    options = "(id) => [...document.querySelectorAll(`#${id} option`)].map((o) => o.textContent)"
    assert show(made("head")).evaluate(options, "layer") == ["2", "4"]
    frame = show(made("neuron"))
    assert (frame.evaluate(options, "layer"), frame.evaluate(options, "att_head")) == (["2", "4"], ["1", "2", "3"])
    assert frame.evaluate(options, "filter") == ["All", "A to A", "A to B", "B to A", "B to B"]
    numbers = show(made("model")).evaluate("[...document.querySelectorAll('#vis text')].map((t) => t.textContent)")
    assert numbers == ["Heads", "1", "2", "3", "Layers", "2", "4"]


def test_the_weights_reach_the_figure(show: Show) -> None:
    frame = show(made("head", second=None))
    weights = frame.evaluate("window.bertviz_params.attention.all.attn[0].map((head) => head[0])")
    assert weights == [[0.167] * 6, [1, 0, 0, 0, 0, 0], [0.167] * 6]
    shown = (
        "Number(document.querySelectorAll('.headAttention')[1].querySelector('line').getAttribute('stroke-opacity'))"
    )
    assert frame.evaluate(shown) == pytest.approx(1 / 3)  # float64, of JavaScript


def test_a_direction_shows_only_the_attention_between_its_sentences(show: Show) -> None:
    frame = show(made("neuron"))
    frame.select_option("#filter", "ab")
    frame.select_option("#layer", label="4")
    frame.select_option("#att_head", label="3")
    part = frame.evaluate("window.bertviz_params.attention.ab")
    whole = frame.evaluate("window.bertviz_params.attention.all")
    assert part["left_text"] == ["[CLS]", EVIL, "&lt;b&gt;"] and part["right_text"] == ["t0", "t1", "t2"]
    assert part["attn"][1][1] == [row[3:] for row in whole["attn"][1][1][:3]]
    assert part["queries"][1][2] == whole["queries"][1][2][:3] and part["keys"][1][2] == whole["keys"][1][2][3:]
    assert frame.evaluate("document.querySelectorAll('#collapsed #leftText .token').length") == 3


def test_the_neuron_view_opens_a_token(show: Show) -> None:
    frame = show(made("neuron"))
    frame.hover("#collapsed #leftText g:nth-child(2) text", force=True)
    frame.evaluate(
        "document.querySelectorAll('#collapsed .plus-sign + rect')[1].dispatchEvent(new MouseEvent('click'))"
    )
    assert frame.get_attribute("#expanded", "visibility") == "visible"


@pytest.mark.parametrize("kind", ["head", "model", "neuron"])
def test_the_figure_fits_its_height(kind: str, show: Show) -> None:
    for tokens in (6, 20):
        frame = show(made(kind, tokens))
        assert frame.evaluate("document.documentElement.scrollHeight - window.innerHeight") <= 0


def test_all_heads_of_the_model_view_are_visible(show: Show) -> None:
    twelve = made("model", 16)
    frame = show(replace(twelve, attention=np.repeat(twelve.attention, 4, axis=1)))
    frame.wait_for_function("document.getElementById('vis').style.zoom !== ''")
    parts = "[...document.querySelectorAll('#vis svg text, #vis svg rect')]"
    ends = f"Math.max(...{parts}.map((part) => part.getBoundingClientRect().right))"
    assert frame.evaluate(f"{ends} <= window.innerWidth + 1")

"""The renderer of marks in a real Chromium: odd texts and numbers fit and stay text; all marks can be reached."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from bertexplorer.charts.marks import (
    Arcs,
    Band,
    Bar,
    Bars,
    Cells,
    Columns,
    Figure,
    Histogram,
    Line,
    Lines,
    MarkedSpan,
    Panel,
    Points,
    Rule,
    Spans,
    StyledWords,
    TextLines,
    Tick,
    Tiles,
    Token,
    Tokens,
    key,
)
from tests.browser.conftest import opened

NAN, INFINITE = float("nan"), float("inf")
ODD = [
    "W" * 60,
    "a" * 60,
    "שלום עולם",
    "👩‍👩‍👧‍👦 🏴‍☠️",
    "<img src=x onerror=window.__pwn=1>",
    "${window.__pwn=1}`",
    "&lt;b&gt;",
    "\x00\x1b\ufffe",
    "日本語のテキスト",
    "",
]
DRAW = """async ([figure, width]) => {
  const [script] = performance.getEntriesByType("resource").filter(({ name }) => name.endsWith("/marks.js"));
  const { draw } = await import(script.name);
  const place = document.createElement("div");
  place.style.cssText = `position:absolute;top:0;left:0;width:${width}px;background:white`;
  document.body.replaceChildren(place);
  const { svg, height } = draw(JSON.parse(figure), width);
  place.append(svg);
  const outside = [...svg.querySelectorAll("text, rect, circle, image")].filter((one) => {
    const { left, right, top, bottom } = one.getBoundingClientRect();
    return left < -2 || right > width + 2 || top < -2 || bottom > height + 2;
  }).map((one) => [one.outerHTML.slice(0, 100), JSON.stringify(one.getBoundingClientRect())].join(" "));
  const isWrong = ({ name, value }) => name !== "href" && /NaN|undefined|Infinity/.test(value);
  const wrong = [...svg.querySelectorAll("*")].filter((one) => [...one.attributes].some(isWrong));
  return { height, outside, wrong: wrong.map((one) => one.outerHTML.slice(0, 200)) };
}"""


def bars(**more: Any) -> Bars:
    return Bars([Bar(text, 0.1 * i, f"{10 * i} % · rank 1,234", "orange") for i, text in enumerate(ODD)], **more)


def cells(rows: int, columns: int, **more: Any) -> Cells:
    values = [[(i * j) % 7 / 7 for j in range(columns)] for i in range(rows)]
    return Cells([f"row {i}" for i in range(rows)], [f"column {j}" for j in range(columns)], values, **more)


def level() -> Line:
    return Line("always the same", [366_400.0], tone="grey", dash="dot", look="line")


KEY = ("●", "blue", "a run with a name that is longer than what a phone has room for")
NUMBERS = [str(i) for i in range(1, len(ODD) + 1)]
MANY = [str(i) for i in range(1, 65)]
PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
STEPS = ["in", *map(str, range(1, 25))]
FIGURES = {
    "odd bars": Figure([Panel([bars(tokens=True)], ODD[0])]),
    "odd bars, labels above": Figure([Panel([bars(above=True, axis=True, unit="share")], "\n".join(ODD))]),
    "no bars": Figure([Panel([Bars([])])]),
    "one bar of 0": Figure([Panel([Bars([Bar("a", 0.0)])])]),
    "below 0": Figure([Panel([Bars([Bar("a", -3.0, "−3.0"), Bar("b", 2.0, "2.0"), Bar("c", NAN, "?")])])]),
    "ticks and intervals": Figure(
        [
            Panel(
                [
                    Bars([Bar("a", 0.5, low=0.4, high=0.7, behind=0.9, ticks=[Tick(0.95)])], axis=True, high=1),
                    Rule(0.3, "grey", "dot", "guessing"),
                    Band(0.1, 0.2, "all others"),
                ]
            )
        ]
    ),
    "600 bars": Figure([Panel([Bars([Bar(f"token {i}", i / 600, f"{i}") for i in range(600)])])]),
    "odd cells": Figure(
        [Panel([Cells(ODD, ODD, [[0.1] * len(ODD)] * len(ODD), text=[ODD] * len(ODD), tokens=True)], "odd")]
    ),
    "one cell": Figure([Panel([Cells(["a"], ["b"], [[NAN]], text=[["5"]], framed=[(0, 0)], crossed=[(0, 0)])])]),
    "24 layers of 16 heads": Figure([Panel([cells(24, 16, palette="strong")])]),
    "600 tokens": Figure([Panel([cells(600, 600, palette="root")])]),
    "cells beside bars": Figure(
        [
            Panel([cells(12, 6)], "a", share=0.6),
            Panel([Bars([Bar("", i / 12, f"{i}") for i in range(12)])], "b", beside=True, share=0.4),
        ]
    ),
    "six columns of bars": Figure(
        [Panel([Bars([Bar("" if i else "token", 3.14, "3.14")])], "length", beside=i > 0) for i in range(6)]
    ),
    "lines": Figure(
        [
            Panel(
                [Lines(STEPS, [Line(ODD[1], [*range(25)], ODD[1], low=[0] * 25, high=[30] * 25)], chosen=3)],
                x="after layer",
            ),
            Panel([Lines(STEPS, [Line("a", [30_000.0] * 25, "30,000 a"), Line("b", [1.0] * 25, "1 b")], "rank")]),
            Panel([Lines(["in"], [Line("a", [NAN], "?"), Line("b", [0.0], "0")], unit="share")]),
        ]
    ),
    "curves": Figure(
        [
            Panel([Lines((), [Line(ODD[4], [0.1, NAN, 0.9], at=[0, 1, 2.7]), level()], unit="share"), key(KEY, KEY)]),
            Panel([Lines((), [Line("a", [*range(500)], "", at=[*range(500)], look="line", faint=True)])], x=ODD[0]),
            Panel(
                [
                    Lines(
                        (),
                        [Line("a", [1e9, -3e5], at=[0, 1], low=[0, 0], high=[2e9, 0], look="points")],
                        at_unit="share",
                    )
                ]
            ),
        ]
    ),
    "curves that have not begun": Figure(
        [Panel([Lines((), [Line("a", []), level()])]), Panel([Lines((), [Line("a", [0.5], at=[0], look="line")])])]
    ),
    "histogram": Figure([Panel([Histogram([0.1, 0.2, 0.3], [0, 5, 1], low=0, high=1), Rule(0.95)], "h", "cosine")]),
    "histogram of one": Figure([Panel([Histogram([1.0], [0])])]),
    "columns": Figure([Panel([Columns([Bar(text, i - 3.0, f"{i}") for i, text in enumerate(ODD)], tokens=True)])]),
    "600 columns": Figure([Panel([Columns([Bar("word", 1.0 + i % 5, "9 %") for i in range(600)])])]),
    "tiles": Figure([Panel([Tiles(PICTURE, NUMBERS, NUMBERS, [ODD] * len(ODD), framed=[(9, 9)])], ODD[0])]),
    "48 layers of 64 heads": Figure([Panel([Tiles(PICTURE, MANY[:48], MANY, [MANY] * 48)])]),
    "groups": Figure([Panel([Cells(["a"], NUMBERS[:9], [[-1, *range(7), NAN]], "groups", text=[["d"] * 9])])]),
    "arcs": Figure([Panel([Arcs(ODD, ODD, [(i, 9 - i, i / 10) for i in range(10)], [1], ["< 0.1 %"] * 10, "share")])]),
    "arcs without lines": Figure([Panel([Arcs(["a"], ["a", "b"], [])])]),
    "points": Figure(
        [
            Panel(
                [
                    Points([1.0], [2.0], size="large", hollow=[True], names=["chosen"], chosen=0),
                    Points([*range(10)], [0.0] * 10, size="none", names=ODD),
                    Points([*range(10)], [*range(10)], names=ODD, hover=ODD, letters=["d"] * 10, square=True),
                ],
                y=ODD[0],
            )
        ]
    ),
    "one point": Figure([Panel([Points([0.0], [0.0], names=["a"], square=True)])]),
    "2,000 points": Figure([Panel([Points([*range(2000)], [*range(2000)], names=["a"] * 2000)])]),
    "spans": Figure(
        [Panel([Spans(["\n".join(ODD)] * 2, [[MarkedSpan(i, i + 3, hover="x") for i in range(0, 200, 3)]] * 2)])]
    ),
    "words": Figure(
        [Panel([Tokens([Token(text, "0") for text in ODD])]), Panel([TextLines([*map(StyledWords, ODD)])])]
    ),
}


@pytest.fixture(scope="module")
def page(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as page:
        page.wait_for_selector("#figure .marks")
        yield page


@pytest.mark.parametrize("width", [300, 760])
@pytest.mark.parametrize("name", FIGURES)
def test_any_text_and_number_is_drawn_within_the_figure(page: Page, name: str, width: int) -> None:
    drawn = page.evaluate(DRAW, [FIGURES[name].to_json(), width])
    assert drawn["outside"] == [] and drawn["wrong"] == []
    assert page.evaluate("window.__pwn") is None
    assert page.evaluate("document.querySelectorAll('img, .marks b').length") == 0
    assert drawn["height"] < 20_000


def test_the_pointer_and_the_keyboard_read_a_mark_and_press_it(browser: Browser, address: str) -> None:
    texts = "?view=sentence-similarity&text=A+cat+sat.&pair=Two+cats+sat.&others=The+market+fell."
    with opened(browser, f"{address}{texts}") as page:
        doors = page.locator("#figure .marks .door")
        expect(doors).to_have_count(9)
        tip = page.locator("#figure .tip")
        doors.nth(1).hover()
        expect(tip).to_contain_text("A cat sat.")
        expect(tip).to_contain_text("Two cats sat.")
        page.mouse.move(2, 2)
        expect(tip).to_be_hidden()

        # One stop of the tab key; arrow keys go from mark to mark, and each is named.
        svg = page.locator("#figure .marks")
        expect(svg).to_have_attribute("aria-label", page.locator("#caption .said").inner_text().replace("\xa0", " "))
        svg.focus()
        page.keyboard.press("End")
        page.keyboard.press("Home")
        expect(tip).to_be_visible()
        first = page.locator("#figure .mark:focus")
        expect(first).to_have_attribute("role", "img")
        name = first.get_attribute("aria-label")
        page.keyboard.press("ArrowRight")
        assert page.locator("#figure .mark:focus").get_attribute("aria-label") != name

        # A door is a button; Enter opens it.
        number = page.locator("#figure .mark").evaluate_all("all => all.findIndex((one) => one.matches('.door'))")
        page.keyboard.press("Home")
        for _ in range(number + 2):
            page.keyboard.press("ArrowDown")
        expect(page.locator("#figure .mark:focus")).to_have_attribute("role", "button")
        page.keyboard.press("Enter")
        expect(page.locator("#pair textarea")).to_have_value("The market fell.")


def test_a_curve_that_grows_leaves_pointer_and_focus_where_they_are(page: Page) -> None:
    def grown(steps: int) -> str:
        losses = Line("training rows", [1 / (1 + step / 50) for step in range(steps)], at=[*range(steps)], look="line")
        points = Line("run", [0.5] * (steps // 100), at=[*range(0, steps - steps % 100, 100)], end="")
        return Figure([Panel([Lines((), [points])]), Panel([Lines((), [losses])], x="step")]).to_json()

    show = "figure => document.querySelector('#figure').show(JSON.parse(figure), 'said')"
    page.goto(page.url)
    page.wait_for_selector("#figure .marks")
    page.evaluate(show, grown(200))
    tip = page.locator("#figure .tip")
    page.locator("#figure .mark").first.hover()
    expect(tip).to_have_text("run, 0: 0.5")
    page.evaluate(show, grown(320))
    expect(tip).to_be_visible()
    expect(tip).to_have_text("run, 0: 0.5")

    # With the keyboard, a line is one mark, however many steps it has; what it says grows with it.
    page.mouse.move(2, 2)
    page.locator("#figure .marks").focus()
    page.keyboard.press("End")
    expect(tip).to_have_text("training rows, step 319: 0.1355")
    expect(page.locator("#figure .mark")).to_have_count(4)
    page.evaluate(show, grown(420))
    expect(tip).to_have_text("training rows, step 419: 0.1066")
    focused = "[...document.querySelectorAll('#figure .mark')].indexOf(document.activeElement)"
    assert page.evaluate(focused) == 4


def test_names_of_lines_with_one_end_are_in_the_order_of_the_lines(page: Page) -> None:
    ends = [0.1 + 0.2, 0.3, 0.6 / 2, 0.3000000001]
    figure = Figure(
        [Panel([Lines((), [Line(name, [0, end], at=[0, 1]) for name, end in zip("dacb", ends, strict=True)])])]
    )
    page.evaluate(DRAW, [figure.to_json(), 400])
    top = "(one) => one.getBoundingClientRect().top"
    names = page.locator(".marks text:not(.small)").evaluate_all(
        f"all => {{ const top = {top}; return all.sort((a, b) => top(a) - top(b)).map((one) => one.textContent); }}"
    )
    assert names == [*"dacb"]


def test_two_answers_have_one_scale(browser: Browser, address: str) -> None:
    texts = "?view=layers&text=Paris+is+the+[MASK]+of+France.&against=another+text&versus=A+[MASK]."
    with opened(browser, f"{address}{texts}") as page:
        expect(page.locator("#beside .marks")).to_be_visible()
        ticks = "place => [...document.querySelectorAll(`${place} .lines`)].map((one) => "
        ticks += "[...one.querySelectorAll('text.small[text-anchor=end]')].map((tick) => tick.textContent))"
        assert page.evaluate(ticks, "#figure") == page.evaluate(ticks, "#beside")


def test_a_point_of_very_many_is_read_and_pressed(page: Page) -> None:
    """They are one image, in which the pointer finds the nearest."""
    places = [float(i) for i in range(2000)]
    doors = [{"set": {"point": i}} for i in range(2000)]
    figure = Figure([Panel([Points(places, places, hover=[f"point {i}" for i in range(2000)], doors=doors)])])
    pressed = page.evaluate(
        """(json) => {
          const figure = document.createElement("bx-figure"), doors = [];
          document.body.replaceChildren(figure);
          figure.addEventListener("jump", ({ detail }) => doors.push(detail));
          figure.show(JSON.parse(json), "said");
          const image = figure.querySelector("image"), { left, top, width, height } = image.getBoundingClientRect();
          const middle = { clientX: left + width / 2, clientY: top + height / 2, bubbles: true };
          image.dispatchEvent(new PointerEvent("pointermove", middle));
          image.dispatchEvent(new MouseEvent("click", middle));
          return [figure.querySelector(".tip").textContent, ...doors];
        }""",
        figure.to_json(),
    )
    assert pressed[0] in ("point 999", "point 1000") and pressed[1]["set"]["point"] in (999, 1000)


def test_a_figure_that_cannot_be_drawn_says_so(page: Page) -> None:
    broken = json.dumps({"marks": 1, "panels": [{"marks": [{"kind": "cells", "rows": ["a"], "values": None}]}]})
    page.evaluate(
        """figure => {
            document.body.innerHTML = "<bx-figure></bx-figure>";
            document.querySelector("bx-figure").show(JSON.parse(figure), "said").catch(() => {});
        }""",
        broken,
    )
    expect(page.locator("bx-figure .hint")).to_contain_text("could not be drawn")

"""Present: the question, the text, the figure and its sentence fill the screen; keys go through examples and views."""

from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.steps import wait_until_idle, wait_until_quiet

PARTS = {"#question h2", "#text-box", "#strip", "#figure", "#caption .said"}
OTHERS = {"#top", ".pages", "#nav", "#exports", "#forms", "#actions", "#examples", ".about", ".misread"}
SIZES = [(1024, 768), (1280, 800), (1920, 1080), (3840, 2160)]


def is_seen(page: Page, selector: str) -> bool:
    """Whether the middle of an element, or a part of it, is what the screen shows there."""
    return bool(
        page.evaluate(
            """(selector) => {
                const one = document.querySelector(selector);
                const { left, top, width, height } = one.getBoundingClientRect();
                const at = document.elementFromPoint(left + width / 2, Math.min(top + height / 2, innerHeight - 1));
                return width > 0 && at !== null && (one === at || one.contains(at));
            }""",
            selector,
        )
    )


def test_a_presentation_fills_the_screen_and_shows_nothing_else(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        for width, height in SIZES:
            page.set_viewport_size({"width": width, "height": height})
            wait_until_quiet(page)
            usual = page.locator("#figure .bars").bounding_box()
            page.locator("#do-present").click()
            expect(page.locator("bx-explore")).to_have_class("bx presenting")
            wait_until_quiet(page)
            assert {part for part in PARTS if not is_seen(page, part)} == set()
            assert {part for part in OTHERS if is_seen(page, part)} == set()
            assert page.evaluate("document.querySelector('bx-explore').scrollWidth") <= width
            shown = page.locator("#figure .bars").bounding_box()
            assert usual and shown and (width == 1024 or shown["height"] > 1.1 * usual["height"])
            page.locator("#presenting button").click()
            expect(page.locator("bx-explore")).to_have_class("bx")
            expect(page.locator("#do-present")).to_be_focused()


def test_keys_go_through_examples_and_views_and_are_dead_in_fields(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        wait_until_quiet(page)
        page.locator("h1").click()
        page.keyboard.press("p")
        text = page.locator("#text-box")
        first = text.input_value()
        page.keyboard.press("ArrowRight")
        expect(text).not_to_have_value(first)
        second = text.input_value()
        page.keyboard.press("PageDown")  # a presenter's remote
        expect(text).not_to_have_value(second)
        page.keyboard.press("ArrowLeft")
        expect(text).to_have_value(second)
        question = page.locator("#question h2")
        said = question.inner_text()
        page.keyboard.press("ArrowDown")
        expect(question).not_to_have_text(said)
        expect(text).to_have_value(second)
        page.keyboard.press("ArrowRight")  # of a view that has shown none: its first example
        expect(text).to_have_value(page.locator("button.example").first.get_attribute("title"))
        page.keyboard.press("ArrowUp")
        expect(question).to_have_text(said)
        text.fill("A happy [MASK].")  # typed and read as usual, the keys are its own
        text.press("ArrowLeft"), text.press("p"), text.press("Backspace")
        expect(text).to_have_value("A happy [MASK].")
        expect(page.locator("#strip")).to_contain_text("happy")
        assert page.evaluate("document.querySelector('.pages').closest('[inert]') !== null"), "Tab stays inside"
        page.keyboard.press("Escape")
        expect(page.locator("#presenting")).to_have_count(0)
        assert page.evaluate("document.querySelector('[inert]')") is None


def test_compared_figures_begin_at_the_same_height_below_their_sentences(browser: Browser, address: str) -> None:
    with opened(browser, f"{address}?view=fill-mask&against=another+checkpoint&versus=tiny") as page:
        expect(page.locator("#beside .marks")).to_be_visible()
        wait_until_idle(page)
        page.keyboard.press("p")
        page.wait_for_timeout(500)
        tops = "(all) => all.map((one) => one.getBoundingClientRect().top)"
        figures = page.locator("#stage bx-figure").evaluate_all(tops)
        sentences = page.locator("#stage .said").evaluate_all(tops)
        assert figures[0] == figures[1] > sentences[0] == sentences[1]


def test_the_key_can_be_switched_off(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        wait_until_quiet(page)
        page.locator("#do-present").click()
        page.get_by_label("Key P starts it").uncheck()
        page.keyboard.press("Escape")
        page.reload()
        wait_until_quiet(page)
        page.locator("h1").click()
        page.keyboard.press("p")
        expect(page.locator("#presenting")).to_have_count(0)
        page.locator("#do-present").click()
        expect(page.get_by_label("Key P starts it")).not_to_be_checked()


def test_the_words_of_a_tall_figure_grow_with_the_screen(browser: Browser, address: str) -> None:
    """Layers is higher than the screen, and its words are larger all the same; its sentence stands above it."""
    windowed = (
        "Element.prototype.requestFullscreen = () => Promise.reject(new Error('a window'))"  # which can change its size
    )
    with opened(browser, f"{address}?view=layers", script=windowed) as page:
        words = "() => document.querySelector('#figure .marks text').getBoundingClientRect().height"
        page.set_viewport_size({"width": 1920, "height": 1080})
        page.wait_for_selector("#figure .marks text")
        wait_until_idle(page)
        page.keyboard.press("p")
        page.wait_for_timeout(500)
        large = page.evaluate(words)
        page.set_viewport_size({"width": 1024, "height": 700})
        page.wait_for_timeout(500)
        assert large > 1.3 * page.evaluate(words)
        said, figure = (page.locator(part).bounding_box() for part in ("#caption .said", "#figure"))
        assert said and figure and said["y"] + said["height"] <= figure["y"] + 1
        page.keyboard.press("Escape")
        wait_until_idle(page)

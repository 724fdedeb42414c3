"""The training page: rows looked at, a run started and watched to its end, a cell opened, a sentence tried."""

from pathlib import Path

from playwright.sync_api import Page, expect

SOON = 150_000  # a trainer starts, reads a checkpoint and learns


def open_page(page: Page) -> None:
    page.goto(page.url.partition("?")[0] + "train")
    expect(page.locator("#check")).to_be_visible()
    page.wait_for_load_state("networkidle")


def test_a_file_is_looked_at_learnt_from_and_tried(page: Page, tmp_path: Path) -> None:
    open_page(page)
    page.get_by_label("my file").click()
    rows = "".join(f"{'a great film' if i % 2 else 'a bad film'} {i};{'pos' if i % 2 else 'neg'}\n" for i in range(60))
    file = tmp_path / "<img src=x>.csv"
    file.write_text("sentence;what\n" + rows + "one;too;many\n", "utf-8")
    page.locator("#rows-file input[type=file]").set_input_files(file)
    page.wait_for_load_state("networkidle")
    page.locator("#check").click()
    looked = page.locator("#looked")
    expect(looked).to_contain_text("semicolons")
    expect(looked).to_contain_text("line 62")
    expect(looked).to_contain_text("54 rows to learn from, 6 to try on")
    expect(looked).to_contain_text("Three steps were timed", timeout=SOON)
    page.get_by_label("Name of the run").fill("<b>films</b>")
    page.locator("#start").click()
    page.locator("#start").click()
    expect(page.locator("#headline .state")).to_contain_text("finished", timeout=SOON)
    expect(page.locator("#headline h2")).to_have_text("<b>films</b>")
    expect(page.locator("#figure .main-svg").first).to_be_visible()
    size = 1 if page.viewport_size["width"] > 640 else 2  # the other size has started one too
    expect(page.locator(".run")).to_have_count(size)
    page.reload()
    expect(page.locator(".run", has_text="films").first).to_contain_text("finished")
    page.locator(".run", has_text="films").first.click()
    expect(page.locator("#results h3")).to_contain_text("Best, at step")
    page.locator("#difference .nsewdrag").first.click(position={"x": 40, "y": 20}, force=True)
    expect(page.locator("#rows h3")).to_contain_text("taken for")
    page.locator("#playground textarea").first.fill("a great film")
    page.locator("#ask").click()
    expect(page.locator(".shares li")).to_have_count(2, timeout=SOON)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_role("link", name="Open in Explore").click()
    expect(page.locator("#question h2")).to_have_text("Who looks at whom?")
    expect(page.locator("#receipt")).to_contain_text("run:", timeout=SOON)
    page.wait_for_load_state("networkidle")
    moments = page.locator("#moment input[type=range]")
    expect(page.locator("#moment")).to_contain_text("Training: best")
    moments.focus()
    page.keyboard.press("Home")
    expect(page.locator("#moment")).to_contain_text("Training: before", timeout=SOON)
    page.keyboard.press("ArrowRight")
    expect(page.locator("#moment")).to_contain_text("Training: step", timeout=SOON)
    page.wait_for_load_state("networkidle")

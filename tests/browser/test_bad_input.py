"""Bad input of every kind: a helpful message, a usable page, unchanged input, and no executed markup."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import opened
from tests.browser.steps import TEXT, chip, chips, choose_view, expect_message, expect_said, use_checkpoint, write

CANARY = "<img src=x onerror='window.__pwn=1'><script>window.__pwn=1</script>"
REFUSED = {
    "": "The text is empty. Type a sentence.",
    "   ": "The text is empty. Type a sentence.",
    "\u200b\u200b": "The text is empty. Type a sentence.",
    "no mask at all": "Nothing is hidden",
    "a" * 25_000: "25,000 characters; the limit is 20,000",
    "word " * 700 + "[MASK]": "Nothing is hidden within the tokens that are read",
}


@pytest.fixture(scope="module")
def only(browser: Browser, address: str) -> Iterator[Page]:
    with opened(browser, address) as page:
        expect_said(page, "It would put “paris”")
        yield page


@pytest.fixture
def page(only: Page) -> Page:
    """One page for all bad input: after each case it answers as before."""
    choose_view(only, "One mask")
    write(only, "The doctor is a [MASK].")
    expect(chip(only, "doctor")).to_be_visible()
    expect(only.locator("#message")).to_be_empty()
    expect_said(only, "It would put")
    return only


def test_unanswerable_input_is_reported(page: Page) -> None:
    for typed, message in REFUSED.items():
        write(page, typed or "x")
        write(page, typed)
        expect_message(page, message)
        expect(page.locator("bx-explore.unanswered #figure")).to_be_empty()
        assert page.locator(TEXT).input_value() == typed
        write(page, "A robin is a [MASK].")
        expect(chip(page, "robin")).to_be_visible()
        expect(page.locator("#message")).to_be_empty()


def test_truncation_is_visible(page: Page) -> None:
    write(page, "[MASK] " + "word " * 700)
    expect(page.locator(".cut")).to_contain_text("191 tokens left out")
    expect(page.locator(".note")).to_contain_text("512 of 703 tokens")


def test_odd_characters_are_shown_unchanged(page: Page) -> None:
    write(page, "[mask] שלום 日本 é $$\\rule{9em}{9em}$$ {{7*7}} ${7*7} 😀 <mask> ___")
    expect(page.locator("button.chip.masked")).to_have_count(3)
    shown = chips(page)
    assert "日" in shown and "{" in shown and "49" not in shown
    expect(page.locator(".note").first).to_contain_text("😀")


def test_a_word_of_any_length_stays_in_its_column(page: Page) -> None:
    """The word appears in a note."""
    write(page, "x" * 3000 + " [MASK]")
    expect(page.locator("#strip .note")).to_contain_text("xxx")
    for part in ("#workbench", "#strip .note"):
        assert page.evaluate(
            f"document.querySelector({part!r}).scrollWidth <= document.querySelector('#work').clientWidth"
        )
    note, main = (page.locator(part).bounding_box() for part in ("#strip .note", "#main"))
    assert note and main
    assert note["x"] + note["width"] <= main["x"] or note["y"] + note["height"] <= main["y"]


def test_markup_in_the_text_stays_text(page: Page) -> None:
    for view in ("One mask", "Several masks", "Whole sentence", "Left side only", "Template"):
        choose_view(page, view)
        word = view.split()[0].lower()
        write(page, f"{{{word}|{CANARY.replace('|', '')}}} [MASK] {CANARY}")
        expect(page.locator(".strip")).to_contain_text(word)
        expect(page.locator(".strip")).to_contain_text("script")
        page.locator("#figure").hover()
        page.wait_for_timeout(400)
        assert page.locator("#caption img, .strip img, #message img").count() == 0


def test_markup_in_settings_and_names_stays_text(page: Page) -> None:
    words = page.locator("#forms [data-setting=words]")
    words.fill(CANARY)
    expect_message(page, "is cut into 37 pieces; the limit is 20")
    use_checkpoint(page, CANARY)
    expect_message(page, "Still using mini")
    words.fill("")
    choose_view(page, "Two sentences")
    page.locator("#forms [data-setting=other]").fill(f"{CANARY} [MASK]")
    expect_said(page, "More likely in the first sentence")


def test_markup_in_a_link_stays_text(page: Page, address: str) -> None:
    page.goto(f"{address}?text={CANARY}+[MASK]&view={CANARY}&checkpoint={CANARY}&top={CANARY}&hidden={CANARY}")
    expect_message(page, "Shown with mini instead")
    expect(page.locator("button.chip.masked")).to_have_count(1)


def test_both_errors_of_a_link_are_reported(page: Page, address: str) -> None:
    page.goto(f"{address}?text=A+lady.&view=layers&checkpoint=run:{'0' * 32}")
    expect_message(page, "Shown with mini instead")
    expect(page.locator("#message [data-adds=mask]")).to_be_visible()


def test_an_unavailable_checkpoint_is_reported(page: Page) -> None:
    for name, message in {
        "nobody/nothing": "Cannot reach the hub",
        "../../etc": "../../etc is outside the models folder",
        "/etc": "/etc is outside the models folder",
        "a/b/c": "is not a checkpoint name",
    }.items():
        use_checkpoint(page, name)
        expect_message(page, message)
        expect_message(page, "Still using mini")
    write(page, "The capital of France is [MASK].")
    chip(page, "capital").click()
    expect_said(page, "For mask 2")
    expect(page.locator("#receipt")).to_contain_text("mini")


def test_a_missing_head_is_reported(page: Page) -> None:
    use_checkpoint(page, "electra-discriminator")
    expect_message(page, "has no fill-mask head")
    use_checkpoint(page, "mini")
    expect(page.locator("#message")).to_be_empty()
    expect(page.locator("#receipt")).to_contain_text("mini")


def test_invalid_settings_in_a_link_are_reported(page: Page, address: str) -> None:
    page.goto(f"{address}?view=heads")
    expect_message(page, "There is no view 'heads'")
    expect(page.locator("#figure")).to_have_css("opacity", "1")
    expect(chip(page, "capital")).to_be_visible()
    page.goto(f"{address}?text=A+robin+is+a+[MASK].&top=100000")
    expect_message(page, "wanted a whole number from 1 to 100")
    expect(chip(page, "robin")).to_be_visible()


def test_the_page_says_that_mini_reads_english(page: Page) -> None:
    page.locator("#text textarea").fill("Die Straße führt durch einen [MASK] Wald voller Buchen.")
    expect(page.locator("#strip")).to_contain_text("This checkpoint was trained on English")
    page.locator("#text textarea").fill("The road leads through a [MASK] forest.")
    expect(page.locator("#strip")).not_to_contain_text("English")
    expect(page.locator("bx-explore[aria-busy=true]")).to_have_count(0)

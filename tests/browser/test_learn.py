"""The page Learn: a lesson from the first guess to the file that is handed in, and its accessibility."""

import csv
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from bertexplorer.cli import main
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from tests.browser.conftest import opened
from tests.browser.steps import wait_until_quiet
from tests.browser.test_access import STILL, has_focus, tab_to, wrong

LESSON = "learn?lesson=next-sentence"
ODD = "A bird then lays eggs made of glass."
SAID = "The topic; <b>order</b> was never asked."


def answered(view: Locator) -> None:
    """The view shows its result."""
    expect(view).not_to_have_attribute("aria-busy", "true")
    expect(view.locator(".said[role=status]")).not_to_be_empty()


def predict(page: Page) -> None:
    """A guess is locked; only then does the view answer and the lesson continue."""
    question = page.locator("#first-guess")
    expect(page.locator("#order-free")).to_be_hidden()
    expect(page.locator("#jumbled")).to_be_hidden()
    expect(question.locator("bx-view")).to_have_count(0)
    question.get_by_role("button", name="Lock in my guess").click()
    expect(question.locator(".feedback")).to_have_text("Choose one first.")
    question.get_by_label("She missed the meeting.").check()
    expect(question.locator("bx-view")).to_have_count(0)
    question.get_by_role("button", name="Lock in my guess").click()
    expect(question.locator(".feedback")).to_contain_text("Not as you guessed: The train was not late.")
    expect(question.locator(".feedback")).to_contain_text("The only one that continues the story")
    answered(question.locator("bx-view"))
    expect(question.get_by_label("Penguins").first).to_be_disabled()
    expect(question.get_by_role("button", name="Lock in my guess")).to_be_hidden()


def number(page: Page) -> None:
    """A wrong number gets a hint, a second one the answer and the view."""
    question = page.locator("#jumbled")
    box, check = question.get_by_label("Your estimate"), question.get_by_role("button", name="Check")
    box.fill("lots")
    check.click()
    expect(question.locator(".feedback")).to_contain_text("'lots' is not a number")
    box.fill("2")
    box.press("Enter")
    expect(question.locator(".verdict")).to_have_text("Not yet.")
    expect(question.locator(".feedback")).to_contain_text("You expect grammar to count")
    expect(question.locator(".feedback")).to_contain_text("Attempt 1 of 2.")
    expect(question.locator(".feedback")).not_to_contain_text("The answer:")
    expect(question.locator("bx-view")).to_have_count(0)
    box.fill("99")
    page.reload()
    expect(question.locator(".verdict")).to_have_text("Not yet.")
    expect(box).to_have_value("99")  # not the 2 of the first attempt
    check.click()
    expect(question.locator(".verdict")).to_have_text("Not quite.")
    expect(question.locator(".feedback")).to_contain_text("You: 99 %.")
    answered(question.locator("bx-view"))
    expect(box).to_be_disabled()


def find(page: Page) -> None:
    """A text is entered in the view and checked there."""
    question = page.locator("#fool-it")
    view, check = question.locator("bx-view"), question.get_by_role("button", name="Check")
    answered(view)
    check.click()
    expect(question.locator(".verdict")).to_have_text("Not yet.")
    expect(question.locator(".found li").first).to_contain_text("more than 80 % is wanted")
    sentence = view.get_by_label("Second sentence", exact=True).bounding_box()
    button = check.bounding_box()
    assert sentence is not None and button is not None
    assert 0 < button["y"] - sentence["y"] < 250, "the button is next to the sentence"
    view.get_by_label("Second sentence", exact=True).fill(ODD)
    answered(view)
    expect(view.locator(".strip")).to_contain_text("glass")
    check.click()
    expect(question.locator(".verdict")).to_have_text("Right.")


def say(page: Page) -> None:
    question = page.locator("#in-your-words")
    question.get_by_label("In your words").fill(SAID)
    page.reload()
    expect(question.get_by_label("In your words")).to_have_value(SAID)
    wait_until_quiet(page)  # the view above may still change its height
    question.get_by_role("button", name="Compare").click()
    expect(question.locator(".feedback")).to_contain_text("To notice a change of topic.")
    question.get_by_label("names the topic").check()


STEPS: tuple[Callable[[Page], None], ...] = (predict, number, find, say)


@pytest.fixture
def walked(browser: Browser, address: str):
    """The lesson with all of its questions answered."""
    with opened(browser, address + LESSON) as page:
        for step in STEPS:
            step(page)
        wait_until_quiet(page)
        yield page


def test_the_answers_of_a_lesson_survive_a_reload_and_can_be_handed_in(
    walked: Page, browser: Browser, tmp_path: Path
) -> None:
    page = walked
    expect(page.locator("bx-learn > .hint[role=status]")).to_contain_text("You have answered every question.")
    expect(page.locator("#order-free")).to_have_attribute("data-holds", "true")
    expect(page.locator("#order-free .mark")).to_have_text("Measured here")
    shown = [item.inner_text() for item in page.locator(".feedback").all()]
    page.reload()
    expect(page.locator("bx-question.done")).to_have_count(4)
    assert [item.inner_text() for item in page.locator(".feedback").all()] == shown
    expect(page.get_by_label("She missed the meeting.")).to_be_checked()
    expect(page.get_by_label("Your estimate")).to_have_value("99")
    expect(page.locator("#in-your-words textarea")).to_have_value(SAID)
    expect(page.get_by_label("names the topic")).to_be_checked()
    expect(page.get_by_label("says why order was not needed")).not_to_be_checked()
    expect(page.locator("#fool-it").get_by_label("Second sentence", exact=True)).to_have_value(ODD)
    for view in page.locator("bx-question bx-view").all():
        answered(view)
    expect(page.locator(".claim:not([hidden]):not([data-holds])")).to_have_count(0)
    wait_until_quiet(page)
    page.get_by_label("Your name or number").fill("Ada 7")
    with page.expect_download() as saved:
        page.get_by_role("button", name="Hand in").click()
    assert saved.value.suggested_filename == "next-sentence.html"
    saved.value.save_as(tmp_path / "handed in.html")
    handed_in(browser, tmp_path / "handed in.html")
    collected(tmp_path)
    done = page.locator("bx-question.done").count()
    page.get_by_role("button", name="Start over").click()  # playwright dismisses what the page asks
    expect(page.locator("bx-question.done")).to_have_count(done)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Start over").click()
    expect(page.locator("bx-question.done")).to_have_count(0)
    expect(page.locator(".feedback:not(:empty)")).to_have_count(0)
    page.reload()
    expect(page.locator("bx-question")).to_have_count(4)
    expect(page.locator("bx-question.done")).to_have_count(0)
    wait_until_quiet(page)


def collected(folder: Path) -> None:
    """A teacher's command grades the file from the lesson."""
    assert main(["lesson", "collect", str(folder), "-o", str(folder / "grades.csv")]) == 0
    [row] = csv.DictReader((folder / "grades.csv").open(encoding="utf-8"))
    marks = {name.partition("/")[2]: mark for name, mark in row.items() if "/" in name}
    assert marks == {"first-guess": "0", "jumbled": "0", "fool-it": "1", "in-your-words": ""}
    assert (row["student"], row["lesson"], row["problem"]) == ("Ada 7", "next-sentence", "")


def handed_in(browser: Browser, file: Path) -> None:
    """The file shows the answers and needs no other file."""
    context = browser.new_context()
    page, asked, heard = context.new_page(), [], []
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: heard.append(message.text))
    page.goto(file.as_uri())
    assert [url for url in asked if not url.startswith("data:")] == [file.as_uri()] and not heard
    assert page.title() == "Does B follow A?"
    text = page.locator("body").inner_text()
    for words in ("☑ She missed the meeting.", "☐ Penguins are flightless.", "99 %", SAID, ODD, "Right.", "mini"):
        assert words in text, words
    assert text.count("Right.") == 1, "the verdict on the pair that was found"
    assert "To notice a change of topic." in text and "☑ names the topic" in text and "☐ says why" in text
    pictures = page.locator("figure img").all()
    assert len(pictures) + page.locator("figure ul").count() >= 3
    assert page.locator("script, button, select, b").count() == 0
    assert all(picture.evaluate("img => img.naturalWidth > 100") for picture in pictures)
    context.close()


def test_the_list_shows_the_progress(walked: Page, address: str) -> None:
    walked.goto(address + "learn")
    card = walked.get_by_role("link", name="Does B follow A?")
    expect(card.locator(".progress")).to_have_text("Done")
    expect(walked.locator(".progress")).to_have_count(1)
    expect(walked.locator('.lesson-card[href*="lesson="]')).to_have_count(len(LessonCatalogue((BUNDLED,)).files))
    card.click()
    walked.wait_for_url(address + "learn?lesson=next-sentence")
    walked.reload()
    expect(walked.locator("bx-question.done")).to_have_count(4)
    walked.go_back()
    walked.wait_for_url(address + "learn")
    expect(walked.locator(".lesson-card").first).to_be_visible()
    wait_until_quiet(walked)


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 390)])
def test_axe_finds_nothing(browser: Browser, address: str, scheme: str, width: int) -> None:
    result: dict[str, list[str]] = {}

    def look(page: Page, where: str) -> None:
        page.add_style_tag(content=STILL)
        page.set_viewport_size({"width": width, "height": 844})
        result[where] = wrong(page)
        beyond = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert beyond <= 0, f"{where} is {beyond} pixels too wide"

    with opened(browser, address + "learn", scheme=scheme) as page:
        expect(page.locator(".lesson-card").first).to_be_visible()
        look(page, "the list")
        page.goto(address + LESSON)
        for step in STEPS:
            step(page)
        page.locator("#order-free").get_by_role("button", name="Show me").click()
        answered(page.locator("#order-free bx-view"))
        expect(page.locator(".claim:not([hidden]):not([data-holds])")).to_have_count(0)
        wait_until_quiet(page)
        look(page, "a lesson")
        page.goto(address + "learn?lesson=sure-and-wrong")
        page.get_by_role("button", name="Go on without answering").click()
        page.locator("#share-rome").get_by_role("button", name="Lock in my points").click()
        answered(page.locator("#share-rome bx-view"))
        expect(page.locator(".claim:not([hidden]):not([data-holds])")).to_have_count(0)
        wait_until_quiet(page)
        look(page, "points")
    assert not {where: lines for where, lines in result.items() if lines}


def test_a_lesson_can_be_answered_with_the_keyboard(browser: Browser, address: str) -> None:
    with opened(browser, address + LESSON) as page:
        expect(page.locator("#first-guess")).to_be_visible()
        tab_to(page, "#first-guess input")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowUp")
        expect(page.get_by_label("She missed the meeting.")).to_be_checked()
        tab_to(page, "#first-guess button")
        page.keyboard.press("Enter")
        expect(page.locator("#first-guess .feedback")).to_contain_text("Not as you guessed")
        assert page.evaluate("document.activeElement.matches('#first-guess .feedback')"), "the focus is at what is said"
        answered(page.locator("#first-guess bx-view"))
        tab_to(page, "#jumbled input")
        page.keyboard.type("50")
        page.keyboard.press("Enter")
        expect(page.locator("#jumbled .verdict")).to_be_visible()
        assert has_focus(page, "#jumbled input, #jumbled .feedback")
        expect(page.locator(".claim:not([hidden]):not([data-holds])")).to_have_count(0)
        wait_until_quiet(page)


TRANSLATED = """() => {  // as Chromium's own translation does it: each text node becomes fonts with other words
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
  while (walk.nextNode()) texts.push(walk.currentNode);
  for (const text of texts) {
    if (!text.data.trim() || text.parentElement.closest("[translate=no], script, style, textarea, svg")) continue;
    const inner = document.createElement("font"), outer = document.createElement("font");
    inner.textContent = `«${text.data.trim()}»`;
    outer.append(inner);
    text.replaceWith(outer);
  }
}"""


def test_a_page_translated_by_the_browser_keeps_working(browser: Browser, address: str) -> None:
    with opened(browser, address + LESSON) as page:
        expect(page.locator("#first-guess")).to_be_visible()
        page.evaluate(TRANSLATED)
        page.locator("#first-guess input").first.check()
        page.locator("#first-guess .go").click()
        expect(page.locator("#first-guess .feedback")).to_contain_text("Not as you guessed")
        answered(page.locator("#first-guess bx-view"))
        page.evaluate(TRANSLATED)
        chip = page.locator("#first-guess .chip").get_by_text("train", exact=True)
        expect(chip).to_have_text("train")  # tokens are not translated
        chip.click()
        expect(page.locator("#first-guess .chip.masked")).to_have_count(1)
        answered(page.locator("#first-guess bx-view"))
        expect(page.locator("#jumbled")).to_be_visible()
    with opened(browser, address) as page:
        expect(page.locator("#figure .bars .mark").first).to_be_visible()
        page.evaluate(TRANSLATED)
        page.locator("button.chip").nth(2).click()
        expect(page.locator(".chip.masked")).to_have_count(2)
        expect(page.locator("#caption .said")).to_contain_text("For mask 1 it would put")
        wait_until_quiet(page)


def test_an_uploaded_lesson_is_checked_before_its_address_is_shared(browser: Browser, address: str) -> None:
    """Each thing to mend is listed with its line; only then does the page lead to the lesson."""
    lesson = next(BUNDLED.glob("*-three-vectors.md")).read_text()
    impossible = re.sub(r"^  when: .*$", "  when: 1 == 2", lesson, flags=re.MULTILINE)
    with opened(browser, address + "learn") as page:
        page.get_by_text("A lesson of your own").click()
        box, report = page.get_by_label("Its file"), page.locator("#own-report")
        box.set_input_files({"name": "own.md", "mimeType": "text/markdown", "buffer": impossible.encode()})
        expect(report.locator("[role=status]")).to_contain_text("to mend")
        expect(report.locator(".problems")).to_contain_text("None of the choices is what this checkpoint does")
        expect(page.locator("article.lesson")).to_have_count(0)
        box.set_input_files({"name": "own.md", "mimeType": "text/markdown", "buffer": lesson.encode()})
        expect(report.locator("[role=status]")).to_have_text(
            re.compile("^Everything that the lesson asserts holds on ")
        )
        expect(report.locator(".problems")).to_have_count(0)
        report.get_by_role("link", name="Open the lesson").click()
        expect(page.locator("article.lesson h1")).to_be_visible()
        assert "lesson=own-" in page.url


def test_a_changed_lesson_takes_its_place_beside_its_check(browser: Browser, address: str) -> None:
    lesson = next(BUNDLED.glob("*-three-vectors.md")).read_text()
    impossible = re.sub(r"^  when: .*$", "  when: 1 == 2", lesson, flags=re.MULTILINE)
    changed = re.sub(r"^title: .*$", "title: Changed", lesson, flags=re.MULTILINE)
    with opened(browser, address + "learn", gone=True) as page:  # one file is no lesson, which the console reports
        page.get_by_text("A lesson of your own").click()
        report = page.locator("#own-report")

        def upload(text: str) -> None:
            file = {"name": "own.md", "mimeType": "text/markdown", "buffer": text.encode()}
            page.get_by_label("Its file").set_input_files(file)

        upload(impossible)
        report.get_by_role("link", name="Open it as it is").click()
        expect(page.locator("article.lesson")).to_be_visible()
        expect(report.locator(".problems")).to_contain_text("None of the choices is what this checkpoint does")
        expect(report.get_by_role("link")).to_have_count(0)
        before = page.url
        upload("no lesson")
        expect(page.locator(".checking [role=alert]")).to_be_visible()
        upload(changed)
        expect(page.locator("article.lesson h1")).to_have_text("Changed")
        expect(report.locator("[role=status]")).to_have_text(
            re.compile("^Everything that the lesson asserts holds on ")
        )
        assert page.url != before
        page.reload()
        expect(page.locator("article.lesson h1")).to_have_text("Changed")
        expect(report).to_have_count(0)  # others open the lesson without it
        wait_until_quiet(page)


def test_an_offline_lesson_is_small_and_interactive(browser: Browser, address: str, tmp_path: Path) -> None:
    """One with the figure of a whole vocabulary: its points become pixels; links into the app become words."""
    file = tmp_path / "lesson.html"
    with opened(browser, address + "learn?lesson=sure-and-wrong") as page:
        page.get_by_text("For teachers").click()
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save for offline").click()
        saved.value.save_as(file)
        wait_until_quiet(page)
    assert file.stat().st_size < 400_000
    context = browser.new_context(offline=True)
    page, heard = context.new_page(), []
    page.on("console", lambda message: heard.append(message.text))
    page.goto(file.as_uri())
    question = page.locator("#paris-is")
    expect(page.locator("#share-rome")).to_be_hidden()
    question.get_by_label("Rome", exact=True).check()
    question.get_by_role("button", name="Lock in my guess").click()
    expect(question.locator(".said")).to_contain_text("As you guessed: Rome")
    expect(question.locator(".said")).to_contain_text("BERT puts rome first")
    expect(page.locator("body > .hint").first).to_contain_text("5 minutes. Afterwards you can say what")
    expect(question.get_by_label("Italy")).to_be_disabled()
    expect(question.locator(".view img")).to_have_attribute("src", re.compile("^data:image/svg"))
    question.get_by_role("button", name="Go on").click()
    expect(page.locator("#share-rome")).to_be_visible()
    assert all(item.evaluate("img => img.naturalWidth > 100") for item in page.locator("img").all())
    assert page.locator("a[href^='/']").count() == 0 and not heard
    context.close()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_the_first_button_of_a_lesson_is_a_pupils(page: Page) -> None:
    page.goto(f"{page.url.partition('?')[0]}learn?lesson=next-sentence")
    expect(page.get_by_role("button", name="Ask the class")).to_be_visible()
    first = page.locator("#learn button").first
    expect(first).to_have_text("Lock in my guess")

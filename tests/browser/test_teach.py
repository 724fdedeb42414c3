"""Teach, the first part of the page Train: boxes of sentences, what is learned from them, a sentence that fools it."""

import json
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import bertexplorer as bx
from bertexplorer.teaching.evaluation import RIDGES
from bertexplorer.teaching.head import fit
from tests.browser.conftest import opened
from tests.browser.test_access import wrong

MARKUP = "<img src=x onerror='window.__pwn=1'> ${alert(1)} {{x}}"
KITCHEN = ["Fry the onions in butter.", "The soup is hot.", "Bake a cake in the oven."]
GARDEN = ["The roses need water.", "Cut the grass today.", "He planted a tree."]


def open_teach(page: Page) -> None:
    page.goto(page.url.partition("?")[0].removesuffix("train") + "train")
    expect(page.locator("bx-teach .learned:not(.stale)")).to_be_visible()


def fill(page: Page, box: int, sentences: list[str]) -> None:
    page.locator("bx-teach textarea").nth(box).fill("\n".join(sentences))


def said(page: Page) -> str:
    expect(page.locator("bx-teach .learned:not(.stale)")).to_be_visible()
    return page.locator("bx-teach .said").inner_text()


def try_sentence(page: Page, sentence: str) -> None:
    page.get_by_label("Try a sentence").fill(sentence)
    page.get_by_label("Try a sentence").press("Enter")
    expect(page.locator("bx-teach .why .bars")).to_be_visible()
    expect(page.locator("bx-teach .why .bars")).to_contain_text("points")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_a_pupil_teaches_it_and_fools_it(page: Page, tmp_path: Path) -> None:
    """On a phone, with the keyboard; the numbers are those of the package."""
    open_teach(page)
    page.get_by_label("Boxes to begin with").select_option("empty")
    expect(page.locator("bx-teach .said")).to_have_text("Put sentences into two boxes, one a line.")
    fill(page, 0, KITCHEN[:1])
    fill(page, 1, GARDEN[:1])
    expect(page.locator("bx-teach .said")).to_contain_text("Too few to say")
    for box, (name, sentences) in enumerate((("kitchen", KITCHEN), ("garden", GARDEN))):
        page.get_by_label(f"Name of box {box + 1}").fill(name)
        fill(page, box, sentences)
    expect(page.locator("bx-teach .said")).to_contain_text("of 6")
    taught = bx.teach({"kitchen": KITCHEN, "garden": GARDEN}, bx.load("mini"))
    assert said(page).replace("\xa0", " ").startswith(taught.said.partition(". ")[0])
    try_sentence(page, "The gardener cooks soup.")
    wanted = max(taught.ask("The gardener cooks soup.").items(), key=lambda entry: entry[1])
    expect(page.locator("bx-teach .trial bx-figure").first).to_contain_text(f"{100 * wanted[1]:.0f} %")
    other = "garden" if wanted[0] == "kitchen" else "kitchen"
    page.locator("bx-teach .belongs").get_by_role("button", name=other).click()
    expect(page.locator("bx-teach .message")).to_contain_text(f"Added to “{other}”")
    expect(page.locator("bx-teach .trial .summary")).to_have_text("1 sentence fooled it so far.")
    expect(page.locator("bx-teach textarea").nth(int(other == "garden"))).to_have_value(
        "\n".join([*(GARDEN if other == "garden" else KITCHEN), "The gardener cooks soup."])
    )
    page.reload()
    expect(page.locator("bx-teach .said")).to_contain_text("of 7")  # nothing typed is lost
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    other = page.context.new_page()  # a second tab has the same boxes, and hears of changes
    other.goto(page.url)
    fill(other, 0, ["Something else."])
    expect(page.locator("bx-teach textarea").first).to_have_value("Something else.")
    page.locator("bx-teach").get_by_role("button", name="Undo").click()
    expect(page.locator("bx-teach textarea").first).not_to_have_value("Something else.")
    expect(other.locator("bx-teach textarea").first).not_to_have_value("Something else.")
    other.close()
    expect(page.locator("bx-teach .said")).to_contain_text("of 7")
    with page.expect_download() as download:
        page.locator("bx-teach").get_by_role("button", name="Save", exact=True).click()
    again = bx.teach(download.value.path(), bx.load("mini"))
    try_sentence(page, "A rose.")
    with page.expect_download() as download:
        page.locator("bx-teach").get_by_role("button", name="Save as a page").click()
    saved = download.value.path().read_text("utf-8")
    assert "“A rose.”: " in saved and saved.count("<img") == 2 and "The gardener cooks soup." in saved
    assert list(again.boxes) == ["kitchen", "garden"] and sum(map(len, again.boxes.values())) == 7


def test_what_is_odd_is_said_and_nothing_is_markup(browser: Browser, address: str, tmp_path: Path) -> None:
    with opened(browser, address) as page:
        open_teach(page)
        page.get_by_label("Name of box 1").fill(MARKUP)
        fill(page, 0, [MARKUP, "The soup is hot.", "The soup  is HOT."])
        fill(page, 1, ["The soup is hot.", "x" * 600, *GARDEN])
        odd = page.locator("bx-teach .odd")
        for words in ("Decide for one box", "more than once", "more than 500 characters"):
            expect(odd).to_contain_text(words)
        fill(page, 0, [f"Sentence number {i}." for i in range(400)])
        expect(odd).to_contain_text("beyond the first 300")
        fill(page, 0, [MARKUP, *KITCHEN])
        fill(page, 1, [*GARDEN, "Das schöne Haus gehört meiner Großmutter."])
        expect(page.locator("bx-teach .message")).to_contain_text("trained on English")
        try_sentence(page, MARKUP)
        assert page.evaluate("window.__pwn === undefined")
        said(page)
        assert wrong(page) == []
        table = tmp_path / "rows.csv"
        table.write_text('text,label\n"A cat, asleep",pets\nA dog,pets\nA car,"things, small"\n', "utf-8")
        page.locator("bx-teach input[type=file]").set_input_files(table)
        expect(page.get_by_label("Name of box 2")).to_have_value("things, small")
        expect(page.locator("bx-teach textarea").first).to_have_value("A cat, asleep\nA dog")
        for content, words in (
            ("{", "it was cut"),
            ("One line.\nAnother.", "pasted into a box"),
            ("[1]", "is no file of boxes"),
            (json.dumps({"kind": "bert-explorer-teach", "version": 7}), "has version 7"),
            (json.dumps({"kind": "bert-explorer-teach", "version": 1, "boxes": [{"name": 1}]}), "cannot be read"),
        ):
            file = tmp_path / "boxes.json"
            file.write_text(content, "utf-8")
            page.locator("bx-teach input[type=file]").set_input_files(file)
            expect(page.locator("bx-teach .message")).to_contain_text(words)
        page.locator("bx-teach").get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Name of box 1")).to_have_value(MARKUP[:60])
        list_of_sets = page.get_by_label("Boxes to begin with")
        list_of_sets.focus()
        list_of_sets.press("ArrowDown")  # of a closed list: nothing is taken until Enter
        expect(page.get_by_label("Name of box 1")).to_have_value(MARKUP[:60])
        list_of_sets.press("Enter")
        expect(page.get_by_label("Name of box 1")).to_have_value("kitchen")
        try_sentence(page, "The soup has to boil  for an HOUR.")
        expect(page.locator("bx-teach .message")).to_contain_text("It has learned this sentence")


@pytest.mark.parametrize("size", ["phone"], indirect=True)
def test_other_boxes_take_the_answer_of_the_former_head_away(page: Page) -> None:
    open_teach(page)
    said(page)
    try_sentence(page, "The gardener cooks soup.")
    expect(page.locator("bx-teach .belongs button")).to_have_count(2)
    page.get_by_label("Boxes to begin with").select_option("empty")
    expect(page.locator("bx-teach .belongs button")).to_have_count(0)
    expect(page.locator("bx-teach .trial bx-figure").first).to_be_hidden()
    expect(page.get_by_label("Try a sentence")).to_have_value("The gardener cooks soup.")


def test_it_is_folded_where_a_run_is_shown(browser: Browser, address: str) -> None:
    with opened(browser, address + "train?run=none", gone=True) as page:  # there is no such run
        expect(page.locator("bx-teach")).to_be_hidden()
        page.get_by_role("heading", name="Teach").click()
        expect(page.locator("bx-teach .learned:not(.stale)")).to_be_visible()


def test_the_rows_go_on_to_a_run(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        open_teach(page)
        page.get_by_label("Boxes to begin with").select_option("Film reviews")
        page.get_by_role("button", name="Fine-tune it…").click()
        expect(page.locator("#rows-file .named")).to_have_text("boxes.csv")
        expect(page.locator("#looked")).to_contain_text("18 training rows, 2 validation rows")
        assert page.locator("#task").input_value() == "classification"


def test_an_empty_box_is_named_before_a_run(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        open_teach(page)
        page.get_by_label("Boxes to begin with").select_option("empty")
        fill(page, 0, KITCHEN)
        page.get_by_label("Name of box 2").fill("garden")
        page.get_by_role("button", name="Fine-tune it…").click()
        expect(page.locator("bx-teach .message")).to_contain_text("“garden” is empty.")
        expect(page.locator("#rows-file .named")).to_have_text("")
        fill(page, 1, GARDEN)
        page.get_by_role("button", name="Fine-tune it…").click()
        expect(page.locator("#rows-file .named")).to_have_text("boxes.csv")


def test_the_sentences_of_the_boxes_are_audited(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        open_teach(page)
        page.get_by_label("Boxes to begin with").select_option("empty")
        fill(page, 0, KITCHEN[:2])
        fill(page, 1, ["Der Zug fährt ab."])
        page.locator("bx-teach").get_by_role("button", name="Can it read them?").click()
        expect(page.locator("#question h2")).to_have_text("Can it read these texts?")
        expect(page.locator("#caption .said")).to_contain_text("3 texts")
        open_teach(page)
        expect(page.locator("bx-teach textarea").first).to_have_value("\n".join(KITCHEN[:2]))


FIT = """async () => {
  const { ask } = await import("%s/backend.js");
  const { fit, probabilities } = await import("%s/teach/linear_head.js");
  const texts = ["A cat sat.", "A dog ran.", "The cat ran.", "A ship sank.", "The train left.", "Cars are fast."];
  const { answer: { vectors } } = await ask("encode", { body: { texts, checkpoint: "mini", precision: "fp32" } });
  return { vectors, found: %s.map((ridge) => {
    const head = fit(vectors, [0, 0, 0, 1, 1, 1], 2, ridge);
    return vectors.map((vector) => probabilities(head, vector));
  }) };
}"""


def test_the_head_is_that_of_scikit_learn_on_the_same_vectors(browser: Browser, address: str) -> None:
    with opened(browser, address) as page:
        script = page.locator("script[type=module]").first.get_attribute("src") or ""
        base = page.evaluate("(path) => new URL(path, document.baseURI).href", script).rpartition("/")[0]
        result = page.evaluate(FIT % (base, base, list(RIDGES)))
    vectors = np.array(result["vectors"])
    for ridge, found in zip(RIDGES, result["found"], strict=True):
        wanted = fit(vectors, np.array([0, 0, 0, 1, 1, 1]), 2, ridge).probabilities(vectors)
        assert np.array(found) == pytest.approx(wanted, abs=1e-3)

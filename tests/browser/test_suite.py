"""Suites on the page: built-in and uploaded rows, filters, single cases, and a comparison of checkpoints."""

import pytest
from playwright.sync_api import Page, expect

import bertexplorer as bx
from tests.browser.steps import expect_message, expect_said

PAIRS = (
    "good,bad,category\nThe cat sleeps.,The cat sleep.,one\nThe cats sleep.,The cats sleeps.,many\nA.,A.,one\na,b,c,d\n"
)


def cases(page: Page):
    return page.locator("bx-cases tbody tr")


@pytest.fixture
def suite(page: Page) -> Page:
    page.goto(f"{page.url.partition('?')[0]}?view=suite&suite=everyday")
    expect_said(page, "accepted word first")
    return page


def test_cases_are_filtered_sorted_and_opened(suite: Page) -> None:
    expect(cases(suite)).to_have_count(25)
    suite.get_by_role("button", name="More cases").click()
    expect(cases(suite)).to_have_count(50)
    suite.locator("bx-cases label", has_text="Show").locator("select").select_option("wrong")
    suite.locator("bx-cases label", has_text="Category").locator("select").select_option("opposites")
    rows = bx.load("mini").suite(suite="everyday").rows
    wrong = sum(row["category"] == "opposites" and not row["right"] for row in rows)
    assert 0 < wrong < 25
    expect(cases(suite)).to_have_count(wrong)
    expect(suite.locator("bx-cases tbody .right")).to_have_count(0)
    suite.locator("bx-cases label", has_text="Order").locator("select").select_option("lowest score first")
    scores = [float(text.split()[0].replace("−", "-")) for text in suite.locator("bx-cases .number").all_inner_texts()]
    assert scores == sorted(scores)
    text = suite.locator(".case").first.inner_text()
    suite.locator(".case").first.click()
    expect(suite.locator("#question h2")).to_have_text("What would BERT put here?")
    expect(suite.locator("#text textarea")).to_have_value(text)
    suite.go_back()
    expect(suite.locator("#question h2")).to_have_text("Is that always so?")
    expect(suite.locator("#text")).to_be_hidden()
    expect(cases(suite).first).to_be_visible()


def test_all_cells_of_a_case_are_on_the_screen(suite: Page) -> None:
    row = cases(suite).first
    inside, left, heads = row.evaluate(
        """(row) => {
            const edges = [...row.children].map((cell) => cell.getBoundingClientRect());
            const heads = [...row.children].map((cell) => getComputedStyle(cell, "::before").content);
            return [edges.every(({ right }) => right <= innerWidth), edges.map(({ left }) => left), heads.slice(2)];
        }"""
    )
    assert inside
    if suite.viewport_size == {"width": 390, "height": 844}:
        assert left[2] == left[0], "the other cells are below the text"
        assert [head.split('"')[1] for head in heads] == ["Wanted ", "Answer ", "Score "]
    else:
        assert left == sorted(left) and set(heads) == {"none"}
    assert suite.locator("bx-cases .line").evaluate_all(
        "(all) => all.every((one) => one.querySelector('small').offsetTop - one.querySelector('span').offsetTop < 10)"
    )


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_rows_are_uploaded_and_those_that_cannot_be_scored_are_named(suite: Page) -> None:
    suite.locator("#lines").set_input_files({"name": "own.csv", "mimeType": "text/csv", "buffer": PAIRS.encode()})
    expect_said(suite, "of 2 pairs")
    expect_said(suite, "2 rows could not be scored: line 4 has the same sentence twice and line 5 has 4 fields")
    suite.get_by_text("2 rows skipped").click()
    expect(suite.locator("bx-cases .aside li").last).to_have_text("Line 5 has 4 fields, expected 3")
    expect(suite.locator("bx-cases .aside li").last).to_be_visible()
    expect_said(suite, "Fewer than 30 cases say little")
    expect(suite.locator(".case").first).to_contain_text("The cat sleeps.")
    expect(suite.locator("#uploaded")).to_contain_text("Your file own.csv is in use.")
    suite.reload()
    expect_said(suite, "of 2 pairs")
    expect(suite.locator("#uploaded")).to_contain_text("Your file is in use.")
    bad = {"name": "bad.csv", "mimeType": "text/csv", "buffer": b"name,age\nAda,36\nAlan,41\n"}
    suite.locator("#lines").set_input_files(bad)
    expect_message(suite, "are not those of a view")
    expect_message(suite, "bad.csv is not in use.")
    expect(suite.locator("bx-cases .line small").first).to_have_text("2")
    suite.get_by_role("button", name="Can it read them?").click()
    expect(suite.locator("#question h2")).to_have_text("Can it read these texts?")
    expect_said(suite, "4 texts")
    suite.get_by_role("button", name="Stop using it").click()
    expect_said(suite, "12 texts")
    expect(suite.locator("#uploaded")).to_be_hidden()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_saved_suite_names_no_sentence_that_it_did_not_read(suite: Page) -> None:
    expect_said(suite, "accepted word first")
    with suite.expect_download() as download:
        suite.get_by_role("button", name="HTML", exact=True).click()
    saved = download.value.path().read_text("utf-8")
    assert "accepted word first" in saved and "The capital of France" not in saved.partition("<table")[0]


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_choosing_a_built_in_suite_leaves_the_file(suite: Page) -> None:
    suite.locator("#lines").set_input_files({"name": "own.csv", "mimeType": "text/csv", "buffer": PAIRS.encode()})
    expect_said(suite, "of 2 pairs")
    chosen = suite.locator("#forms [data-setting=suite]")
    expect(chosen).to_have_value("")  # none
    chosen.select_option("everyday")
    expect_said(suite, "accepted word first")
    expect(suite.locator("#uploaded")).to_be_hidden()
    expect(chosen).to_have_value("everyday")


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_large_suite_is_scored_completely_as_a_run(suite: Page) -> None:
    rows = "first,second,next\n" + "".join(f"He went to shop {n}.,He bought milk.,yes\n" for n in range(210))
    suite.locator("#lines").set_input_files({"name": "shops.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    expect_said(suite, "10 cases beyond the limit were left out")
    suite.get_by_role("button", name="Score the other 10 too, as a run").click()
    suite.locator("#message a", has_text="Train").click()
    suite.locator(".run", has_text="Suite, uploaded rows, mini").click()
    expect(suite.locator("#headline .state")).to_contain_text("finished", timeout=60_000)
    expect(suite.locator("#caption")).to_contain_text("of 210 pairs", timeout=10_000)
    expect(suite.locator("#figure .marks")).to_be_visible()
    with suite.expect_download() as download:
        suite.get_by_role("link", name="All cases as CSV").click()
    assert len(download.value.path().read_text("utf-8").splitlines()) == 211
    table = suite.locator("bx-run-cases")
    expect(cases(suite)).to_have_count(25)
    table.get_by_role("button", name="More cases").click()
    expect(cases(suite)).to_have_count(50)
    table.locator("label", has_text="Order").locator("select").select_option("closest calls first")
    expect(cases(suite)).to_have_count(25)
    expect(table.get_by_role("status")).to_contain_text("210 of 210 cases")
    first = table.locator(".case span").first.inner_text()
    table.locator(".case").first.click()
    expect(suite.locator("#text textarea")).to_have_value(first)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_two_runs_of_the_same_rows_are_compared(suite: Page) -> None:
    address = suite.url.partition("?")[0].rstrip("/")
    for checkpoint, name in (("tiny", "after training"), ("tiny@0", "before training")):
        data = {"suite": "agreement", "checkpoint": checkpoint, "name": name}
        assert suite.request.post(f"{address}/api/v1/suites", data=data).status == 202
    suite.goto(f"{address}/train")
    for name in ("before training", "after training"):
        suite.locator(".run", has_text=name).click()
        expect(suite.locator("#headline")).to_contain_text(name)
        expect(suite.locator("#headline .state")).to_contain_text("finished", timeout=60_000)
    table = suite.locator("bx-run-cases")
    table.locator("label", has_text="Compare with").locator("select").select_option("before training")
    expect(table.get_by_text("On the same 130 cases the difference is")).to_be_visible()
    expect(table.locator("th").last).to_have_text("before training")
    table.locator("bx-cases label", has_text="Show").locator("select").select_option("on which they differ")
    expect(table.locator("bx-cases p[role=status]")).not_to_contain_text("130 of 130")
    expect(cases(suite).first.locator(".wrong")).to_have_count(1)


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_two_checkpoints_answer_the_same_cases(suite: Page) -> None:
    suite.goto(f"{suite.url}&against=random+weights")
    expect(suite.locator("#beside .said")).to_contain_text("On the same 72 cloze items the difference is")
    expect(suite.locator("bx-cases th").last).to_contain_text("mini, random weights")
    suite.locator("bx-cases label", has_text="Show").locator("select").select_option("on which they differ")
    expect(cases(suite).first).to_be_visible()
    expect(suite.get_by_text("another text")).to_be_hidden()


@pytest.mark.parametrize("size", ["desktop"], indirect=True)
def test_a_long_search_goes_on_as_a_run(page: Page) -> None:
    rows = "query,passage\n" + "".join(
        f"who likes the cat {n},The cat of {n} is liked by number {n}.\n" for n in range(600)
    )
    page.goto(f"{page.url.partition('?')[0]}?view=not-found")
    expect_said(page, "queries find what answers them")
    page.locator("#lines").set_input_files({"name": "own.csv", "mimeType": "text/csv", "buffer": rows.encode()})
    page.get_by_role("button", name="Go on as a run").click()
    expect_message(page, "The run is in the list on the page Train.")
    page.locator("#message a").click()
    expect(page.get_by_role("heading", name="Not found, mini")).to_be_visible()

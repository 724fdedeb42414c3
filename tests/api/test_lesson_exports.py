"""Exports of lessons: in the language of the page, and with all that a copy without a server shows."""

import csv
import io
from collections.abc import Iterator
from xml.etree import ElementTree
from zipfile import ZipFile

import httpx
import pytest

from tests.api.conftest import Served
from tests.api.teaching import EVIL, words


@pytest.fixture
def pupil(taught: Served) -> Iterator[httpx.Client]:
    with taught.browser() as browser:
        yield browser


def test_exports_are_in_the_language_of_the_page(pupil: httpx.Client) -> None:
    german = pupil.get("/lessons/welcome/gift", params={"lang": "de"}).text
    assert german.startswith("// Drei Dinge") and "Du verdeckst “milk” in" in german
    rows = list(csv.DictReader(io.StringIO(pupil.get("/lessons/welcome/csv", params={"lang": "de"}).text)))
    assert rows[0]["text"].startswith("Du verdeckst “milk” in")


def test_keys_for_an_offline_copy_include_hints_and_solutions(pupil: httpx.Client) -> None:
    keys = pupil.get("/lessons/pieces/keys").json()
    assert words(keys["odd"]["hint"]) == "It has two signs in front." and keys["odd"]["right"] == ["##y"]
    assert keys["odd"]["tokens"] == ["the", "cat", "s", "##a", "##w", "x", "##y", "##z", ".", "the", "cat"]
    assert words(keys["longer"]["example"]) == "qqqqq" and words(keys["longer"]["after"]) == "It has 5."


def test_questions_are_exported_as_moodle_reads_them(pupil: httpx.Client) -> None:
    """The elements of Moodle's XML: a category, questions of one choice with feedback, numbers with a tolerance."""
    answer = pupil.get("/lessons/pieces/moodle")
    assert answer.status_code == 200 and answer.headers["x-file-name"] == "pieces.moodle"
    category, *questions = ElementTree.fromstring(answer.text)
    assert category.findtext("category/text") == "$course$/Pieces"
    assert category.findtext("info/text") == "The answers are those of the checkpoint little."
    assert [(q.get("type"), q.findtext("name/text")) for q in questions] == [
        ("multichoice", "pieces-guess"),
        ("multichoice", "pieces-why"),
        ("numerical", "pieces-count"),
        ("numerical", "pieces-share"),
    ]
    guess, _, count, share = questions
    assert guess.findtext("questiontext/text") == "Which word is cut into more pieces?" and guess.findtext("single")
    choices = [(a.get("fraction"), a.findtext("text"), a.findtext("feedback/text")) for a in guess.findall("answer")]
    assert (choices[0][0], choices[0][1], (choices[0][2] or "")[:7]) == ("0", "cat", "No: cat")
    assert [(text, fraction) for fraction, text, _ in choices if fraction == "100"] == [("xyz", "100")]
    numbers = [(q.findtext("answer/text"), q.findtext("answer/tolerance")) for q in (count, share)]
    assert numbers == [("3", "0"), ("30", "1")]
    assert pupil.get("/lessons/nowhere/moodle").status_code != 200


@pytest.mark.parametrize("slug", ["welcome", "next-sentence", "hide-and-seek"])
def test_the_xml_of_the_bundled_lessons_is_well_formed(pupil: httpx.Client, slug: str) -> None:
    questions = ElementTree.fromstring(pupil.get(f"/lessons/{slug}/moodle", params={"checkpoint": "mini"}).text)
    for question in questions.iter("question"):
        right = [answer for answer in question.findall("answer") if answer.get("fraction") == "100"]
        assert len(right) == 1 or question.get("type") == "category"


QTI = {"q": "http://www.imsglobal.org/xsd/imsqti_v2p1", "p": "http://www.imsglobal.org/xsd/imscp_v1p1"}


def unpacked(pupil: httpx.Client, slug: str, **query: str) -> dict[str, ElementTree.Element]:
    """The documents of a package of QTI, by their names."""
    answer = pupil.get(f"/lessons/{slug}/qti", params=query)
    assert answer.status_code == 200 and answer.headers["content-type"] == "application/zip"
    with ZipFile(io.BytesIO(answer.content)) as package:
        return {name: ElementTree.fromstring(package.read(name)) for name in package.namelist()}


def test_a_package_of_qti_lists_its_files_and_grades_by_its_own_rules(pupil: httpx.Client) -> None:
    files = unpacked(pupil, "pieces")
    listed = {file.get("href") for file in files["imsmanifest.xml"].iterfind(".//p:file", QTI)}
    assert listed == set(files) - {"imsmanifest.xml"}
    names = [ref.get("href") for ref in files["test.xml"].iterfind(".//q:assessmentItemRef", QTI)]
    assert names == ["pieces-guess.xml", "pieces-why.xml", "pieces-count.xml", "pieces-share.xml"]
    assert files["test.xml"].get("title") == "Pieces (answers of little)"
    guess, share = files["pieces-guess.xml"], files["pieces-share.xml"]
    choices = guess.findall(".//q:simpleChoice", QTI)
    assert [(choice.get("identifier"), choice.text) for choice in choices] == [("CHOICE_1", "cat"), ("CHOICE_2", "xyz")]
    assert guess.findtext(".//q:correctResponse/q:value", "", QTI) == "CHOICE_2"
    feedback = {shown.get("identifier"): shown.text for shown in guess.iterfind("q:modalFeedback", QTI)}
    assert (feedback["CHOICE_1"] or "").startswith("No: cat has a row")
    rule = guess.find("q:responseProcessing//q:match", QTI)
    assert rule is not None and [part.tag.partition("}")[2] for part in rule] == ["variable", "correct"]
    equal = share.find("q:responseProcessing//q:equal", QTI)
    assert equal is not None and (equal.get("toleranceMode"), equal.get("tolerance")) == ("absolute", "1 1")
    assert share.findtext(".//q:correctResponse/q:value", "", QTI) == "30"
    assert share.find(".//q:textEntryInteraction", QTI) is not None


def test_markup_in_a_lesson_is_text_in_a_package(pupil: httpx.Client) -> None:
    item = unpacked(pupil, "markup")["markup-evil.xml"]
    assert EVIL in (item.findtext(".//q:prompt", "", QTI)) and item.find(".//q:script", QTI) is None


def test_equal_questions_make_equal_packages(pupil: httpx.Client) -> None:
    first, second = (pupil.get("/lessons/pieces/qti").content for _ in range(2))
    assert first == second

"""Exports of lessons: in the language of the page, and with all that a copy without a server shows."""

import csv
import io
from collections.abc import Iterator

import httpx
import pytest

from tests.api.conftest import Served
from tests.api.teaching import words


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

"""Rows with tags or spans: accepted notations, and the problems of unusable rows."""

from typing import Any

import pytest

from bertexplorer.model.text import split_words
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.tasks.tagging import Options, examples


def one(tokens: Any, tags: Any) -> Any:
    result, problems = examples([Row(7, {"tokens": tokens, "tags": tags})], Options())
    return result[0] if result else problems[0]


def spelt(sentence: Any) -> list[str]:
    return [sentence.text[start:end] for start, end in sentence.words]


@pytest.mark.parametrize(
    ("tokens", "tags"),
    [
        (["Ada", "saw", "New", "York"], ["B-PER", "O", "B-LOC", "I-LOC"]),
        ("Ada saw New York", "B-PER O B-LOC I-LOC"),
        ('["Ada", "saw", "New", "York"]', '["I-PER", "O", "I-LOC", "I-LOC"]'),
        ("Ada saw New York", [{"start": 0, "end": 3, "label": "PER"}, {"start": 8, "end": 16, "label": "LOC"}]),
        ("Ada saw New York", '[[8, 16, "LOC"], [0, 3, "PER"]]'),
        ("Ada\u200b saw New York", [[0, 3, "PER"], [9, 17, "LOC"]]),
    ],
)
def test_all_notations_give_the_same_sentence(tokens: Any, tags: Any) -> None:
    result = one(tokens, tags)
    assert result.line == 7 and result.text == "Ada saw New York" and spelt(result) == ["Ada", "saw", "New", "York"]
    assert result.tags == ("B-PER", "O", "B-LOC", "I-LOC")


@pytest.mark.parametrize(
    ("tokens", "tags", "what"),
    [
        (["Ada", "saw"], ["O"], "has 2 words and 1 tags"),
        (["Ada", ""], ["O", "O"], "has an empty word"),
        (["Ada", "saw"], ["O", ""], "has no tag for “saw”"),
        ("", "", "has no word"),
        ("\u200b", "O", "has no word"),
        (["Ada"], [[0, 3, "PER"]], "has spans, but a list of words"),
        ("in London", [[4, 9, "LOC"]], "has an entity LOC that does not start at the start of a word: “in L|ondon”"),
        ("in London now", [[3, 8, "LOC"]], "does not end at the end of a word: “in Londo|n now”"),
        ("in London", [[3, 10, "LOC"]], "has a span from 3 to 10 in a text of 9 characters"),
        ("in London", [[9, 3, "LOC"]], "has a span from 9 to 3"),
        ("in London", [["3", 9, "LOC"]], "wanted a start, an end and a label"),
        ("in London", [{"start": 3, "end": 9}], "has a span without a label"),
        ("in New York", [[3, 11, "LOC"], [7, 11, "LOC"]], "has overlapping entities: “in New |York”"),
        ("   ", [], "has no text"),
    ],
)
def test_an_unusable_row_names_the_reason(tokens: Any, tags: Any, what: str) -> None:
    problem = one(tokens, tags)
    assert problem.line == 7 and what in problem.what


def test_a_text_without_entities_is_a_sentence() -> None:
    assert one("nothing here.", []).tags == ("O", "O", "O")


def test_unmarked_tags_among_marked_ones_are_reported_and_plain_tags_kept() -> None:
    marked = [Row(i, {"tokens": "Ada", "tags": "B-PER"}) for i in range(1, 20)]
    result, problems = examples([*marked, Row(20, {"tokens": "Ada sings", "tags": "PER O"})], Options())
    assert len(result) == 19 and [p.line for p in problems] == [20] and "“PER” without B- or I-" in problems[0].what
    result, problems = examples([Row(1, {"tokens": "Ada sings", "tags": "NOUN VERB"})], Options())
    assert result[0].tags == ("NOUN", "VERB") and not problems


def test_an_invisible_word_is_empty() -> None:
    result = one(["Ada", "\u200b", "sings"], ["B-PER", "I-PER", "O"])
    assert spelt(result) == ["Ada", "", "sings"] and result.tags == ("B-PER", "I-PER", "O")


def test_conll_and_jsonl_files_are_read() -> None:
    table = read(b"Ada\tB-PER\nsings\tO\n\nOslo\tB-LOC\n.\tO\n\nHe\tO\n", "x.conll")
    result, problems = examples(map_columns(table, {"tokens": "tokens", "tags": "tags"}), Options())
    assert [row.line for row in result] == [1, 4, 7] and not problems
    lines = b'{"text": "Ada sings.", "label": [[0, 3, "PER"]]}\n{"text": "He, too.", "label": []}\n'
    result, problems = examples(map_columns(read(lines, "x.jsonl"), {"tokens": "text", "tags": "label"}), Options())
    assert result[0].tags == ("B-PER", "O", "O") and result[1].tags == ("O",) * 4 and not problems


def test_words_of_other_scripts_are_split() -> None:
    text = "don't stop日本"
    assert [text[start:end] for start, end in split_words(text)] == ["don", "'", "t", "stop", "日", "本"]

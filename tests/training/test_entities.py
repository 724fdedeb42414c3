"""Entities: rows with tags or spans, schemes of tags by conlleval's rules, and F1."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bertexplorer.model.crf import may_follow
from bertexplorer.model.text import split_words
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.entities import (
    Entity,
    confusion,
    count_illegal,
    entities,
    head_labels,
    metrics,
    scores,
    strict_entities,
    tables,
    to_iob2,
)
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


def test_words_without_entities_or_letters_are_kept() -> None:
    assert one("nothing here.", []).tags == ("O", "O", "O")
    result = one(["Ada", "\u200b", "sings"], ["B-PER", "I-PER", "O"])
    assert spelt(result) == ["Ada", "", "sings"] and result.tags == ("B-PER", "I-PER", "O")
    text = "don't stop日本"
    assert [text[start:end] for start, end in split_words(text)] == ["don", "'", "t", "stop", "日", "本"]


def test_unmarked_tags_among_marked_ones_are_reported_and_plain_tags_kept() -> None:
    marked = [Row(i, {"tokens": "Ada", "tags": "B-PER"}) for i in range(1, 20)]
    result, problems = examples([*marked, Row(20, {"tokens": "Ada sings", "tags": "PER O"})], Options())
    assert len(result) == 19 and [p.line for p in problems] == [20] and "“PER” without B- or I-" in problems[0].what
    result, problems = examples([Row(1, {"tokens": "Ada sings", "tags": "NOUN VERB"})], Options())
    assert result[0].tags == ("NOUN", "VERB") and not problems


def test_conll_and_jsonl_files_are_read() -> None:
    table = read(b"Ada\tB-PER\nsings\tO\n\nOslo\tB-LOC\n.\tO\n\nHe\tO\n", "x.conll")
    result, problems = examples(map_columns(table, {"tokens": "tokens", "tags": "tags"}), Options())
    assert [row.line for row in result] == [1, 4, 7] and not problems
    lines = b'{"text": "Ada sings.", "label": [[0, 3, "PER"]]}\n{"text": "He, too.", "label": []}\n'
    result, problems = examples(map_columns(read(lines, "x.jsonl"), {"tokens": "text", "tags": "label"}), Options())
    assert result[0].tags == ("B-PER", "O", "O") and result[1].tags == ("O",) * 4 and not problems


MARKS = st.lists(st.sampled_from(["O", *(f"{mark}-{kind}" for mark in "BIES" for kind in ("PER", "LOC"))]), max_size=8)
TWO = st.lists(st.sampled_from(["O", "B-PER", "I-PER", "B-LOC", "I-LOC"]), max_size=8)


def conlleval(tags: list[str]) -> list[tuple[str, int, int]]:
    """The script's own rules, one after the other: endOfChunk and startOfChunk."""
    result, start, before, kind_before = [], 0, "O", ""
    for i, tag in enumerate([*tags, "O"]):
        mark, _, kind = tag.partition("-")
        other = kind != kind_before
        ends = before in "ES" or (before in "BI" and mark in "BSO") or (before != "O" and other)
        starts = mark in "BS" or (mark in "IE" and (before in "ESO" or other))
        if ends and before != "O":
            result.append((kind_before, start, i))
        if starts:
            start = i
        before, kind_before = mark, kind
    return result


@given(MARKS)
def test_entities_equal_those_of_conlleval(tags: list[str]) -> None:
    assert [tuple(entity) for entity in entities(tags)] == conlleval(tags)


@pytest.mark.parametrize(
    ("tags", "wanted"),
    [
        ("I-PER I-PER O I-LOC", "B-PER I-PER O B-LOC"),  # IOB1
        ("I-PER B-PER I-LOC", "B-PER B-PER B-LOC"),
        ("S-PER B-LOC I-LOC E-LOC", "B-PER B-LOC I-LOC I-LOC"),  # IOBES
        ("U-PER B-LOC L-LOC U-LOC", "B-PER B-LOC I-LOC B-LOC"),  # BILOU
        ("B_PER M_PER E_PER", "B-PER I-PER I-PER"),  # BMES
        ("B-creative-work I-creative-work", "B-creative-work I-creative-work"),
    ],
)
def test_every_scheme_becomes_iob2(tags: str, wanted: str) -> None:
    result = tags.split()
    assert to_iob2(entities(result), len(result)) == wanted.split()


@given(MARKS)
def test_iob2_keeps_the_entities_and_is_legal(tags: list[str]) -> None:
    converted = to_iob2(entities(tags), len(tags))
    assert entities(converted) == entities(tags) == strict_entities(converted)
    assert count_illegal(converted) == 0 and len(converted) == len(tags)


def test_only_legal_transitions_are_allowed() -> None:
    assert may_follow("B-X", "I-X") and may_follow("I-X", "I-X") and may_follow("I-X", "B-Y") and may_follow("", "O")
    assert not may_follow("", "I-X") and not may_follow("O", "I-X") and not may_follow("B-Y", "I-X")
    assert count_illegal(["I-X", "O", "I-X", "I-X", "I-Y"]) == 3
    assert strict_entities(["I-X", "O", "B-X", "I-Y"]) == [Entity("X", 2, 3)]
    assert head_labels([["O", "B-PER"], ["I-LOC"]], False) == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    assert head_labels([["VERB", "NOUN"], ["NOUN"]], True) == ("NOUN", "VERB")


@given(st.lists(st.tuples(TWO, TWO), min_size=1, max_size=4))
def test_f1_equals_a_computation_by_hand(pairs: list[tuple[list[str], list[str]]]) -> None:
    pairs = [(a[: len(b)], b[: len(a)]) for a, b in pairs]
    gold, guess = [to_iob2(entities(a), len(a)) for a, _ in pairs], [b for _, b in pairs]
    result = metrics(gold, guess, False)
    for name, bare in (("entity_f1", conlleval), ("strict_f1", lambda tags: list(map(tuple, strict_entities(tags))))):
        true = {(i, *e) for i, tags in enumerate(gold) for e in bare(tags)}
        predicted = {(i, *e) for i, tags in enumerate(guess) for e in bare(tags)}
        assert result[name] == pytest.approx(2 * len(true & predicted) / max(1, len(true) + len(predicted)))
    same = [a == b for x, y in zip(gold, guess, strict=True) for a, b in zip(x, y, strict=True)]
    assert result["accuracy"] == pytest.approx(np.mean(same) if same else 0.0)
    if any(conlleval(a) or conlleval(b) for a, b in zip(gold, guess, strict=True)):
        way = tables(gold, guess, False)["Ways to count"][0]  # nervaluate's strict is what seqeval counts by default
        assert way["f1"] == pytest.approx(result["entity_f1"]) and way["precision"] == pytest.approx(
            result["precision"]
        )


def test_strict_and_plain_scores_have_tables_by_kind() -> None:
    result = metrics([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]], False)
    assert result["entity_f1"] == 1.0 and result["strict_f1"] == 0.0 and result["illegal"] == 0.5
    result = metrics([["NOUN", "VERB"], ["O"]], [["NOUN", "NOUN"], ["O"]], True)
    assert result["entity_f1"] == result["accuracy"] == pytest.approx(2 / 3) and result["illegal"] == 0.0
    table = confusion([["NOUN", "VERB"]], [["NOUN", "NOUN"]], True)
    assert table.labels == ("NOUN", "VERB") and table.counts == ((1, 0), (1, 0))
    gold, guess = [["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]]
    result = tables(gold, guess, False)
    assert [(row["label"], row["f1"], row["examples"]) for row in result["Per type"]] == [
        ("LOC", 1.0, 1),
        ("PER", 0.0, 1),
    ]
    by_way = {row["right if"]: row["f1"] for row in result["Ways to count"]}
    assert by_way == {
        "place and kind": 0.5,
        "place, whatever the kind": 0.5,
        "place in part, as a half": 0.75,
        "kind, if the places touch": 1.0,
    }
    matrix = confusion(gold, guess, False)
    assert matrix.labels == ("O", "LOC", "PER") and matrix.counts == ((1, 0, 0), (0, 1, 0), (1, 0, 1))
    assert scores(0, 0, 0) == (0.0, 0.0, 0.0)

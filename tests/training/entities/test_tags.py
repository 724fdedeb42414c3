"""Tags in any scheme as entities by conlleval's rules; tags that IOB2 allows; F1."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from bertexplorer.model.crf import may_follow
from bertexplorer.training.entities import (
    Entity,
    confusion,
    count_illegal,
    entities,
    f1,
    head_labels,
    metrics,
    strict_entities,
    tables,
    to_iob2,
)

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


def test_labels_have_b_and_i_of_each_kind() -> None:
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


def test_the_strict_score_rejects_entities_without_a_beginning() -> None:
    result = metrics([["B-PER", "I-PER", "O"]], [["I-PER", "I-PER", "O"]], False)
    assert result["entity_f1"] == 1.0 and result["strict_f1"] == 0.0 and result["illegal"] == 0.5


def test_plain_tags_are_scored_word_by_word() -> None:
    result = metrics([["NOUN", "VERB"], ["O"]], [["NOUN", "NOUN"], ["O"]], True)
    assert result["entity_f1"] == result["accuracy"] == pytest.approx(2 / 3) and result["illegal"] == 0.0
    table = confusion([["NOUN", "VERB"]], [["NOUN", "NOUN"]], True)
    assert table.labels == ("NOUN", "VERB") and table.counts == ((1, 0), (1, 0))


def test_tables_have_a_row_per_kind() -> None:
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
    assert f1(0, 0, 0) == (0.0, 0.0, 0.0)

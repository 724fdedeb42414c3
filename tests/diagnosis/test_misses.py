"""Why a passage was not found: faults that were planted in a collection, and metrics beside ir-measures."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest

import bertexplorer as bx
from bertexplorer.answers.vectors import BUILT_IN
from bertexplorer.diagnosis import misses
from bertexplorer.diagnosis.collection import MAX_PASSAGES, Collection, Searcher, read_collection
from bertexplorer.diagnosis.misses import CAUSES, UNEXPLAINED
from bertexplorer.errors import ExplorerError
from bertexplorer.views.not_found.sets import (
    CODES,
    HIDDEN,
    LONG,
    MIXED,
    NAMES,
    OF_A_TALE,
    PROMPT,
    SHATTERED,
    TWINS,
    handbook,
    handbook_among_others,
)  # fmt: skip
from tests.tiny import write_sentence_encoder


def as_rows(answers: Mapping[str, str], others: Sequence[str] = ()) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"query": query, "passage": passage} for query, passage in answers.items()]
    return rows + [{"query": "", "passage": passage, "relevance": 0} for passage in others]


def test_each_planted_fault_is_named_and_nothing_else() -> None:
    result = bx.not_found("a handbook with faults")
    causes = {row["query"]: row["cause"] for row in result.rows if row["cause"]}
    planted = {
        "cut": LONG,
        "long": MIXED,
        "near duplicate": TWINS,
        "names": NAMES,
        "words": CODES,
        "unreadable": SHATTERED,
    }
    assert causes == {query: cause for cause, queries in planted.items() for query in queries}
    assert all(row["rank_undone"] <= 3 < row["rank"] for row in result.rows if row["cause"])


def test_a_passage_behind_lines_that_are_near_to_everything_is_explained_among_other_texts() -> None:
    result = bx.not_found("the handbook among other texts")
    causes = {row["query"]: (row["cause"], row["rank_undone"]) for row in result.rows}
    [question] = HIDDEN
    assert causes[question] == ("hub", 2)
    assert {cause for cause, _ in causes.values() if cause} == {*CAUSES, UNEXPLAINED} - {"prompt"}
    tale = [dict(cells) for _, cells in handbook_among_others() if cells["passage"] not in OF_A_TALE]
    without = {row["query"]: row["rank"] for row in bx.not_found(rows=tale).rows}
    assert without[question] == 1


def test_a_prompt_before_every_query_is_named_and_leaving_it_out_helps() -> None:
    with_prompt = bx.not_found("household tips with a prompt", top=10).rows
    without = bx.not_found("household tips", top=10).rows
    caused = [n for n, row in enumerate(with_prompt) if row["cause"] == "prompt"]
    assert len(caused) > 10
    for n in caused:
        assert with_prompt[n]["query"] == PROMPT + without[n]["query"]
        assert with_prompt[n]["rank_undone"] == without[n]["rank"] <= 10 < with_prompt[n]["rank"]


@pytest.mark.parametrize(
    ("queries", "written"),
    [
        (("query: a cat", "query: a car"), "query: "),
        (("Instruct: find it\nQuery: a cat", "Instruct: find it\nQuery: a dog"), "Instruct: find it\nQuery: "),
        (("query: a cat", "a dog"), ""),
        (("what is a cat", "what is a dog"), ""),  # words that two questions share are none
        (("at 9:30 or 10", "at 9:30 or 11"), ""),
        (("query: a cat",), ""),
    ],
)
def test_what_stands_before_every_query(queries: tuple[str, ...], written: str) -> None:
    assert Collection(queries, (), ()).written_prompt == written


def test_without_its_fault_each_is_found() -> None:
    """The handbook with each fault taken out by hand: what the doctor says is true."""
    rows = [
        dict(cells)
        for _, cells in handbook()
        if "costs 4" not in cells["passage"] and "costs 5" not in cells["passage"]
    ]
    for row in rows:
        row["passage"] = row["passage"][row["passage"].rfind("boat. ") + 6 if "boat. " in row["passage"] else 0 :]
        row["query"] = row["query"].replace("xqzvltk brvnqwj zkptfgh ", "")
    causes = {row["query"]: row["cause"] for row in bx.not_found(rows=rows).rows if row["cause"]}
    assert set(causes.values()) == {"names", "words"}


def test_metrics_are_those_of_ir_measures() -> None:
    result = bx.not_found("household tips", top=10)
    collection = result.value.collection
    searcher = Searcher(bx.load("mini").checkpoint, collection, None, None)
    qrels, run = [], []
    for query, relevant in enumerate(collection.relevant):
        qrels += [ir_measures.Qrel(str(query), str(p), int(grade)) for p, grade in relevant.items()]
        order = searcher.order(searcher.queries[query])
        run += [ir_measures.ScoredDoc(str(query), str(p), float(len(order) - rank)) for rank, p in enumerate(order)]
    wanted = ir_measures.calc_aggregate(
        [ir_measures.RR @ 10, ir_measures.nDCG @ 10, ir_measures.Success @ 10], qrels, run
    )
    found = {row["metric"]: row["value"] for row in result.tables["summary"]}
    assert found["MRR@10"] == pytest.approx(wanted[ir_measures.RR @ 10], abs=1e-9)
    assert found["nDCG@10"] == pytest.approx(wanted[ir_measures.nDCG @ 10], abs=1e-9)
    assert found["found in 10"] == pytest.approx(wanted[ir_measures.Success @ 10], abs=1e-9)


def test_a_rank_is_that_of_brute_force(tiny: Any) -> None:
    bert = bx.load(tiny("bert"))
    passages = ["Paris is good.", "London is great.", "The cat sat.", "The cat sat on the bank.", "A doctor."]
    collection = read_collection(list(enumerate(as_rows({"a cat": passages[2]}, passages), 1)))
    searcher = Searcher(bert.checkpoint, collection, None, None)
    query, *vectors = bert.encode(["a cat", *collection.passages])
    cosines = [vector @ query / np.linalg.norm(vector) / np.linalg.norm(query) for vector in vectors]
    order = sorted(range(len(cosines)), key=lambda i: -cosines[i])
    assert searcher.order(searcher.queries[0]).tolist() == order
    assert [searcher.rank(searcher.queries[0], i) for i in order] == list(range(1, len(order) + 1))


def test_a_hub_is_near_to_unrelated_sentences() -> None:
    """A passage whose vector is the mean of all sentences is one, and leaving it out finds the wanted passage."""
    passages = [f"Number {i} of the list is about something else." for i in range(200)]
    collection = read_collection(list(enumerate(as_rows({"what is the list about": passages[7]}, passages), 1)))
    searcher = Searcher(bx.load("mini").checkpoint, collection, None, None)
    assert not searcher.hubs.any()
    del searcher.hubs
    unrelated = searcher.vectors([line.text for line in BUILT_IN], None).mean(axis=0)
    searcher.passages[0] = unrelated / np.linalg.norm(unrelated)
    assert searcher.hubs.nonzero()[0].tolist() == [0]
    doctor = misses.Doctor(searcher, 0, 7, [0, 3])
    assert doctor.hub() == misses.Undone(2, "without 1 that unrelated sentences find, too")


def test_a_prompt_of_the_files_is_tried(tiny: Any) -> None:
    bert = bx.load(tiny("bert"))
    collection = read_collection(list(enumerate(as_rows({"cat": "The cat sat."}, ["Paris is good.", "A doctor."]), 1)))
    searcher = Searcher(bert.checkpoint, collection, None, None)
    assert misses.Doctor(searcher, 0, 0, [1]).prompt() is None  # its files name none


@pytest.mark.parametrize("in_use", [None, "passage", ""])
def test_the_prompt_is_the_one_by_which_the_passage_ranks_first(in_use: str | None, tiny_copy: Any) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})
    prompts = {"query": "the capital of france is ", "passage": "a doctor : "}
    said = {"prompts": prompts, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(said))
    bert = bx.load(folder)
    others = ["Paris is good.", "A doctor.", "money in the bank", "a great film", "the cat and the dog"]
    collection = read_collection(list(enumerate(as_rows({"cat": "The cat sat."}, others), 1)))
    searcher = Searcher(bert.checkpoint, collection, in_use, "")
    passages = bert.encode(collection.passages, prompt="", normalize=True)
    ranks = {}
    for name in {"query", "passage", ""} - {"query" if in_use is None else in_use}:
        scores = passages @ bert.encode("cat", prompt=name, normalize=True)
        ranks[name] = 1 + int((scores > scores[0]).sum())
    undone = misses.Doctor(searcher, 0, 0, [1]).prompt()
    assert undone and undone.rank == min(ranks.values())
    best = {name for name, rank in ranks.items() if rank == undone.rank}
    said_name = "" if undone.what.startswith("without") else undone.what.split("“")[1].split("”")[0]
    assert said_name in best


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ([{"good": "a", "bad": "b"}], "wanted query and passage"),
        ([{"query": "a", "passage": ""}], "No row"),
        ([{"query": "", "passage": "a", "relevance": 0}], "No row"),
        ([{"query": "a", "passage": "b", "relevance": "x"}], "No row"),
        ([{"query": "a", "passage": f"b {i}"} for i in range(MAX_PASSAGES + 1)], "limit is 10,000"),
        ([{"query": f"a {i}", "passage": "b"} for i in range(1001)], "limit is 1,000"),
    ],
)
def test_other_rows_are_refused(rows: list[dict[str, Any]], words: str) -> None:
    with pytest.raises(ExplorerError, match=words):
        bx.not_found(rows=rows)


def test_rows_that_cannot_be_used_are_said_and_others_are(tmp_path: Any) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [
        {"query": "a cat", "passage": "The cat sat."},
        {"query": "x", "passage": ""},
        {"query": "猫", "passage": "🦄"},
    ]
    file.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    result = bx.not_found(rows=file)
    assert "1 row could not be used" in result.said and len(result.rows) == 2


def test_a_text_that_cannot_be_read_is_named() -> None:
    with pytest.raises(ExplorerError, match="bbb.*cannot be searched.*limit is 20,000"):
        bx.not_found(rows=as_rows({"a cat": "The cat sat."}, ["bbb " * 6000]))


def test_all_alike_and_one_query() -> None:
    rows = as_rows({"a cat": "The cat sat."}, ["The cat sat!", "The cat sat.", "the cat sat"])
    [row] = bx.not_found(rows=rows, top=1).rows
    assert row["rank"] in (1, 2, 3) and row["cause"] in ("", "near duplicate", "words", "not explained")


def test_a_passage_without_a_query_is_one_that_may_be_found() -> None:
    rows = [{"query": "a cat", "passage": "The cat sat."}, {"query": "", "passage": "A dog."}, {"passage": "The sun."}]
    collection = read_collection(list(enumerate(rows, 1)))
    assert collection.passages == ("The cat sat.", "A dog.", "The sun.") and not collection.unusable
    assert collection.relevant == ({0: 1.0},)


def test_columns_with_other_usual_names() -> None:
    rows = [
        {"Question": "a cat", "document": "The cat sat.", "label": 1},
        {"Question": "a cat", "document": "A dog.", "label": 0},
    ]
    collection = read_collection(list(enumerate(rows, 1)))
    assert collection.queries == ("a cat",) and collection.relevant == ({0: 1.0},)
    said = "“Question” as query, “document” as passage, “label” as relevance"
    assert said in collection.columns_said and said in bx.not_found(rows=rows).said

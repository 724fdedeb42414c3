"""Search: the ranking is that of transformers' vectors, and an index changes nothing but the time."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
import torch

from bertexplorer.answers.vectors import BUILT_IN, LabelledLine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.python.bert import Bert
from bertexplorer.views.search import compute as search
from bertexplorer.views.search.compute import Options, collection
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder
from tests.tolerance import of_encoder
from tests.views.conftest import NEAR, Reference

LINES = [
    LabelledLine("a cat .", "x"),
    LabelledLine("\u200b"),
    LabelledLine("the bank is good ."),
    LabelledLine("paris"),
    LabelledLine("a dog or a cat ."),
]


class Plain:
    """An index that is a dictionary."""

    def __init__(self) -> None:
        self.kept: dict[str, tuple[np.ndarray, Sequence[Mapping[str, Any]]]] = {}
        self.filled = 0

    def count(self, collection: str) -> int:
        return len(self.kept[collection][0]) if collection in self.kept else 0

    def upsert(self, collection: str, vectors: np.ndarray, payloads: Sequence[Mapping[str, Any]]) -> None:
        self.filled += 1
        self.kept[collection] = vectors, payloads

    def query(self, collection: str, vector: np.ndarray, top: int) -> list[tuple[float, Mapping[str, Any]]]:
        vectors, payloads = self.kept[collection]
        scores = vectors @ vector
        return [(float(scores[i]), payloads[i]) for i in np.argsort(-scores)[:top]]


def test_the_ranking_equals_that_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    def vector(text: str) -> np.ndarray:
        with torch.no_grad():
            results = reference.model(input_ids=torch.tensor([reference.ids(text)]), output_hidden_states=True)
        mean = results.hidden_states[5][0].mean(dim=0).double().numpy()
        return mean / np.linalg.norm(mean)

    result = search.run(mini, "A judge in court", options=Options(top=50, layer=5))
    vectors = np.stack([vector(line.text) for line in BUILT_IN])
    scores = vectors @ vector("A judge in court")
    assert [hit.line for hit in result.hits] == np.argsort(-scores)[:50].tolist()
    assert [hit.cosine for hit in result.hits] == pytest.approx(np.sort(scores)[::-1][:50], abs=NEAR)
    every = (vectors @ vectors.T)[np.triu_indices(60, 1)]
    assert result.chance == pytest.approx(every.mean(), abs=NEAR)
    assert result.built_in and result.count == 60 and result.hits[0].label == "law"


def test_an_index_gives_the_same_ranking(small: Checkpoint) -> None:
    index = Plain()
    options = Options(lines="key")
    alone = search.run(small, "a cat", options=options, lines=LINES)
    first, second = (search.run(small, "a cat", options=options, lines=LINES, index=index) for _ in range(2))
    assert [result.indexed for result in (alone, first, second)] == ["", "new", "kept"] and index.filled == 1
    for result in (first, second):
        assert [(h.line, h.text, h.label) for h in result.hits] == [(h.line, h.text, h.label) for h in alone.hits]
        assert [h.cosine for h in result.hits] == pytest.approx(
            [h.cosine for h in alone.hits], abs=of_encoder(small.config)
        )
        assert result.notes == alone.notes == "1 of 5 lines cannot be read and are left out."
        assert result.count == alone.count == 4


def test_built_in_sentences_need_no_index(small: Checkpoint) -> None:
    index = Plain()
    assert search.run(small, "a cat", index=index).indexed == "" and not index.kept


def test_a_half_filled_index_is_filled_again(small: Checkpoint) -> None:
    index = Plain()
    search.run(small, "a cat", options=Options(lines="key"), lines=LINES, index=index)
    name, (vectors, payloads) = next(iter(index.kept.items()))
    index.kept[name] = vectors[:2], payloads[:2]
    result = search.run(small, "a cat", options=Options(lines="key"), lines=LINES, index=index)
    assert result.indexed == "new" and len(result.hits) == 4


def test_different_vectors_have_different_collections(small: Checkpoint, tiny: Tiny) -> None:
    half = load(tiny("bert-mlm"), precision="bf16", device="cpu")
    other = load(tiny("bert-untied"), precision="fp32", device="cpu")
    names = {
        collection(small, LINES, 3, "mean"),
        collection(small, LINES, 2, "mean"),
        collection(small, LINES, 3, "max"),
        collection(small, LINES[:4], 3, "mean"),
        collection(half, LINES, 3, "mean"),
        collection(other, LINES, 3, "mean"),
    }
    assert len(names) == 6 and collection(small, LINES, 3, "mean") in names


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "electra-discriminator", "distilbert", "modernbert"])
def test_every_family_can_search(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    result = search.run(checkpoint, Text("paris", "a cat"), options=Options(lines="k"), lines=LINES)
    assert result.query == "paris a cat" and len(result.hits) == 4
    same = search.run(checkpoint, "the bank is good .", options=Options(lines="k"), lines=LINES)
    assert same.hits[0].line == 2 and same.hits[0].cosine == pytest.approx(1, abs=of_encoder(checkpoint.config))


def test_invalid_settings_are_rejected(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=r"10,001 lines were given; the limit is 10,000"):
        search.run(small, "a", options=Options(lines="k"), lines=[LabelledLine("a")] * 10_001)
    with pytest.raises(ExplorerError, match="'k' are no longer stored"):
        search.run(small, "a", options=Options(lines="k"))
    with pytest.raises(ExplorerError, match="text is empty"):
        search.run(small, "")
    with pytest.raises(ExplorerError, match="None of the 2 lines"):
        search.run(small, "a", options=Options(lines="k"), lines=[LabelledLine(""), LabelledLine(" ")], index=Plain())


def test_tokens_beyond_the_limit_are_noted(small: Checkpoint) -> None:
    for text in ("a " * 300, "</script><img src=x onerror=1>"):
        result = search.run(small, text)
        assert len(result.hits) == 10 and ("beyond the checkpoint's limit" in result.notes) == (len(text) > 300)


def test_prompts_stand_before_the_text_and_the_lines(tiny_copy: Tiny) -> None:
    """As for e5: "query: " and "passage: "; the vectors are those of Python's own call."""
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})
    prompts = {"prompts": {"query": "the cat : ", "passage": "money is "}, "default_prompt_name": "passage"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    bert = Bert(load(folder, precision="fp32", device="cpu"))
    lines = [
        LabelledLine("she works in london"),
        LabelledLine("a dog sat on the mat"),
        LabelledLine("the film is good"),
    ]
    for prompt, line_prompt, wanted in (("query", "", "passage"), ("none", "none", ""), ("", "query", "query")):
        options = Options(prompt=prompt, line_prompt=line_prompt)
        result = search.run(bert.checkpoint, "a cat", options=options, lines=lines)
        query = bert.encode(["a cat"], prompt={"query": "query", "none": "", "": "passage"}[prompt])
        vectors = bert.encode([line.text for line in lines], prompt=wanted)
        query, vectors = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (query, vectors))
        cosines = (vectors @ query[0]).tolist()
        assert [hit.cosine for hit in result.hits] == pytest.approx(sorted(cosines, reverse=True), abs=1e-5)
        assert ("Before your text stands" in result.notes) == (prompt != "none")
    names = {search.collection(bert.checkpoint, lines, 3, "own", before) for before in ("", "money is ")}
    assert len(names) == 2, "vectors with another prompt are others"
    with pytest.raises(ExplorerError, match="no prompt"):
        search.run(bert.checkpoint, "a cat", options=Options(line_prompt="nothing"), lines=lines)

"""Whose vectors: what is planted is found, in the view, from a file, on the command line and over HTTP."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import bertexplorer as bx
from bertexplorer.cli import main
from bertexplorer.core.vector_uploads import MAX_NUMBERS, VectorUploads, parse_vectors
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.views.whose_vectors import compute as whose_vectors
from bertexplorer.views.whose_vectors.compute import TEXTS, Facts, Options, plant
from tests.conftest import BUNDLED, Tiny

LINE = '{"text": "Paris is a city.", "vector": [0.5, 0.25]}'


@pytest.fixture(scope="module")
def small(tiny: Tiny) -> Any:
    return load(tiny("bert"), precision="fp32")


@pytest.mark.parametrize(
    ("planted", "said"),
    [
        ("another pooling", "They take the first token's vector"),
        ("a layer too early", "They come from layer 2 of 3"),
        ("a prompt before it", "The prompt “query: ” stands before each text."),
        ("as the files say", "whose files name no pooling"),
    ],
)
def test_a_planted_recipe_is_named(planted: Any, said: str, small: Any) -> None:
    result = whose_vectors.run(small, options=Options(planted=planted))
    assert result.found == "named" and said in result.said
    assert result.nearest[0].fits and result.nearest[0].confirmed == 0.0
    assert sum(not one.beside for one in result.nearest) == 1  # that of the files is always listed
    assert whose_vectors.rows(result)[0]["recipe"] == result.nearest[0].said
    facts = Facts(small, None, result)  # type: ignore[arg-type]
    assert facts.found() == "named" and facts.distance() == 0.0 and facts.recipe() == result.nearest[0].said


def test_vectors_in_another_order_and_of_halves(small: Any) -> None:
    shuffled = whose_vectors.run(small, options=Options(planted="in another order"))
    assert shuffled.found == "shuffled" and shuffled.layer == -1
    for text, other in shuffled.order:  # the vectors were moved down by one
        assert (
            int(text.partition(".")[0]) % len(TEXTS) == (int(other.partition(".")[0])) % len(TEXTS) + 1 or "1. " in text
        )
    assert whose_vectors.run(small, options=Options(planted="read in halves")).found == "none"


def test_a_checkpoint_in_bf16_is_compared_in_fp32_and_opened_once() -> None:
    coarse = load(BUNDLED, precision="bf16")
    exact = whose_vectors.in_fp32(coarse)
    assert exact.precision == "fp32" and whose_vectors.in_fp32(coarse) is exact
    assert whose_vectors.in_fp32(exact) is exact
    in_memory = replace(coarse, folder=Path())
    assert whose_vectors.in_fp32(in_memory) is in_memory


def test_a_file_is_read_as_in_python_and_its_link_lasts(
    small: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    made = plant(small, "another pooling")
    lines = [json.dumps({"text": text, "vector": vector}) for text, vector in zip(*made, strict=True)]
    file = tmp_path / "theirs.jsonl"
    file.write_text("\n".join(lines), "utf-8")
    uploads = VectorUploads(tmp_path / "vectors")
    key, summary = uploads.save(file.read_bytes(), file.name, "a" * 32)
    assert summary == "theirs.jsonl: 12 texts with vectors of 32 numbers."
    kept = uploads.load(key).content
    assert np.array_equal(np.array(kept.vectors), np.array(made.vectors)) and tuple(kept.texts) == TEXTS
    bert = bx.load(small.folder, precision="fp32")
    for given in (file, [json.loads(line) for line in lines]):
        result = bert.whose_vectors(vectors=given)
        assert result.value.pooling == "cls" and result.value.planted == ""
    main(["whose-vectors", str(file), "--checkpoint", str(small.folder), "--precision", "fp32", "--json"])
    printed = json.loads(capsys.readouterr().out)
    assert printed["options"] == {"vectors": str(file), "prompt": ""} and printed["rows"][0]["confirmed"] == 0.0
    with pytest.raises(ExplorerError, match="lacks its text or its vector"):
        bert.whose_vectors(vectors=[{"text": "a"}])


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.csv", LINE, "wanted a .jsonl file"),
        ("a.pkl", LINE, "wanted a .jsonl file"),
        ("a.jsonl", "", "has no line"),
        ("a.jsonl", "[1, 2]", "Line 1 of a.jsonl"),
        ("a.jsonl", f'{LINE}\n{{"text": "b", "vector": [1]}}', "a vector of 1 numbers"),
        ("a.jsonl", '{"text": "b", "vector": ["x"]}', "Line 1"),
        ("a.jsonl", '{"text": "b", "vector": [' + "1," * 600_000 + "1]}", "longer than 1,000,000 bytes"),
    ],
)
def test_files_that_cannot_be_used(name: str, content: str, said: str) -> None:
    with pytest.raises(ExplorerError, match=said):
        parse_vectors(content.encode(), name)


def test_no_more_is_kept_than_the_search_can_use() -> None:
    wide = json.dumps({"text": "a", "vector": [0.5] * 1000}) + "\n"
    kept = parse_vectors((wide * 800).encode(), "a.jsonl")
    assert len(kept.texts) == MAX_NUMBERS // 1000
    narrow = (json.dumps({"text": "a", "vector": [0.5]}) + "\n") * 3000
    assert len(parse_vectors(narrow.encode(), "a.jsonl").texts) == 2000


def test_one_text_is_not_enough(small: Any) -> None:
    made = plant(small, "as the files say")
    one = made._replace(texts=made.texts[:1], vectors=made.vectors[:1])
    with pytest.raises(ExplorerError, match="one to find the recipe"):
        whose_vectors.run(small, vectors=one)
    with pytest.raises(ExplorerError, match="no longer stored"):
        whose_vectors.run(small, options=Options(vectors="0" * 24))

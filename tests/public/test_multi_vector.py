"""The vectors of tokens, and the scores that they give, are those of sentence-transformers' MultiVectorEncoder."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tokenizers import AddedToken, Tokenizer

import bertexplorer as bx
from bertexplorer.model.text import Text
from bertexplorer.views.late_interaction import compute as late_interaction
from tests.conftest import Tiny
from tests.multi_vectors import add_tokens, write_multi_vector, write_pylate, write_stanford

pytestmark = pytest.mark.slow
TEXTS = [
    "The capital of france is Paris .",
    "a cat",
    "She said the doctor works as a nurse in london, and it is good. The dog sat on the mat in berlin, a great city.",
]
PROMPTS = {"prompts": {"query": "the cat : ", "document": "money : "}}
FIXED = {"strategy": "fixed", "attend": False, "length": 12}
LEAST = {"strategy": "min", "attend": True, "length": 12, "token": None}


def with_marker(folder: Path) -> Path:
    """A token "[Q] " with its space, as PyLate adds it to a tokenizer, with the id of the last piece."""
    add_tokens(folder, "[last]", "[D]")
    content = json.loads((folder / "tokenizer.json").read_text())
    del content["model"]["vocab"]["[last]"]
    tokenizer = Tokenizer.from_str(json.dumps(content))
    tokenizer.add_tokens([AddedToken("[Q] ", normalized=True)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def write_marked(folder: Path) -> Path:
    add_tokens(folder, "[unused0]", "[unused1]", "[Q]")
    return folder


FOLDERS: dict[str, tuple[str, Callable[[Path], Path]]] = {
    "plain": ("bert", write_multi_vector),
    "filled up": (
        "bert",
        lambda folder: write_multi_vector(folder, settings=PROMPTS, encoder={"query_expansion": FIXED}),
    ),
    "filled up and looked at": (
        "roberta",
        lambda folder: write_multi_vector(
            folder, encoder={"query_expansion": FIXED | {"attend": True}, "document_length": 40}
        ),
    ),
    "at least": ("modernbert", lambda folder: write_multi_vector(folder, encoder={"query_expansion": LEAST})),
    "at least, and cut": (
        "bert",
        lambda folder: write_multi_vector(folder, encoder={"query_expansion": LEAST, "query_length": 16}),
    ),
    "another token": (
        "mpnet",
        lambda folder: write_multi_vector(folder, encoder={"query_expansion": FIXED | {"token": "paris"}}),
    ),
    "lengths": (
        "eurobert",
        lambda folder: write_multi_vector(folder, encoder={"query_length": 6, "document_length": 9}),
    ),
    "both sides": (
        "bert",
        lambda folder: write_multi_vector(
            folder, settings={"similarity_fn_name": "meanmaxsim"}, mask={"skiplist_tasks": ["query", "document"]}
        ),
    ),
    "with tanh": (
        "roberta",
        lambda folder: write_multi_vector(
            folder,
            dense={"activation_function": "torch.nn.Tanh"},
            encoder={"do_lower_case": True, "max_seq_length": 40},
        ),
    ),
    "without a mask": (
        "bert",
        lambda folder: write_multi_vector(folder, kinds=("Transformer", "Dense", "Normalize")),
    ),
    "pylate": ("bert", write_pylate),
    "pylate with its markers": ("bert-base", lambda folder: write_pylate(with_marker(folder), document_length=9)),
    "pylate, a piece": ("bert", lambda folder: write_pylate(write_marked(folder), query_length=8)),
    "pylate, not filled up": (
        "modernbert",
        lambda folder: write_pylate(folder, do_query_expansion=False, skiplist_words=["the"], **PROMPTS),
    ),
    "pylate, looked at": ("bert", lambda folder: write_pylate(folder, attend_to_expansion_tokens=True)),
    "stanford": ("bert-base", lambda folder: write_stanford(write_marked(folder), query_maxlen=14, doc_maxlen=12)),
    "stanford, its own markers": (
        "bert-base",
        lambda folder: write_stanford(write_marked(folder), doc_token_id="[Q]", mask_punctuation=False),
    ),
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(folder: Path) -> Any:
    from sentence_transformers import MultiVectorEncoder

    return MultiVectorEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})


@pytest.mark.parametrize("name", FOLDERS)
def test_vectors_of_tokens_and_scores_are_theirs(tiny_copy: Tiny, name: str) -> None:
    family, write = FOLDERS[name]
    folder = write(tiny_copy(family))
    bert, model = bx.load(folder, precision="fp32"), theirs(folder)
    queries = model.encode_query(TEXTS, convert_to_numpy=True)
    documents = model.encode_document(TEXTS, convert_to_numpy=True)
    for task, wanted in (("query", queries), ("document", documents)):
        found = bert.encode_tokens(TEXTS, task=task)
        assert [len(vectors) for vectors in found] == [len(vectors) for vectors in wanted]
        for ours, their in zip(found, wanted, strict=True):
            np.testing.assert_allclose(ours, their, atol=1e-5)
    scores = model.similarity(queries, documents).numpy()
    for i, query in enumerate(TEXTS):
        for j, document in enumerate(TEXTS):
            result = late_interaction.run(bert.checkpoint, Text(query, document))
            assert result.own and not result.caveats
            assert result.score == pytest.approx(scores[i, j], abs=1e-4)


def test_a_saved_folder_is_read(tiny_copy: Tiny, tmp_path: Path) -> None:
    before = theirs(write_pylate(tiny_copy("bert")))
    before.save(str(tmp_path / "saved"))
    modules = json.loads((tmp_path / "saved" / "modules.json").read_text())
    assert [module["type"].rpartition(".")[2] for module in modules][2:] == ["MultiVectorMask", "Normalize"]
    found = bx.load(tmp_path / "saved", precision="fp32").encode_tokens(TEXTS, task="query")
    for ours, their in zip(found, before.encode_query(TEXTS, convert_to_numpy=True), strict=True):
        np.testing.assert_allclose(ours, their, atol=1e-5)

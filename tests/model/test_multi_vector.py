"""The files of a ColBERT: what is read of them, and what is refused in a sentence."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.torch import load_file, save_file

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.model.initialise import random_copy
from bertexplorer.model.load import load
from bertexplorer.model.multi_vector import MultiVectorEncoder
from bertexplorer.python.bert import Bert
from bertexplorer.site.folder import not_followed
from bertexplorer.views.late_interaction import compute as late_interaction
from tests.conftest import Tiny
from tests.multi_vectors import NATIVE, add_tokens, matrix, write_multi_vector, write_pylate, write_stanford

EXPANSION = {"strategy": "fixed", "attend": False, "length": 12}
Write = Callable[[Path], Path]


def encoder_of(folder: Path) -> MultiVectorEncoder:
    encoder = load(folder, precision="fp32", device="cpu").multi_vector
    assert encoder is not None
    return encoder


def test_a_query_is_filled_up_and_a_passage_loses_its_punctuation(tiny_copy: Tiny) -> None:
    folder = write_multi_vector(tiny_copy("bert"), encoder={"query_expansion": EXPANSION, "document_length": 9})
    bert = Bert(load(folder, precision="fp32", device="cpu"))
    encoder = bert.checkpoint.multi_vector
    assert encoder is not None
    query, attended = encoder.sides["query"].encode(late_interaction.Text("the cat sat ."))
    assert query.tokens == ("[CLS]", "the", "cat", "sat", ".", "[SEP]", *6 * ["[MASK]"]) and attended == 6
    assert bert.encode_tokens("the cat sat .", task="query").shape == (12, 16)  # type: ignore[union-attr]
    document = bert.encode_tokens("the cat sat .", task="document")
    assert document.shape == (5, 16)  # type: ignore[union-attr]
    np.testing.assert_allclose(np.linalg.norm(document, axis=1), 1, atol=1e-6)  # type: ignore[arg-type]
    with pytest.warns(UserWarning, match="1 text is longer than the 9 tokens"):
        bert.encode_tokens(["the cat sat on the mat in paris ."], task="document")
    assert str(encoder) == (
        "a dense layer to 16 numbers, scaled to length 1, a query filled up with [MASK] to 12 tokens, 2 pieces of a "
        "passage left out, such as punctuation"
    )


def test_a_marker_of_pylate_is_one_token_and_no_note_is_about_it(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    add_tokens(folder, "[Q]", "[D]")
    side = encoder_of(write_pylate(folder)).sides["document"]
    encoding, _ = side.encode(late_interaction.Text(side.prompt + "the cat"))
    assert encoding.tokens == ("[CLS]", "[D]", "the", "cat", "[SEP]") and not encoding.notes


def test_it_makes_no_vector_of_a_whole_text(tiny_copy: Tiny) -> None:
    checkpoint = load(write_multi_vector(tiny_copy("bert")), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="make a vector of each token of a text.*Choose the pooling"):
        Bert(checkpoint).encode("the cat")
    assert "late-interaction" in not_followed(checkpoint)
    assert "late-interaction" not in not_followed(load(tiny_copy("bert-mlm"), precision="fp32", device="cpu"))


def test_the_control_has_random_weights_in_the_projection(tiny_copy: Tiny) -> None:
    checkpoint = load(write_multi_vector(tiny_copy("bert")), precision="fp32", device="cpu")
    control = random_copy(checkpoint)
    first, second = (Bert(one).encode_tokens("the cat sat", task="query") for one in (checkpoint, control))
    assert first.shape == second.shape and not np.allclose(first, second)  # type: ignore[union-attr, arg-type]


def test_other_checkpoints_have_no_vectors_of_tokens(tiny_copy: Tiny) -> None:
    bert = Bert(load(tiny_copy("bert"), precision="fp32", device="cpu"))
    with pytest.raises(ExplorerError, match="not those of a ColBERT"):
        bert.encode_tokens("the cat", task="query")
    colbert = Bert(load(write_multi_vector(tiny_copy("bert-mlm")), precision="fp32", device="cpu"))
    with pytest.raises(ExplorerError, match="task: got 'passage'; wanted query or document"):
        colbert.encode_tokens("the cat", task="passage")
    with pytest.raises(ExplorerError, match="No texts were given"):
        colbert.encode_tokens([], task="query")


def expanding(**changes: Any) -> Write:
    return lambda folder: write_multi_vector(folder, encoder={"query_expansion": EXPANSION | changes})


def without(name: str) -> Write:
    def write(folder: Path) -> Path:
        (write_multi_vector(folder) / name).unlink()
        return folder

    return write


@pytest.mark.parametrize(
    ("write", "words"),
    [
        (lambda folder: write_multi_vector(folder, kinds=(*NATIVE, "HierarchicalTokenPooling")), "names Hierarchical"),
        (lambda folder: write_multi_vector(folder, kinds=("Router", *NATIVE[1:])), "begins with Router"),
        (lambda folder: write_multi_vector(folder, kinds=NATIVE[:3]), "not scaled to length 1"),
        (lambda folder: write_multi_vector(folder, mask={"keep_only_token_ids": [5]}), "keep_only_token_ids"),
        (lambda folder: write_multi_vector(folder, mask={"skiplist_words": "ab"}), "wanted a list of words"),
        (lambda folder: write_multi_vector(folder, dense={"use_residual": True}), "not a plain dense layer"),
        (lambda folder: write_multi_vector(folder, encoder={"query_length": "long"}), "query_length 'long'"),
        (lambda folder: write_multi_vector(folder, encoder={"transformer_task": "retrieval"}), "the task 'retrieval'"),
        (lambda folder: write_multi_vector(folder, encoder={"processing_kwargs": {"text": {}}}), "processing_kwargs"),
        (lambda folder: write_multi_vector(folder, settings={"prompts": {"query": 5}}), "prompts 5; wanted a text"),
        (lambda folder: write_multi_vector(folder, settings={"prompts": ["a"]}), "a text for each name"),
        (lambda folder: write_pylate(folder, query_prefix=5), "query_prefix 5"),
        (expanding(strategy="most"), "wanted a strategy, fixed or min"),
        (expanding(length=0), "wanted a strategy, fixed or min"),
        (expanding(length=100), "Its queries have 100 tokens; the encoder reads 64"),
        (expanding(token="nothing"), "filled up with 'nothing'"),
        (expanding(token="[PAD]"), "filled up with"),
        (
            lambda folder: write_multi_vector(
                folder, encoder={"query_expansion": EXPANSION}, kinds=("Transformer", "Dense", "Normalize")
            ),
            "names no MultiVectorMask",
        ),
        (without("modules.json"), "modules.json is missing"),
        (without("1_Dense/model.safetensors"), "it holds no weights"),
        (lambda folder: write_stanford(folder, query_maxlen="a"), "wanted a strategy"),
    ],
)
def test_what_cannot_be_followed_is_said(write: Write, words: str, tiny_copy: Tiny) -> None:
    checkpoint = load(write(tiny_copy("bert-base")), precision="fp32", device="cpu")
    encoder = checkpoint.multi_vector
    assert encoder is not None and words in encoder.problem
    with pytest.raises(ExplorerError, match="cannot be made"):
        Bert(checkpoint).encode_tokens("the cat", task="query")
    pair = late_interaction.Text("the cat", "a cat")
    assert late_interaction.run(checkpoint, pair).caveats == (encoder.problem,)


def test_a_projection_of_another_width_is_said(tiny_copy: Tiny) -> None:
    folder = write_stanford(tiny_copy("bert-base"))
    file = folder / "model.safetensors"
    save_file(load_file(file) | {"linear.weight": matrix(7)}, file, {"format": "pt"})
    assert "16x7 as F32; wanted a matrix for 32 numbers" in encoder_of(folder).problem


def test_a_deberta_is_not_filled_up_with_tokens_at_which_none_looks(tiny_copy: Tiny) -> None:
    folder = write_multi_vector(tiny_copy("deberta"), encoder={"query_expansion": EXPANSION})
    assert "not read of a DeBERTa" in encoder_of(folder).problem


def test_the_view_can_take_the_layer_instead(tiny_copy: Tiny) -> None:
    folder = write_multi_vector(tiny_copy("bert"), settings={"prompts": {"document": "money : "}})
    checkpoint = load(folder, precision="fp32", device="cpu")
    pair = late_interaction.Text("the cat sat", "a cat, a dog .")
    own = late_interaction.run(checkpoint, pair)
    assert own.passage == ("[CLS]", "money", ":", "a", "cat", "a", "dog", "[SEP]") and own.own
    tokens = checkpoint.tokenizer.encode(pair).tokens
    assert {tokens[i] for i in own.shown} == {"the", "cat", "sat", "a", "dog"}  # where the page shows them
    for options in (late_interaction.Options(projection="none"), late_interaction.Options(layer=1)):
        result = late_interaction.run(checkpoint, pair, options=options)
        assert not result.own and result.passage == ("a", "cat", ",", "a", "dog", ".")


def test_it_is_read_by_name(tiny_copy: Tiny) -> None:
    folder = write_multi_vector(tiny_copy("bert"))
    assert json.loads((folder / "modules.json").read_text())[3]["type"].endswith("Normalize")
    result = bx.late_interaction("the cat", "a cat", checkpoint=bx.load(folder))
    assert "as this checkpoint's files say: a dense layer to 16 numbers" in result.said

"""Similarity of two sentences: the cells are the terms of the product of transformers' vectors, and sum to it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file
from torch import Tensor

from bertexplorer.answers.vectors import BUILT_IN, LabelledLine
from bertexplorer.engine import vector_parts
from bertexplorer.engine.progress import Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.python.bert import Bert
from bertexplorer.views.sentence_similarity import compute as sentence_similarity, show as figure
from bertexplorer.views.sentence_similarity.compute import MARKS, MASKS, Facts, Options, SentenceSimilarity
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder
from tests.tolerance import of_encoder
from tests.views.conftest import NEAR

PAIR = Text("The cat sat on the mat.", "A dog sat in Paris, she said.")
KIDS = Text("The children are playing football in the park.", "Kids kick a ball on the grass.")
WEIGHTS: dict[str, Callable[[int], Tensor]] = {  # of the tokens in the pooled vector, from the definitions
    "mean": lambda t: torch.full((t,), 1 / t),
    "mean_sqrt_len_tokens": lambda t: torch.full((t,), t**-0.5),
    "weightedmean": lambda t: torch.tensor([i / sum(range(1, t + 1)) for i in range(1, t + 1)]),
}


def encoder_of(folder: Path) -> Checkpoint:
    return load(folder, precision="fp32", device="cpu")


def states(folder: Path, text: str) -> Tensor:
    """The last layer of transformers, t by d."""
    ids = transformers.AutoTokenizer.from_pretrained(folder)(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        result: Tensor = model(ids).last_hidden_state[0]
    return result


def run(checkpoint: Checkpoint, pair: Text = PAIR, **options: Any) -> SentenceSimilarity:
    return sentence_similarity.run(checkpoint, pair, options=Options(merge=False, **options))


@pytest.mark.parametrize("terms", ["last layer", "input words"])
def test_the_last_four_layers_are_those_of_transformers(terms: str, tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    result = run(encoder_of(folder), pooling="last four summed", terms=terms)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    vectors = []
    for text in (PAIR.first, PAIR.second):
        with torch.inference_mode():
            hidden = model(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
        vectors.append(torch.stack(hidden[1:][-4:]).sum(0)[0].mean(0))
    assert result.similarity == pytest.approx(float(F.cosine_similarity(*vectors, dim=0)), abs=NEAR)
    assert result.matrix.sum() == pytest.approx(result.similarity, abs=1e-5 if result.exact else 0.05)
    assert "each the sum of its vectors in the last four layers" in result.pipeline


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@pytest.mark.parametrize("mode", WEIGHTS)
def test_the_cells_are_the_terms_of_the_cosine(family: str, mode: str, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy(family), {"pooling_mode": mode})
    result = run(encoder_of(folder))
    first, second = states(folder, PAIR.first), states(folder, PAIR.second)
    rows = WEIGHTS[mode](len(first))[:, None] * first
    columns = WEIGHTS[mode](len(second))[:, None] * second
    norms = rows.sum(0).norm() * columns.sum(0).norm()
    for i, row in enumerate(result.rows[:-1]):
        for j, column in enumerate(result.columns[:-1]):
            assert row.position is not None and column.position is not None
            wanted = float(rows[row.position] @ columns[column.position] / norms)
            assert result.matrix[i, j] == pytest.approx(wanted, abs=NEAR)
    special = [0, len(first) - 1]
    wanted = float(rows[special].sum(0) @ columns[result.columns[0].position or 0] / norms)
    assert result.rows[-1].label == MARKS and result.matrix[-1, 0] == pytest.approx(wanted, abs=NEAR)
    assert result.exact and abs(result.gap) < 1e-5
    assert result.similarity == pytest.approx(float(rows.sum(0) @ columns.sum(0) / norms), abs=NEAR)
    assert result.matrix.sum() == pytest.approx(result.similarity, abs=1e-5)


def test_the_maximum_belongs_to_the_token_that_has_it(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "max"})
    result = run(encoder_of(folder))
    first, second = states(folder, PAIR.first), states(folder, PAIR.second)
    norms = first.amax(0).norm() * second.amax(0).norm()
    i, j = (result.rows[2].position or 0, result.columns[1].position or 0)
    both = [d for d in range(first.shape[1]) if first[:, d].argmax() == i and second[:, d].argmax() == j]
    wanted = sum(float(first[i, d] * second[j, d]) for d in both) / float(norms)
    assert result.matrix[2, 1] == pytest.approx(wanted, abs=NEAR) and abs(result.gap) < 1e-5


def test_a_plain_dense_layer_is_part_of_the_terms(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"}, dense=["Identity"])
    result = run(encoder_of(folder))
    weights = load_file(folder / "2_Dense" / "model.safetensors")
    first, second = (
        (tokens @ weights["linear.weight"].T + weights["linear.bias"]) / len(tokens)
        for tokens in (states(folder, PAIR.first), states(folder, PAIR.second))
    )
    norms = first.sum(0).norm() * second.sum(0).norm()
    assert result.matrix[0, 0] == pytest.approx(float(first[1] @ second[1] / norms), abs=NEAR)
    assert result.exact and abs(result.gap) < 1e-5


@pytest.mark.parametrize(
    ("pooling", "dense", "terms"),
    [
        ({"pooling_mode": "cls"}, [], "last layer"),
        ({"pooling_mode": "lasttoken"}, [], "last layer"),
        ({"pooling_mode": "mean"}, ["Tanh"], "last layer"),
        ({"pooling_mode": "mean"}, [], "input words"),
    ],
)
def test_other_terms_are_integrated_gradients_of_the_words(
    pooling: dict[str, Any],
    dense: list[str],
    terms: str,
    tiny_copy: Tiny,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each number of the vector by itself, with gradients of transformers, at the same points: few, to be fast."""
    monkeypatch.setattr(vector_parts, "STEPS", 3)
    folder = write_sentence_encoder(tiny_copy("bert"), pooling, dense=dense)
    checkpoint = encoder_of(folder)
    result = run(checkpoint, terms=terms)
    first, second = (reference_rows(folder, text, pooling["pooling_mode"], dense) for text in (PAIR.first, PAIR.second))
    wanted = (first @ second.T).numpy()
    close = 10 * of_encoder(checkpoint.config)  # sums over points of derivatives
    assert not result.exact and result.rows[-1].label == MASKS
    np.testing.assert_allclose(result.matrix, wanted, atol=close)
    assert result.matrix.sum() + result.gap == pytest.approx(result.similarity, abs=NEAR)


def reference_rows(folder: Path, text: str, mode: str, dense: list[str]) -> Tensor:
    """A row for each word of *text*, and one for the text of masks, over the length of the vector."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    ids = tokenizer(text, return_tensors="pt")["input_ids"][0]
    table = model.get_input_embeddings().weight.detach()
    end = table[ids]
    start = torch.cat([end[:1], table[tokenizer.mask_token_id].expand(len(ids) - 2, -1), end[-1:]])

    def vector(words: Tensor) -> Tensor:
        tokens = model(inputs_embeds=words[None]).last_hidden_state[0]
        pooled: Tensor = {"cls": tokens[0], "lasttoken": tokens[-1], "mean": tokens.mean(0)}[mode]
        if dense:
            weights = load_file(folder / "2_Dense" / "model.safetensors")
            pooled = torch.tanh(weights["linear.weight"] @ pooled + weights["linear.bias"])
        return F.normalize(pooled, dim=0)

    nodes, weights = np.polynomial.legendre.leggauss(vector_parts.STEPS)
    rows = torch.zeros(len(ids), len(vector(end)))
    for node, weight in zip((nodes + 1) / 2, weights / 2, strict=True):
        jacobian = torch.autograd.functional.jacobian(vector, start + float(node) * (end - start))  # e t d
        rows += float(weight) * torch.einsum("etd,td->te", jacobian, end - start)
    return torch.cat([rows[1:-1], vector(start).detach()[None]]).double()


def test_the_similarity_is_that_of_the_vectors(mini: Checkpoint, tiny_copy: Tiny) -> None:
    assert run(mini, KIDS).similarity == pytest.approx(float(Bert(mini).similarity(KIDS.first, KIDS.second)), abs=1e-6)
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"}, normalize=False)
    settings = {"prompts": {"query": "the cat : "}, "similarity_fn_name": "dot"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    bert = Bert(encoder_of(folder))
    result = run(bert.checkpoint, first_prompt="query")
    wanted = float(bert.similarity(PAIR.first, PAIR.second, prompts=("query", None)))
    assert result.measure == "dot" and result.similarity == pytest.approx(wanted, rel=1e-5)
    assert result.total == pytest.approx(wanted, rel=1e-5) and result.matrix.sum() == pytest.approx(wanted, rel=1e-5)
    assert result.prompts == ("the cat : ", "") and result.texts[0] == "the cat : The cat sat on the mat."
    prompt = [row for row in result.rows if row.span is None and row.label != MARKS]
    assert [row.label for row in prompt] == ["the", "cat", ":"]


def test_chance_is_the_similarity_of_lines_with_different_labels(mini: Checkpoint) -> None:
    result = run(mini, KIDS)
    vectors = F.normalize(torch.tensor(Bert(mini).encode([line.text for line in BUILT_IN])), dim=-1)
    pairs = [
        float(vectors[i] @ vectors[j])
        for i in range(len(BUILT_IN))
        for j in range(i)
        if BUILT_IN[i].label != BUILT_IN[j].label
    ]
    np.testing.assert_allclose(result.chance, sorted(pairs), atol=NEAR)
    assert result.as_similar == sum(pair >= result.similarity for pair in pairs) == 0
    lines = [LabelledLine("a cat sat"), LabelledLine("the dog ran"), LabelledLine(""), LabelledLine("rain in the park")]
    own = sentence_similarity.run(mini, KIDS, options=Options(lines="k"), lines=lines)
    many = sentence_similarity.run(
        mini, KIDS, options=Options(lines="k"), lines=[LabelledLine("a cat", str(i)) for i in range(305)]
    )
    assert len(many.chance) == 300 * 299 / 2 and "Only the first 300 of 305 lines are paired." in many.notes
    assert len(own.chance) == 3 and own.own_lines and "1 of 4 lines cannot be read" in own.notes


def test_a_hidden_word_is_a_mask(mini: Checkpoint) -> None:
    hidden = Text(KIDS.first, KIDS.second, hidden=(Span(1, 0, 4),))
    result = run(mini, hidden)
    assert result.columns[0].label == "[MASK]" and result.similarity < run(mini, KIDS).similarity


@pytest.mark.parametrize(
    ("pair", "options", "lines", "message"),
    [
        (Text("Only one."), {}, (), "There is only one text. Type the other"),
        (PAIR, {"first_prompt": "query"}, (), "There is no prompt 'query'; the checkpoint's files name none"),
        (Text("cat " * 70, "dog"), {"terms": "input words"}, (), "72 tokens. Integrated gradients of a whole vector"),
        (PAIR, {"lines": "k"}, (LabelledLine("a", "x"), LabelledLine("b", "x")), "no pair of different labels"),
        (Text("cat " * 200, "dog " * 200), {}, (), "the table can have 20,000 cells. Shorten them"),
    ],
)
def test_what_cannot_be_answered_is_said(
    pair: Text, options: dict[str, Any], lines: tuple[LabelledLine, ...], message: str, mini: Checkpoint
) -> None:
    with pytest.raises(ExplorerError, match=message):
        sentence_similarity.run(mini, pair, options=Options(merge=False, **options), lines=lines)


def test_one_token_and_no_mask_token_are_enough(mini: Checkpoint, tiny_copy: Tiny) -> None:
    assert run(mini, Text("cat", "dog")).matrix.shape == (2, 2)
    only_mask = run(mini, Text("[MASK]", "dog"), terms="input words")
    assert not only_mask.by_row[0] and abs(only_mask.gap) < 0.01


def test_several_texts_are_compared_with_each_other(tiny_copy: Tiny) -> None:
    """Against the vectors of Python's own call; the first text has the prompt of a query."""
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})
    (folder / "config_sentence_transformers.json").write_text(json.dumps({"prompts": {"query": "the cat : "}}))
    bert = Bert(encoder_of(folder))
    others = "she works in london | money is good | A dog sat in Paris, she said."
    result = run(bert.checkpoint, first_prompt="query", others=others)
    group = ["The cat sat on the mat.", "A dog sat in Paris, she said.", "she works in london", "money is good"]
    assert list(result.group) == group and result.table is not None
    vectors = np.concatenate([bert.encode(group[:1], prompt="query"), bert.encode(group[1:])])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.testing.assert_allclose(result.table, vectors @ vectors.T, atol=NEAR)
    assert result.table[0, 1] == pytest.approx(result.similarity, abs=NEAR)
    table = np.triu(result.table, 1)
    assert table[result.closest] == table.max()
    lead = figure.draw(result).panels[1].marks[0].doors[3][0]
    assert (lead["text"], lead["pair"]) == (group[3], group[0]) and lead["set"]["others"] == " | ".join(group[1:3])
    opened = sentence_similarity.run(
        bert.checkpoint, Text(lead["text"], lead["pair"]), options=Options(others=lead["set"]["others"])
    )
    assert set(opened.group) == set(group) and "are most similar" in figure.say(opened)
    assert run(bert.checkpoint).table is None
    assert run(bert.checkpoint, Text("a cat", "a cat"), others="a cat | a cat").table is None
    with pytest.raises(ExplorerError, match="23 texts were given to compare; the limit is 20"):
        run(bert.checkpoint, others=" | ".join(f"a {i}" for i in range(21)))


def test_the_parts_of_words_add_up_to_the_similarity(mini: Checkpoint) -> None:
    result = sentence_similarity.run(mini, KIDS)
    rows = sentence_similarity.rows(result)
    (part,) = [row["part"] for row in rows if (row["first"], row["second"]) == ("children", "kids")]
    assert Facts(mini, KIDS, result).part("children", "kids") == pytest.approx(part)
    assert sum(float(str(row["part"])) for row in rows) == pytest.approx(result.similarity, abs=1e-5)


def test_the_work_of_the_input_words_is_announced_before_it_is_done(tiny_copy: Tiny) -> None:
    work = Work()
    with working(work):
        run(encoder_of(tiny_copy("bert")), terms="input words")
    assert 0 < work.done <= work.total

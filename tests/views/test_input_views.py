"""Nearest pieces and input vectors are those of a plain loop over transformers' tables."""

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.charts.adaptors import chart
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import TOKENS, Span, Text
from bertexplorer.views.input_vectors import compute as input_vectors, show as vectors_figure
from bertexplorer.views.nearest_pieces import compute as nearest_pieces, show as nearest_figure
from tests.tolerance import assert_within, of_encoder, of_sum

EVIL = "<img src=x onerror=1>"
NAMES = ("bert", "roberta", "electra-generator", "distilbert", "modernbert", "xlm-roberta")


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("order", ["cosine", "dot product"])
def test_neighbours_equal_those_of_a_loop_over_the_table(tiny, name: str, order: str) -> None:
    folder = tiny(name)
    ours = load(folder, precision="fp32", device="cpu")
    table = transformers.AutoModelForMaskedLM.from_pretrained(folder).get_input_embeddings().weight.detach()
    options = nearest_pieces.Options(count=5, order=order)
    result = nearest_pieces.run(ours, Text("the doctor", picked=(Span(0, 4, 10),)), options=options)
    assert result.left_out == max(
        0, len(ours.tokenizer.encode(Text("the doctor", picked=(Span(0, 4, 10),))).picked) - 3
    )
    for near in result.found:
        scores = []
        for i in range(ours.tokenizer.vocab_size):
            if i not in (*ours.tokenizer.special_ids, near.id):
                dot = float(table[i] @ table[near.id])
                scores.append((dot / float(table[i].norm() * table[near.id].norm()), dot, i))
        scores.sort(key=lambda s: -s[0 if order == "cosine" else 1])
        assert [n.id for n in near.neighbours] == [i for *_, i in scores[:5]]
        assert [n.cosine for n in near.neighbours] == pytest.approx(
            [c for c, *_ in scores[:5]], abs=of_sum(table.shape[1])
        )
        assert near.typical == pytest.approx(float(np.median([c for c, *_ in scores])), abs=of_sum(table.shape[1]))


def test_a_hidden_token_counts_as_its_original_and_the_longest_is_the_default(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    span = Span(0, 4, 10)
    hidden = nearest_pieces.run(ours, Text("the doctor", hidden=(span,), picked=(span,)))
    assert hidden.found[0].token == "doctor"
    assert nearest_pieces.run(ours, "the terrible cat").found[0].token == "terrible"


def test_too_many_picks_or_neighbours_are_rejected(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    result = nearest_pieces.run(ours, Text("the cat and a dog", picked=(Span(0, 0, 17),)))
    assert len(result.found) == 3 and result.left_out == 2 and "2 more" in nearest_figure.say(result)
    small = load(tiny("bert"), precision="fp32", device="cpu")
    small.tokenizer.vocab_size = 8
    with pytest.raises(ExplorerError, match="vocabulary has 8 pieces"):
        nearest_pieces.run(small, "the cat")


@pytest.mark.parametrize("name", NAMES)
def test_vectors_add_up_and_equal_those_of_the_tables(tiny, name: str) -> None:
    folder = tiny(name)
    ours = load(folder, precision="fp32", device="cpu")
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    text = Text("the doctor", picked=(Span(TOKENS, 0, 1),))
    result = input_vectors.run(ours, text)
    results = dict(zip(result.parts, result.vectors, strict=True))
    ids = torch.tensor([ours.tokenizer.encode(text).ids])
    with torch.no_grad():
        word = model.get_input_embeddings()(ids)[0, 0].numpy()
        entering = model(ids, output_hidden_states=True).hidden_states[0][0, 0].numpy()
    np.testing.assert_array_equal(results["word"], word)
    parts = [results[part] for part in ("word", "position", "segment") if part in results]
    assert_within(results["sum"], np.sum(parts, axis=0), of_sum(3, results["sum"]))
    assert_within(
        results.get("projected", results["normalised"]), entering, of_encoder(ours.config, entering, layers=0)
    )
    for i, a in enumerate(result.vectors):
        for j, b in enumerate(result.vectors):
            if a.shape == b.shape:
                wanted = sum(x * y for x, y in zip(a, b, strict=True)) / (np.sqrt((a**2).sum()) * np.sqrt((b**2).sum()))
                assert result.cosines[i, j] == pytest.approx(wanted, abs=of_sum(len(a)))
            else:
                assert np.isnan(result.cosines[i, j])
    assert len(input_vectors.rows(result)) == sum(map(len, result.vectors))


def test_figures_are_drawn_with_markup_as_text() -> None:
    near = nearest_pieces.Neighbour(EVIL, 7, 0.5, 1.0)
    around = nearest_pieces.Neighbourhood(EVIL, 3, 1, (near,) * 10, -0.1, 0.05)
    for count in (1, 3):
        result = nearest_pieces.NearestPieces((around,) * count, 4, "cosine")
        drawn = chart(nearest_figure.draw(result)).to_json()
        assert "<img" not in drawn.replace("\\u003c", "<") and "&lt;img" in drawn.replace("\\u0026", "&").replace(
            "\\u003c", "<"
        )
        assert "0.50" in nearest_figure.say(result) and "−0.10 ± 0.05" in nearest_figure.say(result)
    vectors = tuple(np.full(4, float(i)) for i in range(5))
    parts = ("word", "position", "segment", "sum", "normalised")
    result = input_vectors.InputVectors(EVIL, 1, parts, vectors, np.eye(5), (1.0,) * 5, 2)
    assert [panel.marks[0].kind for panel in vectors_figure.draw(result).panels] == ["cells", "cells"]
    assert "2 more" in vectors_figure.say(result)
    drawn = chart(vectors_figure.draw(result)).to_json()
    assert "<img" not in drawn.replace("\\u003c", "<")
    bare = input_vectors.InputVectors("x", 1, ("word", "sum", "normalised"), vectors[:3], np.eye(3), (1.0,) * 3, 0)
    assert "alone" in vectors_figure.say(bare)


def test_neighbours_by_dot_product_are_drawn_and_named_by_it(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    result = nearest_pieces.run(ours, "the terrible cat", options=nearest_pieces.Options(count=5, order="dot product"))
    (near,) = result.found
    bars = nearest_figure.draw(result).panels[0].marks[0].bars
    assert [bar.value for bar in bars] == [n.dot for n in near.neighbours]
    said = nearest_figure.say(result)
    assert f"“{near.neighbours[0].token}” has the largest dot product with “terrible”" in said and "closest" not in said

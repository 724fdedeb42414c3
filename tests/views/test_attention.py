"""Attention is transformers' eager attention; norms are a loop over its weights; words, cuts and choices as defined."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch

from bertexplorer.answers import attention_weights
from bertexplorer.answers.heads import Head, name_heads
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.attention import compute as attention, show as drawn
from bertexplorer.views.attention.compute import Attention, Options
from tests.conftest import Tiny
from tests.eager import FAMILIES, eager
from tests.tolerance import assert_within, of_encoder, of_sum

PAIR = Text("The doctor said it was unbelievable.", "She works in <mask>.")


def ask(checkpoint: Checkpoint, text: Text | str, **options: object) -> Attention:
    return attention.run(checkpoint, text, options=Options(**options))


def pick(text: str, word: str) -> Text:
    start = text.index(word)
    return Text(text, picked=(Span(0, start, start + len(word)),))


@pytest.mark.parametrize("family", FAMILIES)
def test_weights_are_those_of_transformers(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    wanted = eager(tiny(family), checkpoint.tokenizer.encode(PAIR)).attention
    result = ask(checkpoint, PAIR, show="head", layer=2, head=3)
    assert_within(result.every, wanted.numpy(), of_encoder(checkpoint.config))
    assert_within(result.matrix, wanted[1, 2].numpy(), of_encoder(checkpoint.config))
    assert result.chosen == (Head(1, 2),) and len(result.rows) == wanted.shape[-1]


@pytest.mark.parametrize("family", FAMILIES)
def test_norms_equal_a_loop_over_the_weights_of_transformers(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode("She is good.")
    other = eager(tiny(family), encoding)
    result = ask(checkpoint, "She is good.", measure="norm")
    layers, heads, tokens, _ = other.attention.shape
    size = checkpoint.config.head_size
    for layer in range(layers):
        value, bias, mix = other.matrices(layer)
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            for j in range(tokens):
                given = (other.inputs[layer][j] @ value[:, part] + bias[part]) @ mix[part]
                for i in range(tokens):
                    norm = float((other.attention[layer, head, i, j] * given).norm())
                    allowed = of_encoder(checkpoint.config, norm)
                    assert result.every[layer, head, i, j] == pytest.approx(norm, abs=allowed)
    assert result.norms


def test_several_heads_are_averaged_or_give_their_maximum(mini: Checkpoint) -> None:
    text = "The cat sat on the mat."
    every = ask(mini, text).every
    options = {"show": "head"}
    assert_within(ask(mini, text, **options).matrix, every.mean(axis=(0, 1)), of_sum(72))
    np.testing.assert_allclose(ask(mini, text, layer=2, combine="max", **options).matrix, every[1].max(axis=0))
    assert_within(ask(mini, text, head=12, **options).matrix, every[:, 11].mean(axis=0), of_sum(6))
    chosen = ask(mini, text, heads="6·3, 1.12; 2-1, 6:3", layer=4, **options)
    assert chosen.chosen == (Head(5, 2), Head(0, 11), Head(1, 0))
    assert_within(chosen.matrix, (every[5, 2] + every[0, 11] + every[1, 0]) / 3, of_sum(3))
    assert [str(head) for head in chosen.chosen] == ["6·3", "1·12", "2·1"]


@pytest.mark.parametrize("family", FAMILIES)
def test_pieces_of_a_word_are_added_over_columns_and_averaged_over_rows(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    pieces, words = ask(checkpoint, PAIR), ask(checkpoint, PAIR, merge=True)
    assert len(words.rows) < len(pieces.rows)
    assert [p for unit in words.rows for p in unit.positions] == list(range(len(encoding)))
    for i, a in enumerate(words.rows):
        assert len({encoding.words[p] for p in a.positions}) == 1
        for j, b in enumerate(words.columns):
            wanted = np.mean([[pieces.every[..., p, q] for q in b.positions] for p in a.positions], axis=0).sum(axis=0)
            assert_within(words.every[..., i, j], wanted, of_encoder(checkpoint.config))
    assert_within(words.every.sum(axis=-1), 1, of_sum(len(encoding), sums=3))


def test_a_word_is_labelled_as_written_and_a_hidden_one_as_hidden(mini: Checkpoint) -> None:
    text = Text("Untranslatable words", hidden=(Span(0, 15, 20),))
    assert [unit.label for unit in ask(mini, text, merge=True).rows] == ["[CLS]", "untranslatable", "[MASK]", "[SEP]"]
    assert "##" in ask(mini, text).rows[2].label


@pytest.mark.parametrize("family", FAMILIES)
def test_special_tokens_can_be_hidden_or_discounted(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    visible = [i for i, span in enumerate(encoding.spans) if span is not None]
    whole = ask(checkpoint, PAIR).every
    hidden, left = (ask(checkpoint, PAIR, special=kind) for kind in ("hidden", "discounted"))
    assert [unit.positions[0] for unit in hidden.rows] == visible == [unit.positions[0] for unit in left.columns]
    np.testing.assert_allclose(hidden.every, whole[:, :, visible][..., visible])
    assert_within(left.every, hidden.every / hidden.every.sum(-1, keepdims=True), of_sum(len(encoding)))


@pytest.mark.parametrize("family", FAMILIES)
def test_a_direction_selects_the_rows_and_columns_of_its_sentences(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode(PAIR)
    sides = [[i for i, span in enumerate(encoding.spans) if span is not None and span.side == side] for side in (0, 1)]
    whole = ask(checkpoint, PAIR).every
    for direction, (looks, seen) in (("A to B", sides), ("B to A", sides[::-1])):
        result = ask(checkpoint, PAIR, direction=direction, special="hidden")
        np.testing.assert_allclose(result.every, whole[:, :, looks][..., seen])
    framed = ask(checkpoint, PAIR, direction="A to B")
    assert framed.rows[0].special and framed.columns[0].positions == (sides[1][0],)


def test_the_view_is_about_the_picked_word_or_the_mask_or_the_most_attentive_token(mini: Checkpoint) -> None:
    text = "The animal was unbelievably tired."
    picked = ask(mini, pick(text, "unbelievably"), show="head")
    assert picked.picked and picked.about == (4, 5, 6, 7, 8)
    assert_within(picked.gives, picked.every.mean(axis=(0, 1))[4:9].mean(axis=0), of_sum(72 * 5))
    assert_within(picked.by_head[3, 4], picked.every[3, 4, 4:9].mean(axis=0), of_sum(5))
    assert ask(mini, "The [MASK] was [MASK].").about == (2,)
    alone = ask(mini, text, show="head", layer=3, head=3)
    middle = alone.matrix[1:-1, 1:-1].copy()
    np.fill_diagonal(middle, 0)
    assert not alone.picked and alone.about == (1 + int(middle.argmax()) // len(middle),)


def test_a_picked_token_or_a_text_without_rows_is_reported(mini: Checkpoint) -> None:
    text = Text("The cat sat.", "It slept.", picked=(Span(0, 4, 7),))
    result = ask(mini, text, direction="B to A")
    assert not result.picked and "picked" in result.notes[0]
    assert ask(mini, "[SEP] [CLS]").matrix.shape == (4, 4)
    with pytest.raises(ExplorerError, match="has only"):
        ask(mini, "[SEP] [CLS]", special="hidden")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 7}, "Layer 7.*6 layers.*0 for all"),
        ({"head": 13}, "Head 13.*12 heads"),
        ({"heads": "7·1"}, "Layer 7.*Choose 1 to 6"),
        ({"heads": "1·0"}, "Head 0"),
        ({"heads": "</script>"}, "'</script>' is not a head"),
        ({"heads": "5"}, "'5' is not a head"),
        ({"heads": "1.1," * 600}, "2,400 characters"),
        ({"direction": "A to B"}, "single one.*Add a second sentence"),
    ],
)
def test_unknown_layers_heads_and_pairs_are_rejected(
    options: dict[str, object], message: str, mini: Checkpoint
) -> None:
    with pytest.raises(ExplorerError, match=message):
        ask(mini, "The cat sat.", **options)


def test_a_long_text_is_cut_or_rejected(mini: Checkpoint, monkeypatch: pytest.MonkeyPatch, small: Checkpoint) -> None:
    result = ask(small, "cat " * 100)
    assert result.left_out == 38 and len(result.rows) == 64
    monkeypatch.setattr(attention_weights, "MAX_NUMBERS", 72 * 100)
    assert len(ask(mini, "cat " * 8).rows) == 10
    with pytest.raises(ExplorerError, match=r"11 tokens; the 72 heads .* 10 at most"):
        ask(mini, "cat " * 9)
    assert math.isqrt(128_000_000 // 144) >= 512


@pytest.mark.parametrize(
    ("heads", "shape", "name"),
    [
        ([(1, j) for j in range(12)], (6, 12), "all heads of layer 2"),
        ([(i, 2) for i in range(6)], (6, 12), "head 3 of all layers"),
        ([(i, j) for i in (0, 1) for j in range(7)], (6, 12), "14 heads"),
        ([(0, 0), (1, 1)], (2, 2), "1·1 2·2"),
        ([(0, 0)], (1, 1), "1·1"),
    ],
)
def test_chosen_heads_have_a_short_name(heads: list[tuple[int, int]], shape: tuple[int, int], name: str) -> None:
    assert name_heads(tuple(Head(*head) for head in heads), *shape) == name


def test_bf16_stays_near_fp32(mini: Checkpoint, bundled: Path) -> None:
    half = load(bundled, name="mini", precision="bf16", device="cpu")
    exact, near = (ask(c, "The cat sat on the mat.").every for c in (mini, half))
    assert np.abs(exact - near).max() < 0.1 and near.dtype == np.float32
    assert torch.from_numpy(near).sum(-1).sub(1).abs().max() < of_sum(near.shape[-1], sums=2)


def test_discounted_norms_are_shares_and_are_labelled_as_shares(tiny: Tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    whole = ask(checkpoint, "She is good.", measure="norm")
    result = ask(checkpoint, "She is good.", measure="norm", special="discounted", show="head")
    inner = whole.every[:, :, 1:-1, 1:-1]
    np.testing.assert_allclose(result.every, inner / inner.sum(-1, keepdims=True), rtol=of_sum(inner.shape[-1]))
    assert not result.norms and {row["measure"] for row in attention.rows(result)} == {"share of the norms"}
    assert "% of what it takes in from" in drawn.say(result)


def test_the_description_of_a_large_grid_says_which_rows_are_listed(
    mini: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "MAX_ROWS", 100)
    grid = attention.rows(ask(mini, Text("The cat sat.", picked=(Span(0, 4, 7),))))
    assert len(grid) == 72 * 6 and {row["from"] for row in grid} == {"cat"}
    assert "only from the token" in str(grid[0]["measure"]) and "2,592 rows" in str(grid[0]["measure"])

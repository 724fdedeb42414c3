"""Fill-mask gives the numbers of transformers' pipeline; its ranks, entropy, requested words and left-only answer."""

import math

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.fill_mask.compute import MAX_BLANKS, Options
from bertexplorer.views.left_context import compute as left_context
from tests.views.conftest import CLOSE, Reference

FRANCE = "Paris is the [MASK] of France."


@pytest.mark.parametrize("top", [1, 5, 100])
def test_answers_equal_those_of_the_pipeline(mini: Checkpoint, reference: Reference, top: int) -> None:
    pipeline = transformers.pipeline("fill-mask", model=reference.model, tokenizer=reference.tokenizer, device="cpu")
    wanted = pipeline(FRANCE, top_k=top)
    (blank,) = fill_mask.run(mini, FRANCE, options=Options(top=top)).blanks
    assert [c.id for c in blank.candidates] == [w["token"] for w in wanted]
    assert [c.token for c in blank.candidates] == [w["token_str"] for w in wanted]
    assert [c.probability for c in blank.candidates] == pytest.approx([w["score"] for w in wanted], rel=CLOSE)
    assert [c.rank for c in blank.candidates] == list(range(1, top + 1))


def test_entropy_and_the_rank_of_the_original_equal_a_computation_by_hand(
    mini: Checkpoint, reference: Reference
) -> None:
    text = "The farmers cultivate the land to grow crops."
    start = text.index("land")
    (blank,) = fill_mask.run(mini, Text(text, hidden=(Span(0, start, start + 4),))).blanks
    ids = reference.ids(text)
    land = reference.tokenizer.convert_tokens_to_ids("land")
    spot = ids.index(land)
    ids[spot] = reference.mask
    row = reference.log_probs(ids)[spot]
    assert blank.position == spot
    assert blank.entropy == pytest.approx(
        float(torch.distributions.Categorical(logits=row).entropy()) / math.log(2), abs=CLOSE
    )
    assert blank.original is not None and blank.original.id == land
    assert blank.original.rank == sorted(row.tolist(), reverse=True).index(float(row[land])) + 1
    assert blank.original.probability == pytest.approx(math.exp(row[land]), rel=CLOSE)


def test_each_mask_is_answered_while_the_others_stay_masked(mini: Checkpoint, reference: Reference) -> None:
    text = "The [MASK] sat on the [MASK]."
    ids = reference.ids(text)
    rows = reference.log_probs(ids)
    for blank in fill_mask.run(mini, text).blanks:
        assert ids[blank.position] == reference.mask
        assert blank.candidates[0].id == int(rows[blank.position].argmax())


def test_requested_words_of_one_or_several_pieces_get_their_probability(mini: Checkpoint, reference: Reference) -> None:
    """Several pieces: the sum over pieces i of log p(i | pieces before i, later ones hidden)."""
    words = "capital, unbelievably ,  capital, Heart"
    (blank,) = fill_mask.run(mini, FRANCE, options=Options(words=words)).blanks
    ids = reference.ids(FRANCE)
    spot = ids.index(reference.mask)
    wanted = {}
    for word in ("capital", "unbelievably", "Heart"):
        pieces = reference.tokenizer(word, add_special_tokens=False)["input_ids"]
        total = 0.0
        for i, piece in enumerate(pieces):
            filled = [*ids[:spot], *pieces[:i], *[reference.mask] * (len(pieces) - i), *ids[spot + 1 :]]
            total += float(reference.log_probs(filled)[spot + i, piece])
        wanted[word] = (total, len(pieces))
    assert len({w.word for w in blank.words}) == len(blank.words) == 3
    assert wanted["unbelievably"][1] > 1
    for score in blank.words:
        assert score.log_probability == pytest.approx(wanted[score.word][0], abs=CLOSE * 3)
        assert len(score.pieces) == wanted[score.word][1]
        assert (score.rank is None) == (len(score.pieces) > 1)
    scores = [w.log_probability for w in blank.words]
    assert scores == sorted(scores, reverse=True)
    log_probs = reference.log_probs(ids)[spot]
    above = int((log_probs > log_probs[reference.tokenizer.convert_tokens_to_ids("capital")]).sum())
    assert next(w for w in blank.words if w.word == "capital").rank == above + 1 < 5


def test_masks_beyond_the_limit_are_counted(mini: Checkpoint) -> None:
    result = fill_mask.run(mini, "[MASK] " * 100, options=Options(top=1))
    assert len(result.blanks) == MAX_BLANKS and result.left_out == 100 - MAX_BLANKS


TEXTS = ("The farmers cultivate the [MASK] to grow crops.", "The farmers cultivate the [MASK] near a big city.")


def test_words_to_the_right_change_only_the_two_sided_answer(mini: Checkpoint) -> None:
    first, second = (left_context.run(mini, text) for text in TEXTS)
    for a, b in zip(first.left.candidates, second.left.candidates, strict=True):
        assert (a.id, a.rank) == (b.id, b.rank)
        assert a.probability == pytest.approx(b.probability, rel=CLOSE)
    assert first.left.entropy == pytest.approx(second.left.entropy, abs=CLOSE)
    assert abs(first.both.entropy - second.both.entropy) > 0.01


def test_words_to_the_left_change_the_left_only_answer(mini: Checkpoint) -> None:
    other = left_context.run(mini, TEXTS[0].replace("farmers", "sailors"))
    assert abs(other.left.entropy - left_context.run(mini, TEXTS[0]).left.entropy) > 1e-3


def test_both_answers_equal_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result, ids = left_context.run(mini, TEXTS[0], options=left_context.Options(top=5)), reference.ids(TEXTS[0])
    spot = ids.index(reference.mask)
    triangle = torch.ones(len(ids), len(ids), dtype=torch.bool).tril()
    for results, seen in ((result.both, None), (result.left, triangle)):
        wanted = reference.log_probs(ids, seen)[spot].exp().topk(5)
        assert [c.id for c in results.candidates] == wanted.indices.tolist()
        assert [c.probability for c in results.candidates] == pytest.approx(wanted.values.tolist(), rel=CLOSE)
    assert result.both == fill_mask.run(mini, TEXTS[0], options=fill_mask.Options(top=5)).blanks[0]


@pytest.mark.parametrize("text", [TEXTS[0], "[MASK]"])
def test_the_matrices_show_which_tokens_each_token_sees(mini: Checkpoint, text: str) -> None:
    result = left_context.run(mini, text)
    count = len(result.tokens)
    assert result.sees_both.shape == (count, count) and result.sees_both.all()
    np.testing.assert_array_equal(result.sees_left, np.tri(count, dtype=bool))


def test_rows_of_two_masks_hold_the_answers_in_order(mini: Checkpoint) -> None:
    text = Text("Paris is the capital of [MASK].", hidden=(Span(0, 0, 5),))
    result = fill_mask.run(mini, text, options=Options(top=3, words="rome"))
    answers = ["answer"] * 3
    kinds = [(1, kind) for kind in (*answers, "hidden", "word")] + [(2, kind) for kind in (*answers, "word")]
    assert [(row["mask"], row["kind"]) for row in fill_mask.rows(result)] == kinds
    assert result.blanks[1].original is None, "that of a typed mask"

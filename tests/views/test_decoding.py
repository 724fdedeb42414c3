"""Four ways to fill several masks, each against a search by hand."""

import dataclasses
import itertools
from pathlib import Path

import pytest
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.views.decoding import compute as decoding
from bertexplorer.views.decoding.compute import METHODS, Decoding, Filling, Options
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.template import compute as template
from tests.tiny import write
from tests.tolerance import of_encoder
from tests.views.conftest import CLOSE, LOGITS, Reference

TWO = "She poured the [MASK] into the [MASK]."
THREE = "the [MASK] [MASK] said [MASK] ."


def method(result: Decoding, name: str) -> Filling:
    return next(f for f in result.fillings if f.method == name)


def by_hand(reference: Reference, ids: list[int], pieces: dict[int, int], order: list[int]) -> list[float]:
    """Log-probability of each piece filled in *order*, given the pieces before it."""
    now, result = list(ids), []
    for spot in order:
        result.append(float(reference.log_probs(now)[spot, pieces[spot]]))
        now[spot] = pieces[spot]
    return result


@pytest.mark.parametrize("text", [TWO, "In [MASK] [MASK], the [MASK] is [MASK]."])
def test_claimed_and_chained_probabilities_equal_those_of_a_loop(
    mini: Checkpoint, reference: Reference, text: str
) -> None:
    result, ids = decoding.run(mini, text), reference.ids(text)
    masks = [i for i, token in enumerate(ids) if token == reference.mask]
    assert [f.method for f in result.fillings] == list(METHODS)
    assert list(result.positions) == masks
    for filling in result.fillings:
        order, pieces = [s.position for s in filling.steps], {s.position: s.id for s in filling.steps}
        assert sorted(order) == masks
        chain = by_hand(reference, ids, pieces, masks)
        assert filling.chained == pytest.approx(sum(chain), abs=CLOSE * len(masks))
        seen = [float(reference.log_probs(ids)[p, pieces[p]]) for p in order]
        own = seen if filling.method == "independent" else by_hand(reference, ids, pieces, order)
        assert [s.log_probability for s in filling.steps] == pytest.approx(own, abs=CLOSE)
        assert filling.claimed == pytest.approx(sum(own), abs=CLOSE * len(masks))


def test_the_independent_method_takes_the_best_token_of_each_mask(mini: Checkpoint, reference: Reference) -> None:
    rows = reference.log_probs(reference.ids(TWO))
    for step in method(decoding.run(mini, TWO), "independent").steps:
        assert step.id == int(rows[step.position].argmax())


@pytest.mark.parametrize("text", [TWO, "In [MASK] [MASK], the [MASK] is [MASK]."])
def test_each_greedy_method_fills_masks_in_its_order(mini: Checkpoint, reference: Reference, text: str) -> None:
    for name in ("left to right", "most certain first"):
        now = reference.ids(text)
        for step in method(decoding.run(mini, text), name).steps:
            left = [i for i, token in enumerate(now) if token == reference.mask]
            rows = reference.log_probs(now)[left]
            wanted = left[int(rows.max(-1).values.argmax())] if name == "most certain first" else left[0]
            assert step.position == wanted
            assert step.id == int(rows[left.index(wanted)].argmax())
            now[wanted] = step.id


def test_a_beam_as_wide_as_the_vocabulary_finds_the_best_of_all(small: Checkpoint, small_reference: Reference) -> None:
    ids = small_reference.ids(THREE.replace("[MASK] [MASK]", "[MASK]"))
    one, two = (i for i, token in enumerate(ids) if token == small_reference.mask)
    first, best = small_reference.log_probs(ids)[one], {}
    for token in range(len(first)):
        row = small_reference.log_probs([*ids[:one], token, *ids[one + 1 :]])[two]
        best[token, int(row.argmax())] = float(first[token] + row.max())
    wanted = max(best, key=lambda pair: best[pair])
    encoding = small.tokenizer.encode(THREE.replace("[MASK] [MASK]", "[MASK]"))
    steps = decoding.beam(small, encoding, len(first))
    assert tuple(s.id for s in steps) == wanted
    assert sum(s.log_probability for s in steps) == pytest.approx(
        best[wanted], abs=2 * of_encoder(small.config, LOGITS)
    )


def test_a_beam_of_one_is_greedy_and_a_wider_one_is_at_least_as_good(small: Checkpoint) -> None:
    narrow, wide = (decoding.run(small, THREE, options=Options(beam_width=w)) for w in (1, 20))
    assert method(narrow, "beam").tokens == method(narrow, "left to right").tokens
    assert method(wide, "beam").claimed >= method(narrow, "beam").claimed - CLOSE
    assert method(wide, "beam").chained == pytest.approx(method(wide, "beam").claimed, abs=CLOSE * 2)


def test_decoding_terminates_if_the_best_answer_is_the_mask_itself(
    small: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps, real = itertools.count(), decoding.step_at
    monkeypatch.setattr(decoding, "step_at", lambda *a: real(*a) if next(steps) < 200 else pytest.fail("no end"))
    head = type(small.masked_lm)(small.config).requires_grad_(False)
    head.load_state_dict(small.masked_lm.state_dict())
    head.output.bias[small.tokenizer.mask_id] += 1000
    result = decoding.run(dataclasses.replace(small, heads={"masked_lm": head}), THREE)
    for filling in result.fillings:
        assert [s.id for s in filling.steps] == [small.tokenizer.mask_id] * 3
        assert sorted(s.position for s in filling.steps) == list(result.positions)


def test_too_many_masks_are_rejected(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="100 masks.*20"):
        decoding.run(mini, "[MASK] " * 100)
    assert torch.isfinite(torch.tensor([f.claimed for f in decoding.run(mini, "a [MASK] b").fillings])).all()


def test_rows_of_the_matrix_without_a_piece_are_no_answers(tmp_path: Path) -> None:
    """The matrix of many published checkpoints is padded beyond their vocabulary."""
    padded = load(write(tmp_path / "padded", "bert", vocab_size=400), precision="fp32", device="cpu")
    size = padded.tokenizer.vocab_size
    texts = ("the dog is [MASK] .", "a [MASK] [MASK] film", "he [MASK] it on the [MASK] .")
    for text in texts:
        fillings = decoding.run(padded, text).fillings
        assert all(step.id < size for filling in fillings for step in filling.steps)
        (blank, *_) = fill_mask.run(padded, text, options=fill_mask.Options(top=100)).blanks
        words = ",".join(c.token for c in blank.candidates[:50] if c.token.isalpha())
        (again, *_) = fill_mask.run(padded, text, options=fill_mask.Options(words=words)).blanks
        ranks = {c.token: c.rank for c in blank.candidates}
        assert words and all(score.rank == ranks[score.pieces[0]] for score in again.words)
    answers = template.run(padded, "the {dog|cat|man} is [MASK] .").answers
    assert not any(answer.startswith("#") and answer[1:].isdigit() for answer in answers)

"""Word path: transformers' vectors on the plane that a singular value decomposition finds."""

import numpy as np
import pytest
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views.word_path import compute as word_path
from bertexplorer.views.word_path.compute import MAX_PATHS, Options
from tests.tolerance import assert_within, of_plane
from tests.views.conftest import MINI, NEAR, Reference

TEXTS = ("They sat on the bank.", "The bank lent him money.")


def states(reference: Reference, text: str) -> np.ndarray:
    """Hidden states without [CLS] and [SEP], layers x t x d."""
    with torch.no_grad():
        hidden = reference.model(input_ids=torch.tensor([reference.ids(text)]), output_hidden_states=True).hidden_states
    return torch.cat(hidden)[:, 1:-1].double().numpy()


def test_the_plane_and_the_paths_equal_an_svd(mini: Checkpoint, reference: Reference) -> None:
    result = word_path.run(mini, TEXTS[0], options=Options(word="bank", sentences=TEXTS[1]))
    results = [states(reference, text) for text in TEXTS]
    every = np.concatenate([hidden.reshape(-1, hidden.shape[-1]) for hidden in results])
    centre = every.mean(axis=0)
    _, values, axes = np.linalg.svd(every - centre, full_matrices=False)
    assert_within(result.explained, (values**2 / (values**2).sum())[:2], 2 * NEAR)
    banks = np.stack([results[0][:, 4], results[1][:, 1]])
    flat = (banks - centre) @ axes[:2].T
    assert_within(np.abs(result.paths), np.abs(flat), of_plane(MINI, every, 2))
    for path, vectors in zip(result.to_input, banks, strict=True):
        wanted = [v @ vectors[0] / np.linalg.norm(v) / np.linalg.norm(vectors[0]) for v in vectors]
        assert_within(path, wanted, NEAR)
    between = (banks[0] * banks[1]).sum(axis=-1) / np.linalg.norm(banks, axis=-1).prod(axis=0)
    assert_within(result.apart, between, NEAR)
    others = np.concatenate([np.delete(results[0], 4, axis=1), np.delete(results[1], 1, axis=1)], axis=1)
    assert_within(np.abs(result.crowd), np.abs((others - centre) @ axes[:2].T), of_plane(MINI, every, 2))
    assert result.tokens == ("they", "sat", "on", "the", ".", "the", "lent", "him", "money", ".")


def test_the_plane_is_the_same_for_every_layer(mini: Checkpoint) -> None:
    first, second = (word_path.run(mini, TEXTS[0], options=Options(layer, "bank")) for layer in (1, 5))
    np.testing.assert_array_equal(first.paths, second.paths)
    assert (first.layer, second.layer) == (1, 5)


def test_the_pieces_of_a_word_form_one_path(mini: Checkpoint, reference: Reference) -> None:
    result = word_path.run(mini, "It is unbelievably good.", options=Options(word="unbelievably"))
    assert result.paths.shape == (1, 7, 2) and result.apart is None
    (o,) = result.occurrences
    vectors = states(reference, "It is unbelievably good.")[:, [i - 1 for i in o.positions]].mean(axis=1)
    wanted = vectors @ vectors[0] / np.linalg.norm(vectors, axis=1) / np.linalg.norm(vectors[0])
    assert_within(result.to_input[0], wanted, NEAR)
    assert len(result.tokens) == 4


def test_picked_words_each_have_a_path(mini: Checkpoint) -> None:
    text = Text("The doctor told the nurse.", picked=(Span(0, 4, 10), Span(0, 20, 25)))
    assert [o.word for o in word_path.run(mini, text).occurrences] == ["doctor", "nurse"]


def test_at_most_seven_words_have_a_path(small: Checkpoint) -> None:
    result = word_path.run(small, "bank " * 20, options=Options(word="bank"))
    assert len(result.occurrences) == MAX_PATHS and result.left_out == 13


def test_invalid_settings_are_rejected(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="'zebra' does not occur in the text"):
        word_path.run(small, "a cat", options=Options(word="zebra"))
    with pytest.raises(ExplorerError, match="Layer 4"):
        word_path.run(small, "a cat", options=Options(4))


def test_the_plane_of_differences_leaves_out_what_all_paths_do(mini: Checkpoint, reference: Reference) -> None:
    """The mean of the occurrences is taken from each layer before the singular value decomposition."""
    options = Options(word="bank", sentences=TEXTS[1], plane="their differences")
    result = word_path.run(mini, TEXTS[0], options=options)
    banks = np.stack([states(reference, TEXTS[0])[:, 4], states(reference, TEXTS[1])[:, 1]])
    apart = banks - banks.mean(axis=0)
    every = apart.reshape(-1, apart.shape[-1])
    _, values, axes = np.linalg.svd(every - every.mean(axis=0), full_matrices=False)
    assert_within(result.explained, (values**2 / (values**2).sum())[:2], 2 * NEAR)
    assert_within(np.abs(result.paths), np.abs((apart - every.mean(axis=0)) @ axes[:2].T), of_plane(MINI, every, 2))
    assert result.tokens == () and result.crowd.shape[1] == 0
    with pytest.raises(ExplorerError, match="only one path"):
        word_path.run(mini, TEXTS[0], options=Options(word="bank", plane="their differences"))

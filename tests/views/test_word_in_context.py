"""Word in context: every cosine is that of transformers' vectors, and the means are those of loops over pairs."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import torch

from bertexplorer.answers.vectors import baseline
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.word_in_context import compute as word_in_context, show as figure
from bertexplorer.views.word_in_context.compute import MAX_OCCURRENCES, Options
from tests.conftest import Tiny
from tests.tolerance import assert_within, of_sum
from tests.views.conftest import NEAR, Reference

TEXT = "They sat on the bank of the river."
BANKS = "river: A bank of mud. | money: The bank lent him money. | money: She robbed a bank."
SENTENCES = (TEXT, "A bank of mud.", "The bank lent him money.", "She robbed a bank.")


def states(reference: Reference, sentence: str, word: str) -> torch.Tensor:
    """The hidden states of *word*, one piece of the vocabulary, in *sentence*; layers x d."""
    ids = reference.ids(sentence)
    spot = ids.index(reference.tokenizer.convert_tokens_to_ids(word))
    with torch.no_grad():
        hidden = reference.model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states
    return torch.stack([state[0, spot] for state in hidden])


def test_cosines_equal_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result = word_in_context.run(mini, TEXT, options=Options(word="bank", sense="river", sentences=BANKS))
    wanted = [states(reference, sentence, "bank") for sentence in SENTENCES]
    for i, j in combinations(range(4), 2):
        expected = torch.cosine_similarity(wanted[i], wanted[j]).numpy()
        assert_within(result.cosines[:, i, j], expected, NEAR)
        assert_within(result.cosines[:, j, i], expected, NEAR)
    assert [o.label for o in result.occurrences] == ["river", "river", "money", "money"]
    assert [o.sentence for o in result.occurrences] == list(SENTENCES)
    assert_within(result.static, 1, of_sum(mini.config.hidden_size))


def test_means_equal_a_loop_over_pairs(mini: Checkpoint) -> None:
    result = word_in_context.run(mini, TEXT, options=Options(word="bank", sense="river", sentences=BANKS, layer=3))
    layer = result.cosines[3]
    same = [layer[0, 1], layer[2, 3]]
    other = [layer[0, 2], layer[0, 3], layer[1, 2], layer[1, 3]]
    mean = partial(pytest.approx, rel=0, abs=of_sum(len(same + other), sums=2))
    assert result.within[3] == mean(np.mean(same)) and result.between[3] == mean(np.mean(other))
    assert result.mean[3] == mean(np.mean(same + other))
    assert result.spread[3] == mean(np.std(same + other))
    assert result.shown[0, 1] == mean(layer[0, 1] - baseline(mini)[3]) and np.isnan(result.shown[1, 1])
    plain = word_in_context.run(mini, TEXT, options=Options("bank", BANKS, layer=3, baseline=False))
    assert plain.shown[0, 1] == pytest.approx(layer[0, 1])


@pytest.mark.parametrize("labels", ["a bank | a bank", "x: a bank | y: a bank", "x: a bank | x: a bank"])
def test_separation_needs_two_senses_and_two_occurrences_of_one(labels: str, small: Checkpoint) -> None:
    result = word_in_context.run(small, "the bank", options=Options("bank", labels))
    assert result.within is None and result.between is None


def test_the_pieces_of_a_word_are_averaged(mini: Checkpoint, reference: Reference) -> None:
    texts = ("It is unbelievably good.", "He sang unbelievably.")
    result = word_in_context.run(mini, texts[0], options=Options("unbelievably", texts[1]))
    vectors = []
    for text, o in zip(texts, result.occurrences, strict=True):
        pieces = reference.tokenizer.tokenize("unbelievably")
        assert len(o.positions) == len(pieces) > 1
        ids = torch.tensor([reference.ids(text)])
        with torch.no_grad():
            hidden = reference.model(input_ids=ids, output_hidden_states=True).hidden_states
        start = reference.tokenizer.convert_ids_to_tokens(ids[0].tolist()).index(pieces[0])
        vectors.append(torch.stack([h[0, start : start + len(pieces)].mean(dim=0) for h in hidden]))
    assert_within(result.cosines[:, 0, 1], torch.cosine_similarity(*vectors).numpy(), NEAR)


def test_hidden_words_are_masks(mini: Checkpoint, reference: Reference) -> None:
    hidden = Text("The bank is open.", hidden=(Span(0, 4, 8),))
    result = word_in_context.run(mini, hidden, options=Options("bank", "A bank."))
    wanted = torch.cosine_similarity(
        states(reference, "The [MASK] is open.", "[MASK]"), states(reference, "A bank.", "bank")
    )
    assert_within(result.cosines[:, 0, 1], wanted.numpy(), NEAR)
    assert [o.hidden for o in result.occurrences] == [True, False]


def test_at_most_forty_occurrences_are_used(small: Checkpoint) -> None:
    result = word_in_context.run(small, "bank " * 50, options=Options("bank"))
    assert len(result.occurrences) == MAX_OCCURRENCES and result.left_out == 10
    assert result.cosines.shape == (4, 40, 40)


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "electra-discriminator", "distilbert", "modernbert"])
def test_every_family_is_answered(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    result = word_in_context.run(checkpoint, "the bank is good .", options=Options("bank", "a bank . | no money"))
    layers = checkpoint.config.num_layers + 1
    assert result.cosines.shape == (layers, 2, 2) and np.isfinite(result.cosines).all() and result.lacking == 1
    assert result.static[0, 1] == pytest.approx(1, abs=of_sum(checkpoint.config.hidden_size))


def test_invalid_layers_and_an_empty_text_are_rejected(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="Layer 9"):
        word_in_context.run(small, "bank bank", options=Options(layer=9))
    with pytest.raises(ExplorerError, match="text is empty"):
        word_in_context.run(small, " ")


def test_built_in_sentences_are_not_called_the_users(mini: Checkpoint) -> None:
    alone = word_in_context.run(mini, "A quiet morning.", options=Options(word="bank"))
    assert "None of the sentences is yours" in figure.say(alone)
    both = word_in_context.run(mini, TEXT, options=Options(word="bank"))
    assert "Only the first sentence is yours" in figure.say(both)

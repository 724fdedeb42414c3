"""Masking: 15 % chosen, 80/10/10, never a special token, whole words, at least one token in every row."""

import itertools

import numpy as np
import pytest

from bertexplorer.engine.masking import MASKED, RANDOM, SAME, Masking, Vocabulary, alter, choose
from bertexplorer.model.text import Text, Tokenizer
from tests.tiny import roberta_bytes, wordpiece

ROWS, TOKENS = 400, 40


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer(wordpiece(), max_tokens=64)


@pytest.fixture(scope="module")
def vocabulary(tokenizer: Tokenizer) -> Vocabulary:
    return Vocabulary.of(tokenizer)


def rows(vocabulary: Vocabulary, tokens: int = TOKENS) -> tuple[np.ndarray, np.ndarray]:
    """Random pieces between [CLS] and [SEP], the second half of the rows padded from the middle on."""
    draw = np.random.default_rng(0)
    ids = draw.choice(vocabulary.ordinary, size=(ROWS, tokens))
    fixed = np.zeros(ids.shape, bool)
    ids[:, 0], fixed[:, 0] = 2, True
    ids[:, -1], fixed[:, -1] = 3, True
    ids[ROWS // 2 :, tokens // 2 :], fixed[ROWS // 2 :, tokens // 2 :] = 0, True
    return ids, fixed


def within(count: int, trials: int, share: float) -> bool:
    """Within five standard deviations of a binomial."""
    return abs(count - trials * share) < 5 * np.sqrt(trials * share * (1 - share)) + 1e-9


@pytest.mark.parametrize("share", [0.15, 0.4])
def test_the_share_is_binomial_and_special_tokens_are_never_chosen(vocabulary: Vocabulary, share: float) -> None:
    ids, fixed = rows(vocabulary)
    chosen = choose(ids, fixed, vocabulary, Masking(chosen=share), np.random.default_rng(1))
    assert not (chosen & fixed).any()
    assert within(chosen.sum(), (~fixed).sum(), share)
    assert within(chosen[:, 1].sum(), ROWS, share), "and everywhere in the row"


def test_every_row_has_a_chosen_token(vocabulary: Vocabulary) -> None:
    ids, fixed = rows(vocabulary, 4)
    chosen = choose(ids, fixed, vocabulary, Masking(chosen=0.01), np.random.default_rng(1))
    assert (chosen.sum(1) == 1).mean() > 0.9 and chosen.any(1).all()
    empty = choose(ids, np.ones_like(fixed), vocabulary, Masking(), np.random.default_rng(1))
    assert not empty.any(), "but not where there is nothing to choose"


@pytest.mark.parametrize("mix", [(0.8, 0.1), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0), (0.3, 0.5)])
def test_chosen_tokens_are_masked_replaced_or_kept_by_their_shares(
    vocabulary: Vocabulary, mix: tuple[float, float]
) -> None:
    ids, fixed = rows(vocabulary)
    masking = Masking(chosen=0.5, masked=mix[0], random=mix[1])
    chosen = choose(ids, fixed, vocabulary, masking, np.random.default_rng(1))
    changed, kinds = alter(ids, chosen, vocabulary, masking, np.random.default_rng(2))
    assert np.array_equal(changed[~chosen], ids[~chosen])
    for kind, share in ((MASKED, mix[0]), (RANDOM, mix[1]), (SAME, 1 - sum(mix))):
        assert within((kinds[chosen] == kind).sum(), chosen.sum(), share)
    assert (changed[chosen & (kinds == MASKED)] == vocabulary.mask_id).all()
    assert np.array_equal(changed[chosen & (kinds == SAME)], ids[chosen & (kinds == SAME)])
    drawn = changed[chosen & (kinds == RANDOM)]
    assert np.isin(drawn, vocabulary.ordinary).all()
    if len(drawn) > 1000:
        assert len(np.unique(drawn)) > 0.9 * len(vocabulary.ordinary)


def test_special_tokens_are_never_drawn(vocabulary: Vocabulary, tokenizer: Tokenizer) -> None:
    assert not set(vocabulary.ordinary.tolist()) & tokenizer.special_ids
    assert len(vocabulary.ordinary) == tokenizer.vocab_size - len(tokenizer.special_ids)


def test_the_pieces_of_a_word_are_chosen_together(vocabulary: Vocabulary) -> None:
    ids, fixed = rows(vocabulary)
    chosen = choose(ids, fixed, vocabulary, Masking(whole_words=True), np.random.default_rng(1))
    assert not (chosen & fixed).any()
    inside = vocabulary.continues[ids] & ~fixed
    inside[:, 1:] &= ~fixed[:, :-1]
    inside[:, 0] = False
    after = np.argwhere(inside)
    assert len(after) > 1000
    for row, column in after:
        assert chosen[row, column] == chosen[row, column - 1]
    starts = ~inside & ~fixed
    assert within(chosen[starts].sum(), starts.sum(), 0.15), "each word with the share's probability"


def test_the_same_seed_gives_the_same_choice(vocabulary: Vocabulary) -> None:
    ids, fixed = rows(vocabulary)
    first, again, other = (choose(ids, fixed, vocabulary, Masking(), np.random.default_rng(s)) for s in (1, 1, 2))
    assert np.array_equal(first, again) and not np.array_equal(first, other)


@pytest.mark.parametrize("pair", [("The doctor said",), ("The doctor", "said it")])
def test_every_word_of_a_byte_level_vocabulary_is_drawn_on_its_own(pair: tuple[str, ...]) -> None:
    """The first word of a text has no space mark, and is yet another word than the one before or after it."""
    tokenizer = Tokenizer(roberta_bytes(), max_tokens=64)
    encoding = tokenizer.encode(Text(*pair))
    ids = np.array([encoding.ids] * ROWS)
    fixed = np.array([encoding.special] * ROWS)
    chosen = choose(
        ids, fixed, Vocabulary.of(tokenizer), Masking(chosen=0.5, whole_words=True), np.random.default_rng(1)
    )
    together = {
        (a, b): bool((chosen[:, i] == chosen[:, i + 1]).all())
        for i, (a, b) in enumerate(itertools.pairwise(encoding.words))
        if a is not None and b is not None
    }
    assert together and all(alike == (a == b) for (a, b), alike in together.items())
    last, first = (encoding.words.index(word) for word in (1, 2))
    assert (chosen[:, last] != chosen[:, first]).any(), "also across </s></s>"

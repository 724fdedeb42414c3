"""Strongest heads: links between two words in attention made by hand."""

import numpy as np
import pytest

from bertexplorer.analysis.strongest_heads import is_word, strongest_links
from bertexplorer.model.checkpoint import Checkpoint

WORDS = (False, True, True, True, True, True, False)
ROWS = range(7)


def heads(*rows: list[int]) -> np.ndarray:
    """One layer; of each head the token that each of the seven tokens gives 0.9 to. The rest goes to [CLS]."""
    weights = np.zeros((1, len(rows), 7, 7))
    for head, targets in enumerate(rows):
        for source, target in enumerate(targets):
            weights[0, head, source, target] += 0.9
            weights[0, head, source, 0] += 0.1
    return weights


PREVIOUS = [0, 0, 1, 2, 3, 4, 5]
RESTING = [0, 0, 0, 0, 0, 0, 0]
FAR = [0, 4, 5, 1, 2, 2, 0]


def test_a_head_that_always_looks_back_comes_last() -> None:
    links = strongest_links(heads(PREVIOUS, FAR), ROWS, WORDS)
    assert [(link.head.head, link.positional) for link in links] == [(1, False), (0, True)]
    assert links[0].weight == pytest.approx(0.9)


def test_a_link_to_itself_or_to_a_special_token_is_none() -> None:
    resting = strongest_links(heads(RESTING), ROWS, WORDS)
    assert resting[0].weight == 0
    weights = heads(FAR)
    weights[0, 0, 3, 3] = 1.0
    assert strongest_links(weights, ROWS, WORDS)[0].weight == pytest.approx(0.9)


def test_only_links_from_the_sources_count() -> None:
    link = strongest_links(heads(FAR), ROWS, WORDS, [3])[0]
    assert (link.source, link.target) == (3, 1)
    assert strongest_links(heads(FAR), ROWS, WORDS, [0])[0] == strongest_links(heads(FAR), ROWS, WORDS)[0]


def test_a_link_between_neighbours_counts_only_if_there_are_no_others() -> None:
    weights = heads([0, 2, 5, 4, 3, 4, 0])
    weights[0, 0, 2] *= 0.5
    link = strongest_links(weights, ROWS, WORDS)[0]
    assert (link.source, link.target, link.weight) == (2, 5, pytest.approx(0.45))
    two = (False, True, True, False, False, False, False)
    assert (strongest_links(weights, ROWS, two)[0].source, strongest_links(weights, ROWS, two)[0].target) == (1, 2)


def test_rows_may_be_a_window() -> None:
    weights = heads(FAR)[:, :, 2:5]
    link = strongest_links(weights, range(2, 5), WORDS)[0]
    assert (link.source, link.target) == (2, 5)


@pytest.mark.parametrize("words", [(False, False), (False, True)])
def test_a_text_with_fewer_than_two_words_has_no_link(words: tuple[bool, ...]) -> None:
    assert strongest_links(np.full((1, 1, 2, 2), 0.5), range(2), words) == ()


def test_special_tokens_and_punctuation_are_no_words(mini: Checkpoint) -> None:
    encoding = mini.tokenizer.encode("It's [MASK], isn't it?")
    words = [token for token, word in zip(encoding.tokens, is_word(mini, encoding), strict=True) if word]
    assert words == ["it", "s", "[MASK]", "isn", "t", "it"]

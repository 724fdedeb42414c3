"""Template: every combination of choices is answered as by fill-mask."""

import itertools

import numpy as np
import pytest

from bertexplorer.engine.progress import Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.template import compute as template
from bertexplorer.views.template.compute import MAX_FILLINGS, Options
from tests.views.conftest import CLOSE

DOCTOR = "The {doctor|nurse| old  teacher } said that [MASK] is {busy|ill}."


def test_fillings_are_the_product_of_all_choices(mini: Checkpoint) -> None:
    result = template.run(mini, DOCTOR)
    wanted = list(itertools.product(("doctor", "nurse", "old  teacher"), ("busy", "ill")))
    assert list(result.fillings) == wanted
    assert list(result.texts) == [f"The {who} said that [MASK] is {how}." for who, how in wanted]


@pytest.mark.parametrize("words", ["he, she, unbelievably", ""])
def test_probabilities_equal_those_of_fill_mask(mini: Checkpoint, words: str) -> None:
    result = template.run(mini, DOCTOR, options=Options(words=words, top=4))
    assert result.probabilities.shape == (6, len(result.words))
    assert len(result.words) == (3 if words else 4)
    for text, line, answer in zip(result.texts, result.probabilities, result.answers, strict=True):
        (blank,) = fill_mask.run(mini, text, options=fill_mask.Options(top=100, words=", ".join(result.words))).blanks
        results = {w.word: w.probability for w in blank.words}
        assert line.tolist() == pytest.approx([results[word] for word in result.words], rel=CLOSE)
        assert answer == blank.candidates[0].token


def test_the_cost_of_the_words_is_announced_before_anything_runs(mini: Checkpoint) -> None:
    whole = Work()
    options = Options(words="he, unbelievably, electroencephalogram")
    with working(whole):
        template.run(mini, DOCTOR, options=options)
    assert whole.done == whole.total > 500
    work, message = Work(limit=whole.total - 1), f"send {whole.total:,} tokens.*limit is {whole.total - 1:,}"
    with pytest.raises(ExplorerError, match=message), working(work):
        template.run(mini, DOCTOR, options=options)
    assert work.done == 0


def test_without_words_the_likeliest_on_average_are_shown(mini: Checkpoint) -> None:
    result = template.run(mini, DOCTOR, options=Options(top=20))
    means = result.probabilities.mean(axis=0)
    assert (np.diff(means) <= 1e-9).all()
    named = template.run(mini, DOCTOR, options=Options(words="he, she")).probabilities.mean(axis=0)
    assert means[0] >= named.max() - 1e-6


def test_a_word_hidden_by_a_click_counts_as_a_mask(mini: Checkpoint) -> None:
    plain = "The {doctor|nurse} said that she is busy."
    start = plain.index("she")
    clicked = template.run(mini, Text(plain, hidden=(Span(0, start, start + 3),)), options=Options(words="he"))
    typed = template.run(mini, plain.replace("she", "[MASK]"), options=Options(words="he"))
    np.testing.assert_allclose(clicked.probabilities, typed.probabilities, rtol=CLOSE)


def test_choices_may_be_empty_or_many(mini: Checkpoint) -> None:
    assert template.run(mini, "It is {|not }a [MASK].").texts == ("It is a [MASK].", "It is nota [MASK].")
    result = template.run(mini, "{a|b|c|d|e|f|g|h} {a|b|c|d|e|f|g|h} [MASK]")
    assert len(result.fillings) == MAX_FILLINGS
    assert len(template.rows(result)) == MAX_FILLINGS * 5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The doctor said that [MASK] is busy.", "no alternatives.*braces"),
        ("The {doctor} said that [MASK] is busy.", "no alternatives"),
        ("The {doctor|nurse} is busy.", "Nothing is hidden"),
        ("{a|b|c|d|e|f|g|h|i|j} " * 3 + "[MASK]", f"more than {MAX_FILLINGS}"),
        ("{a|b}" * 2000 + "[MASK]", f"more than {MAX_FILLINGS}"),
        ("{" * 5000 + "[MASK]", "no alternatives"),
        ("{a|" * 5000 + "[MASK]", "no alternatives"),
        ("{a|b} [MASK]" + "x" * 1_000_000, "20,000"),
    ],
)
def test_invalid_input_is_rejected(mini: Checkpoint, text: str, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        template.run(mini, text)

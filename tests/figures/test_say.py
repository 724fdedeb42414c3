"""The figure as a sentence, with numbers computed by hand."""

from dataclasses import replace

import pytest

from bertexplorer.figures.style import clip, percent, safe
from bertexplorer.views import contrast, decoding, fill_mask, left_context, pseudo_likelihood, template
from tests.figures import conftest as hand


@pytest.mark.parametrize(
    ("p", "words"),
    [
        (0, "< 0.1 %"),
        (1e-30, "< 0.1 %"),
        (0.0004, "< 0.1 %"),
        (0.001, "0.1 %"),
        (0.0049, "0.5 %"),
        (0.01, "1.0 %"),
        (0.0994, "9.9 %"),
        (0.09996, "10 %"),
        (0.1, "10 %"),
        (0.125, "12 %"),
        (0.5, "50 %"),
        (0.97, "97 %"),
        (0.9894, "99 %"),
        (0.99, "99.0 %"),
        (0.995, "99.5 %"),
        (0.9994, "99.9 %"),
        (0.9995, "> 99.9 %"),
        (0.999999, "> 99.9 %"),
        (1, "100 %"),
        (1.0000001, "100 %"),
    ],
)
def test_percentages_are_rounded_readably(p: float, words: str) -> None:
    assert percent(float(p)) == words


def test_percent_is_monotonic() -> None:
    shares = [float(percent(i / 20000).strip("<> %")) for i in range(20001)]
    assert shares == sorted(shares)


def test_texts_are_escaped_and_clipped() -> None:
    assert safe("a<b>&amp;") == "a&lt;b&gt;&amp;amp;"
    assert clip("abcdef", 4) == "abc…" and clip("abcd", 4) == "abcd"


def test_sentences_on_one_filling_and_on_many() -> None:
    many = fill_mask.say(hand.fill_mask(20, left_out=80))
    assert many.startswith("For mask 1 it") and "97 more masks follow, 80 not shown." in many
    assert "more masks" not in fill_mask.say(hand.fill_mask())
    assert "single mask" in decoding.say(hand.decoding(1))
    assert "first 3 of 12 tokens" in pseudo_likelihood.say(hand.pseudo_likelihood(3, 9))
    assert contrast.say(hand.contrast(equal=True)).count("no word") == 2 and "no word" not in contrast.say(
        hand.contrast()
    )
    still = replace(hand.template(), probabilities=hand.template().probabilities[[0, 0]])
    assert "moves the most" in template.say(hand.template()) and "moves the most" not in template.say(still)
    assert template.say(hand.template(1)).startswith("For “<img")


def test_ratios_and_perplexities_follow_from_the_result() -> None:
    assert "20.1 times less likely" in decoding.say(hand.decoding())  # exp(3)
    words = "is −4.2 nats over 3 tokens, a perplexity of 4.0"  # -6 ln 2, and 2^(6/3)
    assert words in pseudo_likelihood.say(hand.pseudo_likelihood())
    assert "“<img src=x onerror=1>” (5.0 times as likely)" in contrast.say(hand.contrast())
    assert "3.0 bits, as if choosing among 8.0 equally likely words" in fill_mask.say(hand.fill_mask())


def test_entropies_of_unlike_vocabularies_have_their_maxima() -> None:
    """log2 of 2**12 and of 2**15 pieces."""
    small, large = (replace(hand.fill_mask(), vocab_size=size) for size in (2**12, 2**15))
    words = (
        "The largest possible uncertainty is 12.0 bits for the first and 15.0 for the second, which chooses among "
        "another number of answers."
    )
    assert fill_mask.compare(small, large) == words and fill_mask.compare(small, small) == ""
    small, large = (replace(hand.left_context(), vocab_size=size) for size in (2**12, 2**15))
    assert left_context.compare(small, large) == words and left_context.compare(small, small) == ""

"""Numbers, labels and sentences of figures: their form for odd values, and the links from a sentence to its part."""

import math
import re
from dataclasses import replace

import pytest

import bertexplorer as bx
from bertexplorer.answers.kinds.similarity import SimilarityReadout
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.adaptors.style import safe
from bertexplorer.charts.style import beyond_limit, clip, count, percent, share, signed
from bertexplorer.errors import ExplorerError
from bertexplorer.views.contrast import show as contrast
from bertexplorer.views.counterfactuals import show as counterfactuals
from bertexplorer.views.decoding import show as decoding
from bertexplorer.views.facts import name_index
from bertexplorer.views.fill_mask import show as fill_mask
from bertexplorer.views.layers import show as layers
from bertexplorer.views.left_context import show as left_context
from bertexplorer.views.pseudo_likelihood import show as pseudo_likelihood
from bertexplorer.views.referee import show as referee
from bertexplorer.views.saliency import show as saliency
from bertexplorer.views.switchboard import show as switchboard
from bertexplorer.views.template import show as template
from bertexplorer.views.template.show import draw
from tests.views.show import conftest as hand
from tests.views.show.test_counterfactuals import TWO, reduction
from tests.views.show.test_layers import layers as layers_result
from tests.views.show.test_referee import referee as referee_result
from tests.views.show.test_saliency import saliency as saliency_result
from tests.views.show.test_switchboard import board


def test_the_change_of_a_rank_is_described() -> None:
    assert layers.rank_change(1, 1) == "stays at rank 1"
    assert layers.rank_change(1200, 3) == "goes from rank 1,200 to rank 3"
    assert "The hidden “word1” goes from rank 12 to rank 3." in layers.say(layers_result())


@pytest.mark.parametrize(
    ("value", "text"), [(-0.5, "−0.50"), (-0.004, "−0.004"), (-0.0001, "> −0.001"), (0.0, "0"), (-12.346, "−12.35")]
)
def test_only_certainty_has_the_log_probability_0(value: float, text: str) -> None:
    assert f"(log-probability {text})" in saliency.say(replace(saliency_result(), value=value))


def test_a_rounded_zero_has_no_sign() -> None:
    assert [signed(value) for value in (-0.001, 0.0, 0.004, -0.01, 1.5)] == ["0", "0", "0", "−0.01", "+1.50"]
    assert [signed(-1.236, 2), signed(12.3, 0), signed(10, 0)] == ["−1.24", "+12", "+10"]
    sentence = switchboard.say(board((), change=board().change * 1e-6))
    assert "(0 bits)" in sentence and "−0.00" not in sentence and "+0.00" not in sentence


def test_every_view_words_the_cosine_alike() -> None:
    heads = board((), target="cosine", scored=True)
    assert "With all heads on, the cosine is 0.6" in switchboard.say(heads)
    whole = replace(saliency_result(answer="cosine"), readout=SimilarityReadout, value=0.28)
    assert saliency.say(whole).startswith("The cosine is 0.28 here.")
    assert saliency.say(replace(whole, answer="stars")).startswith("“stars” has 0.28 here.")
    assert referee.say(replace(referee_result(), answer="cosine", scored=True)).startswith("The cosine is ")


def test_the_sentence_on_counterfactuals_is_exact() -> None:
    steps = reduction(2)
    first = replace(steps.edits[0], kept=0.9962)
    same = replace(steps, probability=0.9961, edits=(first, steps.edits[1]))
    assert "Without 1 word it has as much, 99.6 %." in counterfactuals.say(same)
    assert "Without 1 word it has more, 99.6 %." in counterfactuals.say(replace(same, probability=0.4))
    assert "The mask head was not trained further" in counterfactuals.say(replace(TWO, stale_head=True))
    assert "not trained further" not in counterfactuals.say(TWO)


def test_bars_of_fill_mask_show_its_probabilities() -> None:
    several = fill_mask.draw(hand.fill_mask(4)).panels
    assert [panel.title for panel in several] == [f"mask {i}, token 2" for i in (1, 2, 3, 4)]
    ((mark,),) = (panel.marks for panel in fill_mask.draw(hand.fill_mask()).panels)
    assert mark.high == 1
    assert [bar.value for bar in mark.bars] == [0.5, 0.25, 0.0004, 0.001, pytest.approx(0.02), pytest.approx(0.01)]
    assert [bar.text for bar in mark.bars] == [
        "50 %",
        "25 %",
        "< 0.1 %",
        "0.1 % · was hidden here, rank 1,234",
        "2.0 % · rank 17",
        "1.0 % · 2 pieces",
    ]
    best = hand.blank(0.5, 0.25)
    result = replace(hand.fill_mask(), blanks=(replace(best, original=best.candidates[1]),))
    ((mark,),) = (panel.marks for panel in fill_mask.draw(result).panels)
    assert [bar.text for bar in mark.bars] == ["50 %", "25 % · was hidden here"]


def test_dots_of_contrast_represent_all_words() -> None:
    """Words at the same place share a dot; the others have their own."""
    for size in (40, 5000):
        result = hand.contrast(size)
        *named, cloud, _ = contrast.draw(result).panels[0].marks
        more = [re.search(r" and ([\d,]+) more: ", text) for text in cloud.hover]
        assert sum(1 + (int(m[1].replace(",", "")) if m else 0) for m in more) == size
        both = {(round(math.log(x), 3), round(math.log(y), 3)) for x, y in zip(cloud.x, cloud.y, strict=True)}
        assert (round(math.log(0.5), 3), round(math.log(0.1), 3)) in both
        assert [mark.names for mark in named] == [["<img src=x oner…"], ["b"]]


def test_left_context_shows_both_answers_and_both_masks() -> None:
    drawn = left_context.draw(hand.left_context(30))
    both, left, sees_both, sees_left = (panel.marks[0] for panel in drawn.panels)
    assert [bar.value for bar in both.bars] == [0.9, 0.05] and [bar.value for bar in left.bars] == [0.25, 0.2]
    assert both.high == left.high == 1, "one scale"
    assert sees_both.hover[1][2] == "t0 sees t1" and sees_left.hover[1][2] == "t0 does not see t1"


def test_words_with_equal_clipped_labels_keep_their_columns() -> None:
    words = ("internationalisation", "internationalization")
    figure = template.draw(replace(hand.template(), words=words))
    assert figure.panels[0].marks[0].columns == words
    drawn = chart(figure)
    assert drawn.data[0].x is None, "columns have numbers, not names"
    assert list(drawn.layout.xaxis.tickvals) == [0, 1]


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


def test_texts_are_escaped_and_clipped_and_counts_agree() -> None:
    assert safe("a<b>&amp;") == "a&lt;b&gt;&amp;amp;"
    assert clip("abcdef", 4) == "abc…" and clip("abcd", 4) == "abcd"
    assert [*beyond_limit(0), *beyond_limit(1)] == ["1 token beyond the checkpoint's limit was not read."]
    assert beyond_limit(1200) == ["1,200 tokens beyond the checkpoint's limit were not read."]
    assert [count(number, "head") for number in (0, 1, 2)] == ["0 heads", "1 head", "2 heads"]


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


def test_labels_of_rows_show_their_differences():
    text = "The {doctor|nurse} {said that [MASK] is busy|said that [MASK] is dead}."
    fig = draw(bx.load("tiny").template(text, words="he, she").value)
    names = [f"{who}\nsaid that [MASK] is {how}" for who in ("doctor", "nurse") for how in ("busy", "dead")]
    assert list(fig.panels[0].marks[0].rows) == names
    assert list(chart(fig).layout.yaxis.ticktext) == [name.replace("\n", "<br>") for name in names]


def test_names_that_are_sentences_are_quoted():
    with pytest.raises(ExplorerError, match=r"There is no candidate 'x'; wanted one of 'He left\.', 'She came\.'\.$"):
        name_index(["He left.", "She came."], "x", "candidate")


@pytest.mark.parametrize(("value", "text"), [(0, "0 %"), (0.0001, "< 0.1 %"), (0.5, "50 %"), (1, "100 %")])
def test_a_share_is_0_percent_if_there_is_no_case(value: float, text: str) -> None:
    assert share(value) == text

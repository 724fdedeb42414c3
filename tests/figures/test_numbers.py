"""Bars, cells and dots show the result's numbers, and equal labels stay separate."""

import math
import re
from dataclasses import replace

import pytest

from bertexplorer.views import contrast, fill_mask, left_context, template
from tests.figures import conftest as hand


def test_bars_of_fill_mask_show_its_probabilities() -> None:
    (bar,) = fill_mask.draw(hand.fill_mask()).data
    assert list(bar.x) == [0.5, 0.25, 0.0004, 0.001, pytest.approx(0.02), pytest.approx(0.01)]
    assert list(bar.text) == [
        "50 %",
        "25 %",
        "< 0.1 %",
        "0.1 % · was hidden here, rank 1,234",
        "2.0 % · rank 17",
        "1.0 % · 2 pieces",
    ]


def test_a_hidden_piece_among_the_answers_is_marked_there() -> None:
    best = hand.blank(0.5, 0.25)
    result = replace(hand.fill_mask(), blanks=(replace(best, original=best.candidates[1]),))
    (bar,) = fill_mask.draw(result).data
    assert list(bar.text) == ["50 %", "25 % · was hidden here"]
    assert bar.marker.color[0] != bar.marker.color[1]


def test_dots_of_contrast_represent_all_words() -> None:
    """Words at the same place share a dot; the others have their own."""
    for size in (40, 5000):
        result = hand.contrast(size)
        _, cloud, *named = contrast.draw(result).data
        more = [re.search(r" and ([\d,]+) more$", text) for text in cloud.text]
        assert sum(1 + (int(m[1].replace(",", "")) if m else 0) for m in more) == size
        both = {(round(math.log(x), 3), round(math.log(y), 3)) for x, y in zip(cloud.x, cloud.y, strict=True)}
        assert (round(math.log(0.5), 3), round(math.log(0.1), 3)) in both
        assert [list(trace.customdata) for trace in named] == [["&lt;img src=x onerror=1&gt;"], ["b"]]


def test_the_tokens_next_to_left_context_masks_do_not_overlap() -> None:
    figure = left_context.draw(hand.left_context(30))
    layout, mask = figure.layout, figure.data[1]
    assert list(layout.xaxis3.ticktext)[1:3] == ["t3", "t7"] and len(layout.xaxis3.ticktext) == 8
    assert len(layout.yaxis3.ticktext) == 15
    assert mask.customdata[1][2] == "t0 looks at t1", "the pointer names every token"


def test_words_with_equal_clipped_labels_keep_their_columns() -> None:
    words = ("internationalisation", "internationalization")
    figure = template.draw(replace(hand.template(), words=words))
    assert figure.data[0].x is None, "columns have numbers, not names"
    assert list(figure.layout.xaxis.tickvals) == [0, 1]

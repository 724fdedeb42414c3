"""Bars, cells and dots show the result's numbers, and equal labels stay separate."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.views import contrast, decoding, fill_mask, left_context, pseudo_likelihood, template
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


def test_several_blanks_have_their_own_bars() -> None:
    fig = fill_mask.draw(hand.fill_mask(4))
    assert len(fig.data) == 4
    assert [a.text for a in fig.layout.annotations] == [f"mask {i}, token 2" for i in (1, 2, 3, 4)]


def test_cells_and_dots_of_decoding_show_its_numbers() -> None:
    heat, claims, worth = decoding.draw(hand.decoding()).data
    assert np.allclose(heat.z, 0.5)
    assert list(claims.x) == [-1.0, -2.0, -2.5, -1.5] and list(worth.x) == [-4.0, -2.0, -2.6, -1.5]
    column = list(heat.x).index("most<br>certain<br>first")
    assert "2nd<br>50 %" in heat.text[0][column] and "1st<br>50 %" in heat.text[1][column]


def test_bars_of_pseudo_likelihood_show_bits() -> None:
    fig = pseudo_likelihood.draw(hand.pseudo_likelihood())
    assert list(fig.data[0].y) == pytest.approx([1, 2, 3])
    assert list(fig.data[0].text) == ["50 %", "25 %", "12 %"]
    assert pseudo_likelihood.colours(hand.pseudo_likelihood()) == pytest.approx({1: 0.5, 2: 0.25, 3: 0.125})


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


def test_matrices_of_left_context_show_both_masks() -> None:
    bars, matrix, left_bars, left_matrix = left_context.draw(hand.left_context()).data
    assert list(bars.x) == [0.9, 0.05] and list(left_bars.x) == [0.25, 0.2]
    assert np.asarray(matrix.z).sum() == 25 and np.asarray(left_matrix.z).sum() == 15
    assert left_matrix.z[0][1] == 0 and left_matrix.z[1][0] == 1, "rows look, columns are looked at"


def test_the_tokens_next_to_left_context_masks_do_not_overlap() -> None:
    figure = left_context.draw(hand.left_context(30))
    layout, mask = figure.layout, figure.data[1]
    assert list(layout.xaxis3.ticktext)[1:3] == ["t3", "t7"] and len(layout.xaxis3.ticktext) == 8
    assert len(layout.yaxis3.ticktext) == 15
    assert mask.customdata[1][2] == "t0 looks at t1", "the pointer names every token"


def test_cells_of_a_template_show_its_probabilities() -> None:
    (heat,) = template.draw(hand.template()).data
    assert np.allclose(heat.z, [[0.9, 0.1], [0.25, 0.15]])
    assert [list(row) for row in heat.text] == [["90 %", "10 %"], ["25 %", "15 %"]]


def test_words_with_equal_clipped_labels_keep_their_columns() -> None:
    words = ("internationalisation", "internationalization")
    figure = template.draw(replace(hand.template(), words=words))
    assert figure.data[0].x is None, "columns have numbers, not names"
    assert list(figure.layout.xaxis.tickvals) == [0, 1]

"""Figure for layers: cells, lines and the sentence hold the result's own numbers; tokens are shown as typed."""

from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.answers.candidates import Candidate
from bertexplorer.answers.layer_answers import Followed, LayerAnswer, Layers, Tuned
from bertexplorer.charts.adaptors import chart, kit
from bertexplorer.views.layers import show as figure
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def layers(count: int = 3, top: int = 3, words: int = 3) -> Layers:
    """The final answer (EVIL) is the first choice from the last layer but one on; one word falls as the other rises."""

    def answer(layer: int) -> LayerAnswer:
        first = EVIL if layer >= count - 1 else f"first{layer}"
        items = [Candidate(first, 1 if first == EVIL else 50 + layer, 0.5, 1)]
        items += [Candidate(f"other{i}", i, 0.25 / i, i) for i in range(2, top + 1)]
        return LayerAnswer(layer, tuple(items), 8.0 - layer / count, 2.5 * (count - layer) / count)

    steps = np.arange(count + 1)
    best = Followed(
        EVIL, 1, 10 ** np.maximum(count - 1 - steps, 0) % 30000 + (steps < count - 1), 0.5 / (9 - steps % 9), False
    )
    rest = [
        Followed(f"word{i}", 1 + i, 2 + i + 3 * steps[::-1], np.full(count + 1, 0.01), i == 1) for i in range(1, words)
    ]
    return Layers(("[CLS]", EVIL, "[MASK]", "[SEP]"), 2, tuple(map(answer, range(count + 1))), (best, *rest), 1)


def tuned(count: int = 3, worse: int = 0) -> Layers:
    """Read with a tuned lens that halves the bits, but at the first *worse* layers."""
    raw = tuple(4.0 - layer / count for layer in range(count))
    half = tuple(bits * (1.1 if layer < worse else 0.5) for layer, bits in enumerate(raw))
    return replace(layers(count), tuned=Tuned(729, 1220, raw, half))


@pytest.mark.parametrize(
    "result", [layers(), layers(12), layers(48), layers(1, 1, 1), layers(3, 10, 8), tuned(), tuned(1), tuned(24, 2)]
)
def test_figures_are_valid_and_escaped(result: Layers) -> None:
    fig = figure.draw(result)
    check(fig)
    assert EVIL in fig.to_json() and "&lt;img" in chart(fig).to_json()


def test_some_of_many_answers_are_drawn_and_labels_do_not_overlap() -> None:
    assert {len(row) for row in figure.draw(layers(3, 10)).panels[0].marks[0].values} == {figure.DRAWN}
    ends = [0.0, 3.0, 3.0, 90.0, 249.0, 250.0]
    moved = kit.spread(ends, 250)
    assert all(b - a >= kit.LINE - 1e-9 for a, b in zip(moved, moved[1:], strict=False)) and moved[-1] <= 250
    assert kit.spread([10.0, 100.0], 250) == [10.0, 100.0]
    _, ranks, bits = figure.draw(layers()).panels
    assert [line.end for line in ranks.marks[0].lines] == [f"1 {EVIL}", "3 word1", "4 word2"]
    assert [line.end for line in bits.marks[0].lines] == ["7.0 unsure", "0.0 to final"]


def test_the_sentence_describes_how_the_answer_develops() -> None:
    sentence = figure.say(layers())
    assert sentence.startswith(
        f"“{EVIL}” stays the first choice from layer 2 of 3 on and ends at 50 %; the input alone"
    )
    every = layers().layers
    before = replace(every[2], candidates=every[1].candidates)
    last = figure.say(replace(layers(), layers=(*every[:2], before, every[3])))
    assert last.startswith(f"“{EVIL}” becomes the first choice only in the last layer and ends at 50 %")
    assert "would have put “first0” first" in sentence
    assert "The hidden “word1” goes from rank 12 to rank 3." in sentence
    assert "from 8.0 to 7.0 bits" in sentence and "still 0.8 bits away" in sentence
    assert sentence.endswith("This is about the first of 2 masks.")
    unchanged = layers(1, 1, 1)
    same = replace(unchanged, layers=tuple(replace(unchanged.layers[1], layer=i) for i in (0, 1)), other_masks=0)
    assert "is the first choice from the input on" in figure.say(same)
    assert "masks" not in figure.say(same)


def test_the_tuned_lens_is_drawn_with_the_raw_one() -> None:
    result = tuned()
    *_, panel = figure.draw(result).panels
    new, old = panel.marks[0].lines
    assert result.tuned is not None
    assert (list(new.values), list(old.values)) == (list(result.tuned.tuned), list(result.tuned.raw))
    assert (new.end, old.end) == ("1.7 tuned lens", "3.3 raw lens")
    assert len(figure.draw(layers()).panels) == 3


def test_the_sentence_describes_the_fit_of_the_tuned_lens() -> None:
    sentence = figure.say(tuned())
    assert "fitted at 729 masks of built-in English sentences. At 1,220 other masks it is 1.8 bits from" in sentence
    assert "the final answer at layer 1, the raw lens 3.7." in sentence and "worse" not in sentence
    assert "It is worse than the raw lens at input and layer 1." in figure.say(tuned(3, 2))
    assert "tuned" not in figure.say(layers())


def test_uncertainties_with_unlike_maxima_are_told_apart() -> None:
    first, second = (replace(layers(), most_bits=bits) for bits in (12.0, 15.0))
    assert "12.0 bits for the first and 15.0 for the second" in figure.compare(first, second)
    assert figure.compare(first, first) == figure.compare(layers(), layers()) == ""

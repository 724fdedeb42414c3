"""Figure and sentence for whose vectors, with results made by hand."""

from dataclasses import replace

from bertexplorer.charts.marks import Arcs, Bars
from bertexplorer.diagnosis.answer import NearRecipe
from bertexplorer.views.whose_vectors import show as figure
from bertexplorer.views.whose_vectors.compute import WhoseVectors
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

NEAREST = (
    NearRecipe(f"the mean, {EVIL}", f"the mean, {EVIL}", 0.0, 0.0, True),
    *(NearRecipe(f"recipe {i}", f"recipe {i}", 0.1 * i, 0.1 * i, False) for i in range(1, 9)),
    NearRecipe("the first token", "", 1.0, 1.1, False),
)
HAND = WhoseVectors(
    planted="",
    texts=12,
    width=32,
    said=f"They come from {EVIL}.",
    found="named",
    as_files=False,
    pooling="mean",
    layer=3,
    nearest=NEAREST,
    order=(),
    left_out=("1 empty text left out.",),
    unseen=(f"Capitals: {EVIL}.",),
)


def test_the_nearest_recipes_and_that_of_the_files_are_drawn() -> None:
    drawn = figure.draw(HAND)
    check(drawn)
    main, missing = drawn.panels
    assert isinstance(main.marks[0], Bars)
    bars = main.marks[0].bars
    assert [bar.tone for bar in bars] == ["green", *["blue"] * 5, "orange"]
    assert bars[-1].label == "As the files say" and bars[-1].ticks[0].value == 1.0
    assert missing.title == "What these texts cannot show"
    assert figure.say(HAND) == (f"They come from {EVIL}. 1 empty text left out. The 6 nearest recipes are drawn.")


def test_texts_in_another_order_are_joined_to_those_whose_vectors_they_have() -> None:
    order = (("1. a", "2. b"), ("2. b", f"3. {EVIL}"))
    shuffled = replace(HAND, found="shuffled", order=order)
    drawn = figure.draw(shuffled)
    check(drawn)
    arcs = drawn.panels[0].marks[0]
    assert isinstance(arcs, Arcs) and list(arcs.links) == [(0, 1, 1.0), (1, 2, 1.0)]
    assert "drawn" not in figure.say(shuffled)


def test_vectors_of_another_width_have_a_sentence_and_no_bars() -> None:
    drawn = figure.draw(replace(HAND, nearest=(), unseen=()))
    assert not drawn.panels and figure.say(replace(HAND, nearest=()))

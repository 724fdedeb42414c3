"""Figure, sentence and table of not found, with results made by hand."""

from dataclasses import replace

from bertexplorer.answers.bootstrap import Interval
from bertexplorer.charts.marks import Bars
from bertexplorer.diagnosis.collection import Collection
from bertexplorer.diagnosis.misses import UNEXPLAINED, Miss
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views.not_found import show as figure
from bertexplorer.views.not_found.compute import Metric, NotFound
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check

COLLECTION = Collection((EVIL, "b", "c"), (EVIL, "q", "r", "s"), ({0: 1.0}, {1: 2.0}, {2: 1.0}))
HAND = NotFound(
    name="uploaded rows",
    collection=COLLECTION,
    top=1,
    ranks=(3, 1, 4),
    ranks_by_words=(1, 0, 2),
    nearest=((1, 3, 0), (1, 0, 2), (1, 0, 3)),
    misses=(Miss(0, 0, 3, 1, "words", 1, f"by {EVIL}"), Miss(2, 2, 4, 1, UNEXPLAINED, 4, "")),
    metrics=tuple(Metric(name, 0.5, Interval(0.25, 0.75), 0.125) for name in ("found in 1", "MRR@10", "nDCG@10")),
    cut=2,
    departure="",
)


def test_metrics_and_the_causes_that_occur_are_drawn() -> None:
    drawn = figure.draw(HAND)
    check(drawn)
    metrics, causes = (panel.marks[0] for panel in drawn.panels)
    assert isinstance(metrics, Bars) and isinstance(causes, Bars)
    assert [(bar.value, bar.low, bar.high, bar.ticks[0].value) for bar in metrics.bars] == [
        (0.5, 0.25, 0.75, 0.125)
    ] * 3
    assert {bar.label: bar.value for bar in causes.bars} == {"words": 1, UNEXPLAINED: 1}
    assert len(figure.draw(replace(HAND, misses=())).panels) == 1


def test_the_sentence_counts_and_says_what_was_left_out() -> None:
    said = figure.say(replace(HAND, collection=replace(COLLECTION, unusable=(RowProblem(7, "has no passage"),))))
    for words in (
        "1 of 3 queries",
        "50 %",
        "words (1) and not explained (1)",
        "2 passages cannot",
        "line 7 has no passage",
    ):
        assert words in said
    assert figure.say(replace(HAND, departure="It departs.")).endswith("It departs.")
    assert "The first 1 misses were examined" in figure.say(replace(HAND, misses=HAND.misses[:1]))


def test_the_table_has_the_ranks_of_other_checkpoints() -> None:
    other = replace(HAND, ranks=(1, 1, 2))
    first, second = figure.cases(HAND, other, replace(HAND, collection=replace(COLLECTION, queries=("x",))))["rows"]
    assert first["state"] == {"view": "sentence-similarity", "text": EVIL, "pair": EVIL} and first["score"] == 3
    assert first["others"] == [{"answer": "rank 1", "right": True, "score": 1.0}, None]
    assert second["others"][0]["right"] is False and second["answer"] == ""


def test_the_table_has_what_another_side_alone_misses() -> None:
    other = replace(HAND, ranks=(3, 2, 4))
    *misses, alone = figure.cases(HAND, other)["rows"]
    assert len(misses) == 2
    assert (alone["line"], alone["category"], alone["texts"], alone["score"]) == (2, "found here", ("b", "q"), 1.0)
    assert alone["others"] == [{"answer": "rank 2", "right": False, "score": 2.0}]
    assert len(figure.cases(HAND, replace(HAND, ranks=(3, 1, 9)))["rows"]) == 2


def test_two_checkpoints_are_compared_query_by_query() -> None:
    said = figure.compare(HAND, replace(HAND, ranks=(1, 2, 4), nearest=((1, 3, 0), (1, 0, 2), (2, 3, 1))))
    assert "Only the first finds 1 of the 3 answers, only the second 1: that may be chance" in said and "89 %" in said
    many = replace(HAND, collection=replace(COLLECTION, queries=("a",) * 20), ranks=(9,) * 20, nearest=((0,),) * 20)
    assert "the second finds more" in figure.compare(many, replace(many, ranks=(1,) * 20))
    assert "The difference is +100.0 points (95 % interval" in figure.compare(many, replace(many, ranks=(1,) * 20))
    assert figure.compare(HAND, replace(HAND, top=2)) == ""

"""Figure for probes: lines, sentence and table say what the result holds, also of labels that would run as HTML."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bertexplorer.charts.adaptors import chart
from bertexplorer.training.data.rows import RowProblem
from bertexplorer.views.probe import show as probe
from bertexplorer.views.probe.compute import Probe
from bertexplorer.views.probe.rows import ProbeRow
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def result(word: str = "walk", seeds: int = 2) -> Probe:
    """Four layers and eight rows, of which the last four are held out; the best layer is wrong about one of them."""
    labels, count = (EVIL, "verb"), 8
    text = f"They {word or 'walk'}."
    rows = tuple(ProbeRow(i + 2, f"{text} {i}", word, labels[i % 2], "1", 5, 5 + len(word)) for i in range(count))
    predicted = np.full((4, seeds, count), -1)
    predicted[:, :, 4:] = [0, 1, 0, 1]
    predicted[2, 0, 5] = 0
    margins = np.where(predicted >= 0, 0.5, np.nan)
    margins[2, 0, 5] = -0.9
    accuracies = np.array([[0.5, 0.25], [0.5, 0.75], [0.75, 1.0], [0.5, 0.5]])[:, :seeds]
    controls = np.array([[1.0, 0.5]] * 4)[:, :seeds]
    majorities = np.full(seeds, 0.5)
    return Probe("part of speech", "word" if word else "sentence", labels, rows, accuracies, controls, majorities,
                 predicted, margins, 48, 0.0, 1.0, 0, (), 0)  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"recurring": 0.0, "unit": "sentence"}, "No sentence of the control recurs in training"),
        ({"recurring": 0.2}, "Only 20 % of the control’s words recur in training"),
        ({"types": 1}, "With 1 different word the control says little"),
        ({"unusable": (RowProblem(9, "has no word"),)}, "1 row could not be used: line 9 has no word"),
        ({"left_out": 1200}, "1,200 rows beyond the limit were left out"),
        ({"unconverged": 3}, "3 of 16 fits did not converge"),
        ({"labels": tuple("abcdef")}, "“a”, “b”, “c”, “d” and 2 more labels"),
        ({"accuracies": np.full((4, 2), 0.5)}, "at the input of the first layer: it is right for 50 %"),
        ({"accuracies": np.full((4, 2), 0.5)}, "3 other layers are as good"),
        ({"accuracies": np.array([[0.5], [0.5], [0.75], [0.75]])}, "1 other layer is as good"),
    ],
)
def test_the_sentence_has_its_caveats(changes: dict[str, Any], part: str) -> None:
    assert part in probe.say(replace(result(), **changes)) and part not in probe.say(result())


@pytest.mark.parametrize("control", [0.875, 0.8752, 1.0])
def test_memory_is_not_ruled_out_where_the_control_is_as_good(control: float) -> None:
    as_good = replace(result(), controls=np.full((4, 2), control))
    sentence = probe.say(as_good)
    assert "do not explain the accuracy" not in sentence and "selectivity −0" not in sentence
    assert (
        "No held-out word occurs in training, but 100 % of the control’s do: only the control can answer from memory, "
        "so this selectivity says nothing about what the probe memorises" in sentence
    )
    rare = probe.say(replace(as_good, recurring=0.2))
    assert "do not explain the accuracy" not in rare and "Only 20 % of the control’s words recur" in rare


def test_the_table_has_the_held_out_rows_of_the_best_layer() -> None:
    table = probe.cases(result(), result())
    assert [row["line"] for row in table["rows"]] == [6, 7, 8, 9]
    right, wrong = table["rows"][:2]
    assert (right["answer"], right["right"], right["score"]) == (EVIL, True, 0.5)
    assert (wrong["answer"], wrong["wanted"], wrong["right"], wrong["score"]) == (
        f"{EVIL} (1 of 2 splits)", "verb", False, -0.2)  # fmt: skip
    assert wrong["others"] == [{key: wrong[key] for key in ("answer", "right", "score")}]
    assert wrong["texts"] == ("walk: They walk. 5",) and wrong["state"]["options"] == {"word": "walk"}
    (first, *_) = probe.cases(result(""))["rows"]
    assert first["others"] == [] and first["state"]["view"] == "embedding-map" and first["texts"] == ("They walk. 4",)


def test_two_results_are_compared_on_the_same_splits_only() -> None:
    worse = replace(result(), accuracies=np.array([[0.5, 0.5], [0.25, 0.25], [0.25, 0.25], [0.25, 0.25]]))
    assert "changes by −37.5 points (± 17.7 over the same splits)" in probe.compare(result(), worse)
    assert probe.compare(result(), replace(worse, examples=worse.examples[:4])) == ""
    assert probe.compare(result(), result(seeds=1)) == ""


def test_lines_have_their_deviation_and_their_names() -> None:
    fig = probe.draw(result())
    check(fig)
    (lines,) = fig.panels[0].marks
    assert lines.steps == ["in", "1", "2", "3"] and lines.high == 1
    accuracy, control, majority = lines.lines
    assert list(accuracy.values) == [0.375, 0.625, 0.875, 0.5] and set(control.values) == {0.75}
    assert (accuracy.low <= accuracy.values).all() and (accuracy.values <= accuracy.high).all()
    assert accuracy.high[2] == 1 and accuracy.low[2] == pytest.approx(0.698, abs=1e-3), "within 0 and 1"
    assert [line.end for line in lines.lines] == ["probe 50 %", "control 75 %", "majority 50 %"]
    assert majority.values == [0.5] * 4 and majority.dash == "dot"
    assert accuracy.hover[2].splitlines() == [
        "layer 2, probe: 88 %", "± 17.7 points; seeds: 75 %, 100 %", "selectivity 12 points"]  # fmt: skip
    (names,) = [trace for trace in chart(fig).data if trace.mode == "text"]
    assert 3 < max(names.x) <= chart(fig).layout.xaxis.range[1], "plotly leaves out what is beyond the axis"


def test_the_sentence_names_the_splits() -> None:
    assert "splits" in probe.say(result()) and "splits" not in probe.say(result(seeds=1))

"""Learning curves and confusion matrices: from step 0, with the baseline, several runs in one figure."""

from collections.abc import Sequence

import pytest

from bertexplorer.charts import confusion
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import Figure, Line
from bertexplorer.runs import learning
from bertexplorer.runs.learning import Curve
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def events(values: list[float], floor: float | None = 0.5) -> list[dict]:
    entries: list[dict] = [{"event": "ready", "floors": {"accuracy": {"name": EVIL, "value": floor}} if floor else {}}]
    for epoch, value in enumerate(values):
        entries.append({"event": "evaluated", "epoch": float(epoch), "metrics": {"accuracy": value, "loss": 1 - value}})
        entries.append({"event": "steps", "epoch": epoch + 0.5, "loss": {"label": 0.9, "other": 0.5}})
    return entries


def on_rows(count: int, *values: float, metric: str = "accuracy") -> Curve:
    ready, *others = events(list(values), 0.875)
    return Curve("run", metric, "Accuracy", [{**ready, "dev_rows": count}, *others])


def lines(fig: Figure, panel: int) -> Sequence[Line]:
    return fig.panels[panel].marks[0].lines


def curve(*values: float, name: str = "run", floor: float | None = 0.5) -> Curve:
    return Curve(name, "accuracy", "Accuracy", events(list(values), floor))


def test_curves_start_before_the_first_step_and_losses_are_means() -> None:
    fig = learning.draw([curve(0.4, 0.7, 0.6)])
    check(fig)
    accuracy, floor = lines(fig, 0)
    assert accuracy.at == [0, 1, 2] and accuracy.values == [0.4, 0.7, 0.6]
    assert accuracy.hover == ["run, epoch 0.00: 40.0 %", "run, epoch 1.00: 70.0 %", "run, epoch 2.00: 60.0 %"]
    assert floor.values == [0.5] and floor.dash == "dot" and not floor.at, "level from one end to the other"
    trained, evaluated = lines(fig, 1)
    assert trained.at == [0.5, 1.5, 2.5] and trained.values[0] == pytest.approx(0.7) and trained.look == "line"
    assert evaluated.values == pytest.approx([0.6, 0.3, 0.4]) and evaluated.look == "points"


def test_the_best_accuracy_has_the_interval_of_its_rows() -> None:
    few = learning.say([on_rows(8, 0.5, 1.0)])
    assert "is 100.0 % at its best (95 % interval on 8 validation rows: 67.6 % to 100.0 %)" in few
    assert few.endswith("it is 87.5 %, which is within that interval.")
    assert learning.say([on_rows(800, 0.5, 1.0)]).endswith("it is 87.5 %.")
    assert "interval" not in learning.say([curve(0.4, 0.7)])  # an old run does not say how many rows there were
    other = on_rows(8, 0.5, 1.0)
    loss = Curve("run", "loss", "Loss", other.events)
    assert "interval" not in learning.say([loss], higher=False)


def test_several_runs_have_their_own_colours_and_one_key() -> None:
    fig = learning.draw([curve(0.1, 0.2, name=EVIL), curve(0.3, 0.4, name="b")])
    check(fig)
    assert [line.name for line in lines(fig, 0)] == [EVIL, "b", EVIL] and len(lines(fig, 1)) == 4
    assert [line.tone for line in lines(fig, 0)] == ["blue", "orange", "grey"]
    _, names, floors = fig.panels[0].marks
    assert [(part.text, part.tone) for part in names.lines[0]] == [
        ("●", "blue"), (f" {EVIL}", "grey"), (" · ", "grey"), ("●", "orange"), (" b", "grey")]  # fmt: skip
    assert [line.text for line in floors.lines] == [f"dotted: {EVIL}, 50.0 %"]


def test_shares_have_an_axis_from_0_to_1_and_correlations_one_to_1() -> None:
    for values in ((0.4,), (0.4, 0.7, 0.6), ()):
        fig = learning.draw([curve(*values)])
        assert tuple(chart(fig).layout.yaxis.range) == (0, pytest.approx(1.08)) and fig.panels[0].marks[0].high == 1
    below = Curve("run", "spearman", "Spearman", [{"event": "evaluated", "epoch": 0.0, "metrics": {"spearman": -0.2}}])
    assert tuple(chart(learning.draw([below])).layout.yaxis.range) == (-0.2, pytest.approx(1.08))
    perplexity = Curve("run", "perplexity", "", [{"event": "evaluated", "epoch": 0.0, "metrics": {"perplexity": 9.0}}])
    assert learning.draw([perplexity]).panels[0].marks[0].high is None


def test_the_sentence_gives_the_best_value_of_each_run_and_the_baseline() -> None:
    sentence = learning.say([curve(0.4, 0.7, 0.6)])
    assert sentence == f"Accuracy began at 40.0 % and is 70.0 % at its best; without learning ({EVIL}) it is 50.0 %."
    assert "no better than the baseline" in learning.say([curve(0.4, 0.45)])
    assert learning.say([curve(0.9, 0.5, floor=None)], higher=False).endswith("50.0 % at its best.")
    assert "has not been evaluated yet" in learning.say([curve()]) and learning.say([]) == ""
    first, second = curve(0.1, 0.6, name="one"), curve(0.1, 0.7, 0.2, name="two")
    floor = f"Without learning ({EVIL}) it is 50.0 %."
    assert learning.say([first, second]) == f"Accuracy at its best: one 60.0 %, two 70.0 %. {floor}"
    assert learning.say([first, first, first]) == f"Accuracy at its best is 60.0 % in all 3 runs. {floor}"
    assert learning.format_metric("perplexity", 366_400.4) == "366,400"


def test_the_untrained_model_is_not_the_best_checkpoint() -> None:
    """No checkpoint of it is saved."""
    first, second = curve(0.6, 0.55, 0.56, name="one", floor=0.58), curve(0.6, 0.5, name="two", floor=0.58)
    floor = f"without learning ({EVIL}) it is 58.0 %"
    assert learning.say([first]) == (
        f"Accuracy began at 60.0 % and is 56.0 % at its best; {floor}, no better than the baseline."
    )
    assert learning.say([first, second]) == f"Accuracy at its best: one 56.0 %, two 50.0 %. W{floor[1:]}."
    assert learning.say([curve(0.3, 0.4, 0.5, floor=None)], higher=False).endswith("40.0 % at its best.")
    assert learning.say([curve(0.6)]) == "Accuracy began at 60.0 %."
    two = [first, curve(0.6, name="two")]
    assert learning.say(two).endswith("no better than the baseline. two: Accuracy began at 60.0 %.")


def test_cells_lead_to_rows_and_the_sentence_names_the_main_mistake() -> None:
    labels, counts = ("neg", EVIL, "x"), ((5, 1, 0), (3, 7, 0), (0, 0, 0))
    fig = confusion.draw(labels, counts)
    ((cells,),) = (panel.marks for panel in fig.panels)
    assert cells.doors[1][0] == {"set": {"gold": 1, "predicted": 0}}
    assert cells.values[1][0] == pytest.approx(0.3) and cells.text[1][0] == "3"
    assert "<img" not in chart(fig).to_json()
    assert "12 of 16 are right" in confusion.say(labels, counts) and "taken for “neg”, 3 times" in confusion.say(
        labels, counts
    )
    assert confusion.say(("a", "b"), ((1, 0), (0, 2))) == "All 3 are right."

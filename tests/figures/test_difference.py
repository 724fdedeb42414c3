"""Two results side by side: which rows are held against each other, what differs most, and on one scale."""

from types import SimpleNamespace

import plotly.graph_objects as go

from bertexplorer.figures import difference

LISTS = SimpleNamespace(KEYS=("layer", "token"), MEASURE="probability", rows=lambda result: result)


def row(layer: int, token: str, probability: float) -> dict[str, object]:
    return {"layer": layer, "token": token, "probability": probability}


def test_what_is_not_listed_counts_from_the_last_that_is() -> None:
    ours = {("a",): 0.9, ("b",): 0.30, ("c",): 0.01}
    theirs = {("a",): 0.4, ("b",): 0.31, ("d",): 0.28}
    assert difference.furthest(ours, theirs) == [("a",), ("d",), ("b",), ("c",)]


def test_labels_name_the_numbers_and_leave_out_what_all_share() -> None:
    drawn = difference.draw(LISTS, [row(1, "a", 0.5), row(2, "a", 0.2)], [row(1, "a", 0.1)], ("one", "two"))
    told = [text for part in drawn.data if part.mode == "text" for text in part.text]
    assert told == ["layer 1: 50 % → 10 %", "layer 2: 20 % → not listed"]


def test_cosines_are_no_shares() -> None:
    cosines = SimpleNamespace(KEYS=("token",), MEASURE="cosine", rows=lambda result: result)
    drawn = difference.draw(cosines, [{"token": "a", "cosine": 0.93}], [{"token": "a", "cosine": 0.76}], ("one", "two"))
    assert "a: 0.93 → 0.76" in [text for part in drawn.data if part.mode == "text" for text in part.text]


def test_a_view_that_says_no_number_has_no_difference() -> None:
    assert difference.draw(SimpleNamespace(rows=lambda result: result), [], [], ("one", "two")) is None
    assert difference.draw(LISTS, [], [], ("one", "two")) is None


def test_axes_and_colours_end_where_the_wider_of_two_does() -> None:
    one, two = (go.Figure(go.Heatmap(z=[[top]], zmin=0, zmax=top)) for top in (1.0, 3.0))
    one.update_layout(xaxis_range=(0, 1), yaxis={"type": "log", "range": (4, 0)})
    two.update_layout(xaxis_range=(-2, 0.5), yaxis={"type": "log", "range": (1, 0)})
    difference.one_scale(one, two)
    assert one.layout.xaxis.range == two.layout.xaxis.range == (-2, 1)
    assert one.layout.yaxis.range == two.layout.yaxis.range == (4, 0)
    assert one.data[0].zmax == two.data[0].zmax == 3

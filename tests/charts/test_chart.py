"""A chart is what plotly makes of the same calls: panels, axes, lines and JSON."""

import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from bertexplorer.charts.adaptors.traces import Chart, spans


def layout_of(figure: go.Figure) -> dict[str, Any]:
    layout: dict[str, Any] = json.loads(figure.to_json())["layout"]
    layout.pop("template", None)
    return layout


def same(ours: Any, theirs: Any) -> bool:
    """Equal but for the rounding of domains."""
    if isinstance(theirs, dict):
        return ours.keys() == theirs.keys() and all(same(ours[key], theirs[key]) for key in theirs)
    if isinstance(theirs, list):
        return len(ours) == len(theirs) and all(map(same, ours, theirs))
    return bool(ours == theirs if isinstance(theirs, str | bool) else abs(ours - theirs) < 1e-9)


def drawn(figure: Any) -> None:
    """The same calls for a chart and for plotly's figure."""
    figure.add_scatter(x=[1, 2], y=[3, 4], mode="lines", row=1, col=1)
    figure.add_bar(x=[5], orientation="h", row=2, col=1)
    figure.add_vline(x=3, line={"width": 1}, row=1, col=1)
    figure.add_vrect(x0=1, x1=2, fillcolor="red", row=2, col=1)
    figure.add_shape(type="line", x0=0, x1=1, y0=0, y1=1, row=2, col=1)
    figure.add_annotation({"text": "above", "x": 0})
    figure.update_xaxes(title={"text": "layer"})
    figure.update_yaxes(range=[0, 1], title="share", row=2, col=1)
    figure.update_xaxes({"range": [0, 9]}, title={"standoff": 4}, row=1, col=1)
    figure.update_layout(barmode="overlay", xaxis2={"dtick": 1})


def test_the_same_calls_make_the_same_figure() -> None:
    ours, theirs = Chart(), make_subplots(2, 1, vertical_spacing=0.1)
    for row, (start, end) in enumerate(spans([1, 1], 0.1)):
        axis = ours.panels[row + 1, 1] = "2" if row else ""
        ours.settings[f"xaxis{axis}"] = {"anchor": f"y{axis}", "domain": [0, 1]}
        ours.settings[f"yaxis{axis}"] = {"anchor": f"x{axis}", "domain": [1 - end, 1 - start]}
    for figure in (ours, theirs):
        drawn(figure)
    mine, other = json.loads(ours.to_json()), json.loads(theirs.to_json())
    assert mine["data"] == other["data"] and same(mine["layout"], layout_of(theirs))
    assert ours.layout.xaxis.title.standoff == 4 and len(ours.data) == 2, "plotly accepts it"


def test_a_figure_without_panels_has_one_pair_of_axes() -> None:
    chart = Chart([{"type": "bar", "x": [1], "text": None}])
    chart.add_vline(x=0, line={"width": 1})
    chart.update_xaxes(title="share")
    theirs = go.Figure([{"type": "bar", "x": [1]}])
    theirs.add_vline(x=0, line={"width": 1})
    theirs.update_xaxes(title="share")
    assert same(json.loads(chart.to_json())["layout"], layout_of(theirs)) and chart.traces == [
        {"type": "bar", "x": [1]}
    ]


def test_arrays_become_numbers_and_what_is_not_finite_is_left_out() -> None:
    chart = Chart(
        [{"type": "heatmap", "z": np.array([[0.5, np.nan], [np.inf, 1]]).T, "x": np.arange(2), "y": ["a", 2]}]
    )
    chart.add_trace({"type": "bar", "x": np.array(["a", "b"], dtype=object), "y": [np.float32(0.25), None]})
    heat, bars = json.loads(chart.to_json())["data"]
    assert (
        heat["z"] == [[0.5, None], [None, 1.0]]
        and heat["x"] == [0, 1]
        and bars
        == {
            "type": "bar",
            "x": ["a", "b"],
            "y": [0.25, None],
        }
    )
    with pytest.raises(TypeError, match="object"):
        Chart([{"type": "bar", "x": object()}]).to_json()

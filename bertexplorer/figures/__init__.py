"""Results drawn: each module has `draw(result) -> Figure` and `say(result)`, the figure in a sentence."""

from plotly.graph_objects import Figure

__all__ = ["Figure"]

"""Colours that everyone can distinguish, fonts, and texts as plotly reads them."""

from typing import Any, cast

from bertexplorer.charts.adaptors.traces import Chart
from bertexplorer.charts.style import clip

BLUE = [[0.0, "#eef4fb"], [0.5, "#a9c8ea"], [0.72, "#4f8fce"], [0.85, "#2b6cb0"], [1.0, "#12406f"]]
ROOT = [[place**2, colour] for place, colour in cast(list[tuple[float, str]], BLUE)]  # of the root of a share
ACCENT = "#2b6cb0"
PALE = "#a9c8ea"
# Okabe and Ito (2008), and a neutral
ORANGE = "#d55e00"
GREEN = "#009e73"
GREY = "#8a94a3"
GROUPS = (ACCENT, ORANGE, GREEN, "#cc79a7", "#b88a00", "#56b4e9", "#a0693a")  # theirs, yellow darkened, and a brown
SHADES = [[0.0, "#f0f5fb"], [1.0, "#86b3e4"]]  # light enough for INK throughout
LIGHT_SIGNED = [[0.0, "#eda063"], [0.5, "#f4f6f8"], [1.0, "#86b3e4"]]  # orange below 0, blue above; as light
SIGNED = [[0.0, ORANGE], [0.5, "#f7f9fb"], [1.0, ACCENT]]  # orange below 0, blue above
INK = "#16202c"  # on cells, which are light on both pages
TEXT = "#5b6675"  # legible on the light and the dark page
AXIS = {"ticks": "", "automargin": True, "zeroline": False, "gridcolor": "rgba(138,148,163,0.25)"}
SANS = "IBM Plex Sans, system-ui, sans-serif"
MONO = "IBM Plex Mono, ui-monospace, monospace"


def safe(text: str) -> str:
    """Escape text for plotly labels, which interpret a few HTML tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def label(text: str, length: int = 24) -> str:
    """Text cut to *length* characters, for plotly."""
    return safe(clip(text, length))


def coloured(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">{text}</span>'


def finish(fig: Chart, height: int, **layout: Any) -> Chart:
    """Apply the layout that all figures share. The page reserves *height* pixels while it waits for a new result."""
    base = {
        "template": {},
        "height": height,
        "margin": {"l": 8, "r": 16, "t": 28, "b": 8},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "font": {"family": SANS, "size": 14, "color": TEXT},
        "showlegend": False,
        "hoverlabel": {"font": {"family": SANS, "size": 14}},
        "dragmode": False,
        "modebar": {"remove": ["zoom", "pan", "select", "lasso", "zoomIn", "zoomOut", "autoScale", "resetScale"]},
    }
    fig.update_layout(**base | layout)
    for letter, standoff in (("x", {}), ("y", {"ticklabelstandoff": 6})):
        fig.settings.setdefault(f"{letter}axis", {})
        fig.update_axes(letter, {**AXIS, **standoff}, None, None)
    return fig

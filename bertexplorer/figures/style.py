"""The style of figures: one hue for probability, colours that everyone can distinguish, readable numbers."""

import re
from collections.abc import Sequence
from typing import Any

import plotly.graph_objects as go

BLUE = [[0.0, "#eef4fb"], [0.5, "#a9c8ea"], [0.72, "#4f8fce"], [0.85, "#2b6cb0"], [1.0, "#12406f"]]
ACCENT = "#2b6cb0"
PALE = "#a9c8ea"
ORANGE, GREEN, GREY = "#d55e00", "#009e73", "#8a94a3"  # Okabe-Ito, and a neutral
SHADES = [[0.0, "#f0f5fb"], [1.0, "#86b3e4"]]  # light enough for INK throughout
INK = "#16202c"  # on cells, which are light on both pages
TEXT = "#5b6675"  # legible on the light and the dark page
AXIS = {"ticks": "", "automargin": True, "zeroline": False, "gridcolor": "rgba(138,148,163,0.25)"}
SANS = "IBM Plex Sans, system-ui, sans-serif"
MONO = "IBM Plex Mono, ui-monospace, monospace"


def percent(p: float) -> str:
    """A probability with sensible digits: 97 %, 3.2 %, 0.4 %, < 0.1 %."""
    share = 100 * p
    if share >= 99.95:
        return "> 99.9 %" if p < 1 else "100 %"
    if share >= 9.95:
        return f"{share:.0f} %" if share < 99 else f"{share:.1f} %"
    return f"{share:.1f} %" if share >= 0.1 else "< 0.1 %"


def quote(token: str) -> str:
    """A token inside a sentence."""
    return f"“{token}”"


def name_answer(answer: str) -> str:
    """An answer inside a sentence. The cosine of two texts is no token."""
    return "the cosine" if answer == "cosine" else quote(answer)


def begin(answer: str) -> str:
    """The words before the number of an answer: “good” has, or the cosine is."""
    return f"{name_answer(answer)} {'is' if answer == 'cosine' else 'has'}"


def safe(text: str) -> str:
    """Escape text for plotly labels, which interpret a few HTML tags."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def clip(text: str, length: int = 24) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def label(text: str, length: int = 24) -> str:
    """Text cut to *length* characters, for plotly."""
    return safe(clip(text, length))


def coloured(text: str, colour: str) -> str:
    return f'<span style="color:{colour}">{text}</span>'


def decimal(value: float, digits: int = 2) -> str:
    """A number with a real minus sign."""
    return f"{value:.{digits}f}".replace("-", "−")


def signed(value: float, digits: int = 2) -> str:
    """A number with its sign; one that rounds to zero has none."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else text[1:]


def join_names(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if names[1:] else names)


def finish(fig: go.Figure | dict[str, Any], height: int, **layout: Any) -> go.Figure:
    """Apply the layout that all figures share. *fig* may be a dict of its parts, {"data": …, "layout": …}. The page
    reserves *height* pixels while it waits for a new result."""
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
    parts = fig if isinstance(fig, dict) else {"data": fig.data, "layout": fig.layout.to_plotly_json()}
    merged = merge_dicts(parts["layout"], {**base, **layout})
    for name in {"xaxis", "yaxis", *(key for key in merged if re.fullmatch(r"[xy]axis\d*", key))}:
        merged[name] = merge_dicts(
            merged.get(name, {}), {**AXIS, **({"ticklabelstandoff": 6} if name[0] == "y" else {})}
        )
    return go.Figure(parts["data"], merged, _validate=False)  # a test validates them; here it would take 3 ms


def merge_dicts(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """*old* with the entries of *new*; nested dicts are merged too."""
    nested = {k: merge_dicts(old[k], v) for k, v in new.items() if isinstance(v, dict) and isinstance(old.get(k), dict)}
    return {**old, **new, **nested}

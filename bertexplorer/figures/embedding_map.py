"""Embedding map drawn: a point for each token or sentence, the chosen one with its neighbours, and these as a list."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from bertexplorer.analysis.embedding_map import EmbeddingMap
from bertexplorer.figures.scatter import COLOURS, QUIET, Name, limits, write_below, write_names
from bertexplorer.figures.style import MONO, ORANGE, SANS, TEXT, clip, finish, label, percent, quote, safe

PLOT = 440  # pixels: the map
NAMED = 400  # points that may get a name
BLUES = [[0.0, "#9cc3ea"], [1.0, "#1f5a9c"]]  # both ends read on white and on the dark page
REST = "#7d8794"  # points of no group
HUES = tuple(colour for colour in COLOURS if colour != ORANGE)  # that is for the chosen point
SYMBOLS = ("circle", "diamond")  # when the hues are used up
CHOSEN, RING = 20, 15  # pixels across
FEW = 30  # tokens that all have a name in space
CLOSE = 0.15  # share of the space within which only one name is written
UNGROUPED = ("", "special")


def draw(result: EmbeddingMap) -> go.Figure:
    groups = grouped(result)
    fig = go.Figure()
    flat = result.places.shape[1] == 2
    mark(fig, result, groups)
    if flat:
        ranges = [limits(values) for values in result.places.T]
        write_names(fig, wanted(result, groups), PLOT, ranges, family(result))
        fig.update_xaxes(range=ranges[0], **QUIET)
        fig.update_yaxes(range=ranges[1], **QUIET)
    else:
        name_in_space(fig, result, groups)
        grid = {"showbackground": False, "gridcolor": "rgba(138,148,163,0.35)"}
        axis = {"showticklabels": False, "title": {"text": ""}, **grid}
        fig.update_scenes(xaxis=axis, yaxis=axis, zaxis=axis)
    below = write_below(fig, key(result, groups), 12)
    mode = False if flat else "orbit"
    return finish(fig, 16 + PLOT + below, margin={"l": 8, "r": 8, "t": 16, "b": below}, dragmode=mode)


def grouped(result: EmbeddingMap) -> list[str]:
    """The groups that have a colour, the largest first: words that occur twice, or labels."""
    if result.options.colour == "position":
        return []
    names = Counter(name for i in range(len(result.points)) if (name := group_of(result, i)) not in UNGROUPED)
    least = 2 if result.options.colour == "word" and result.options.unit == "tokens" else 1
    return [name for name, times in names.most_common(len(HUES) * len(SYMBOLS)) if times >= least]


def group_of(result: EmbeddingMap, i: int) -> str:
    """The group that decides the colour of point *i*: the word of a token, else the label of its line."""
    by_word = result.options.colour == "word" and result.options.unit == "tokens"
    return result.points[i].text.lower() if by_word else result.points[i].label


def mark(fig: go.Figure, result: EmbeddingMap, groups: Sequence[str]) -> None:
    """The points, then rings around the chosen one and its neighbours."""
    count = len(result.points)
    table, flat = styles(groups), result.places.shape[1] == 2
    size = 9 if count <= 200 else 6 if count <= 2000 else 4
    marker: dict[str, Any] = {"size": size if flat else max(3, size // 2), "opacity": 0.9}
    if result.options.colour == "position":
        marker |= {"color": [point.position for point in result.points], "colorscale": BLUES}
    else:
        found = [table.get(group_of(result, i), (REST, SYMBOLS[0])) for i in range(count)]
        marker |= {"color": [colour for colour, _ in found], "symbol": [symbol for _, symbol in found]}
    tips = {"hovertext": [tip(result, i) for i in range(count)], "hoverinfo": "text"}
    leads = [press(result, i) for i in range(count)]
    fig.add_trace({**points(result, range(count)), "marker": marker, "customdata": leads, **tips})
    if result.chosen is None:
        return
    for spots, across in ((near(result), RING), ([result.chosen], CHOSEN)):
        ring = {"size": across, "symbol": "circle-open", "color": ORANGE, "line": {"width": 3 if across > RING else 2}}
        fig.add_trace({**points(result, spots), "marker": ring, "hoverinfo": "skip"})


def press(result: EmbeddingMap, i: int) -> dict[str, Any]:
    """What a press on point *i* asks for: the token picked in the strip too, or the point's neighbours."""
    picks = result.points[i].picks
    return {"set": {"point": -1}, "picked": picks} if picks else {"set": {"point": i}}


def styles(groups: Sequence[str]) -> dict[str, tuple[str, str]]:
    """(colour, symbol) of each group."""
    return {group: (HUES[i % len(HUES)], SYMBOLS[i // len(HUES)]) for i, group in enumerate(groups)}


def near(result: EmbeddingMap) -> list[int]:
    return [neighbour.point for neighbour in result.neighbours]


def points(result: EmbeddingMap, spots: Sequence[int]) -> dict[str, Any]:
    """Markers at the places of *spots*, in the plane or in space."""
    places = result.places[list(spots)]
    kind = "scatter" if places.shape[1] == 2 else "scatter3d"
    values = {axis: places[:, i].astype(float).round(4) for axis, i in zip("xyz", range(places.shape[1]), strict=False)}
    return {"type": kind, "mode": "markers", **values}


def tip(result: EmbeddingMap, i: int) -> str:
    point = result.points[i]
    long = 60 if len(result.points) <= 2000 else 40
    group = f" ({label(point.label, 20)})" if point.label else ""
    near = "" if result.nearness is None else f"<br>cosine {result.nearness[i]:.2f} with the chosen one"
    return f"{label(point.text, long)}{group}{near}"


def wanted(result: EmbeddingMap, groups: Sequence[str]) -> list[Name]:
    """Names in the order in which they get room: the chosen point, its neighbours, groups, the other tokens. Sentences
    are too long for the map, so neighbours have their rank, as in the list below."""
    tokens = result.options.unit == "tokens"
    table, first = styles(groups), [] if result.chosen is None else [result.chosen, *near(result)]
    texts = [clip(result.points[i].text, 14) if tokens else str(rank) for rank, i in enumerate(first)]
    if first and not tokens:
        texts[0] = "chosen"
    found = [
        Name(result.places[i], text, ORANGE, CHOSEN if i == result.chosen else RING)
        for i, text in zip(first, texts, strict=True)
    ]
    for group in groups if not tokens or result.options.colour == "label" else ():
        members = [i for i in range(len(result.points)) if group_of(result, i) == group]
        found.append(Name(np.median(result.places[members], axis=0), clip(group, 18), table[group][0]))
    others = [i for i in range(min(NAMED, len(result.points))) if i not in first] if tokens else []
    rest = [table.get(group_of(result, i), (TEXT, ""))[0] for i in others]
    return found + [
        Name(result.places[i], clip(result.points[i].text, 14), colour) for i, colour in zip(others, rest, strict=True)
    ]


def name_in_space(fig: go.Figure, result: EmbeddingMap, groups: Sequence[str]) -> None:
    """The names without those of many tokens, which would cover each other as the space is turned."""
    found = wanted(result, groups)
    if result.options.unit == "tokens" and len(found) > FEW:
        found = found[: 0 if result.chosen is None else 1 + len(result.neighbours)]
    if found:
        spans = np.maximum(np.ptp(result.places, axis=0), 1e-12)
        found = [name for i, name in enumerate(found) if all(apart(name, other, spans) for other in found[:i])]
        places = np.array([name.place for name in found], dtype=float).round(4)
        fig.add_scatter3d(
            **dict(zip("xyz", places.T, strict=True)),
            mode="text",
            text=[safe(name.text) for name in found],
            textfont={"color": [name.colour for name in found], "size": 13, "family": family(result)},
            hoverinfo="skip",
        )


def apart(one: Name, other: Name, spans: np.ndarray) -> bool:
    return float(np.linalg.norm((one.place - other.place) / spans)) > CLOSE


def family(result: EmbeddingMap) -> str:
    return MONO if result.options.unit == "tokens" else SANS


def key(result: EmbeddingMap, groups: Sequence[str]) -> list[tuple[str, str]]:
    """What the colours mean and the neighbours, under the map."""
    lines: list[tuple[str, str]] = []
    if result.options.colour == "position":
        lines.append(("Light to dark: from the first to the last", TEXT))
    elif groups and result.options.unit == "tokens" and result.options.colour == "word":
        lines.append(("In colour: words that occur twice or more", TEXT))
    if result.chosen is not None:
        lines.append((f"Nearest to {quote(label(result.points[result.chosen].text, 22))}, by cosine", ORANGE))
        lines += [
            (f"{rank}.  {n.cosine:.2f}  {label(result.points[n.point].text, 32)}", TEXT)
            for rank, n in enumerate(result.neighbours, 1)
        ]
    else:
        lines.append(("Click a point for its neighbours", TEXT))
    return lines


def say(result: EmbeddingMap) -> str:
    """What is drawn, how far the map can be trusted, how near any two points are, and the nearest neighbour."""
    where = f"layer {result.layer}" if result.layer else "the input vectors"
    if result.options.pooling == "last four summed":
        where = "the last four layers summed"
    said = [f"{result.source[0].upper()}{result.source[1:]}, by {where}."]
    if result.explained:
        said.append(f"PCA in {result.options.dimensions} shows {percent(sum(result.explained))} of the variance.")
    if result.trust is not None:
        said.append(
            f"The map's trustworthiness is {result.trust:.2f} (1: neighbours on it are neighbours in full; about 0.5: "
            "no better than chance)."
        )
    near = f"Two points have a cosine of {result.anisotropy:.2f} on average"
    said.append(near + (f", two random words {result.baseline:.2f}." if result.baseline == result.baseline else "."))
    if result.chosen is not None and result.neighbours:
        best = result.neighbours[0]
        said.append(
            f"Nearest to {quote(clip(result.points[result.chosen].text, 40))} is "
            f"{quote(clip(result.points[best.point].text, 40))} ({best.cosine:.2f})."
        )
    return " ".join([*said, result.notes]).strip()


def colours(result: EmbeddingMap) -> dict[int, float]:
    """Position in the workbench text -> cosine with the chosen token, for the strip; less than 0 is shown as 0."""
    if result.nearness is None or result.options.lines or result.options.unit != "tokens":
        return {}
    return {
        point.position: float(np.clip(near, 0, 1)) for point, near in zip(result.points, result.nearness, strict=True)
    }

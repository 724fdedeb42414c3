"""Figure for embedding map: a point for each token or sentence, the chosen one with its neighbours, and a list of
these."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertexplorer.charts.chart import Chart
from bertexplorer.charts.scatter import QUIET, Name, limits, place_names, write_below, write_names
from bertexplorer.charts.style import (
    GROUPS,
    MONO,
    ORANGE,
    SANS,
    TEXT,
    capital,
    clip,
    finish,
    label,
    percent,
    quote,
    safe,
)
from bertexplorer.views.embedding_map.compute import EmbeddingMap
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Embeddings",
    place=3,
    title="Map",
    question="What lies near what?",
    note=(
        "A map flattens hundreds of directions into two or three. With t-SNE and UMAP only the neighbours of a point "
        "mean something; cluster sizes and the distances between clusters do not. The cosines in the list are those of "
        "the full vectors."
    ),
    papers=(
        "van der Maaten and Hinton, 2008, Visualizing Data Using t-SNE",
        "McInnes et al., 2018, UMAP",
        "Coenen et al., 2019, Visualizing and Measuring the Geometry of BERT",
    ),
    examples=(
        Example(
            "Ten topics",
            "The judge listened to the witness.",
            options={"unit": "sentences", "method": "t-SNE"},
            shows='neighbour(1) == "The lawyer asked the witness three questions."',
        ),
        Example(
            "A word beats its sense",
            "The bank by the river is steep, and the bank in town is closed.",
            picked="0:4-8",
            shows='neighbour(1) == "bank" and cosine(1) > 0.9',
        ),
        Example(
            "Input vectors",
            "The bank by the river is steep, and the bank in town is closed.",
            options={"layer": 0},
            shows="mean_cosine() < 0.3",
        ),
        Example(
            "Topics by [CLS]",
            "Fish swim in the river.",
            options={"unit": "sentences", "pooling": "CLS"},
            shows="mean_cosine() > 0.15",
        ),
        Example(
            "In three dimensions",
            "The judge listened to the witness.",
            options={"unit": "sentences", "dimensions": "3-D"},
            shows="explained() > 0.1",
        ),
    ),
    chips="pick",
    slow=True,
    needs=("lines",),
)

PLOT = 440  # pixels: the map
NAMED = 400  # points that may get a name
BLUES = [[0.0, "#9cc3ea"], [1.0, "#1f5a9c"]]  # both ends are legible on the light and the dark page
REST = "#7d8794"  # the colour of points without a group
HUES = tuple(colour for colour in GROUPS if colour != ORANGE)  # ORANGE marks the chosen point
SYMBOLS = ("circle", "diamond")  # for more groups than hues
CHOSEN, RING = 20, 15  # pixels across
FEW = 30  # tokens up to which all get a name in space
UNGROUPED = ("", "special")


def draw(result: EmbeddingMap) -> Chart:
    groups = coloured_groups(result)
    fig = Chart()
    flat = result.places.shape[1] == 2
    mark(fig, result, groups)
    if flat:
        ranges = [limits(values) for values in result.places.T]
        write_names(fig, names_to_write(result, groups), PLOT, ranges, family(result))
        fig.update_xaxes(range=ranges[0], **QUIET)
        fig.update_yaxes(range=ranges[1], **QUIET)
    else:
        name_in_space(fig, result, groups)
        grid = {"showbackground": False, "gridcolor": "rgba(138,148,163,0.35)"}
        axis = {"showticklabels": False, "title": {"text": ""}, **grid}
        fig.update_layout(scene={"xaxis": axis, "yaxis": axis, "zaxis": axis})
    below = write_below(fig, key(result, groups), 12)
    mode = False if flat else "orbit"
    return finish(fig, 16 + PLOT + below, margin={"l": 8, "r": 8, "t": 16, "b": below}, dragmode=mode)


def coloured_groups(result: EmbeddingMap) -> list[str]:
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


def mark(fig: Chart, result: EmbeddingMap, groups: Sequence[str]) -> None:
    """Draw the points, then rings around the chosen one and its neighbours."""
    count = len(result.points)
    table, flat = styles(groups), result.places.shape[1] == 2
    size = 4
    if count <= 2000:
        size = 9 if count <= 200 else 6
    marker: dict[str, Any] = {"size": size if flat else max(3, size // 2), "opacity": 0.9}
    if result.options.colour == "position":
        marker |= {"color": [point.position for point in result.points], "colorscale": BLUES}
    else:
        colour_and_symbol = [table.get(group_of(result, i), (REST, SYMBOLS[0])) for i in range(count)]
        marker |= {
            "color": [colour for colour, _ in colour_and_symbol],
            "symbol": [symbol for _, symbol in colour_and_symbol],
        }
    tips = {"hovertext": [tip(result, i) for i in range(count)], "hoverinfo": "text"}
    leads = [press(result, i) for i in range(count)]
    fig.add_trace({**points(result, range(count)), "marker": marker, "customdata": leads, **tips})
    if result.chosen is None:
        return
    for indices, across in ((neighbour_points(result), RING), ([result.chosen], CHOSEN)):
        ring = {"size": across, "symbol": "circle-open", "color": ORANGE, "line": {"width": 3 if across > RING else 2}}
        fig.add_trace({**points(result, indices), "marker": ring, "hoverinfo": "skip"})


def press(result: EmbeddingMap, i: int) -> dict[str, Any]:
    """The effect of a press on point *i*: pick its token in the strip, or show its neighbours."""
    picks = result.points[i].picks
    return {"set": {"point": -1}, "picked": picks} if picks else {"set": {"point": i}}


def styles(groups: Sequence[str]) -> dict[str, tuple[str, str]]:
    """(colour, symbol) of each group."""
    return {group: (HUES[i % len(HUES)], SYMBOLS[i // len(HUES)]) for i, group in enumerate(groups)}


def neighbour_points(result: EmbeddingMap) -> list[int]:
    return [neighbour.point for neighbour in result.neighbours]


def points(result: EmbeddingMap, indices: Sequence[int]) -> dict[str, Any]:
    """Markers at the places of *indices*, in the plane or in space."""
    places = result.places[list(indices)]
    kind = "scatter" if places.shape[1] == 2 else "scatter3d"
    values = {axis: places[:, i].astype(float).round(4) for axis, i in zip("xyz", range(places.shape[1]), strict=False)}
    return {"type": kind, "mode": "markers", **values}


def tip(result: EmbeddingMap, i: int) -> str:
    point = result.points[i]
    long = 60 if len(result.points) <= 2000 else 40
    group = f" ({label(point.label, 20)})" if point.label else ""
    nearness = "" if result.nearness is None else f"<br>cosine {result.nearness[i]:.2f} with the chosen one"
    return f"{label(point.text, long)}{group}{nearness}"


def names_to_write(result: EmbeddingMap, groups: Sequence[str]) -> list[Name]:
    """Names by priority: the chosen point, its neighbours, groups, the other tokens. Sentences are too long for the
    map, so neighbours get their rank, as in the list below."""
    tokens = result.options.unit == "tokens"
    table, first = styles(groups), [] if result.chosen is None else [result.chosen, *neighbour_points(result)]
    texts = [clip(result.points[i].text, 14) if tokens else str(rank) for rank, i in enumerate(first)]
    if first and not tokens:
        texts[0] = "chosen"
    names = [
        Name(result.places[i], text, ORANGE, CHOSEN if i == result.chosen else RING)
        for i, text in zip(first, texts, strict=True)
    ]
    for group in groups if not tokens or result.options.colour == "label" else ():
        members = [i for i in range(len(result.points)) if group_of(result, i) == group]
        names.append(Name(np.median(result.places[members], axis=0), clip(group, 18), table[group][0]))
    others = [i for i in range(min(NAMED, len(result.points))) if i not in first] if tokens else []
    colours = [table.get(group_of(result, i), (TEXT, ""))[0] for i in others]
    return names + [
        Name(result.places[i], clip(result.points[i].text, 14), colour)
        for i, colour in zip(others, colours, strict=True)
    ]


def name_in_space(fig: Chart, result: EmbeddingMap, groups: Sequence[str]) -> None:
    """Write the names in space. With many tokens, only the chosen ones get a name, as others would overlap on
    rotation."""
    names = names_to_write(result, groups)
    if result.options.unit == "tokens" and len(names) > FEW:
        names = names[: 0 if result.chosen is None else 1 + len(result.neighbours)]
    if names:
        seen = seen_from_the_camera(result.places, np.array([name.place for name in names], dtype=float))
        flat = [replace(name, place=place) for name, place in zip(names, seen, strict=True)]
        sides = place_names(flat, PLOT, [[-1, 1], [-1, 1]])
        written = [names[i] for i in sides]
        places = np.array([name.place for name in written], dtype=float).reshape(-1, 3).round(4)
        fig.add_scatter3d(
            **dict(zip("xyz", places.T, strict=True)),
            mode="text",
            text=[safe(name.text) for name in written],
            textposition=list(sides.values()),
            textfont={"color": [name.colour for name in written], "size": 13, "family": family(result)},
            hoverinfo="skip",
        )


def seen_from_the_camera(points: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Where *places* are on the screen before the figure is turned: x and y from -1 to 1, upwards. *points*: all that
    the figure shows. plotly fits them into its cube and looks at its middle from (1.25, 1.25, 1.25), with an angle of
    45 degrees from top to bottom."""
    low, high = points.min(axis=0), points.max(axis=0)
    spans = np.maximum(high - low, 1e-12)
    if spans.max() / spans.min() <= 4:  # else plotly makes each axis equally long
        spans = np.full(3, float(np.exp(np.log(spans).mean())))
    inside = (places - (low + high) / 2) / spans
    right, up, towards = (np.array(axis) for axis in ((-1, 1, 0), (-1, -1, 2), (1, 1, 1)))
    across, above, near = (inside @ axis / np.linalg.norm(axis) for axis in (right, up, towards))
    depth = np.maximum(1.25 * 3**0.5 - near, 1e-3) * np.tan(np.pi / 8)
    return np.stack([across / depth, above / depth], axis=1)


def family(result: EmbeddingMap) -> str:
    return MONO if result.options.unit == "tokens" else SANS


def key(result: EmbeddingMap, groups: Sequence[str]) -> list[tuple[str, str]]:
    """The key under the map: the meaning of the colours, and the neighbours."""
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
    """The source, the trustworthiness of the map, the mean cosine of two points, and the nearest neighbour."""
    vectors = f"layer {result.layer}" if result.layer else "the input vectors"
    if result.options.pooling == "last four summed":
        vectors = "the last four layers summed"
    sentences = [f"{capital(result.source)}, by {vectors}."]
    if result.explained:
        sentences.append(
            f"PCA in {result.options.dimensions} shows {percent(sum(result.explained))} of the variance of the "
            "vectors, each scaled to length 1."
        )
    if result.trust is not None:
        sentences.append(
            f"The map's trustworthiness is {result.trust:.2f} (1: neighbours on it are neighbours in full; about 0.5: "
            "no better than chance)."
        )
    anisotropy = f"Two points have a cosine of {result.anisotropy:.2f} on average"
    sentences.append(
        anisotropy + (f", two random words {result.baseline:.2f}." if result.baseline == result.baseline else ".")
    )
    if result.chosen is not None and result.neighbours:
        best = result.neighbours[0]
        sentences.append(
            f"Nearest to {quote(clip(result.points[result.chosen].text, 40))} is "
            f"{quote(clip(result.points[best.point].text, 40))} ({best.cosine:.2f})."
        )
    return " ".join([*sentences, result.notes]).strip()


def colours(result: EmbeddingMap) -> dict[int, float]:
    """Position in the workbench text -> cosine with the chosen token, for the strip; negative values become 0."""
    if result.nearness is None or result.options.lines or result.options.unit != "tokens":
        return {}
    return {
        point.position: float(np.clip(cosine, 0, 1))
        for point, cosine in zip(result.points, result.nearness, strict=True)
    }

"""Word path drawn: each occurrence's way through the layers on one plane, and how far it goes from its input."""

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from bertexplorer.analysis.word_path import WordPath
from bertexplorer.figures.layers import spread
from bertexplorer.figures.scatter import COLOURS, Name, around, limits, write_below, write_names
from bertexplorer.figures.style import MONO, TEXT, clip, finish, percent, quote, safe

PLANE, LINES, GAP = 420, 170, 62  # pixels: the plane, the panel below, between them
PLOT = 0.7  # share of the width that the lines take; their names stand to the right
CROWD = 400  # other tokens that are drawn
LARGE = 15  # pixels: the marker of the layer looked at
DASHES = ("solid", "dash", "dot", "dashdot", "solid", "dash", "dot")


def draw(result: WordPath) -> go.Figure:
    inner = PLANE + LINES + GAP
    fig = make_subplots(
        rows=2,
        cols=1,
        row_heights=[PLANE, LINES],
        vertical_spacing=GAP / inner,
        subplot_titles=("", "cosine with the word's own input vector"),
    )
    plane(fig, result)
    curves(fig, result)
    fig.update_annotations(x=0, xanchor="left", font={"size": 14, "color": TEXT}, selector={"xref": "paper"})
    below = write_below(fig, key(result), 40)
    return finish(fig, 30 + inner + below, margin={"l": 8, "r": 12, "t": 30, "b": below})


def layer_name(layer: int) -> str:
    return "input" if layer == 0 else f"layer {layer}"


def plane(fig: go.Figure, result: WordPath) -> None:
    """The paths over the crowd: the other tokens of the texts where they stand at the layer looked at."""
    crowd, tokens = result.crowd[result.layer][:CROWD], result.tokens[:CROWD]
    everything = np.concatenate([result.paths.reshape(-1, 2), crowd])
    ranges = [limits(everything[:, 0]), limits(everything[:, 1])]
    fig.add_scatter(
        x=crowd[:, 0].round(4),
        y=crowd[:, 1].round(4),
        mode="markers",
        marker={"color": TEXT, "size": 5, "opacity": 0.55},
        hovertext=[f"{safe(clip(token))}, {layer_name(result.layer)}" for token in tokens],
        hoverinfo="text",
        row=1,
        col=1,
    )
    for number, path in enumerate(result.paths):
        track(fig, result, number, path)
    words(fig, result, crowd, ranges)
    quiet = {"showticklabels": False, "showgrid": False, "fixedrange": True}
    title = {"text": f"first component, {percent(result.explained[0])} of the variance", "standoff": 8}
    fig.update_xaxes(range=ranges[0], title={**title, "font": {"size": 13}}, row=1, col=1, **quiet)
    fig.update_yaxes(range=ranges[1], row=1, col=1, **quiet)


def track(fig: go.Figure, result: WordPath, number: int, path: np.ndarray) -> None:
    """One path: a marker for each layer, the one looked at large."""
    colour, layers = COLOURS[number], range(len(path))
    fig.add_scatter(
        x=path[:, 0].round(4),
        y=path[:, 1].round(4),
        mode="lines+markers",
        line={"color": colour, "width": 2, "dash": DASHES[number]},
        marker={
            "color": colour,
            "size": [LARGE if layer == result.layer else 7 for layer in layers],
            "symbol": ["diamond" if layer == 0 else "circle" for layer in layers],
        },
        hovertext=[
            f"{number + 1}. {safe(clip(result.occurrences[number].word))}, {layer_name(layer)}: cosine "
            f"{result.to_input[number, layer]:.2f} with its input"
            for layer in layers
        ],
        hoverinfo="text",
        customdata=[{"set": {"layer": layer}} for layer in layers],
        row=1,
        col=1,
    )


def words(fig: go.Figure, result: WordPath, crowd: np.ndarray, ranges: list[list[float]]) -> None:
    """Names: of the paths where they are, of their beginnings, of their layers, of the crowd, while there is room."""
    names = [
        Name(path[result.layer], f"{number} {clip(found.word, 14)}", colour, LARGE)
        for number, (path, found, colour) in enumerate(zip(result.paths, result.occurrences, COLOURS, strict=False), 1)
    ]
    for layer in (0, *range(result.paths.shape[1] - 1, 0, -1)):
        if layer != result.layer:
            text = "input" if layer == 0 else str(layer)
            names += [Name(path[layer], text, colour) for path, colour in zip(result.paths, COLOURS, strict=False)]
    names += [Name(place, clip(token, 12), TEXT) for place, token in zip(crowd, result.tokens, strict=False)]
    write_names(fig, names, PLANE, ranges, MONO, row=1, col=1)


def curves(fig: go.Figure, result: WordPath) -> None:
    """How near each path stays to where it began."""
    places = list(range(result.to_input.shape[1]))
    for number, values in enumerate(result.to_input):
        fig.add_scatter(
            x=places,
            y=values.round(4).tolist(),
            mode="lines+markers",
            line={"color": COLOURS[number], "dash": DASHES[number], "width": 2},
            marker={"size": 8 if len(places) <= 13 else 5},
            hovertext=[f"{number + 1}, {layer_name(i)}: {value:.2f}" for i, value in enumerate(values)],
            hoverinfo="text",
            customdata=[{"set": {"layer": i}} for i in places],
            cliponaxis=False,
            row=2,
            col=1,
        )
    low, room = min(0.0, float(result.to_input.min())), 0.05 * len(places)
    ends = spread([LINES * (1 - float(values[-1])) / (1 - low) for values in result.to_input], LINES)
    fig.add_scatter(
        x=[places[-1] + room] * len(ends),
        y=[1 - end / LINES * (1 - low) for end in ends],
        mode="text",
        text=[
            f"{values[-1]:.2f} {i} {safe(clip(o.word, 8))}"
            for i, (o, values) in enumerate(zip(result.occurrences, result.to_input, strict=True), 1)
        ],
        textposition="middle right",
        textfont={"color": list(COLOURS[: len(ends)]), "size": 13},
        cliponaxis=False,
        hoverinfo="skip",
        row=2,
        col=1,
    )
    step = 1 if len(places) <= 13 else 6
    ticks = {"tickvals": places[::step], "ticktext": ["in", *map(str, places[1:])][::step], "tickangle": 0}
    fig.update_xaxes(domain=[0, PLOT], range=[-room, places[-1] + room], row=2, col=1, **ticks)
    fig.update_yaxes(range=[low, 1], nticks=6, row=2, col=1)
    line = {"color": TEXT, "width": 1}
    fig.add_shape(type="line", x0=result.layer, x1=result.layer, y0=low, y1=1, line=line, row=2, col=1)


def key(result: WordPath) -> list[tuple[str, str]]:
    """The sentence of each path under the picture."""
    lines = [
        (f"{i}. {safe(around(o.sentence, o.start, o.end, 34))}", COLOURS[i - 1])
        for i, o in enumerate(result.occurrences, 1)
    ]
    lines += [(note, TEXT) for note in notes(result)]
    return lines


def notes(result: WordPath) -> list[str]:
    """What the figure does not show."""
    found = [f"{result.left_out} more occurrences are not drawn"] if result.left_out else []
    if len(result.tokens) > CROWD:
        found.append(f"of {len(result.tokens):,} other tokens {CROWD} are drawn")
    return found


def say(result: WordPath) -> str:
    """How much of the vectors the plane shows, how far the word goes from its input, and whether its paths part."""
    first, layer = result.to_input[0], result.layer
    at = "at the input" if layer == 0 else f"after layer {layer}"
    step = np.linalg.norm(np.diff(result.paths[0], axis=0), axis=1)
    said = [
        f"The plane shows {percent(sum(result.explained))} of the variance of all vectors of all layers.",
        f"{quote(clip(result.occurrences[0].word, 30))} has a cosine of {first[layer]:.2f} with its own input {at}"
        + (f" and {first[-1]:.2f} at the end" if layer != len(first) - 1 else "")
        + f"; on this plane it moves furthest in layer {int(step.argmax()) + 1}.",
    ]
    if result.apart is not None:
        count = len(result.occurrences)
        who = "two" if count == 2 else f"{count}"
        said.append(
            f"The {who} occurrences have a mean cosine of {result.apart[0]:.2f} with each other at the input and "
            f"{result.apart[-1]:.2f} at the end."
        )
    if any(o.hidden for o in result.occurrences):
        said.append("Where the word is hidden its vector is that of [MASK].")
    said += [f"{note[0].upper()}{note[1:]}." for note in notes(result)]
    if result.beyond:
        said.append(f"{result.beyond} stand{'s' * (result.beyond == 1)} behind the last token that is read.")
    return " ".join(said)

"""Figure for word path: each occurrence's path through the layers on one plane, and its distance from its input."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.scatter import QUIET, Name, excerpt, limits, write_below, write_names
from bertexplorer.charts.style import GROUPS, MONO, TEXT, capital, clip, finish, label, percent, quote, safe
from bertexplorer.views.view import Example, View
from bertexplorer.views.word_path.compute import WordPath

VIEW = View(
    __package__,
    "Embeddings",
    place=2,
    title="Path",
    question="Where does a word go on its way through the layers?",
    note=(
        "A plane shows two of hundreds of directions; two paths that meet on it may be far apart in the others. The "
        "sentence above says how much of the variance the plane holds."
    ),
    papers=(
        "Pearson, 1901, On Lines and Planes of Closest Fit",
        "Voita et al., 2019, The Bottom-up Evolution of Representations in the Transformer",
    ),
    examples=(
        Example(
            "Two banks",
            "They sat on the bank of the river.",
            options={
                "word": "bank",
                "plane": "their differences",
                "sentences": "Boats lie at the bank of the canal. | The bank lent him money. | She works at a bank.",
            },
            shows="apart(6) < apart(0) - 0.1",
        ),
        Example(
            "The animal and the street",
            "The animal didn't cross the street because it was too tired.",
            picked="0:43-45",
            shows="to_input(6) < 0.5",
        ),
        Example(
            "Three words",
            "The doctor told the nurse to call the patient.",
            options={"word": "doctor, nurse, patient"},
            shows="apart(6) > apart(0) + 0.2",
        ),
        Example("What is hidden", "The capital of France is [MASK].", picked="0:25-31", shows="to_input(6) < 0.3"),
        Example(
            "Light and light",
            "The light is on.",
            options={
                "word": "light",
                "plane": "their differences",
                "sentences": "This bag is light. | Light the fire. | The light is off.",
            },
            shows="apart(6) < apart(0) - 0.1",
        ),
    ),
    chips="pick",
)

PLANE = 420  # px: the plane
LINES = 170  # px: the panel below
GAP = 62  # px: between them
PLOT = 0.7  # share of the width for the lines; their names are to the right
CROWD = 400  # other tokens that are drawn
LARGE = 15  # pixels: the marker of the chosen layer
SPANNED = {
    "all words": "all vectors of all layers",
    "these words": "these words' vectors of all layers",
    "their differences": "what sets these words apart in each layer",
}
DASHES = ("solid", "dash", "dot", "dashdot", "solid", "dash", "dot")


def draw(result: WordPath) -> Chart:
    several = result.apart is not None
    title = "mean cosine of the occurrences with each other" if several else "cosine with the word's own input vector"
    fig = kit.panels([PLANE, LINES], GAP, ("", title))
    plane(fig, result)
    curves(fig, result)
    below = write_below(fig, key(result), 40)
    return finish(fig, 30 + PLANE + LINES + GAP + below, margin={"l": 8, "r": 12, "t": 30, "b": below})


def plane(fig: Chart, result: WordPath) -> None:
    """The paths over the crowd: the other tokens of the texts, at their positions at the chosen layer."""
    crowd, tokens = result.crowd[result.layer][:CROWD], result.tokens[:CROWD]
    everything = np.concatenate([result.paths.reshape(-1, 2), crowd])
    ranges = [limits(everything[:, 0]), limits(everything[:, 1])]
    fig.add_scatter(
        x=crowd[:, 0].round(4),
        y=crowd[:, 1].round(4),
        mode="markers",
        marker={"color": TEXT, "size": 5, "opacity": 0.55},
        hovertext=[f"{label(token)}, {kit.layer_name(result.layer)}" for token in tokens],
        hoverinfo="text",
        row=1,
        col=1,
    )
    for number, path in enumerate(result.paths):
        track(fig, result, number, path)
    words(fig, result, crowd, ranges)
    title = kit.title(f"first component, {percent(result.explained[0])} of the variance", 8, 13)
    fig.update_xaxes(range=ranges[0], title=title, row=1, col=1, **QUIET)
    fig.update_yaxes(range=ranges[1], row=1, col=1, **QUIET)


def track(fig: Chart, result: WordPath, number: int, path: np.ndarray) -> None:
    """One path: a marker for each layer, a large one for the chosen layer."""
    colour, layers = GROUPS[number], range(len(path))
    marker = {
        "color": colour,
        "size": [LARGE if layer == result.layer else 7 for layer in layers],
        "symbol": ["diamond" if layer == 0 else "circle" for layer in layers],
    }
    name = f"{number + 1}. {label(result.occurrences[number].word)}"
    cosines = enumerate(result.to_input[number])
    hovers = [f"{name}, {kit.layer_name(layer)}: cosine {value:.2f} with its input" for layer, value in cosines]
    style: kit.Part = {"dash": DASHES[number], "marker": marker, "cliponaxis": None}
    lead: kit.Part = {
        "hovertext": hovers,
        "hoverinfo": "text",
        "customdata": [{"set": {"layer": layer}} for layer in layers],
    }
    fig.add_trace(kit.line(path[:, 0].round(4), path[:, 1].round(4), colour, **style, **lead), 1, 1)


def words(fig: Chart, result: WordPath, crowd: np.ndarray, ranges: list[list[float]]) -> None:
    """Names by priority: the paths at the chosen layer, their inputs, their layers, the crowd."""
    names = [
        Name(path[result.layer], f"{number} {clip(occurrence.word, 14)}", colour, LARGE)
        for number, (path, occurrence, colour) in enumerate(
            zip(result.paths, result.occurrences, GROUPS, strict=False), 1
        )
    ]
    for layer in (0, *range(result.paths.shape[1] - 1, 0, -1)):
        if layer != result.layer:
            text = "input" if layer == 0 else str(layer)
            names += [Name(path[layer], text, colour) for path, colour in zip(result.paths, GROUPS, strict=False)]
    names += [Name(point, clip(token, 12), TEXT) for point, token in zip(crowd, result.tokens, strict=False)]
    write_names(fig, names, PLANE, ranges, MONO, row=1, col=1)


def curves(fig: Chart, result: WordPath) -> None:
    """How alike the paths are, layer by layer; of a single one, its cosine with its own input."""
    values = result.to_input[0] if result.apart is None else result.apart
    if result.apart is None:
        name = label(result.occurrences[0].word, 8)
        colour = GROUPS[0]
    else:
        name = "with each other"
        colour = TEXT
    lines = [kit.LayerLine(name, f"{values[-1]:.2f} {name}", values.round(4), colour, "solid")]
    ends = (min(0.0, float(values.min())), 1.0)
    kit.layer_lines(fig, lines, ends, result.layer, height=LINES, share=PLOT)


def key(result: WordPath) -> list[tuple[str, str]]:
    """The sentence of each path under the picture."""
    lines = [
        (f"{i}. {safe(excerpt(o.sentence, o.start, o.end, 34))}", GROUPS[i - 1])
        for i, o in enumerate(result.occurrences, 1)
    ]
    lines += [(remark, TEXT) for remark in remarks(result)]
    return lines


def remarks(result: WordPath) -> list[str]:
    """What the figure does not show, as phrases without a full stop."""
    sentences = [f"{result.left_out} more occurrences are not drawn"] if result.left_out else []
    if len(result.tokens) > CROWD:
        sentences.append(f"of {len(result.tokens):,} other tokens {CROWD} are drawn")
    return sentences


def say(result: WordPath) -> str:
    """The variance that the plane shows, the distance of the word from its input, and the similarity of its paths."""
    first, layer = result.to_input[0], result.layer
    at = "at the input" if layer == 0 else f"after layer {layer}"
    step = np.linalg.norm(np.diff(result.paths[0], axis=0), axis=1)
    spanned = SPANNED[result.plane]
    sentences = [
        f"The plane shows {percent(sum(result.explained))} of the variance of {spanned}.",
        f"{quote(clip(result.occurrences[0].word, 30))} has a cosine of {first[layer]:.2f} with its own input {at}"
        + (f" and {first[-1]:.2f} at the end" if layer != len(first) - 1 else "")
        + f"; on this plane it moves furthest in layer {int(step.argmax()) + 1}.",
    ]
    if result.apart is not None:
        count = len(result.occurrences)
        number = "two" if count == 2 else f"{count}"
        sentences.append(
            f"The {number} occurrences have a mean cosine of {result.apart[0]:.2f} with each other at the input and "
            f"{result.apart[-1]:.2f} at the end."
        )
    if any(o.hidden for o in result.occurrences):
        sentences.append("Where the word is hidden its vector is that of [MASK].")
    sentences += [f"{capital(remark)}." for remark in remarks(result)]
    if result.beyond:
        sentences.append(
            f"{result.beyond} {'comes' if result.beyond == 1 else 'come'} after the last token that is read."
        )
    return " ".join(sentences)

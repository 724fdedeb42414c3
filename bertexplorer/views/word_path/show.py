"""Figure for word path: each occurrence's path through the layers on one plane, and its distance from its input."""

import numpy as np

from bertexplorer.charts.marks import GROUPS, Dash, Figure, Line, Lines, Panel, Points, StyledWords, TextLines, Tone
from bertexplorer.charts.style import capital, clip, excerpt, layer_name, percent, quote
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

CROWD = 400  # other tokens that are drawn
SPANNED = {
    "all words": "all vectors of all layers",
    "these words": "these words' vectors of all layers",
    "their differences": "what sets these words apart in each layer",
}
DASHES: tuple[Dash, ...] = ("solid", "dash", "dot", "dash", "solid", "dash", "dot")


def draw(result: WordPath) -> Figure:
    several = result.apart is not None
    title = "mean cosine of the occurrences with each other" if several else "cosine with the word's own input vector"
    component = f"first component, {percent(result.explained[0])} of the variance"
    panels = [
        Panel(plane(result), x=component),
        Panel([curve(result)], title, "after layer"),
        Panel([TextLines(key(result))]),
    ]
    return Figure(panels)


def plane(result: WordPath) -> list[Points]:
    """The paths; behind them the crowd: the other tokens of the texts, at their positions at the chosen layer."""
    paths = [track(result, number, path) for number, path in enumerate(result.paths)]
    crowd = result.crowd[result.layer][:CROWD].round(4)
    tokens = result.tokens[:CROWD]
    hover = [f"{token}, {layer_name(result.layer)}" for token in tokens]
    return [*paths, Points(crowd[:, 0], crowd[:, 1], tone="grey", size="dot", names=tokens, hover=hover)]


def track(result: WordPath, number: int, path: np.ndarray) -> Points:
    """One path: a point for each layer, a large one for the chosen layer."""
    word = result.occurrences[number].word
    names = ["input", *map(str, range(1, len(path)))]
    names[result.layer] = f"{number + 1} {clip(word, 14)}"
    hover = []
    for layer, cosine in enumerate(result.to_input[number].tolist()):
        hover.append(f"{number + 1}. {word}, {layer_name(layer)}: cosine {cosine:.2f} with its input")
    return Points(
        path[:, 0].round(4),
        path[:, 1].round(4),
        GROUPS[number],
        names=names,
        hover=hover,
        doors=[{"set": {"layer": layer}} for layer in range(len(path))],
        chosen=result.layer,
        joined=True,
        dash=DASHES[number],
    )


def curve(result: WordPath) -> Lines:
    """How alike the paths are, layer by layer; of a single one, its cosine with its own input."""
    values = result.to_input[0]
    name = clip(result.occurrences[0].word, 8)
    tone: Tone = "blue"
    if result.apart is not None:
        values = result.apart
        name = "with each other"
        tone = "grey"
    hover = [f"{name}, {layer_name(layer)}: {value:.2f}" for layer, value in enumerate(values.tolist())]
    line = Line(name, values.round(4), f"{values[-1]:.2f} {name}", tone, hover=hover)
    steps = ["in", *map(str, range(1, len(values)))]
    doors = [{"set": {"layer": layer}} for layer in range(len(values))]
    return Lines(steps, [line], high=1, chosen=result.layer, doors=doors)


def key(result: WordPath) -> list[StyledWords]:
    """The sentence of each path."""
    lines = []
    for number, occurrence in enumerate(result.occurrences, 1):
        sentence = excerpt(occurrence.sentence, occurrence.start, occurrence.end, 34)
        lines.append(StyledWords(f"{number}. {sentence}", GROUPS[number - 1]))
    return [*lines, *map(StyledWords, remarks(result))]


def remarks(result: WordPath) -> list[str]:
    """What the figure does not show, as phrases without a full stop."""
    sentences = []
    if result.left_out:
        sentences.append(f"{result.left_out} more occurrences are not drawn")
    if len(result.tokens) > CROWD:
        sentences.append(f"of {len(result.tokens):,} other tokens {CROWD} are drawn")
    return sentences


def say(result: WordPath) -> str:
    """The variance that the plane shows, the distance of the word from its input, and the similarity of its paths."""
    to_input = result.to_input[0]
    layer = result.layer
    steps = np.linalg.norm(np.diff(result.paths[0], axis=0), axis=1)
    furthest = int(steps.argmax()) + 1
    share = percent(sum(result.explained))
    sentences = [f"The plane shows {share} of the variance of {SPANNED[result.plane]}."]

    word = quote(clip(result.occurrences[0].word, 30))
    at = f"after layer {layer}" if layer else "at the input"
    cosine = f"{to_input[layer]:.2f} with its own input {at}"
    if layer != len(to_input) - 1:
        cosine = f"{cosine} and {to_input[-1]:.2f} at the end"
    sentences.append(f"{word} has a cosine of {cosine}; on this plane it moves furthest in layer {furthest}.")

    if result.apart is not None:
        count = len(result.occurrences)
        number = "two" if count == 2 else f"{count}"
        sentences.append(
            f"The {number} occurrences have a mean cosine of {result.apart[0]:.2f} with each other at the input and "
            f"{result.apart[-1]:.2f} at the end."
        )
    if any(occurrence.hidden for occurrence in result.occurrences):
        sentences.append("Where the word is hidden its vector is that of [MASK].")
    sentences += [f"{capital(remark)}." for remark in remarks(result)]
    if result.beyond:
        comes = "comes" if result.beyond == 1 else "come"
        sentences.append(f"{result.beyond} {comes} after the last token that is read.")
    return " ".join(sentences)

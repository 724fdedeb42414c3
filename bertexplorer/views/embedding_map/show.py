"""Figure for embedding map: a point for each token or sentence, the chosen one with its neighbours, and a list of
these."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertexplorer.charts.marks import GROUPS, Figure, Panel, Points, StyledWords, TextLines, Tone
from bertexplorer.charts.style import capital, clip, percent, quote
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

NAMED = 400  # points that may get a name
HUES = tuple(tone for tone in GROUPS if tone != "orange")  # orange marks the chosen point
FAINTEST = 0.35  # the opacity of the first point, coloured by position
UNGROUPED = ("", "special")
Look = tuple[Tone, bool]  # the tone of a group, and whether its points are rings


def draw(result: EmbeddingMap) -> Figure:
    looks = looks_of_groups(result)
    panels = [Panel([*chosen_points(result), *group_names(result, looks), all_points(result, looks)])]
    return Figure([*panels, Panel([TextLines(key(result, looks))])])


def looks_of_groups(result: EmbeddingMap) -> dict[str, Look]:
    """The groups that have a colour, the largest first: words that occur twice, or labels. With more groups than tones,
    the points of the others are rings."""
    if result.options.colour == "position":
        return {}
    sizes = Counter(group_of(result, i) for i in range(len(result.points)))
    for ungrouped in UNGROUPED:
        sizes.pop(ungrouped, None)
    least = 2 if is_by_word(result) else 1
    looks: dict[str, Look] = {}
    for name, size in sizes.most_common(2 * len(HUES)):
        if size >= least:
            is_ring = len(looks) >= len(HUES)
            looks[name] = HUES[len(looks) % len(HUES)], is_ring
    return looks


def is_by_word(result: EmbeddingMap) -> bool:
    """Whether a group is a word, wherever it occurs."""
    return result.options.colour == "word" and result.options.unit == "tokens"


def group_of(result: EmbeddingMap, i: int) -> str:
    """The group that decides the colour of point *i*: the word of a token, else the label of its line."""
    return result.points[i].text.lower() if is_by_word(result) else result.points[i].label


def chosen_points(result: EmbeddingMap) -> list[Points]:
    """A ring around the chosen point, and one around each neighbour. Sentences are too long for names, so they get
    their rank, as in the list below."""
    if result.chosen is None:
        return []
    neighbours = [neighbour.point for neighbour in result.neighbours]
    chosen_name = "chosen"
    names = [str(rank) for rank in range(1, len(neighbours) + 1)]
    if result.options.unit == "tokens":
        chosen_name = clip(result.points[result.chosen].text, 14)
        names = [clip(result.points[i].text, 14) for i in neighbours]
    marks = [rings(result, [result.chosen], [chosen_name], chosen=0)]
    if neighbours:
        marks.append(rings(result, neighbours, names))
    return marks


def rings(result: EmbeddingMap, indices: Sequence[int], names: Sequence[str], chosen: int | None = None) -> Points:
    """A ring around each of these points. *chosen*: which of them is the chosen one, if any."""
    return points_at(
        result.places[list(indices)],
        names=names,
        tokens=result.options.unit == "tokens",
        tone="orange",
        size="large",
        chosen=chosen,
        hollow=[True] * len(indices),
    )


def points_at(places: np.ndarray, **fields: Any) -> Points:
    """Points at *places*, in the plane or in space."""
    x, y, *z = places.astype(float).round(4).T
    return Points(x, y, z=z[0] if z else (), **fields)


def group_names(result: EmbeddingMap, looks: dict[str, Look]) -> list[Points]:
    """The name of each group in its middle, unless each point has its own name."""
    if not looks or (result.options.unit == "tokens" and result.options.colour != "label"):
        return []
    middles = []
    tones = []
    names = []
    for group, (tone, _) in looks.items():
        members = [i for i in range(len(result.points)) if group_of(result, i) == group]
        if len(members) > 1:
            middles.append(np.median(result.places[members], axis=0))
            tones.append(tone)
            names.append(clip(group, 18))
    return [points_at(np.array(middles), size="none", tones=tones, names=names)] if names else []


def all_points(result: EmbeddingMap, looks: dict[str, Look]) -> Points:
    """Every point, in the colour of its group or by its position. A press picks it."""
    count = len(result.points)
    fields: dict[str, Any] = {"size": "dot"}
    if count <= 200:
        fields["size"] = "usual"
    elif count <= 2000:
        fields["size"] = "small"

    if result.options.colour == "position":
        positions = np.array([point.position for point in result.points], dtype=float)
        share = (positions - positions.min()) / max(1.0, float(np.ptp(positions)))
        fields["opacity"] = (FAINTEST + (1 - FAINTEST) * share).round(2)
    else:
        look_of_each = [looks.get(group_of(result, i), ("grey", False)) for i in range(count)]
        fields["tones"] = [tone for tone, _ in look_of_each]
        if any(hollow for _, hollow in look_of_each):
            fields["hollow"] = [hollow for _, hollow in look_of_each]

    if result.options.unit == "tokens":
        names = [clip(point.text, 14) if i < NAMED else "" for i, point in enumerate(result.points)]
        if result.chosen is not None:  # its name, and those of its neighbours, are in marks of their own
            names[result.chosen] = ""
            for neighbour in result.neighbours:
                names[neighbour.point] = ""
        fields["names"] = names
        fields["tokens"] = True
    hover = [tip(result, i) for i in range(count)]
    return points_at(result.places, **fields, hover=hover, doors=[press(result, i) for i in range(count)])


def press(result: EmbeddingMap, i: int) -> dict[str, Any]:
    """The effect of a press on point *i*: pick its token in the strip, or show its neighbours."""
    picks = result.points[i].picks
    return {"set": {"point": -1}, "picked": picks} if picks else {"set": {"point": i}}


def tip(result: EmbeddingMap, i: int) -> str:
    """What the pointer shows of point *i*."""
    point = result.points[i]
    long = 60 if len(result.points) <= 2000 else 40
    group = f" ({clip(point.label, 20)})" if point.label else ""
    nearness = "" if result.nearness is None else f"\ncosine {result.nearness[i]:.2f} with the chosen one"
    return f"{clip(point.text, long)}{group}{nearness}"


def key(result: EmbeddingMap, looks: dict[str, Look]) -> list[StyledWords]:
    """The key under the map: the meaning of the colours, and the neighbours."""
    lines: list[StyledWords] = []
    if result.options.colour == "position":
        lines.append(StyledWords("Faint to strong: from the first to the last"))
    elif looks and is_by_word(result):
        lines.append(StyledWords("In colour: words that occur twice or more"))
    if result.chosen is None:
        return [*lines, StyledWords("Press a point for its neighbours")]
    chosen = quote(clip(result.points[result.chosen].text, 22))
    lines.append(StyledWords(f"Nearest to {chosen}, by cosine", "orange"))
    for rank, neighbour in enumerate(result.neighbours, 1):
        text = clip(result.points[neighbour.point].text, 32)
        lines.append(StyledWords(f"{rank}.  {neighbour.cosine:.2f}  {text}"))
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
    on_average = f"Two points have a cosine of {result.anisotropy:.2f} on average"
    if not np.isnan(result.baseline):
        on_average = f"{on_average}, two random words {result.baseline:.2f}"
    sentences.append(f"{on_average}.")
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

"""Figure for whose vectors: a bar for each recipe, as long as its distance from the given vectors, and what the texts
cannot show."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bertexplorer import wording
from bertexplorer.charts.marks import Arcs, Bar, Bars, Figure, Panel, StyledWords, TextLines, Tick, Tone, key
from bertexplorer.charts.style import capital
from bertexplorer.views.view import Example, View
from bertexplorer.views.whose_vectors.compute import WhoseVectors

if TYPE_CHECKING:
    from bertexplorer.diagnosis.answer import NearRecipe

VIEW = View(
    __package__,
    "Sentences",
    place=6,
    title="Whose vectors",
    question="How were these vectors made?",
    note=(
        "A recipe is named only if every other one is several times as far from at least one text, and if it also fits "
        "texts that were not used to find it. “None” may mean another checkpoint, another revision, or a step that is "
        "not tried here. What no text shows, such as where long ones are cut, stays open. All is computed in fp32."
    ),
    papers=("Reimers and Gurevych, 2019, Sentence-BERT",),
    examples=(
        Example(
            "Another pooling",
            "",
            options={"planted": "another pooling"},
            shows='found() == "named" and pooling() == "cls" and distance() < 0.0001',
        ),
        Example(
            "A layer too early",
            "",
            options={"planted": "a layer too early"},
            shows='found() == "named" and layer() == layers() - 1',
        ),
        Example("A prompt before each text", "", options={"planted": "a prompt before it"}, shows='found() == "named"'),
        Example("Lines in another order", "", options={"planted": "in another order"}, shows='found() == "shuffled"'),
        Example("None of these", "", options={"planted": "read in halves"}, shows='found() == "none"'),
    ),
    chips="",
    slow=True,
    needs=("vectors",),
    text=False,
    first="planted",
)

DRAWN = 6  # recipes, and those that fit, and that of the files


def draw(result: WhoseVectors) -> Figure:
    if result.order:
        return Figure([draw_order(result.order)])
    drawn = list(result.nearest[:DRAWN])
    for recipe in result.nearest[DRAWN:]:
        if recipe.fits or not recipe.beside:
            drawn.append(recipe)
    entries: list[tuple[str, Tone, str]] = [("■", "blue", "recipes that were tried")]
    if any(not recipe.beside and not recipe.fits for recipe in drawn):
        entries.append(("■", "orange", "what the files say"))
    entries.append(("┃", "grey", "on the texts it was found with"))
    panels = []
    if drawn:
        bars = Bars([bar(recipe) for recipe in drawn], above=True, axis=True)
        panels.append(Panel([bars, key(*entries)], x="distance (1 - cosine) on held-out texts"))
    if result.unseen:
        lines = TextLines([StyledWords(sentence) for sentence in result.unseen])
        panels.append(Panel([lines], "What these texts cannot show"))
    return Figure(panels)


def draw_order(order: tuple[tuple[str, str], ...]) -> Panel:
    """A line from each text to the text whose vector it has."""
    texts = [text for text, _ in order]
    others = list(dict.fromkeys([*texts, *(other for _, other in order)]))
    links = [(row, others.index(other), 1.0) for row, (_, other) in enumerate(order)]
    return Panel([Arcs(texts, others, links)], "each text → the text whose vector it has")


def bar(recipe: NearRecipe) -> Bar:
    """A recipe, named by what differs from the files."""
    distance = wording.distance(recipe.confirmed)
    lines = [
        recipe.said,
        f"distance on the texts it was found with: {wording.distance(recipe.found)}",
        f"on the others: {distance}",
    ]
    tone: Tone = "blue"
    if recipe.fits:
        tone = "green"
        distance = f"{distance}: gives these vectors"
    elif not recipe.beside:
        tone = "orange"
    return Bar(
        label=capital(recipe.beside or "as the files say"),
        value=recipe.confirmed,
        text=distance,
        tone=tone,
        hover="\n".join(lines),
        ticks=[Tick(recipe.found, "grey")],
        bold=recipe.fits,
    )


def say(result: WhoseVectors) -> str:
    """The answer of the doctor, and which texts were left out."""
    sentences = [result.said, *result.left_out]
    if len(result.nearest) > DRAWN and not result.order:
        sentences.append(f"The {DRAWN} nearest recipes are drawn.")
    return " ".join(sentences)

"""Figure for sentence matrix: a row for the first sentence, a column for the second, and the list of sentences
below."""

import numpy as np

from bertexplorer.answers.sample_sentences import STORY
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ORANGE, SHADES, clip, finish, label, percent, quote, shortened_pairs
from bertexplorer.views.sentence_matrix.compute import SentenceMatrix
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=2,
    title="Paragraph",
    question="Can BERT tell which sentence comes next?",
    note=(
        "Each cell is P(is next), label 0 of the two. If BERT knew the order, the framed cells would stand out; it "
        "relies on the topic instead, so all pairs on one subject score high. Sentences are split at . ! ? before a "
        "capital letter and at line breaks, so “Mr. Smith” is split in two; the first 12 sentences are scored."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("A story", " ".join(STORY), shows="mean_neighbours() > mean_others() + 0.1"),
        Example("The same story, backwards", " ".join(STORY[::-1]), shows="mean_neighbours() > 0.5"),
        Example(
            "Two topics in turn",
            "The man went to the store. Penguins are flightless birds. He bought a gallon of milk. They live near the "
            "coast of Antarctica. He paid and walked home. They swim well and eat fish.",
            shows="mean_neighbours() < 0.1 and mean_others() > 0.3",
        ),
        Example(
            "It says the opposite",
            "The museum is open today. The museum is closed today. It was never open. Many people visited it this "
            "morning.",
            shows="mean_neighbours() > 0.5",
        ),
        Example(
            "Questions and answers",
            "What is the capital of France? The capital of France is Paris. Where do penguins live? They live near the "
            "coast of Antarctica. Who wrote Hamlet? It was written by Shakespeare.",
            shows="mean_neighbours() > mean_others()",
        ),
    ),
)

ROOMY = 5  # sentences up to which cells show the % sign


def draw(result: SentenceMatrix) -> Chart:
    count = len(result.sentences)
    matrix = result.matrix
    places = list(range(count))
    numbers = [[number(float(p), count) for p in row] for row in matrix]
    hovers = [[hover(result, i, j) for j in places] for i in places]
    font = kit.ink(13 if count <= 8 else 12)
    fig = Chart([kit.cells(matrix, SHADES, 0, 1, text=numbers, hover=hovers, textfont=font, hoverongaps=False)])
    for i in range(count - 1):
        box = {"x0": i + 0.5, "x1": i + 1.5, "y0": i - 0.5, "y1": i + 0.5}
        fig.add_shape(type="rect", line={"color": ORANGE, "width": 2}, **box)
    ticks = {**kit.counted(count), "fixedrange": True}
    fig.update_xaxes(side="top", title=kit.title("… does this one follow?", 6, 13), **ticks)
    fig.update_yaxes(autorange="reversed", title=kit.title("After this one …", 6, 13), **ticks)
    side = max(44 if count <= ROOMY else 34, 200 // count)
    key = ["Orange frames: neighbours in the text"] + ([] if count <= ROOMY else ["Numbers are per cent"])
    key += [f"{i}. {label(sentence, 44)}" for i, sentence in enumerate(result.sentences, 1)]
    below = 10 + kit.write_below(fig, key, 10, 22, 13, xshift=-34)
    return finish(fig, 60 + side * count + below, margin={"l": 8, "r": 8, "t": 60, "b": below})


def number(p: float, count: int) -> str:
    """A probability in a cell: 97 %, or 97 if there is little room."""
    if np.isnan(p):
        return ""
    if count <= ROOMY:
        return percent(p)
    if p > 0.99:
        return "&gt;99"
    return "&lt;1" if p < 0.01 else f"{100 * p:.0f}"


def hover(result: SentenceMatrix, i: int, j: int) -> str:
    first, second = (label(result.sentences[k], 60) for k in (i, j))
    yes, no = result.logits[i, j]
    share = (
        "" if i == j else f"<br>is next {percent(float(result.matrix[i, j]))} (logits {yes:.2f} is next, {no:.2f} not)"
    )
    return f"{i + 1}. {first}<br>{j + 1}. {second}{share}"


def say(result: SentenceMatrix) -> str:
    count, matrix = len(result.sentences), result.matrix
    neighbours, others = float(matrix[result.neighbours].mean()), float(matrix[result.others].mean())
    i, j = np.unravel_index(int(np.nanargmin(matrix)), matrix.shape)
    above = f"{result.above} of {count - 1} neighbours {'is' if result.above == 1 else 'are'} above that"
    sentence = (
        f"Sentences that do follow one another score {percent(neighbours)} on average, all other pairs "
        f"{percent(others)}; {above}. Least likely ({percent(float(matrix[i, j]))}): "
        f"{quote(clip(result.sentences[j], 50))} after {quote(clip(result.sentences[i], 50))}."
    )
    left_out = result.left_out
    were = "sentences were" if left_out > 1 else "sentence was"
    more = [f"{left_out} more {were} not scored."] if left_out else []
    return " ".join([sentence, *more, *shortened_pairs(result.shortened)])

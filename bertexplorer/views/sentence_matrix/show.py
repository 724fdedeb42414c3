"""Figure for sentence matrix: a row for the first sentence, a column for the second, and the list of sentences
below."""

import numpy as np

from bertexplorer.answers.sample_sentences import STORY
from bertexplorer.charts.marks import Cells, Figure, Panel, StyledWords, TextLines
from bertexplorer.charts.style import clip, percent, quote, shortened_pairs
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


def draw(result: SentenceMatrix) -> Figure:
    """A cell for each two sentences; those that are neighbours in the text are framed."""
    count = len(result.sentences)
    text = []
    hover = []
    neighbours = []
    for i, shares in enumerate(result.matrix.tolist()):
        text.append([number(share, count) for share in shares])
        hover.append([pair(result, i, j) for j in range(count)])
        if i + 1 < count:
            neighbours.append((i, i + 1))
    names = [str(i) for i in range(1, count + 1)]
    cells = Cells(names, names, result.matrix, low=0, high=1, text=text, hover=hover, framed=neighbours)
    question = "After the sentence on the left, does the one above follow"
    if count > ROOMY:
        question = f"{question}, in per cent"
    title = f"{question}? Framed: neighbours in the text"
    key = [StyledWords(f"{name}. {sentence}") for name, sentence in zip(names, result.sentences, strict=True)]
    return Figure([Panel([cells], title), Panel([TextLines(key)])])


def number(p: float, count: int) -> str:
    """A probability in a cell: 97 %, or 97 if there is little room."""
    if np.isnan(p):
        return ""
    if count <= ROOMY:
        return percent(p)
    if p > 0.99:
        return ">99"
    return "<1" if p < 0.01 else f"{100 * p:.0f}"


def pair(result: SentenceMatrix, i: int, j: int) -> str:
    """Two sentences and the answer to them."""
    lines = [f"{i + 1}. {result.sentences[i]}", f"{j + 1}. {result.sentences[j]}"]
    if i != j:
        yes, no = result.logits[i, j]
        lines.append(f"is next {percent(float(result.matrix[i, j]))} (logits {yes:.2f} is next, {no:.2f} not)")
    return "\n".join(lines)


def say(result: SentenceMatrix) -> str:
    matrix = result.matrix
    neighbours = float(matrix[result.neighbours].mean())
    others = float(matrix[result.others].mean())
    verb = "is" if result.above == 1 else "are"
    i, j = np.unravel_index(int(np.nanargmin(matrix)), matrix.shape)
    sentences = [
        f"Sentences that do follow one another score {percent(neighbours)} on average, all other pairs "
        f"{percent(others)}; {result.above} of {len(result.sentences) - 1} neighbours {verb} above that.",
        f"Least likely ({percent(float(matrix[i, j]))}): {quote(clip(result.sentences[j], 50))} after "
        f"{quote(clip(result.sentences[i], 50))}.",
    ]
    if result.left_out == 1:
        sentences.append("1 more sentence was not scored.")
    elif result.left_out:
        sentences.append(f"{result.left_out} more sentences were not scored.")
    return " ".join([*sentences, *shortened_pairs(result.shortened)])

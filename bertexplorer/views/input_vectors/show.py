"""Figure for input vectors: a stripe of colours for each vector, and the cosines between them."""

import numpy as np

from bertexplorer.charts.marks import Cells, Figure, Panel
from bertexplorer.charts.style import decimal, quote
from bertexplorer.views.input_vectors.compute import InputVectors
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=2,
    title="Vectors",
    question="What is added up for a token?",
    note=(
        "A single number of a vector has no name and no meaning of its own; only directions do. The position vector is "
        "shorter than the word's, but that does not make it unimportant: the layers learn to read it."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example(
            "Bank",
            "The doctor went to the bank.",
            picked="0:23-27",
            shows='cosine("sum", "word") > cosine("sum", "position")',
        ),
        Example(
            "The same word twice",
            "Buffalo buffalo buffalo.",
            picked="0:8-15",
            shows='length("position") > 0 and about() == "buffalo"',
        ),
        Example(
            "[CLS]",
            "The capital of France is Paris.",
            picked="2:0-1",
            shows='cosine("sum", "position") > cosine("sum", "word")',
        ),
        Example("A hidden word", "The capital of France is [MASK].", picked="0:25-31", shows='about() == "[MASK]"'),
        Example(
            "In segment B",
            "The man went to the store.",
            "He bought a gallon of milk.",
            picked="1:22-26",
            shows='about() == "milk" and length("segment") > 0',
        ),
    ),
    chips="pick",
)

NAMES = {"word": "word", "position": "position", "segment": "segment", "sum": "sum", "normalised": "LayerNorm"}


def draw(result: InputVectors) -> Figure:
    """A stripe for each vector, a cell for each of its numbers; below, the cosine of each two."""
    names = [NAMES.get(part, part) for part in result.parts]
    lengths = [f"{name}\n{np.linalg.norm(vector):.1f}" for name, vector in zip(names, result.vectors, strict=True)]
    widest = max(len(vector) for vector in result.vectors)
    shades = np.full((len(names), widest), np.nan)
    numbers = np.full((len(names), widest), np.nan)
    for row, (vector, limit) in enumerate(zip(result.vectors, result.limits, strict=True)):
        shades[row, : len(vector)] = vector / limit
        numbers[row, : len(vector)] = vector
    stripes = Cells(lengths, (), shades.round(4), palette="strong", low=-1, high=1, numbers=numbers.round(4))
    text = []
    for line in result.cosines:
        text.append(["" if np.isnan(cosine) else decimal(cosine) for cosine in line])
    cosines = Cells(names, names, result.cosines.round(3), palette="signed", low=-1, high=1, text=text)
    return Figure([Panel([stripes], "each number: orange −, blue +"), Panel([cosines], "cosine between them")])


def say(result: InputVectors) -> str:
    """The longest vector, and the vector closest to the sum."""
    lengths = [float(np.linalg.norm(vector)) for vector in result.vectors]
    total = result.parts.index("sum")  # those before it are added
    if total == 1:
        return f"{quote(result.token)} enters as its word vector alone, {lengths[0]:.1f} long."
    parts = ", ".join(f"{part} {lengths[i]:.1f}" for i, part in enumerate(result.parts[:total]))
    closest = max(range(total), key=lambda i: result.cosines[total, i])
    sentences = [
        f"For {quote(result.token)} at position {result.position}, vectors of these lengths are added: {parts}.",
        f"The sum, {lengths[total]:.1f} long, is closest in direction to the {result.parts[closest]} vector (cosine "
        f"{result.cosines[total, closest]:.2f}); LayerNorm makes it {lengths[total + 1]:.1f} long (its colours have "
        "their own scale).",
    ]
    if result.others:
        sentences.append(f"{result.others} more picked tokens are not shown.")
    return " ".join(sentences)

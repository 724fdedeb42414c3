"""Figure for input vectors: a stripe of colours for each vector, and the cosines between them."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import SIGNED, clip, decimal, finish, quote
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

# px
STRIPE = 46
CELL = 40
GAP = 84
NAMES = {"word": "word", "position": "position", "segment": "segment", "sum": "sum", "normalised": "LayerNorm"}
BROKEN = {"position": "posi-<br>tion", "segment": "seg-<br>ment", "LayerNorm": "Layer-<br>Norm"}  # for a phone


def draw(result: InputVectors) -> Chart:
    names = [NAMES.get(part, part) for part in result.parts]
    heights = [STRIPE * len(names), CELL * len(names)]
    fig = kit.panels(heights, GAP, ("each number: orange −, blue +", "cosine between them"))
    widest = max(len(vector) for vector in result.vectors)
    shades = [v / limit for v, limit in zip(result.vectors, result.limits, strict=True)]
    padded, numbers = (
        [[*v.round(4).tolist(), *[None] * (widest - len(v))] for v in lines] for lines in (shades, result.vectors)
    )
    tip = "dimension %{x}: %{customdata:.3f}<extra></extra>"
    stripes = kit.cells(padded, SIGNED, -1, 1, customdata=numbers, hovertemplate=tip)
    fig.add_trace({**stripes, "xgap": None, "ygap": 6}, 1, 1)
    lengths = [f"{name}<br>{np.linalg.norm(v):.1f}" for name, v in zip(names, result.vectors, strict=True)]
    cosines = [[None if np.isnan(c) else round(float(c), 3) for c in line] for line in result.cosines]
    text = [["" if np.isnan(c) else decimal(c) for c in line] for line in result.cosines]
    cells = kit.cells(cosines, SIGNED, -1.6, 1.6, text=text, hoverinfo="skip")  # paler, so that one can read on it
    fig.add_trace({**cells, "ygap": 6}, 2, 1)
    for row, labels in ((1, lengths), (2, names)):
        fig.update_yaxes(kit.down(labels), fixedrange=True, row=row, col=1)
    fig.update_xaxes(showgrid=False, fixedrange=True)
    short = kit.ticks([BROKEN.get(name, clip(name, 9)) for name in names])
    fig.update_xaxes(tickangle=0, tickfont={"size": 12}, **short, row=2, col=1)
    return finish(fig, kit.height_of(heights, GAP) + 90, margin={"l": 8, "r": 12, "t": 32, "b": 44})


def say(result: InputVectors) -> str:
    """The longest vector, and the vector closest to the sum."""
    lengths = [float(np.linalg.norm(v)) for v in result.vectors]
    into = result.parts.index("sum")
    if into == 1:
        return f"{quote(result.token)} enters as its word vector alone, {lengths[0]:.1f} long."
    parts = ", ".join(f"{part} {lengths[i]:.1f}" for i, part in enumerate(result.parts[:into]))
    closest = max(range(into), key=lambda i: result.cosines[into, i])
    others = f" {result.others} more picked tokens are not shown." if result.others else ""
    return (
        f"For {quote(result.token)} at position {result.position}, vectors of these lengths are added: {parts}. The "
        f"sum, {lengths[into]:.1f} long, is closest in direction to the {result.parts[closest]} vector (cosine "
        f"{result.cosines[into, closest]:.2f}); LayerNorm makes it {lengths[into + 1]:.1f} long (its "
        f"colours have their own scale).{others}"
    )

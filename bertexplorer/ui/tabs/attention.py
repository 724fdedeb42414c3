"""Attention: who looks at whom, in one head, in several, or in all of them."""

from bertexplorer.analysis import attention as analysis  # noqa: F401
from bertexplorer.figures import attention as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Heads"
GROUP = "Attention"
CHIPS = "pick"
QUESTION = "Who looks at whom?"
NOTE = (
    "A weight says how much a head reads from a token, not how much that token matters for the answer. What is read "
    "may be next to nothing (choose norm), and many heads rest on a special token when they find nothing to do: on "
    "[SEP] in BERT-base, on [CLS] in mini."
)
EXAMPLES = (
    Example("It was too tired", "The animal didn't cross the street because it was too tired.", picked="0:43-45"),
    Example("It was too wide", "The animal didn't cross the street because it was too wide.", picked="0:43-45"),
    Example(
        "Two sentences",
        "The man went to the store.",
        "He bought a gallon of milk.",
        options={"show": "arcs", "direction": "B to A", "special": "hidden"},
    ),
    Example(
        "The keys to the cabinet",
        "The keys to the cabinet [MASK] on the table.",
        options={"show": "arcs", "special": "hidden"},
    ),
    Example(
        "Pieces to words",
        "Untranslatable misunderstandings embarrassed the philosophers.",
        options={"show": "head", "merge": True, "special": "discounted"},
    ),
)

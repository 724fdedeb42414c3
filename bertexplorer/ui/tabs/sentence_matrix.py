"""Paragraph: every sentence of a paragraph after every other."""

from bertexplorer.analysis import sentence_matrix as analysis  # noqa: F401
from bertexplorer.figures import sentence_matrix as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Next sentence"
TITLE = "Paragraph"
QUESTION = "Can BERT tell which sentence comes next?"
NOTE = (
    "Each cell is P(is next), label 0 of the two. If BERT knew the order, the framed cells would stand out; it goes by "
    "the topic instead, so all pairs of one subject score high. Sentences are cut at . ! ? before a capital letter and "
    "at line breaks, so “Mr. Smith” is cut in two; the first 12 are scored."
)
STORY = (
    "The man went to the store.",
    "He bought a gallon of milk.",
    "Then he walked home and put it in the fridge.",
    "In the morning his children drank it.",
)
EXAMPLES = (
    Example("A story", " ".join(STORY)),
    Example("The same, backwards", " ".join(STORY[::-1])),
    Example(
        "Two topics in turn",
        "The man went to the store. Penguins are flightless birds. He bought a gallon of milk. They live near the "
        "coast of Antarctica. He paid and walked home. They swim well and eat fish.",
    ),
    Example(
        "It says the opposite",
        "The museum is open today. The museum is closed today. It was never open. Many people visited it this morning.",
    ),
    Example(
        "Questions and answers",
        "What is the capital of France? The capital of France is Paris. Where do penguins live? They live near the "
        "coast of Antarctica. Who wrote Hamlet? It was written by Shakespeare.",
    ),
)

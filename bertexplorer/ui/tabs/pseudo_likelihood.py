"""Whole sentence: each word hidden in turn, and how likely the sentence is."""

from bertexplorer.analysis import pseudo_likelihood as analysis  # noqa: F401
from bertexplorer.figures import pseudo_likelihood as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
TITLE = "Whole sentence"
QUESTION = "How likely is this sentence, word by word?"
NOTE = (
    "Each word is judged with all the others in view, so this is no probability of the sentence and does not compare "
    "with the perplexity of a left-to-right model. Compare sentences of the same length, on the same checkpoint."
)
EXAMPLES = (
    Example("An ordinary sentence", "The man went to the store to buy some milk."),
    Example("One odd word", "The man went to the store to buy some justice."),
    Example("Agreement", "The keys to the cabinet is on the table."),
    Example("Garden path", "The old man the boat."),
    Example("Word order", "The dog bit the man and the man bit the dog."),
)

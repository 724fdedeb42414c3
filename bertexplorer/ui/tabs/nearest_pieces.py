"""Nearest pieces: the neighbours of a token in the embedding table."""

from bertexplorer.analysis import nearest_pieces as analysis  # noqa: F401
from bertexplorer.figures import nearest_pieces as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Input"
TITLE = "Nearest pieces"
QUESTION = "Which tokens have similar embeddings?"
CHIPS = "pick"
NOTE = (
    "The table has one vector for each piece, whatever the sentence: river banks and money banks share one. Near often "
    "means spelt alike or used in the same places, not meaning the same: opposites are neighbours too."
)
EXAMPLES = (
    Example("Bank", "The doctor went to the bank.", picked="0:23-27"),
    Example("Paris", "Paris is the capital of France.", picked="0:0-5"),
    Example("Good and bad", "A good start and a bad end.", picked="0:2-6,0:19-22"),
    Example("A number", "She was born in 1984.", picked="0:16-20"),
    Example("A piece of a word", "Tokenization is unbelievably hard.", picked="0:5-12"),
)

"""Input: how the text is cut, and the vectors that add up to what enters the first layer."""

from bertexplorer.analysis import tokenization as analysis  # noqa: F401
from bertexplorer.figures import tokenization as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Input"
TITLE = "Pieces"
QUESTION = "What goes in?"
NOTE = (
    "Pieces are what was frequent in the text that the vocabulary was made from, not parts that carry a meaning. A "
    "long vector is not an important token: LayerNorm evens out the lengths, and what counts is the direction."
)
EXAMPLES = (
    Example("Embeddings", "BERT adds three embeddings for each token."),
    Example("Unbelievable", "Tokenization is unbelievably misunderstandable."),
    Example("A name", "Beyoncé met Nikolai Rimsky-Korsakov in Reykjavík."),
    Example("Signs it does not know", "I love 🍕 and 🤖 robots."),
    Example("A pair", "The man went to the store.", "He bought a gallon of milk."),
)

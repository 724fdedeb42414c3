"""Input vectors: what is added up for one token."""

from bertexplorer.analysis import input_vectors as analysis  # noqa: F401
from bertexplorer.figures import input_vectors as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Input"
TITLE = "Vectors"
QUESTION = "What is added up for a token?"
CHIPS = "pick"
NOTE = (
    "A single number of a vector has no name and no meaning of its own; only directions do. That the position vector "
    "is short beside the word's does not make it unimportant: the layers learn to read it."
)
EXAMPLES = (
    Example("Bank", "The doctor went to the bank.", picked="0:23-27"),
    Example("The same word twice", "Buffalo buffalo buffalo.", picked="0:8-15"),
    Example("[CLS]", "The capital of France is Paris.", picked="2:0-1"),
    Example("A hidden word", "The capital of France is [MASK].", picked="0:25-31"),
    Example("In segment B", "The man went to the store.", "He bought a gallon of milk.", picked="1:22-26"),
)

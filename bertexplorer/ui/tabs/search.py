"""Search: lines that mean something like the text."""

from bertexplorer.analysis import search as analysis  # noqa: F401
from bertexplorer.figures import search as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Search"
GROUP = "Embeddings"
CHIPS = ""
QUESTION = "Which lines mean something like this?"
NOTE = (
    "BERT was trained to fill masks, not to compare sentences: even unrelated sentences have a cosine above 0. Compare "
    "with what random sentences score, which the figure marks. Checkpoints trained for search do this better."
)
EXAMPLES = (
    Example("A judge in court", "A judge in court"),
    Example("Feeling ill", "I feel ill and need some help."),
    Example("River bank", "Ducks swim near the bank."),
    Example("Money bank", "He borrowed a lot of cash."),
    Example("By [CLS]", "A judge in court", options={"pooling": "CLS"}),
)

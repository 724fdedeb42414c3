"""Layers: what would be predicted after each layer, and where the answer is settled."""

from bertexplorer.analysis import layers as analysis  # noqa: F401
from bertexplorer.figures import layers as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Layers"
TITLE = "Layers"
QUESTION = "When does BERT make up its mind?"
NOTE = (
    "The head that reads out words was trained on the last layer only. An earlier layer may know more than the head "
    "can read there, so a poor answer early on does not show that nothing is known yet."
)
EXAMPLES = (
    Example("The capital of France", "The capital of France is [MASK]."),
    Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"words": "is, are"}),
    Example("A robin is (not) a bird", "A robin is not a [MASK]."),
    Example("He or she", "The doctor said that [MASK] is busy.", options={"words": "he, she"}),
    Example("The farmers", "The farmers cultivate the [MASK] to grow crops.", options={"words": "land, crops, rice"}),
)

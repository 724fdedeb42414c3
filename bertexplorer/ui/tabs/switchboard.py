"""Switchboard: heads switched off, and what the answer becomes."""

from bertexplorer.analysis import switchboard as analysis  # noqa: F401
from bertexplorer.figures import switchboard as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Attention"
TITLE = "Switchboard"
QUESTION = "Which heads does the answer need?"
NOTE = (
    "A network without a head is one that was never trained: zeros are a stranger to the layers above, so compare with "
    "the random sets, and with the mean. A head picked because it changes most beats random ones by that alone. Heads "
    "stand in for each other, so a head that can be missed may still be used."
)
EXAMPLES = (
    Example("The capital of France", "The capital of France is [MASK].", options={"off": "6·6"}),
    Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"word": "are"}),
    Example(
        "A patch",
        "The capital of France is [MASK].",
        options={"how": "patch", "source": "The capital of Japan is [MASK].", "off": "6·6, 6·1, 5·6", "word": "japan"},
    ),
    Example("He or she", "The doctor said that [MASK] is busy.", options={"word": "she", "how": "mean"}),
    Example("Does B follow A", "The man went to the store.", "He bought a gallon of milk."),
)

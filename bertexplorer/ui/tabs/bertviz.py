"""BertViz: its head view, model view and neuron view."""

from bertexplorer.analysis import bertviz as analysis  # noqa: F401
from bertexplorer.figures import bertviz as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "BertViz"
GROUP = "Attention"
CHIPS = "pick"
QUESTION = "What do the heads look like in BertViz?"
NOTE = (
    "Lines of several heads lie on top of each other, so a dark bundle is not one strong head. Attention shows what a "
    "head reads, not why the answer came out as it did."
)
EXAMPLES = (
    Example("It was too tired", "The animal didn't cross the street because it was too tired."),
    Example("Two sentences", "The man went to the store.", "He bought a gallon of milk.", options={"layers": "1-3"}),
    Example("All heads", "The keys to the cabinet [MASK] on the table.", options={"kind": "model"}),
    Example("Queries and keys", "The capital of France is [MASK].", options={"kind": "neuron"}),
    Example("River bank", "She sat on the bank of the river.", options={"kind": "head", "layers": "5"}),
)

"""Attention flow: where a token comes from, all layers taken together."""

from bertexplorer.analysis import attention_flow as analysis  # noqa: F401
from bertexplorer.figures import attention_flow as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Rollout and flow"
GROUP = "Attention"
CHIPS = "pick"
QUESTION = "Where does a token come from?"
NOTE = (
    "Both methods follow the weights alone and count a layer's own token as half: what value vectors and feed-forward "
    "blocks do is not in there. After many layers all tokens look alike; that lies in the method."
)
EXAMPLES = (
    Example("It was too tired", "The animal didn't cross the street because [MASK] was too tired."),
    Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table."),
    Example("Flow", "The keys to the cabinet [MASK] on the table.", options={"method": "flow", "layer": 2}),
    Example("The capital of France", "The capital of France is [MASK].", options={"method": "raw"}),
    Example("Two sentences", "The man went to the store.", "He bought a gallon of [MASK].", options={"layer": 3}),
)

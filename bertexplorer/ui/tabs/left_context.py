"""Left side only: the same blank with the right side hidden from the encoder."""

from bertexplorer.analysis import left_context as analysis  # noqa: F401
from bertexplorer.figures import left_context as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
TITLE = "Left side only"
QUESTION = "What does it mean to read in both directions?"
NOTE = (
    "On the right each token is shut off from what stands behind it, as in a left-to-right language model. BERT was "
    "not trained that way, so its left-only answers are worse than such a model's would be."
)
EXAMPLES = (
    Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
    Example("The answer comes last", "The [MASK] barked at the postman."),
    Example("The capital of France", "[MASK] is the capital of France."),
    Example("Two readings", "He took the [MASK] and caught three fish."),
    Example("A question", "[MASK] is the president? It is the woman over there."),
)

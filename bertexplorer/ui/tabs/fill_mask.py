"""Fill-mask: what the checkpoint would put in each blank."""

from bertexplorer.analysis import fill_mask as analysis  # noqa: F401
from bertexplorer.figures import fill_mask as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
TITLE = "One mask"
QUESTION = "What would BERT put here?"
NOTE = (
    "These are bets on which word people would write, not facts that BERT knows: it can be sure and wrong. Each blank "
    "is answered as if it were the only one."
)
EXAMPLES = (
    Example("The capital of France", "The capital of France is [MASK]."),
    Example("A robin is (not) a bird", "A robin is not a [MASK]."),
    Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"words": "is, are"}),
    Example("IBM [MASK] me", "IBM [MASK] me BERT."),
    Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
)

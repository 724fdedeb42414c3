"""Two sentences: the same blank in another sentence, over the whole vocabulary."""

from bertexplorer.analysis import contrast as analysis  # noqa: F401
from bertexplorer.figures import contrast as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
TITLE = "Two sentences"
QUESTION = "What changes when one word of the sentence does?"
NOTE = (
    "Each dot is a piece of the vocabulary; on the dotted line it is as likely in both. Words are named only if one of "
    "the two gives them 0.01 % or more. A difference shows what the training text holds, not what is true or fair."
)
EXAMPLES = (
    Example(
        "Texas, New York",
        "In Texas they like to buy [MASK].",
        options={"other": "In New York they like to buy [MASK]."},
    ),
    Example(
        "Doctor, nurse",
        "The doctor said that [MASK] is busy.",
        options={"other": "The nurse said that [MASK] is busy."},
    ),
    Example("Is, is not", "A robin is a [MASK].", options={"other": "A robin is not a [MASK]."}),
    Example(
        "River bank, savings bank",
        "We sat by the river and looked at the [MASK].",
        options={"other": "We went to the bank and asked about the [MASK]."},
    ),
    Example("Then, now", "In 1850 people travelled by [MASK].", options={"other": "Today people travel by [MASK]."}),
)

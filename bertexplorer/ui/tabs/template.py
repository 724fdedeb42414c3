"""Template: one sentence with alternatives, swept over all of them."""

from bertexplorer.analysis import template as analysis  # noqa: F401
from bertexplorer.figures import template as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
CHIPS = ""
TITLE = "Template"
QUESTION = "What does a change of one word do, case by case?"
NOTE = (
    "Write alternatives in braces: {doctor|nurse}. One template is an anecdote: before you speak of bias, try several "
    "wordings, names and checkpoints, and see how far the numbers move."
)
EXAMPLES = (
    Example(
        "Doctor, nurse", "The {doctor|nurse|teacher|engineer} said that [MASK] is busy.", options={"words": "he, she"}
    ),
    Example("Countries", "The capital of {France|Italy|Spain|Japan|Egypt} is [MASK]."),
    Example("Negation", "A {robin|dog|rose} is {a|not a} [MASK]."),
    Example("Agreement", "The {key|keys} to the {cabinet|cabinets} [MASK] on the table.", options={"words": "is, are"}),
    Example("Seasons", "In {winter|spring|summer|autumn} the weather is [MASK]."),
)

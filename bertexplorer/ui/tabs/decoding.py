"""Several masks: four ways to fill them, side by side."""

from bertexplorer.analysis import decoding as analysis  # noqa: F401
from bertexplorer.figures import decoding as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Fill-mask"
TITLE = "Several masks"
QUESTION = "How should several blanks be filled together?"
NOTE = (
    "Independent answers ignore each other, so their product is no probability of the sentence. Scored in order, each "
    "word is judged given the ones before it; only those numbers compare. BERT never learnt to write left to right."
)
EXAMPLES = (
    Example("Two words that must agree", "She poured the [MASK] into the [MASK]."),
    Example("New York", "He lives in [MASK] [MASK], the largest city of the United States."),
    Example("A whole phrase", "The [MASK] [MASK] [MASK] was very happy."),
    Example("Cause and effect", "Because it was [MASK], we stayed at [MASK]."),
    Example("Singular or plural", "The [MASK] of the school [MASK] here."),
)

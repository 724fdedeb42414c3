"""Pairs: the next sentences that pretraining would draw."""

from bertexplorer.analysis import sentence_pairs as analysis  # noqa: F401
from bertexplorer.figures import sentence_pairs as figure  # noqa: F401
from bertexplorer.ui.example import Example
from bertexplorer.ui.tabs.sentence_matrix import STORY

GROUP = "Pretraining"
TITLE = "Pairs"
CHIPS = ""
QUESTION = "What is “next sentence” made from?"
NOTE = (
    "No one labels these pairs: order in the text is the label. Where a wrong B comes from another document, its topic "
    "gives it away, and the head need learn nothing about order; draw it from the same document and see. So few pairs "
    "say little about how often a checkpoint is right."
)
PARK = (
    "The park opens at eight. Dogs must be kept on a lead. There is a small lake behind the trees. Children feed the "
    "ducks there. In winter the lake freezes, and people skate on it."
)
EXAMPLES = (
    Example("A story", " ".join(STORY)),
    Example("Wrong ones of the same text", PARK, options={"not_next": 0.5, "same_document": 1.0}),
    Example("Other dice", " ".join(STORY), options={"roll": 2}),
    Example("Only wrong ones", PARK, options={"not_next": 1.0}),
    Example("Only true ones", PARK, options={"not_next": 0.0}),
)

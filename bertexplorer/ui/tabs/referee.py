"""Referee: the methods of saliency put to the test, against random orders."""

from bertexplorer.analysis import referee as analysis  # noqa: F401
from bertexplorer.figures import referee as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Saliency"
TITLE = "Referee"
QUESTION = "Which explanation holds?"
NOTE = (
    "A good order makes the answer fall early when its words are hidden, and rise early when they are shown. A text of "
    "masks is unlike anything that BERT has read, so part of each curve is surprise, not loss of words; and in a short "
    "sentence a random order may be good by luck."
)
EXAMPLES = (
    Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
    Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"word": "are"}),
    Example("The capital of France", "Paris is the [MASK] of France."),
    Example(
        "Does B follow A?",
        "The man went to the store.",
        "He bought a gallon of milk.",
        {"target": "next sentence"},
    ),
    Example(
        "A long sentence",
        "The doctor told the nurse that the patient in the next room had been [MASK] for two days, and that nobody "
        "knew why.",
    ),
)

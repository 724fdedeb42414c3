"""Next sentence: whether B follows A, with the order of the labels in plain sight."""

from bertexplorer.analysis import next_sentence as analysis  # noqa: F401
from bertexplorer.figures import next_sentence as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Next sentence"
TITLE = "A pair"
QUESTION = "Does B follow A?"
NOTE = (
    "In training, B came from another document half of the time, so the answer rests on topic more than on order or "
    "sense: a shared topic fools it, even where B contradicts A or the two stand the wrong way round. Label 0 is “is "
    "next”, label 1 “is not next”: here 0 is the yes."
)
EXAMPLES = (
    Example(
        "The store",
        "The man went to the store.",
        "He bought a gallon of milk.",
        {"candidates": "Penguins are flightless. | He sold a gallon of milk. | The store was closed."},
    ),
    Example(
        "Penguins",
        "The man went to the store.",
        "Penguins are flightless birds.",
        {"candidates": "He bought a gallon of milk. | Penguins went to the store."},
    ),
    Example(
        "Wrong order",
        "She walked into the house and sat down.",
        "She walked up to the house and rang the bell.",
        {"candidates": "Then she fell asleep in the chair. | The treaty was signed in 1648."},
    ),
    Example(
        "A contradiction",
        "The museum is closed today.",
        "The museum is open today.",
        {"candidates": "We will visit it tomorrow. | The river is wide and deep."},
    ),
    Example(
        "A question",
        "What is the capital of France?",
        "The capital of France is Paris.",
        {"candidates": "The capital of France is Berlin. | What is the capital of France? | It is Paris. | Yes."},
    ),
)

"""Saliency: which tokens an answer in a mask, or a next-sentence decision, rests on."""

from bertexplorer.analysis import saliency as analysis  # noqa: F401
from bertexplorer.figures import saliency as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Saliency"
TITLE = "Saliency"
QUESTION = "Which words mattered?"
NOTE = (
    "Each method asks something else: what a small change of a word's vector would do, what hiding the word does, or "
    "where attention goes. None of them is a reason that BERT gives. Where they differ, see the referee; and a word "
    "without a score may still matter together with another one."
)
EXAMPLES = (
    Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
    Example("All methods", "The farmers cultivate the [MASK] to grow crops.", options={"method": "all"}),
    Example(
        "The keys to the cabinet",
        "The keys to the cabinet [MASK] on the table.",
        options={"method": "occlusion", "word": "are"},
    ),
    Example(
        "Does B follow A?",
        "The man went to the store.",
        "He bought a gallon of milk.",
        {"target": "next sentence", "method": "all"},
    ),
    Example("A baseline that fails", "The capital of France is [MASK].", options={"baseline": "[PAD]", "steps": 8}),
)

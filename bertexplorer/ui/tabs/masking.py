"""Masking: what pretraining would ask of the text."""

from bertexplorer.analysis import masking as analysis  # noqa: F401
from bertexplorer.figures import masking as figure  # noqa: F401
from bertexplorer.ui.example import Example

GROUP = "Pretraining"
TITLE = "Masking"
CHIPS = ""
QUESTION = "How does BERT learn without anyone telling it the answer?"
NOTE = (
    "A coloured token is one whose piece must be guessed, and only there is an error counted. A tenth of them stays as "
    "it is and a tenth becomes a random piece, so that the encoder cannot rely on [MASK] to tell where it is asked. "
    "Short texts are chosen from more often than asked for, since at least one token of each must be."
)
EXAMPLES = (
    Example("As BERT does it", "My dog is hairy, and the neighbours like to play with him in the garden."),
    Example("Whole words", "Untranslatable misunderstandings embarrassed the philosophers.",
            options={"whole_words": True}),
    Example("Always [MASK]", "The farmers cultivate the land to grow crops for the whole village.",
            options={"masked": 1.0, "random": 0.0}),
    Example("Forty in a hundred", "The farmers cultivate the land to grow crops for the whole village.",
            options={"chosen": 0.4}),
    Example("A pair", "The man went to the store.", "He bought a gallon of milk."),
)  # fmt: skip

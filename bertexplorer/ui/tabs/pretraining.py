"""Views of what pretraining does with a text."""

from bertexplorer.ui.tabs.next_sentence import STORY
from bertexplorer.ui.view import Example, View

TOPIC = "Pretraining"
MASKING = View(
    "masking",
    TOPIC,
    title="Masking",
    question="How does BERT learn without anyone telling it the answer?",
    note=(
        "A coloured token is one whose piece must be guessed, and only there is an error counted. A tenth of them "
        "stays as it is and a tenth becomes a random piece, so that the encoder cannot rely on [MASK] to tell where it"
        " is asked. Short texts are chosen from more often than asked for, since at least one token of each must be."
    ),
    examples=(
        Example("As BERT does it", "My dog is hairy, and the neighbours like to play with him in the garden."),
        Example(
            "Whole words",
            "Untranslatable misunderstandings embarrassed the philosophers.",
            options={"whole_words": True},
        ),
        Example(
            "Always [MASK]",
            "The farmers cultivate the land to grow crops for the whole village.",
            options={"masked": 1.0, "random": 0.0},
        ),
        Example(
            "Forty in a hundred",
            "The farmers cultivate the land to grow crops for the whole village.",
            options={"chosen": 0.4},
        ),
        Example("A pair", "The man went to the store.", "He bought a gallon of milk."),
    ),
    chips="",
)
PARK = (
    "The park opens at eight. Dogs must be kept on a lead. There is a small lake behind the trees. Children feed the "
    "ducks there. In winter the lake freezes, and people skate on it."
)
SENTENCE_PAIRS = View(
    "sentence_pairs",
    TOPIC,
    title="Pairs",
    question="What is “next sentence” made from?",
    note=(
        "No one labels these pairs: order in the text is the label. Where a wrong B comes from another document, its "
        "topic gives it away, and the head need learn nothing about order; draw it from the same document and see. So "
        "few pairs say little about how often a checkpoint is right."
    ),
    examples=(
        Example("A story", " ".join(STORY)),
        Example("Wrong ones of the same text", PARK, options={"not_next": 0.5, "same_document": 1.0}),
        Example("Other dice", " ".join(STORY), options={"roll": 2}),
        Example("Only wrong ones", PARK, options={"not_next": 1.0}),
        Example("Only true ones", PARK, options={"not_next": 0.0}),
    ),
    chips="",
)
VIEWS = (MASKING, SENTENCE_PAIRS)

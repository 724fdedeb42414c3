"""Views of what pretraining does with a text."""

from bertexplorer.views.sentences import STORY
from bertexplorer.views.view import Example, View

TOPIC = "Pretraining"
MASKING = View(
    "masking",
    TOPIC,
    title="Masking",
    question="How does BERT learn without anyone telling it the answer?",
    note=(
        "BERT must guess each coloured token; only errors there count. A tenth of them stays as it is and a tenth "
        "becomes a random piece, so that the encoder cannot rely on [MASK] to know where it must guess. In short texts "
        "the share is higher than the setting, because each text needs at least one such token."
    ),
    papers=(
        "Devlin et al., 2019, BERT",
        "Wettig et al., 2023, Should You Mask 15% in Masked Language Modeling?",
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
            "Forty per cent",
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
    question="How are next-sentence pairs made?",
    note=(
        "Nobody labels these pairs: the order of the text is the label. If a wrong B comes from another document, its "
        "topic gives it away, and the head need not learn about order; draw it from the same document and see. A few "
        "pairs say little about how often a checkpoint is right."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("A story", " ".join(STORY)),
        Example("Wrong pairs from the same text", PARK, options={"not_next": 0.5, "same_document": 1.0}),
        Example("Another draw", " ".join(STORY), options={"roll": 2}),
        Example("Only wrong pairs", PARK, options={"not_next": 1.0}),
        Example("Only true pairs", PARK, options={"not_next": 0.0}),
    ),
    chips="",
)
VIEWS = (MASKING, SENTENCE_PAIRS)

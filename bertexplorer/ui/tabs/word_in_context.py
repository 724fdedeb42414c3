"""Word in context: one word in several sentences, compared layer by layer."""

from bertexplorer.analysis import word_in_context as analysis  # noqa: F401
from bertexplorer.figures import word_in_context as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Word in context"
GROUP = "Embeddings"
CHIPS = "pick"
QUESTION = "Where does this word live?"
NOTE = (
    "A high cosine alone says little: in many checkpoints any two words are alike, so the mean of random words is "
    "taken off. What two vectors share may also be their place in the sentence or the words around them, not a sense."
)
BANK = (
    "river: Boats lie at the bank of the canal. | river: The river broke through its bank. | money: The bank lent him "
    "money for a house. | money: She works at a bank in the city."
)
SPRING = (
    "season: In spring the birds come back. | coil: The spring in the clock is broken. | coil: A spring pushes the lid "
    "open. | water: They drank from a spring in the rocks. | water: The river begins at a spring."
)
EXAMPLES = (
    Example(
        "River bank, money bank",
        "They sat on the bank of the river.",
        options={"word": "bank", "sense": "river", "sentences": BANK},
    ),
    Example(
        "Three springs",
        "The garden is lovely in spring.",
        options={"word": "spring", "sense": "season", "sentences": SPRING},
    ),
    Example("The capital of France", "The capital of France is Paris.", options={"word": "capital"}),
    Example(
        "Doctor and nurse",
        "The doctor came late and the nurse waited.",
        options={"word": "doctor, nurse", "sentences": "A doctor writes. | A nurse writes. | The nurse is ill."},
    ),
    Example(
        "With and without not",
        "He can be happy.",
        options={"word": "happy", "sentences": "He cannot be happy. | He is not happy. | He is very happy."},
    ),
)

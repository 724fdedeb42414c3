"""Word path: where the vector of a word goes, layer by layer."""

from bertexplorer.analysis import word_path as analysis  # noqa: F401
from bertexplorer.figures import word_path as figure  # noqa: F401
from bertexplorer.ui.example import Example

TITLE = "Path"
GROUP = "Embeddings"
CHIPS = "pick"
QUESTION = "Where does a word go on its way through the layers?"
NOTE = (
    "A plane shows two directions of hundreds; two paths that meet on it may still be far apart in the others. The "
    "sentence above says how much of the variance the plane holds."
)
EXAMPLES = (
    Example(
        "Two banks",
        "They sat on the bank of the river.",
        options={"word": "bank", "sentences": "The bank lent him money for a house."},
    ),
    Example(
        "The animal and the street", "The animal didn't cross the street because it was too tired.", picked="0:43-45"
    ),
    Example(
        "Three words", "The doctor told the nurse to call the patient.", options={"word": "doctor, nurse, patient"}
    ),
    Example("What is hidden", "The capital of France is [MASK].", picked="0:25-31"),
    Example(
        "Light and light",
        "The light is on.",
        options={"word": "light", "sentences": "This bag is light. | Light the fire. | The light is off."},
    ),
)

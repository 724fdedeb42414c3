"""The view of the whole model."""

from bertexplorer.views.view import Example, View

TOPIC = "The model"
FORWARD_PASS = View(
    "forward_pass",
    TOPIC,
    title="Forward pass",
    question="What happens between your sentence and BERT’s answer?",
    note=(
        "One head of each layer is drawn, the one whose strongest link joins two words that are not neighbours; the "
        "others may do more for the answer, and a strong link does not show that the answer depends on it. The answers "
        "after each layer are read by a head that was trained on the last layer only."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Devlin et al., 2019, BERT",
        "Geva et al., 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts",
        "Cho et al., 2024, Transformer Explainer",
    ),
    examples=(
        Example("The capital of France", "The capital of France is [MASK]."),
        Example("It was too tired", "The animal didn't cross the street because it was too [MASK].", picked="0:44-46"),
        Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table."),
        Example("Milk", "The man went to the store.", "He bought a gallon of milk."),
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
    ),
)
VIEWS = (FORWARD_PASS,)

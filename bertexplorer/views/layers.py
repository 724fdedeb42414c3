"""The view of the answer after each layer."""

from bertexplorer.views.view import Example, View

TOPIC = "Layers"
LAYERS = View(
    "layers",
    TOPIC,
    title="Layers",
    question="When does BERT make up its mind?",
    note=(
        "The head that reads out words was trained on the last layer only. An earlier layer may know more than the "
        "head can read there, so a poor early answer does not show that the layer knows nothing. The tuned lens reads "
        "more there, but it was trained to predict the final answer: the layers above need not use what it reads."
    ),
    papers=(
        "nostalgebraist, 2020, Interpreting GPT: The Logit Lens",
        "Belrose et al., 2023, Eliciting Latent Predictions from Transformers with the Tuned Lens",
    ),
    examples=(
        Example("The capital of France", "The capital of France is [MASK]."),
        Example(
            "The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"words": "is, are"}
        ),
        Example("A pigeon is (not) a bird", "A pigeon is not a [MASK]."),
        Example("He or she", "The doctor said that [MASK] is busy.", options={"words": "he, she"}),
        Example(
            "The farmers", "The farmers cultivate the [MASK] to grow crops.", options={"words": "land, crops, rice"}
        ),
    ),
)
VIEWS = (LAYERS,)

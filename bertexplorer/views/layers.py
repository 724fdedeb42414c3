"""Views of the answer after each layer, and of the neurons that bring it about."""

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
NEURONS = View(
    "neurons",
    TOPIC,
    title="Neurons",
    question="Which neurons wrote it?",
    note=(
        "A neuron seldom has one meaning: it may answer in places that have nothing to do with each other, and other "
        "lines may suggest another meaning (Bolukbasi et al., 2021). The words are those that become less probable if "
        "it does not write, read by a head that was trained on the last layer, so in early layers they say little. "
        "That the answer falls without a few neurons does not mean that they hold the fact: others prepare what they "
        "read, and some, such as 1·857 of mini, count for nearly every answer. Random ones are the measure of what any "
        "loss would do. The neurons that count were looked for among those that a gradient ranks first and those that "
        "write most; one may have been missed."
    ),
    papers=(
        "Geva et al., 2021, Transformer Feed-Forward Layers Are Key-Value Memories",
        "Geva et al., 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts",
        "Dai et al., 2022, Knowledge Neurons in Pretrained Transformers",
        "Bolukbasi et al., 2021, An Interpretability Illusion for BERT",
    ),
    examples=(
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
        Example("The capital of France", "The capital of France is [MASK]."),
        Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"word": "are"}),
        Example("A key", "The capital of France is [MASK].", options={"layer": 4, "neuron": 1280}),
        Example("Nothing hidden", "Paris is the capital of France.", picked="0:0-5"),
    ),
    slow=True,
    needs=("lines",),
)
VIEWS = (LAYERS, NEURONS)

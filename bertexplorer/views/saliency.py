"""Views of how much each token matters for an answer."""

from bertexplorer.views.view import Example, View

TOPIC = "Saliency"
SALIENCY = View(
    "saliency",
    TOPIC,
    title="Saliency",
    question="Which words mattered?",
    note=(
        "Each method asks a different question: what a small change of a word's vector would do, what hiding the word "
        "does, or where attention goes. None of them is a reason that BERT gives. If they disagree, try the view "
        "Referee. A word that scores zero may still matter together with another one."
    ),
    papers=(
        "Sundararajan et al., 2017, Axiomatic Attribution for Deep Networks",
        "Shrikumar et al., 2016, Not Just a Black Box",
        "Li et al., 2016, Understanding Neural Networks through Representation Erasure",
        "Ribeiro et al., 2016, LIME",
        "Lundberg and Lee, 2017, A Unified Approach to Interpreting Model Predictions (SHAP)",
        "Abnar and Zuidema, 2020, Quantifying Attention Flow in Transformers",
    ),
    examples=(
        Example("A fish", "The fish swims in the [MASK]."),
        Example("All methods", "The hen laid an [MASK].", options={"method": "all"}),
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
        Example("A baseline that fails", "Paris is the capital of [MASK].", options={"baseline": "[PAD]", "steps": 8}),
    ),
    slow=True,
)
REFEREE = View(
    "referee",
    TOPIC,
    title="Referee",
    question="Which explanation holds?",
    note=(
        "A good order makes the probability fall early as words are hidden, and rise early as they are shown. A text "
        "of masks is unlike anything that BERT has read, so part of each curve is surprise, not loss of words. In a "
        "short sentence a random order may be good by luck."
    ),
    papers=(
        "DeYoung et al., 2020, ERASER",
        "Petsiuk et al., 2018, RISE",
    ),
    examples=(
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
        Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"word": "are"}),
        Example("The capital of France", "Paris is the [MASK] of France."),
        Example(
            "Does B follow A?",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"target": "next sentence"},
        ),
        Example(
            "A long sentence",
            "The doctor told the nurse that the patient in the next room had been [MASK] for two days, and that nobody "
            "knew why.",
        ),
    ),
    slow=True,
)
VIEWS = (SALIENCY, REFEREE)

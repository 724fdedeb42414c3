"""Views of many sentences at once, and of the sentences around one."""

from bertexplorer.views.view import Example, View

TOPIC = "Behaviour"
SUITE = View(
    "suite",
    TOPIC,
    title="Suite",
    question="Is that always so?",
    note=(
        "A share holds for sentences like these. Its interval reflects which sentences were drawn, not how they are "
        "worded. “Word frequency alone” picks the pieces that the checkpoint finds likelier without any context. "
        "Stereotype pairs show a preference on paper, not the harm that a program does. Many published pairs are badly "
        "matched or unclear (Blodgett et al., 2021), so read the cases."
    ),
    papers=(
        "Salazar et al., 2020, Masked Language Model Scoring",
        "Kauf and Ivanova, 2023, A Better Way to Do Masked Language Model Scoring",
        "Warstadt et al., 2020, BLiMP",
        "Nangia et al., 2020, CrowS-Pairs",
        "Ribeiro et al., 2020, CheckList",
        "Ettinger, 2020, What BERT Is Not",
    ),
    examples=(
        Example("Everyday words", "", options={"suite": "everyday"}),
        Example("Agreement", "", options={"suite": "agreement"}),
        Example("Who does what", "", options={"suite": "role reversal"}),
        Example("Negation", "", options={"suite": "negation"}),
        Example("She or he", "", options={"suite": "occupations"}),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)
PROBE = View(
    "probe",
    TOPIC,
    title="Probe",
    question="Which layer knows it?",
    note=(
        "A probe shows that a property can be read from the vectors, not that the checkpoint uses it (Belinkov, 2022). "
        "The control task has random labels, one for each word or sentence: what a probe gets right there, it has "
        "memorised. The best layer was chosen on the held-out rows, which flatters it a little."
    ),
    papers=(
        "Alain and Bengio, 2017, Understanding Intermediate Layers Using Linear Classifier Probes",
        "Hewitt and Liang, 2019, Designing and Interpreting Probes with Control Tasks",
    ),
    examples=(
        Example("Present or past", "", options={"task": "tense"}),
        Example("Words swapped", "", options={"task": "word order"}),
        Example("Short or long", "", options={"task": "length"}),
        Example("Noun or verb, and its control", "", options={"task": "part of speech"}),
        Example("One or many, from the table", "", options={"task": "number"}),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)
COUNTERFACTUALS = View(
    "counterfactuals",
    TOPIC,
    title="Counterfactuals",
    question="What is the smallest change that changes the answer?",
    note=(
        "These edits were found; there may be others, because a search tries few of the possible words. Edits from "
        "gradients may read like nonsense, and the words that change an answer need not be those it rests on. The same "
        "goes for the words that a reduction leaves: short texts are unlike any that BERT has read, and it is often "
        "sure of them (Feng et al., 2018)."
    ),
    papers=(
        "Ebrahimi et al., 2018, HotFlip",
        "Garg and Ramakrishnan, 2020, BAE",
        "Feng et al., 2018, Pathologies of Neural Models Make Interpretations Difficult",
    ),
    examples=(
        Example("He or she?", "The doctor said that [MASK] was happy.", options={"word": "she"}),
        Example("To Japan", "The capital of France is [MASK].", options={"word": "tokyo"}),
        Example(
            "The key to the cabinets",
            "The key to the cabinets [MASK] in the drawer.",
            options={"method": "fill-mask", "word": "are"},
        ),
        Example(
            "Penguins at the store",
            "The man went to the store.",
            "Penguins eat fish.",
            {"method": "fill-mask"},
        ),
        Example(
            "What is enough?",
            "The queen who had ruled the country for many years said that [MASK] was tired.",
            options={"method": "reduction"},
        ),
    ),
    slow=True,
)
VIEWS = (SUITE, PROBE, COUNTERFACTUALS)

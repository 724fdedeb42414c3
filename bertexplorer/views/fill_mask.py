"""Views of words predicted at masks."""

from bertexplorer.views.view import Example, View

TOPIC = "Fill-mask"
FILL_MASK = View(
    "fill_mask",
    TOPIC,
    title="One mask",
    question="What would BERT put here?",
    note=(
        "These are bets on which word people would write, not facts that BERT knows: it can be sure and wrong. Each "
        "mask is filled as if it were the only one."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("The capital of France", "The capital of France is [MASK]."),
        Example("A pigeon is (not) a bird", "A pigeon is not a [MASK]."),
        Example(
            "The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"words": "is, are"}
        ),
        Example("A birthday cake", "She baked a birthday [MASK]."),
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
    ),
)
DECODING = View(
    "decoding",
    TOPIC,
    title="Several masks",
    question="How should several masks be filled together?",
    note=(
        "Independent answers ignore each other, so their product is not the probability of the sentence. Scored in "
        "order, each word is judged given the ones before it; compare only those numbers. BERT never learned to write "
        "left to right."
    ),
    papers=("Jiang et al., 2020, X-FACTR",),
    examples=(
        Example("Two words that must agree", "They drank a [MASK] of [MASK] every evening."),
        Example("New York", "She was born in [MASK] [MASK], a city in the United States."),
        Example("A whole phrase", "The [MASK] [MASK] [MASK] was full of people."),
        Example("Cause and effect", "It was so [MASK] that he could not [MASK]."),
        Example("Singular or plural", "[MASK] of the children [MASK] happy."),
    ),
)
PSEUDO_LIKELIHOOD = View(
    "pseudo_likelihood",
    TOPIC,
    title="Whole sentence",
    question="How likely is this sentence, word by word?",
    note=(
        "Each word is judged with all the others in view, so this is not the probability of the sentence and cannot be "
        "compared with the perplexity of a left-to-right model. Compare sentences of the same length, on the same "
        "checkpoint."
    ),
    papers=(
        "Salazar et al., 2020, Masked Language Model Scoring",
        "Kauf and Ivanova, 2023, A Better Way to Do Masked Language Model Scoring",
    ),
    examples=(
        Example("An ordinary sentence", "The man went to the store to buy some milk."),
        Example("One odd word", "The man went to the store to buy some justice."),
        Example("Agreement", "The keys to the cabinet is on the table."),
        Example("Garden path", "The old man the boat."),
        Example("Man and store swapped", "The store went to the man to buy some milk."),
    ),
)
CONTRAST = View(
    "contrast",
    TOPIC,
    title="Two sentences",
    question="What changes when one word of the sentence changes?",
    note=(
        "Each dot is a piece of the vocabulary, or several in the same place; on the dotted line it is equally likely "
        "in both. Words are named only if one of the two gives them 0.01 % or more. A difference shows what the "
        "training text contains, not what is true or fair."
    ),
    papers=("Pearce, 2021, What Have Language Models Learned?",),
    examples=(
        Example(
            "Farmer, student",
            "The farmer went to the market to buy some [MASK].",
            options={"other": "The student went to the market to buy some [MASK]."},
        ),
        Example(
            "Doctor, nurse",
            "The doctor put on [MASK] coat.",
            options={"other": "The nurse put on [MASK] coat."},
        ),
        Example("Is, is not", "A pigeon is a [MASK].", options={"other": "A pigeon is not a [MASK]."}),
        Example(
            "River bank, savings bank",
            "We sat by the river and looked at the [MASK].",
            options={"other": "We went to the bank and asked about the [MASK]."},
        ),
        Example(
            "Then, now",
            "In the 14th century they built a [MASK].",
            options={"other": "In the 20th century they built a [MASK]."},
        ),
    ),
)
LEFT_CONTEXT = View(
    "left_context",
    TOPIC,
    title="Left side only",
    question="What does it mean to read in both directions?",
    note=(
        "On the right no token can see what follows it, as in a left-to-right language model. BERT was not trained "
        "that way, so its left-only answers are worse than such a model's would be."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops."),
        Example("The answer comes last", "The [MASK] barked at the postman."),
        Example("The capital of France", "[MASK] is the capital of France."),
        Example("The reason comes last", "They went to the [MASK] to pray."),
        Example("A question", "[MASK] wrote this book? It was written by my father."),
    ),
)
TEMPLATE = View(
    "template",
    TOPIC,
    title="Template",
    question="What does changing one word do, case by case?",
    note=(
        "Write alternatives in braces: {doctor|nurse}. One template is an anecdote: before you speak of bias, try "
        "several wordings, names and checkpoints, and see how much the numbers vary."
    ),
    papers=(
        "Petroni et al., 2019, Language Models as Knowledge Bases?",
        "Kurita et al., 2019, Measuring Bias in Contextualized Word Representations",
    ),
    examples=(
        Example(
            "Doctor, nurse",
            "The {doctor|nurse|teacher|engineer} said that [MASK] is busy.",
            options={"words": "he, she"},
        ),
        Example("Countries", "The capital of {France|Spain|Russia|Japan|Egypt} is [MASK]."),
        Example("Negation", "A {pigeon|trout|rose} is {a|not a} [MASK]."),
        Example(
            "Agreement", "The {key|keys} to the {cabinet|cabinets} [MASK] on the table.", options={"words": "is, are"}
        ),
        Example("Verbs", "She {wrote|sang|baked|painted} a [MASK]."),
    ),
    chips="",
)
VIEWS = (FILL_MASK, DECODING, PSEUDO_LIKELIHOOD, CONTRAST, LEFT_CONTEXT, TEMPLATE)

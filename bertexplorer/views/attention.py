"""Views of the attention heads."""

from bertexplorer.views.view import Example, View

TOPIC = "Attention"
ATTENTION = View(
    "attention",
    TOPIC,
    title="Heads",
    question="Who looks at whom?",
    note=(
        "A weight says how much a head reads from a token, not how much that token matters for the answer. What it "
        "reads may be close to nothing (choose norm). Heads rest on a special token when they have nothing to do: on "
        "[SEP] in BERT-base, where it gets more than half in the middle layers. mini was trained to rest less."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Clark et al., 2019, What Does BERT Look At?",
        "Kobayashi et al., 2020, Attention Is Not Only a Weight",
    ),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"special": "discounted"},
            picked="0:43-45",
        ),
        Example(
            "What it stands for",
            "The animal didn't cross the street because it was too tired.",
            options={"show": "arcs", "layer": 4, "head": 2},
            picked="0:43-45",
        ),
        Example(
            "Two sentences",
            "The man went to the store.",
            "He bought a gallon of milk.",
            options={"show": "arcs", "direction": "B to A", "special": "discounted"},
        ),
        Example("Resting on [CLS]", "The keys to the cabinet [MASK] on the table."),
        Example(
            "Pieces to words",
            "Untranslatable misunderstandings embarrassed the philosophers.",
            options={"show": "head", "merge": True, "special": "discounted"},
        ),
    ),
    chips="pick",
)
ATTENTION_FLOW = View(
    "attention_flow",
    TOPIC,
    title="Rollout and flow",
    question="Where does a token come from?",
    note=(
        "Both methods follow the attention weights alone and count the token itself as half in each layer. They leave "
        "out value vectors and feed-forward blocks. After many layers all tokens look alike; the method causes that."
    ),
    papers=("Abnar and Zuidema, 2020, Quantifying Attention Flow in Transformers",),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because [MASK] was too tired.",
            options={"special": "left out", "layer": 3},
        ),
        Example(
            "The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"special": "left out"}
        ),
        Example("Through [CLS]", "The keys to the cabinet [MASK] on the table."),
        Example(
            "Flow",
            "The keys to the cabinet [MASK] on the table.",
            options={"method": "flow", "layer": 2, "special": "left out"},
        ),
        Example(
            "Two sentences",
            "The man went to the store.",
            "He bought a gallon of [MASK].",
            options={"layer": 3, "special": "left out"},
        ),
    ),
    chips="pick",
)
HEAD_ROLES = View(
    "head_roles",
    TOPIC,
    title="Head roles",
    question="What does each head do?",
    note=(
        "A head is named after where the attention between words goes on these sentences. It may do something else on "
        "others, and a pattern that is easy to see need not matter for the answer. The gallery shows the best of many "
        "heads; on other sentences it will be right less often."
    ),
    papers=("Clark et al., 2019, What Does BERT Look At?",),
    examples=(
        Example("What heads find", "The keys to the cabinet [MASK] on the table.", options={"show": "gallery"}),
        Example("All heads", "The keys to the cabinet [MASK] on the table."),
        Example("Previous token", "The keys to the cabinet [MASK] on the table.", options={"pattern": "previous"}),
        Example("Resting on [CLS]", "The keys to the cabinet [MASK] on the table.", options={"pattern": "[CLS]"}),
        Example("Heads alike", "The keys to the cabinet [MASK] on the table.", options={"show": "map"}),
    ),
    chips="",
    slow=True,
)
SWITCHBOARD = View(
    "switchboard",
    TOPIC,
    title="Switchboard",
    question="Which heads does the answer need?",
    note=(
        "The network was never trained with a head missing, and the layers above have never seen zeros in its place: "
        "compare with the random sets and with the mean. A head picked because it changes the answer most beats random "
        "ones for that reason alone. Heads stand in for each other, so a head that seems unnecessary may still be "
        "used."
    ),
    papers=(
        "Michel et al., 2019, Are Sixteen Heads Really Better than One?",
        "Wang et al., 2023, Interpretability in the Wild",
    ),
    examples=(
        Example("The capital of France", "The capital of France is [MASK].", options={"off": "6·6"}),
        Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"word": "are"}),
        Example(
            "A patch",
            "The capital of France is [MASK].",
            options={
                "how": "patch",
                "source": "The capital of Russia is [MASK].",
                "off": "6·6",
                "word": "moscow",
            },
        ),
        Example("He or she", "The doctor said that [MASK] is busy.", options={"word": "she", "how": "mean"}),
        Example("Does B follow A", "The man went to the store.", "Penguins are flightless birds."),
    ),
    slow=True,
)
BERTVIZ = View(
    "bertviz",
    TOPIC,
    title="BertViz",
    question="What do the heads look like in BertViz?",
    note=(
        "Lines of several heads lie on top of each other, so a dark bundle is not one strong head. Attention shows "
        "what a head reads, not why the answer came out as it did."
    ),
    papers=("Vig, 2019, A Multiscale Visualization of Attention in the Transformer Model",),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"layers": "4", "special": "left out"},
        ),
        Example(
            "Two sentences", "The man went to the store.", "He bought a gallon of milk.", options={"layers": "1-3"}
        ),
        Example(
            "All heads",
            "The keys to the cabinet [MASK] on the table.",
            options={"kind": "model", "special": "left out"},
        ),
        Example("Queries and keys", "The capital of France is [MASK].", options={"kind": "neuron"}),
        Example("River bank", "She sat on the bank of the river.", options={"kind": "head", "layers": "1"}),
    ),
    chips="pick",
)
QUERY_KEY = View(
    "query_key",
    TOPIC,
    title="Query and key",
    question="Where does an attention weight come from?",
    note=(
        "A dimension of a head means nothing by itself: rotate queries and keys together, and the products change but "
        "the weights do not. Only the sum counts, and only compared with the sums of the other tokens: the softmax "
        "ignores what they all share."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Vig, 2019, A Multiscale Visualization of Attention in the Transformer Model",
    ),
    examples=(
        Example(
            "The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", options={"layer": 5, "head": 11}
        ),
        Example("River bank", "She sat on the bank of the river.", options={"layer": 1, "head": 11}, picked="0:15-19"),
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"layer": 6, "head": 12},
            picked="0:43-45",
        ),
        Example("Previous token", "The keys to the cabinet [MASK] on the table.", options={"layer": 1, "head": 3}),
        Example("Resting on [CLS]", "The keys to the cabinet [MASK] on the table.", options={"layer": 6, "head": 1}),
    ),
    chips="pick",
)
VIEWS = (ATTENTION, QUERY_KEY, ATTENTION_FLOW, HEAD_ROLES, SWITCHBOARD, BERTVIZ)

"""Views of vectors: of words in context and of sentences."""

from bertexplorer.views.view import Example, View

TOPIC = "Embeddings"
BANK = (
    "river: Boats lie at the bank of the canal. | river: The river broke through its bank. | money: The bank lent him "
    "money for a house. | money: She works at a bank in the city."
)
SPRING = (
    "season: In spring the birds come back. | coil: The metal spring of the watch is broken. | coil: The clock needs a "
    "new steel spring. | water: Water flows from a spring in the rocks. | water: They drank water from a spring."
)
WORD_IN_CONTEXT = View(
    "word_in_context",
    TOPIC,
    title="Word in context",
    question="Where does this word live?",
    note=(
        "A high cosine alone says little: in many checkpoints any two words have similar vectors, so the view "
        "subtracts the mean cosine of random words. Two vectors may be similar because of their place in the sentence "
        "or the words around them, not because of a shared sense."
    ),
    papers=(
        "Ethayarajh, 2019, How Contextual Are Contextualized Word Representations?",
        "Pilehvar and Camacho-Collados, 2019, WiC",
    ),
    examples=(
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
    ),
    chips="pick",
)
WORD_PATH = View(
    "word_path",
    TOPIC,
    title="Path",
    question="Where does a word go on its way through the layers?",
    note=(
        "A plane shows two of hundreds of directions; two paths that meet on it may be far apart in the others. The "
        "sentence above says how much of the variance the plane holds."
    ),
    papers=(
        "Pearson, 1901, On Lines and Planes of Closest Fit",
        "Voita et al., 2019, The Bottom-up Evolution of Representations in the Transformer",
    ),
    examples=(
        Example(
            "Two banks",
            "They sat on the bank of the river.",
            options={
                "word": "bank",
                "plane": "these words",
                "sentences": "Boats lie at the bank of the canal. | The bank lent him money. | She works at a bank.",
            },
        ),
        Example(
            "The animal and the street",
            "The animal didn't cross the street because it was too tired.",
            picked="0:43-45",
        ),
        Example(
            "Three words", "The doctor told the nurse to call the patient.", options={"word": "doctor, nurse, patient"}
        ),
        Example("What is hidden", "The capital of France is [MASK].", picked="0:25-31"),
        Example(
            "Light and light",
            "The light is on.",
            options={
                "word": "light",
                "plane": "these words",
                "sentences": "This bag is light. | Light the fire. | The light is off.",
            },
        ),
    ),
    chips="pick",
)
EMBEDDING_MAP = View(
    "embedding_map",
    TOPIC,
    title="Map",
    question="What lies near what?",
    note=(
        "A map flattens hundreds of directions into two or three. With t-SNE and UMAP only the neighbours of a point "
        "mean something; cluster sizes and the distances between clusters do not. The cosines in the list are those of "
        "the full vectors."
    ),
    papers=(
        "van der Maaten and Hinton, 2008, Visualizing Data Using t-SNE",
        "McInnes et al., 2018, UMAP",
        "Coenen et al., 2019, Visualizing and Measuring the Geometry of BERT",
    ),
    examples=(
        Example("Ten topics", "The judge listened to the witness.", options={"unit": "sentences", "method": "t-SNE"}),
        Example(
            "A word beats its sense",
            "The bank by the river is steep, and the bank in town is closed.",
            picked="0:4-8",
        ),
        Example(
            "Input vectors", "The bank by the river is steep, and the bank in town is closed.", options={"layer": 0}
        ),
        Example("Topics by [CLS]", "Fish swim in the river.", options={"unit": "sentences", "pooling": "CLS"}),
        Example(
            "In three dimensions",
            "The judge listened to the witness.",
            options={"unit": "sentences", "dimensions": "3-D"},
        ),
    ),
    chips="pick",
    slow=True,
    needs=("lines",),
)
SEARCH = View(
    "search",
    TOPIC,
    title="Search",
    question="Which lines mean something like this?",
    note=(
        "BERT was trained to fill masks, not to compare sentences: even unrelated sentences have a cosine above 0. "
        "Compare with the score of random sentences, which the figure marks. Checkpoints trained for search do this "
        "better."
    ),
    papers=("Reimers and Gurevych, 2019, Sentence-BERT",),
    examples=(
        Example("A judge in court", "A judge in court"),
        Example("Feeling ill", "She has a fever and a headache."),
        Example("River bank", "They fish from the bank."),
        Example("Money bank", "She keeps her savings at a bank."),
        Example("By [CLS]", "A judge in court", options={"pooling": "CLS"}),
    ),
    chips="",
    slow=True,
    needs=("lines", "index"),
)
VIEWS = (WORD_IN_CONTEXT, WORD_PATH, EMBEDDING_MAP, SEARCH)

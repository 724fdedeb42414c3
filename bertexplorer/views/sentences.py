"""Views of two sentences, or of several: whether one follows the other, and how similar they are."""

from bertexplorer.views.view import Example, View

TOPIC = "Sentences"
NEXT_SENTENCE = View(
    "next_sentence",
    TOPIC,
    title="Next sentence",
    question="Does B follow A?",
    note=(
        "In training, B came from another document half of the time, so the answer rests on topic more than on order "
        "or sense: a shared topic fools it, even where B contradicts A or the two are the wrong way round. Label 0 is "
        "“is next”, label 1 “is not next”: here 0 means yes."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example(
            "The store",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"candidates": "Penguins are flightless. | He sold a gallon of milk. | The store was closed."},
        ),
        Example(
            "Penguins",
            "The man went to the store.",
            "Penguins are flightless birds.",
            {"candidates": "He bought a gallon of milk. | Penguins went to the store."},
        ),
        Example(
            "Wrong order",
            "She walked into the house and sat down.",
            "She walked up to the house and rang the bell.",
            {"candidates": "Then she fell asleep in the chair. | The treaty was signed in 1648."},
        ),
        Example(
            "A contradiction",
            "The museum is closed today.",
            "The museum is open today.",
            {"candidates": "We will visit it tomorrow. | The river is wide and deep."},
        ),
        Example(
            "A question",
            "What is the capital of France?",
            "The capital of France is Paris.",
            {"candidates": "The capital of France is Berlin. | What is the capital of France? | It is Paris. | Yes."},
        ),
    ),
)
STORY = (
    "The man went to the store.",
    "He bought a gallon of milk.",
    "Then he walked home and put it in the fridge.",
    "In the morning his children drank it.",
)
SENTENCE_MATRIX = View(
    "sentence_matrix",
    TOPIC,
    title="Paragraph",
    question="Can BERT tell which sentence comes next?",
    note=(
        "Each cell is P(is next), label 0 of the two. If BERT knew the order, the framed cells would stand out; it "
        "relies on the topic instead, so all pairs on one subject score high. Sentences are split at . ! ? before a "
        "capital letter and at line breaks, so “Mr. Smith” is split in two; the first 12 sentences are scored."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("A story", " ".join(STORY)),
        Example("The same story, backwards", " ".join(STORY[::-1])),
        Example(
            "Two topics in turn",
            "The man went to the store. Penguins are flightless birds. He bought a gallon of milk. They live near the "
            "coast of Antarctica. He paid and walked home. They swim well and eat fish.",
        ),
        Example(
            "It says the opposite",
            "The museum is open today. The museum is closed today. It was never open. Many people visited it this "
            "morning.",
        ),
        Example(
            "Questions and answers",
            "What is the capital of France? The capital of France is Paris. Where do penguins live? They live near the "
            "coast of Antarctica. Who wrote Hamlet? It was written by Shakespeare.",
        ),
    ),
)
KIDS = ("The children are playing football in the park.", "Kids kick a ball on the grass.")
SENTENCE_SIMILARITY = View(
    "sentence_similarity",
    TOPIC,
    title="Similarity",
    question="Why are these two similar?",
    note=(
        "A cosine means nothing alone: some checkpoints give 0.4 to any two sentences, so look at where unrelated ones "
        "lie. Similar is what the training made similar, often the topic: “open” and “closed”, or the dog that bit the "
        "man and the man that bit the dog, come out close. Tokens of the last layer have read the whole text, so that "
        "a full stop may carry much of it; ask for the words that go in to see what brought it there."
    ),
    papers=(
        "Reimers and Gurevych, 2019, Sentence-BERT",
        "Moeller et al., 2023, An Attribution Method for Siamese Encoders",
        "Sundararajan et al., 2017, Axiomatic Attribution for Deep Networks",
    ),
    examples=(
        Example("Other words, same meaning", *KIDS),
        Example("Which words did it", *KIDS, {"terms": "input words"}),
        Example("Who bit whom", "The dog bit the man.", "The man bit the dog."),
        Example("Open and closed", "The museum is open today.", "The museum is closed today."),
        Example("Nothing in common", "The stock market fell sharply.", "She planted tulips in the garden."),
    ),
    slow=True,
    needs=("lines",),
)
TERM_WEIGHTS = View(
    "term_weights",
    TOPIC,
    title="Found by its words",
    question="By which words would this text be found?",
    note=(
        "Each word of the vocabulary gets the largest logit that any token of the text gives it, damped by a "
        "logarithm. A search by words (SPLADE) stores these weights and multiplies those of a question with those of a "
        "text. A checkpoint that was trained for it leaves a few hundred. One that fills masks gives thousands of "
        "words some weight, and the most to words that are everywhere. An added word is what could stand in a place of "
        "the text, which need not be true of it."
    ),
    papers=(
        "Formal et al., 2021, SPLADE",
        "Formal et al., 2021, SPLADE v2",
    ),
    examples=(
        Example("A thief in court", "The judge sentenced the thief to prison."),
        Example("Children in the park", "The children are playing football in the park."),
        Example("A question and its answer", "How can I get a passport?", "Passports are issued at the town hall."),
        Example("No word in common", "Physicians see sick people.", "The doctor examined the patient."),
        Example("The other bank", "He put the money in the bank.", "She sat on the bank of the river."),
    ),
)
LATE_INTERACTION = View(
    "late_interaction",
    TOPIC,
    title="Token meets token",
    question="Where does each token of the query find its match?",
    note=(
        "Every token of the query counts, also a full stop, and a longer query has a higher score: compare passages "
        "for one query, not queries. Vectors of the last layer know their sentence, so a token may match another word "
        "in the same role. ColBERT, which searches in this way, was trained for it; what random words have tells how "
        "much of a cosine is chance."
    ),
    papers=("Khattab and Zaharia, 2020, ColBERT",),
    examples=(
        Example("The blue toad", "Where does the blue toad sleep?", "The blue toad sleeps in hollow trees by day."),
        Example("Other words", "children playing football", "Kids kick a ball on the grass."),
        Example(
            "Two banks",
            "He put the money in the bank.",
            "She sat on the bank of the river and paid with cash from her account.",
        ),
        Example(
            "Which passage?",
            "Where does the blue toad sleep?",
            "The blue toad sleeps in hollow trees by day.",
            {"others": "Kids kick a ball on the grass. | A frog sleeps in the pond. | Blue paint is expensive."},
        ),
        Example("Before it has read", "children playing football", "Kids kick a ball on the grass.", {"layer": 0}),
    ),
)
VIEWS = (NEXT_SENTENCE, SENTENCE_MATRIX, SENTENCE_SIMILARITY, TERM_WEIGHTS, LATE_INTERACTION)

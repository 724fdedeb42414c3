"""Views of the input of the first layer."""

from bertexplorer.views.view import Example, View

TOPIC = "Input"
TOKENIZATION = View(
    "tokenization",
    TOPIC,
    title="Pieces",
    question="What goes in?",
    note=(
        "Pieces are strings that were frequent in the text behind the vocabulary, not units of meaning. A long vector "
        "does not mark an important token: LayerNorm evens out the lengths, and only the direction counts."
    ),
    papers=(
        "Wu et al., 2016, Google's Neural Machine Translation System (WordPiece)",
        "Devlin et al., 2019, BERT",
    ),
    examples=(
        Example("Embeddings", "BERT adds three embeddings for each token."),
        Example("Unbelievable", "Tokenization is unbelievably misunderstandable."),
        Example("A name", "Beyoncé met Nikolai Rimsky-Korsakov in Reykjavík."),
        Example("Unknown characters", "I love 🍕 and 🤖 robots."),
        Example("A pair", "The man went to the store.", "He bought a gallon of milk."),
    ),
)
INPUT_VECTORS = View(
    "input_vectors",
    TOPIC,
    title="Vectors",
    question="What is added up for a token?",
    note=(
        "A single number of a vector has no name and no meaning of its own; only directions do. The position vector is "
        "shorter than the word's, but that does not make it unimportant: the layers learn to read it."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("Bank", "The doctor went to the bank.", picked="0:23-27"),
        Example("The same word twice", "Buffalo buffalo buffalo.", picked="0:8-15"),
        Example("[CLS]", "The capital of France is Paris.", picked="2:0-1"),
        Example("A hidden word", "The capital of France is [MASK].", picked="0:25-31"),
        Example("In segment B", "The man went to the store.", "He bought a gallon of milk.", picked="1:22-26"),
    ),
    chips="pick",
)
NEAREST_PIECES = View(
    "nearest_pieces",
    TOPIC,
    title="Nearest pieces",
    question="Which pieces have similar embeddings?",
    note=(
        "The table has one vector for each piece, whatever the sentence: river banks and money banks share one. "
        "Neighbours are often spelt alike or used in the same places; they need not mean the same: opposites are "
        "neighbours too."
    ),
    papers=("Mikolov et al., 2013, Efficient Estimation of Word Representations in Vector Space",),
    examples=(
        Example("Bank", "The doctor went to the bank.", picked="0:23-27"),
        Example("Paris", "Paris is the capital of France.", picked="0:0-5"),
        Example("Good and bad", "A good start and a bad end.", picked="0:2-6,0:19-22"),
        Example("A number", "She was born in 1984.", picked="0:16-20"),
        Example("A piece of a word", "Tokenization is unbelievably hard.", picked="0:5-12"),
    ),
    chips="pick",
)
VIEWS = (TOKENIZATION, INPUT_VECTORS, NEAREST_PIECES)

"""The view of what a fine-tuned checkpoint answers."""

from bertexplorer.views.view import Example, View

TOPIC = "Fine-tuned"
ANSWER = View(
    "answer",
    TOPIC,
    title="Answer",
    question="What does the fine-tuned checkpoint answer?",
    note=(
        "The head knows only the labels of its training rows and must give one to any text, even to one about "
        "something else. A high probability says that the text resembles those rows, not that the answer is true. "
        "A softmax over one logit is always 1: of a re-ranker, which has one, read the score or its sigmoid. "
        "Hiding one word at a time misses words that count only together, and a text with a mask is unlike those rows; "
        "Saliency has other ways to ask. "
        "ELECTRA's discriminator says of each token whether another one stood there. It learned on words that a small "
        "BERT had put in, so it finds odd words better than mistakes that people make. "
        "sentiment, which comes with the app, learned from 400 sentences made for this project; choose one of your "
        "runs, or any fine-tuned checkpoint."
    ),
    papers=(
        "Devlin et al., 2019, BERT",
        "Lafferty et al., 2001, Conditional Random Fields",
        "Reimers and Gurevych, 2019, Sentence-BERT",
        "Clark et al., 2020, ELECTRA",
    ),
    examples=(
        Example("A good film", "The film was a joy from beginning to end."),
        Example("Negation", "The film was not a joy at all."),
        Example("About something else", "The museum opens at nine."),
        Example(
            "A question and its passage",
            "Where did Ada Lovelace meet Charles Babbage?",
            "Ada Lovelace met the inventor Charles Babbage in London in 1833, at a party of a common friend.",
        ),
        Example("Two sentences that mean the same", "How old is the bridge?", "When was the bridge built?"),
    ),
    tuned=True,
    checkpoint="sentiment",
)
VIEWS = (ANSWER,)

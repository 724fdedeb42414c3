"""Figure for answer: a bar for each label and for what is left of the best one without a word, for the tag of each
word, for each token that may be replaced, or for each span, with the starts and ends of spans.

Each kind of answer draws itself and says what it says (`answers/kinds`)."""

from bertexplorer.answers.head_answer import CheckpointAnswer
from bertexplorer.charts.marks import Figure
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fine-tuned",
    place=1,
    title="Answer",
    question="What does the fine-tuned checkpoint answer?",
    note=(
        "The head knows only the labels of its training rows and must give one to any text, even to one about "
        "something else. A high probability says that the text resembles those rows, not that the answer is true. "
        "A softmax over one logit is always 1: of a re-ranker, which has one, read the score, or the relevance. "
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
        Example(
            "A good film",
            "The film was a joy from beginning to end.",
            shows='answer() == "positive" and rests_on() == "joy" and p_without("joy") < 0.5',
        ),
        Example(
            "Negation",
            "The film was not a joy at all.",
            shows='answer() == "negative" and rests_on() == "not" and p_without("not") < 0.5',
        ),
        Example("About something else", "The museum opens at nine.", shows="p(answer()) > 0.9"),
        Example(
            "A question and its passage",
            "Where did Ada Lovelace meet Charles Babbage?",
            "Ada Lovelace met the inventor Charles Babbage in London in 1833, at a party of a common friend.",
            kind="span",
        ),
        Example(
            "Two sentences that mean the same",
            "How old is the bridge?",
            "When was the bridge built?",
            kind="similarity",
        ),
    ),
    tuned=True,
    checkpoint="sentiment",
)


def draw(result: CheckpointAnswer) -> Figure:
    return Figure(result.panels())


def colours(result: CheckpointAnswer) -> dict[int, float]:
    """Position -> shade for the strip, as the kind of answer says."""
    return result.shades()


def say(result: CheckpointAnswer) -> str:
    """The answer as text, and how the run's own answer may differ."""
    return result.say()

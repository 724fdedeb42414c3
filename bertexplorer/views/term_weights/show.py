"""Figure for term weights: the words of a text and those that the head adds, and what two texts share."""

from collections.abc import Sequence

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Tone
from bertexplorer.charts.style import beyond_limit, clip, count, decimal, join_names, percent, quote
from bertexplorer.views.term_weights.compute import Term, TermWeights
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=4,
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
        Example(
            "A thief in court",
            "The judge sentenced the thief to prison.",
            shows='weight("jail") > 2 or weight("convicted") > 2',
        ),
        Example(
            "Children in the park",
            "The children are playing football in the park.",
            shows='added() == "play" and source("play") == "playing"',
        ),
        Example(
            "A question and its answer",
            "How can I get a passport?",
            "Passports are issued at the town hall.",
            shows='shared() == "passports" or shared() == "passport"',
        ),
        Example(
            "No word in common",
            "Physicians see sick people.",
            "The doctor examined the patient.",
            shows="shared_words() == 0 and literal() < 0.01",
        ),
        Example(
            "The other bank",
            "He put the money in the bank.",
            "She sat on the bank of the river.",
            shows="literal() < 0.05",
        ),
    ),
)

NAMES = ("first", "second")
DENSE = 0.02  # share of the vocabulary beyond which the weights are not sparse


def draw(result: TermWeights) -> Figure:
    """What two texts share, then for each text its own words and the added ones."""
    panels = []
    if result.common:
        panels.append(weights("what both share: the product of its two weights", result.common, "orange"))
    for which, terms in zip(NAMES, result.texts, strict=False):
        text = f"the {which} text" if len(result.texts) == 2 else "the text"
        if terms.own:
            panels.append(weights(f"words of {text}", terms.own, "pale"))
        if terms.added:
            panels.append(weights(f"words that BERT adds to {text}", terms.added, "blue"))
    return Figure(panels)


def weights(title: str, terms: Sequence[Term], tone: Tone) -> Panel:
    """A bar for each of *terms*. Among those that both texts share, a piece that both have is pale."""
    bars = []
    for term in terms:
        text = decimal(term.weight)
        own_tone: Tone = "pale" if term.own and tone == "orange" else tone
        hover = f"{term.word}: {text}, from {origin(term)}"
        bars.append(Bar(term.word, term.weight, text, own_tone, hover=hover))
    return Panel([Bars(bars, tokens=True)], title)


def origin(term: Term) -> str:
    """The token that gives the weight, in each text."""
    return " and ".join(clip(source, 20) for source in term.sources)


def colours(result: TermWeights) -> dict[int, float]:
    """Position -> shade for the strip, 0 to 1: how much the token adds that is not in the text."""
    return result.shown


def say(result: TermWeights) -> str:
    sentences = []
    if is_dense(result):  # said first, as all bars are nearly alike then
        sentences.append(say_density(result))
    if len(result.texts) == 2:
        sentences.append(say_shared(result))
    for side in range(len(result.texts)):
        sentences.append(say_added(result, side))
    if not is_dense(result):
        sentences.append(say_density(result))
    return " ".join([*sentences, *beyond_limit(result.left_out)])


def is_dense(result: TermWeights) -> bool:
    """Whether far more words have a weight than a search could store."""
    return result.rarest > DENSE * result.vocabulary


def say_shared(result: TermWeights) -> str:
    """The score, and where it comes from."""
    if not result.common:
        return "The two texts share no piece: their score is 0."
    names = []
    for term in result.common[:3]:
        names.append(f"{quote(clip(term.word))} ({decimal(term.weight, 1)}, from {origin(term)})")
    same = percent(result.literal / result.score)
    return (
        f"The score is {result.score:,.0f}: most is added by {join_names(names)}. Pieces that both texts have are "
        f"{same} of it."
    )


def say_added(result: TermWeights, side: int) -> str:
    """The words that a text has not, and where they come from."""
    added = result.texts[side].added
    subject = f"To the {NAMES[side]} text" if len(result.texts) == 2 else "To the words of the text"
    if not added:
        return f"{subject} BERT adds none."
    names = [f"{quote(clip(term.word))} (from {quote(clip(term.sources[0]))})" for term in added[:3]]
    return f"{subject} BERT adds {join_names(names)}."


def say_density(result: TermWeights) -> str:
    """Whether the weights are as few as a search needs."""
    counts = [f"{terms.above_zero:,}" for terms in result.texts]
    have = f"{' and '.join(counts)} of {count(result.vocabulary, 'piece')} have a weight"
    if is_dense(result):
        return (
            f"This checkpoint was not trained for such a search, so the weights are nearly alike: {have}, where a few "
            "hundred would."
        )
    return f"{have}, few enough for a search by words."

"""Figure for sentence pairs: A and B of each pair, whether they are neighbours, and the head's answer as a bar."""

import numpy as np

from bertexplorer.answers.sample_sentences import STORY
from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Tone, key
from bertexplorer.charts.style import percent, shortened_pairs
from bertexplorer.views.sentence_pairs.compute import NEXT, SentencePairs
from bertexplorer.views.view import Example, View

PARK = (
    "The park opens at eight. Dogs must be kept on a lead. There is a small lake behind the trees. Children feed the "
    "ducks there. In winter the lake freezes, and people skate on it."
)
VIEW = View(
    __package__,
    "Pretraining",
    place=2,
    title="Pairs",
    question="How are next-sentence pairs made?",
    note=(
        "Nobody labels these pairs: the order of the text is the label. If a wrong B comes from another document, its "
        "topic gives it away, and the head need not learn about order; draw it from the same document and see. A few "
        "pairs say little about how often a checkpoint is right."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("A story", " ".join(STORY), shows="accuracy() > 0.8"),
        Example(
            "Wrong pairs from the same text",
            PARK,
            options={"not_next": 0.5, "same_document": 1.0},
            shows="accuracy() < 0.7",
        ),
        Example("Another draw", " ".join(STORY), options={"roll": 2}, shows="accuracy() > 0.7"),
        Example("Only wrong pairs", PARK, options={"not_next": 1.0}, shows="right() >= pairs() - 1"),
        Example("Only true pairs", PARK, options={"not_next": 0.0}, shows="accuracy() > 0.5"),
    ),
    chips="",
)


def draw(result: SentencePairs) -> Figure:
    bars = []
    for pair, is_next in zip(result.pairs, result.is_next.tolist(), strict=True):
        answer = "" if np.isnan(is_next) else percent(is_next)
        said = f"{pair.kind}\nP(is next) {answer}" if answer else pair.kind
        kind = pair.kind.split()[0]
        tone: Tone = "green" if pair.kind == NEXT else "orange"
        hover = f"A: {pair.first}\nB: {pair.second}\n{said}"
        bars.append(Bar(f"A: {pair.first}\nB, {kind}: {pair.second}", is_next, answer, tone, hover=hover))
    kinds = key(("■", "green", "B is the next sentence"), ("■", "orange", "it is not"))
    title = "" if np.isnan(result.is_next).any() else "how likely BERT finds it that B is next"
    return Figure([Panel([Bars(bars, high=1, above=True), kinds], title)])


def say(result: SentencePairs) -> str:
    count = len(result.pairs)
    true = sum(pair.kind == NEXT for pair in result.pairs)
    sentences = [f"{true} of {count} pairs really are neighbours in the text, {count - true} are drawn at random."]
    if np.isnan(result.is_next).any():
        sentences.append("This checkpoint has no next-sentence head, so it is not asked.")
    else:
        sentences.append(f"The checkpoint gets {result.right} of {count} right.")
    return " ".join([*sentences, *shortened_pairs(result.shortened)])

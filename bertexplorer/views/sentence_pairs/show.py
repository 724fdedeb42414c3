"""Figure for sentence pairs: A and B of each pair, whether they are neighbours, and the head's answer as a bar."""

import numpy as np

from bertexplorer.answers.sample_sentences import STORY
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    GREEN,
    ORANGE,
    PALE,
    coloured,
    finish,
    label,
    percent,
    safe,
    shortened_pairs,
)
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

LINE = 82  # pixels a pair
LETTERS = 46  # of a sentence


def draw(result: SentencePairs) -> Chart:
    rows = list(range(len(result.pairs)))
    has_answers = not np.isnan(result.is_next).any()
    shares = result.is_next if has_answers else np.zeros(len(rows))
    colours = [ACCENT if pair.kind == NEXT else PALE for pair in result.pairs]
    hovers = [f"A: {safe(p.first)}<br>B: {safe(p.second)}<br>{p.kind}" for p in result.pairs]
    tip = "%{customdata}" + ("<br>P(is next) %{x:.1%}" if has_answers else "") + "<extra></extra>"
    fig = Chart([kit.bars(shares, colours, width=0.1, offset=0.22, customdata=hovers, hovertemplate=tip)])
    for row, (pair, share) in enumerate(zip(result.pairs, shares.tolist(), strict=True)):
        colour = GREEN if pair.kind == NEXT else ORANGE
        mark = "next" if pair.kind == NEXT else pair.kind.split()[0]
        answer = f"   P(is next) {percent(share)}" if has_answers else ""
        text = f"{label(pair.first, LETTERS)}<br><b>{label(pair.second, LETTERS)}</b>"
        text += f"<br>{coloured(f'● {mark}', colour)}{answer}"
        style = {"xanchor": "left", "yanchor": "bottom", "align": "left", "showarrow": False, "font": {"size": 13}}
        fig.add_annotation({"text": text, "x": 0, "y": row + 0.17, **style})
    fig.update_xaxes(range=[0, 1], **kit.HIDDEN)
    fig.update_yaxes(range=[len(rows) - 0.6, -0.62], **kit.HIDDEN)
    return finish(fig, max(320, LINE * len(rows) + 24), margin={"l": 4, "r": 8, "t": 4, "b": 8})


def say(result: SentencePairs) -> str:
    count = len(result.pairs)
    true = sum(pair.kind == NEXT for pair in result.pairs)
    sentence = f"{true} of {count} pairs really are neighbours in the text, {count - true} are drawn at random."
    if np.isnan(result.is_next).any():
        return sentence + " This checkpoint has no next-sentence head, so it is not asked."
    return " ".join(
        [f"{sentence} The checkpoint gets {result.right} of {count} right.", *shortened_pairs(result.shortened)]
    )

"""Figure for sentence pairs: A and B of each pair, whether they are neighbours, and the head's answer as a bar."""

import numpy as np

from bertexplorer.analysis.sentence_pairs import NEXT, SentencePairs
from bertexplorer.charts.chart import Chart
from bertexplorer.figures import kit
from bertexplorer.figures.style import (
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

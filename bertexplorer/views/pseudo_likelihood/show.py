"""Figure for pseudo-likelihood: how surprising each token is, and the same numbers as colours for the strip."""

import math

import numpy as np

from bertexplorer.charts.marks import Bar, Columns, Figure, Panel
from bertexplorer.charts.style import count, decimal, percent, quote
from bertexplorer.views.pseudo_likelihood.compute import PseudoLikelihood
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=3,
    title="Whole sentence",
    question="How likely is this sentence, word by word?",
    note=(
        "Each word is judged with all the others in view, so this is not the probability of the sentence and cannot be "
        "compared with the perplexity of a left-to-right model. Compare sentences of the same length, on the same "
        "checkpoint."
    ),
    papers=(
        "Salazar et al., 2020, Masked Language Model Scoring",
        "Kauf and Ivanova, 2023, A Better Way to Do Masked Language Model Scoring",
    ),
    examples=(
        Example("An ordinary sentence", "The man went to the store to buy some milk.", shows="perplexity() < 10"),
        Example("One odd word", "The man went to the store to buy some justice.", shows='surprise() == "justice"'),
        Example("Agreement", "The keys to the cabinet is on the table.", shows='surprise() == "is"'),
        Example("Garden path", "The old man the boat.", shows="perplexity() > 20"),
        Example("Man and store swapped", "The store went to the man to buy some milk.", shows="perplexity() > 10"),
    ),
)

MOST = 4.0  # bits up to which all figures have one scale


def draw(result: PseudoLikelihood) -> Figure:
    bars = []
    for position in np.flatnonzero(result.ranks).tolist():
        token, rank = result.tokens[position], result.ranks[position]
        bits = -float(result.log_probabilities[position]) / math.log(2)
        share = percent(math.exp(float(result.log_probabilities[position])))
        bars.append(Bar(token, bits, share, hover=f"{token}: {share}, rank {rank:,}, {bits:.1f} bits"))
    high = max(MOST, *(bar.value for bar in bars))
    return Figure([Panel([Columns(bars, high=high, tokens=True)], "surprise (bits)")])


def colours(result: PseudoLikelihood) -> dict[int, float]:
    """Position -> probability, 0 to 1, for the strip."""
    return {int(i): math.exp(float(result.log_probabilities[i])) for i in np.flatnonzero(result.ranks)}


def say(result: PseudoLikelihood) -> str:
    """The score of the sentence, its most surprising token, and how many tokens the checkpoint would have written."""
    # 1. The sentence.
    tokens = f"{result.scored} tokens"
    if result.unscored:
        tokens = f"the first {result.scored} of {result.scored + result.unscored} tokens"
    sentences = [
        f"The pseudo-log-likelihood is {decimal(result.total, 1)} nats over {tokens}, a perplexity of "
        f"{result.perplexity:,.1f}."
    ]
    # 2. Its tokens.
    scored = np.flatnonzero(result.ranks)  # positions; a token without a score has rank 0
    lowest = int(scored[np.argmin(result.log_probabilities[scored])])
    share = percent(math.exp(float(result.log_probabilities[lowest])))
    first_choices = int((result.ranks == 1).sum())
    sentences.append(
        f"The most surprising token is {quote(result.tokens[lowest])} with {share}; {first_choices} of {result.scored} "
        "are the checkpoint's own first choice."
    )
    # 3. Masks that were typed.
    if result.holes:
        stay = "stays a hole in every pass and has" if result.holes == 1 else "stay holes in every pass and have"
        sentences.append(
            f"The {count(result.holes, 'mask')} in the text {stay} no score: type a word there to score it."
        )
    return " ".join(sentences)

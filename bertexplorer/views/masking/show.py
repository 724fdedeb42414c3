"""Figure for masking: a line for each token, a column for each roll; next to it how often the token was chosen."""

import math

import numpy as np

from bertexplorer.charts.marks import GROUPS, Bar, Bars, Cells, Figure, Panel, Tone, key
from bertexplorer.charts.style import percent, quote
from bertexplorer.engine.masking import MASKED, RANDOM, SAME
from bertexplorer.views.masking.compute import COUNTED, KINDS, NOT_CHOSEN, Masked
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Pretraining",
    place=1,
    title="Masking",
    question="How does BERT learn without anyone telling it the answer?",
    note=(
        "BERT must guess each coloured token; only errors there count. A tenth of them stays as it is and a tenth "
        "becomes a random piece, so that the encoder cannot rely on [MASK] to know where it must guess. In short texts "
        "the share is higher than the setting, because each text needs at least one such token."
    ),
    papers=(
        "Devlin et al., 2019, BERT",
        "Wettig et al., 2023, Should You Mask 15% in Masked Language Modeling?",
    ),
    examples=(
        Example(
            "As BERT does it",
            "My dog is hairy, and the neighbours like to play with him in the garden.",
            shows='share("mask") > 0.7 and chosen() > 0.1',
        ),
        Example(
            "Whole words",
            "Untranslatable misunderstandings embarrassed the philosophers.",
            options={"whole_words": True},
            shows="masked() > 0.1",
        ),
        Example(
            "Always [MASK]",
            "The farmers cultivate the land to grow crops for the whole village.",
            options={"masked": 1.0, "random": 0.0},
            shows='share("mask") > 0.99',
        ),
        Example(
            "Forty per cent",
            "The farmers cultivate the land to grow crops for the whole village.",
            options={"chosen": 0.4},
            shows="chosen() > 0.35",
        ),
        Example("A pair", "The man went to the store.", "He bought a gallon of milk.", shows="chosen() > 0.1"),
    ),
    chips="",
)

LINES = 64  # tokens to draw
LEAST = 0.05  # share of the rolls up to which all figures have one scale
TONES: dict[int, Tone] = {MASKED: "blue", RANDOM: "orange", SAME: "green"}
WORDS = {MASKED: "[MASK]", RANDOM: "another piece", SAME: "as it is"}


def draw(result: Masked) -> Figure:
    """A row for each token: what each roll made of it, and how often it was chosen."""
    tokens = result.tokens[:LINES]
    rolls = range(len(result.kinds))
    values = []
    text = []
    hover = []
    often = []
    for position, counts in enumerate(result.counts[: len(tokens)]):
        kinds = result.kinds[:, position].tolist()
        shades = [math.nan] * len(rolls)
        named = [""] * len(rolls)  # a random piece is named; for other changes the tone is enough
        for roll, kind in enumerate(kinds):
            if kind != NOT_CHOSEN:
                shades[roll] = GROUPS.index(TONES[kind])
            if kind == RANDOM:
                named[roll] = result.pieces[roll][position]
        values.append(shades)
        text.append(named)
        hover.append([hover_text(result, roll, position) for roll in rolls])
        share = float(counts.sum()) / COUNTED
        said = f"{tokens[position]}: chosen in {percent(share)} of the rolls"
        often.append(Bar("", share, percent(share) if share else "", "pale", hover=said))
    legend = key(*(("■", tone, WORDS[kind]) for kind, tone in TONES.items()))
    cells = Cells(tokens, (), values, palette="groups", text=text, hover=hover, tokens=True)
    high = max(LEAST, *(bar.value for bar in often))
    return Figure(
        [
            Panel([legend]),
            Panel([cells], f"{len(rolls)} rolls", share=0.74),
            Panel([Bars(often, high=high)], f"of {COUNTED:,}", beside=True, share=0.26),
        ]
    )


def hover_text(result: Masked, roll: int, position: int) -> str:
    """What the pointer shows of a token in a roll."""
    kind = int(result.kinds[roll, position])
    what = "is not chosen"
    if kind == RANDOM:
        what = f"becomes {result.pieces[roll][position]}"
    elif kind == MASKED:
        what = "becomes [MASK]"
    elif kind == SAME:
        what = "stays, and must be guessed"
    return f"roll {roll + 1}: {result.tokens[position]} {what}"


def colours(result: Masked) -> dict[int, float]:
    """Position -> 1 where the first roll chose it, for the strip."""
    return {int(i): 1.0 for i in np.flatnonzero(result.kinds[0] != NOT_CHOSEN)}


def say(result: Masked) -> str:
    """What the first roll did, and the shares of a thousand."""
    # 1. The first roll.
    chosen = np.flatnonzero(result.kinds[0] != NOT_CHOSEN)
    changes = []
    for position in chosen[:4]:
        kind = int(result.kinds[0, position])
        became = {MASKED: "becomes [MASK]", SAME: "stays", RANDOM: f"becomes {quote(result.pieces[0][position])}"}
        changes.append(f"{quote(result.tokens[position])} {became[kind]}")
    if len(chosen) > len(changes):
        changes.append(f"and {len(chosen) - len(changes)} more")
    # 2. All rolls, beside what was requested.
    shares = result.shares
    options = result.options
    same = 1 - options.masked - options.random
    sentences = [
        f"In the first roll BERT must guess {len(chosen)} of {result.can_be_chosen} tokens: {', '.join(changes)}.",
        f"Over {COUNTED:,} rolls {percent(result.chosen)} were chosen ({percent(options.chosen)} requested); of these "
        f"{percent(shares[KINDS[MASKED]])} became [MASK], {percent(shares[KINDS[RANDOM]])} a random piece, "
        f"{percent(shares[KINDS[SAME]])} stayed ({percent(options.masked)}, {percent(options.random)}, "
        f"{percent(same)} requested).",
    ]
    if len(result.tokens) > LINES:
        sentences.append(f"The first {LINES} of {len(result.tokens)} tokens are drawn.")
    return " ".join(sentences)

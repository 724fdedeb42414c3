"""Figure for masking: a line for each token, a column for each roll; next to it how often the token was chosen."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import ACCENT, MONO, ORANGE, PALE, coloured, finish, label, percent, quote, safe
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
LINE = 26  # pixels
GREENISH = "#66c2a5"
SHADES = {MASKED: ACCENT, SAME: GREENISH, RANDOM: ORANGE}
WORDS = {MASKED: "[MASK]", SAME: "as it is", RANDOM: "another piece"}


def draw(result: Masked) -> Chart:
    count = min(LINES, len(result.tokens))
    fig = grid(rows=1, cols=2, column_widths=[0.74, 0.26], shared_yaxes=True, horizontal_spacing=0.02)
    rolls = len(result.kinds)
    states = np.where(result.kinds == NOT_CHOSEN, np.nan, result.kinds.astype(float)).T[:count]
    hovers = [[hover_text(result, roll, position) for roll in range(rolls)] for position in range(count)]
    texts = [[cell_text(result, roll, position) for roll in range(rolls)] for position in range(count)]
    order = [SHADES[kind] for kind in sorted(SHADES)]
    scale = [[edge / 3, shade] for i, shade in enumerate(order) for edge in (i, i + 1)]
    font = {"family": MONO, "size": 12, "color": "#000000"}
    cells = kit.cells(states, scale, -0.5, 2.5, text=texts, hover=hovers, textfont=font, hoverongaps=False)
    fig.add_trace(cells, 1, 1)
    shares = result.counts[:count].sum(axis=1) / COUNTED
    share_texts = [percent(float(share)) if share else "" for share in shares]
    bars = kit.bars(shares, PALE, text=share_texts, textfont={"size": 12})
    fig.add_trace({**bars, "hovertemplate": "chosen in %{x:.1%} of the rolls<extra></extra>"}, 1, 2)
    ticks = kit.ticks([label(token, 12) for token in result.tokens[:count]], mono=13)
    fig.update_yaxes(range=[count - 0.5, -0.5], showgrid=False, **ticks)
    fig.update_xaxes(visible=False)
    fig.update_xaxes(range=[0, max(0.05, float(shares.max())) * 1.9], row=1, col=2)
    legend = "   ".join(f"{coloured('■', SHADES[k])} {WORDS[k]}" for k in (MASKED, RANDOM, SAME))
    fig.add_annotation(kit.above(f"{rolls} rolls<br>{legend}", 4, size=12))
    fig.add_annotation(kit.above(f"of {COUNTED:,}", 20, size=12, x=fig.settings["xaxis2"]["domain"][0]))
    return finish(fig, max(320, LINE * count + 60), bargap=0.35, margin={"l": 8, "r": 8, "t": 52, "b": 8})


def cell_text(result: Masked, roll: int, position: int) -> str:
    """The text in a cell: the random piece that replaced the token; for other changes the colour is enough."""
    return label(result.pieces[roll][position], 7) if result.kinds[roll, position] == RANDOM else ""


def hover_text(result: Masked, roll: int, position: int) -> str:
    kind, token = int(result.kinds[roll, position]), safe(result.tokens[position])
    if kind == NOT_CHOSEN:
        return f"roll {roll + 1}: {token} is not chosen"
    if kind == RANDOM:
        return f"roll {roll + 1}: {token} becomes {safe(result.pieces[roll][position])}"
    return f"roll {roll + 1}: {token} " + ("becomes [MASK]" if kind == MASKED else "stays, and must be guessed")


def colours(result: Masked) -> dict[int, float]:
    """Position -> 1 where the first roll chose it, for the strip."""
    return {int(i): 1.0 for i in np.flatnonzero(result.kinds[0] != NOT_CHOSEN)}


def say(result: Masked) -> str:
    """What the first roll did, and the shares of a thousand."""
    changes = []
    for position in np.flatnonzero(result.kinds[0] != NOT_CHOSEN)[:4]:
        kind, token = int(result.kinds[0, position]), quote(result.tokens[position])
        became = {MASKED: "becomes [MASK]", SAME: "stays", RANDOM: f"becomes {quote(result.pieces[0][position])}"}[kind]
        changes.append(f"{token} {became}")
    count = int((result.kinds[0] != NOT_CHOSEN).sum())
    more = f", and {count - len(changes)} more" if count > len(changes) else ""
    shares, options = result.shares, result.options
    requested = f"{percent(options.masked)}, {percent(options.random)}, {percent(1 - options.masked - options.random)}"
    sentence = (
        f"In the first roll BERT must guess {count} of {result.can_be_chosen} tokens: {', '.join(changes)}{more}. "
        f"Over {COUNTED:,} rolls {percent(result.chosen)} were chosen ({percent(options.chosen)} requested); of these "
        f"{percent(shares[KINDS[MASKED]])} became [MASK], {percent(shares[KINDS[RANDOM]])} a random piece, "
        f"{percent(shares[KINDS[SAME]])} stayed ({requested} requested)."
    )
    if len(result.tokens) > LINES:
        sentence += f" The first {LINES} of {len(result.tokens)} tokens are drawn."
    return sentence

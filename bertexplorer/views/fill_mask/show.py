"""Figure for fill-mask: a bar for each answer, mask by mask; the hidden piece and the named words in their own
colours."""

import math

from bertexplorer.answers.candidates import Blank
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import ACCENT, GREEN, ORANGE, finish, label, percent, quote, unlike_uncertainties
from bertexplorer.views.fill_mask.compute import FillMask
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fill-mask",
    place=1,
    title="One mask",
    question="What would BERT put here?",
    note=(
        "These are bets on which word people would write, not facts that BERT knows: it can be sure and wrong. Each "
        "mask is filled as if it were the only one."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example("The capital of France", "The capital of France is [MASK].", shows='top() == "paris"'),
        Example("A pigeon is (not) a bird", "A pigeon is not a [MASK].", shows='top() == "bird"'),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"words": "is, are"},
            shows='p("are") > 5 * p("is")',
        ),
        Example("A birthday cake", "She baked a birthday [MASK].", shows='top() == "cake"'),
        Example("The farmers", "The farmers cultivate the [MASK] to grow crops.", shows='top() == "land"'),
    ),
)

AXIS = [0, 1.35]  # of every bar, so that one of 16 % is short; the words next to one of 100 % fit
BAR, HEAD = 30, 44  # pixels for a bar, and for the heading above the bars of a mask
DRAWN = 12  # answers drawn for each mask when there are several


def draw(result: FillMask) -> Chart:
    several = len(result.blanks) > 1
    lines = [bars(blank, DRAWN if several else 100) for blank in result.blanks]
    heights = [HEAD + BAR * len(line) for line in lines]
    data = []
    layout = {}
    titles = []
    top = 1.0
    for row, (blank, line, height) in enumerate(zip(result.blanks, lines, heights, strict=True), 1):
        labels, values, colours, texts = zip(*line, strict=True)
        number = str(row) if row > 1 else ""
        tip = "%{customdata} %{text}<extra></extra>"
        axes = {"xaxis": kit.axis("x", row), "yaxis": kit.axis("y", row)}
        data.append({**kit.bars(values, colours, text=texts, hover=labels), "hovertemplate": tip, **axes})
        head = HEAD / sum(heights) if several else 0.0
        bottom = max(0.0, top - height / sum(heights))
        domain: kit.Part = {"domain": [bottom, top - head], "anchor": axes["xaxis"]}
        layout[f"yaxis{number}"] = {**kit.down(labels, mono=14), **domain}
        layout[f"xaxis{number}"] = {"range": AXIS, "visible": False, "anchor": axes["yaxis"]}
        if several:
            middle: kit.Part = {"x": 0.5, "y": top - head, "xanchor": "center"}
            titles.append(kit.above(f"mask {row}, token {blank.position}", 0, size=16, **middle))
        top = bottom
    fig = Chart(data, {**layout, "annotations": titles})
    # meta: the page paints it without plotly
    return finish(fig, max(360, sum(heights)), bargap=0.28, margin={"l": 8, "r": 16, "t": 4, "b": 8}, meta="bars")


def bars(blank: Blank, most: int) -> list[tuple[str, float, str, str]]:
    """(label, probability, colour, words next to the bar) from the top down."""
    was = blank.original
    lines = []
    for c in blank.candidates[:most]:
        hidden = was is not None and c.id == was.id
        mark = " · was hidden here" if hidden else ""
        lines.append((label(c.token), c.probability, GREEN if hidden else ACCENT, percent(c.probability) + mark))
    if was is not None and was.rank > min(most, len(blank.candidates)):
        words = f"{percent(was.probability)} · was hidden here, rank {was.rank:,}"
        lines.append((label(was.token), was.probability, GREEN, words))
    for w in blank.words:
        note = f"rank {w.rank:,}" if w.rank else f"{len(w.pieces)} pieces"
        lines.append((label(w.word), w.probability, ORANGE, f"{percent(w.probability)} · {note}"))
    return lines


def say(result: FillMask) -> str:
    """Describe the first masks."""
    sentences = []
    for number, blank in enumerate(result.blanks[:3], 1):
        subject = f"For mask {number} it" if len(result.blanks) > 1 else "It"
        best = blank.candidates[0]
        text = f"{subject} would put {quote(best.token)} with {percent(best.probability)}"
        if len(blank.candidates) > 1:
            second = blank.candidates[1]
            text += f", then {quote(second.token)} with {percent(second.probability)}"
        if blank.original is not None and blank.original.rank > 1:
            text += f"; the hidden {quote(blank.original.token)} comes at rank {blank.original.rank:,}"
        choices = 2**blank.entropy
        even = f"{choices:,.0f}" if choices >= 10 else f"{choices:.1f}"
        sentences.append(
            f"{text}. Its uncertainty is {blank.entropy:.1f} bits, as if choosing among {even} equally likely words."
        )
    remaining = len(result.blanks) - 3 + result.left_out
    if remaining > 0:
        sentences.append(
            f"{remaining} more masks follow" + (f", {result.left_out} not shown." if result.left_out else ".")
        )
    return " ".join(sentences)


def compare(first: FillMask, second: FillMask) -> str:
    """The largest possible uncertainty of each, if their vocabularies differ in size."""
    return unlike_uncertainties(math.log2(first.vocab_size), math.log2(second.vocab_size))

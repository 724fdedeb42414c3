"""Figure for fill-mask: a bar for each answer, mask by mask; the hidden piece and the named words in their own
colours."""

import math

from bertexplorer.answers.candidates import Blank
from bertexplorer.charts.marks import Bar, Bars, Figure, Panel
from bertexplorer.charts.style import percent, quote, unlike_uncertainties
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

DRAWN = 12  # answers drawn for each mask when there are several


def draw(result: FillMask) -> Figure:
    several = len(result.blanks) > 1
    panels = []
    for number, blank in enumerate(result.blanks, 1):
        title = f"mask {number}, token {blank.position}" if several else ""
        panels.append(Panel([Bars(bars(blank, DRAWN if several else 100), high=1, tokens=True)], title))
    return Figure(panels)


def bars(blank: Blank, most: int) -> list[Bar]:
    """The answers, the hidden piece and the words that were named, from the top down."""
    hidden = blank.original
    bars = []
    for answer in blank.candidates[:most]:
        share = percent(answer.probability)
        if hidden is not None and answer.id == hidden.id:
            bars.append(Bar(answer.token, answer.probability, f"{share} · was hidden here", "green"))
        else:
            bars.append(Bar(answer.token, answer.probability, share))
    if hidden is not None and hidden.rank > min(most, len(blank.candidates)):
        text = f"{percent(hidden.probability)} · was hidden here, rank {hidden.rank:,}"
        bars.append(Bar(hidden.token, hidden.probability, text, "green"))
    for word in blank.words:
        note = f"rank {word.rank:,}" if word.rank else f"{len(word.pieces)} pieces"
        bars.append(Bar(word.word, word.probability, f"{percent(word.probability)} · {note}", "orange"))
    return bars


def say(result: FillMask) -> str:
    """Describe the first masks."""
    sentences = []
    for number, blank in enumerate(result.blanks[:3], 1):
        subject = f"For mask {number} it" if len(result.blanks) > 1 else "It"
        best = blank.candidates[0]
        parts = [f"{subject} would put {quote(best.token)} with {percent(best.probability)}"]
        if len(blank.candidates) > 1:
            second = blank.candidates[1]
            parts.append(f", then {quote(second.token)} with {percent(second.probability)}")
        if blank.original is not None and blank.original.rank > 1:
            parts.append(f"; the hidden {quote(blank.original.token)} comes at rank {blank.original.rank:,}")
        sentences.append(f"{''.join(parts)}.")
        choices = 2**blank.entropy
        even = f"{choices:,.0f}" if choices >= 10 else f"{choices:.1f}"
        sentences.append(
            f"Its uncertainty is {blank.entropy:.1f} bits, as if choosing among {even} equally likely words."
        )
    remaining = len(result.blanks) - 3 + result.left_out
    if remaining > 0 and result.left_out:
        sentences.append(f"{remaining} more masks follow, {result.left_out} not shown.")
    elif remaining > 0:
        sentences.append(f"{remaining} more masks follow.")
    return " ".join(sentences)


def compare(first: FillMask, second: FillMask) -> str:
    """The largest possible uncertainty of each, if their vocabularies differ in size."""
    return unlike_uncertainties(math.log2(first.vocab_size), math.log2(second.vocab_size))

"""Figure for layers: the best answers after each layer, the rank of the followed words, and the distance to the
answer."""

import numpy as np

from bertexplorer.answers.layer_answers import Layers, Tuned
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    GREY,
    GROUPS,
    ORANGE,
    PALE,
    SHADES,
    decimal,
    finish,
    join_names,
    label,
    only_first_mask,
    percent,
    quote,
    safe,
    unlike_uncertainties,
)
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Layers",
    place=1,
    title="Layers",
    question="When does BERT make up its mind?",
    note=(
        "The head that reads out words was trained on the last layer only. An earlier layer may know more than the "
        "head can read there, so a poor early answer does not show that the layer knows nothing. The tuned lens reads "
        "more there, but it was trained to predict the final answer: the layers above need not use what it reads."
    ),
    papers=(
        "nostalgebraist, 2020, Interpreting GPT: The Logit Lens",
        "Belrose et al., 2023, Eliciting Latent Predictions from Transformers with the Tuned Lens",
    ),
    examples=(
        Example(
            "The capital of France",
            "The capital of France is [MASK].",
            shows='top() == "paris" and settled() > layers() / 2 and rank("brussels", 1) > 100',
        ),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"words": "is, are"},
            shows='top() == "are" and rank("is") > 10',
        ),
        Example("A pigeon is (not) a bird", "A pigeon is not a [MASK].", shows='top() == "bird"'),
        Example(
            "He or she",
            "The doctor said that [MASK] is busy.",
            options={"words": "he, she"},
            shows='top() == "he" and rank("she") == 2',
        ),
        Example(
            "The farmers",
            "The farmers cultivate the [MASK] to grow crops.",
            options={"words": "land, crops, rice"},
            shows='rank("land") == 1 and rank("rice") > 3',
        ),
    ),
)

DRAWN = 5  # answers a layer
# pixels: a row of answers, the panels below it, and between them
CELL = 40
RANKS = 250
BITS = 130
GAP = 62
PLOT = 0.64  # share of the width for the lines; their names are to the right
COLOURS = (*GROUPS, GREY)
BEST_TOKEN = {
    "span start": "Start of the answer, among all tokens: ",
    "span end": "End of the answer, among all tokens: ",
}
FOLLOWED = {"mask": "word", "label": "label", "tag": "tag"}  # else a token
DASHES = ("solid", "solid", "solid", "dash", "dash", "dash", "dot", "dot")


def draw(result: Layers) -> Chart:
    if result.scored:
        return scores(result)
    heights = [CELL * len(result.layers), RANKS, BITS, *([BITS] if result.tuned else [])]
    rank = f"rank of the {FOLLOWED.get(result.target, 'token')} (1 is the first choice)"
    titles = ("", rank, "bits", "bits to the final answer, held-out text")
    fig = kit.panels(heights, GAP, titles[: len(heights)])
    answers(fig, result)
    ranks(fig, result)
    bits(fig, result)
    if result.tuned:
        held_out(fig, result.tuned)
    for row in range(2, len(heights) + 1):
        fig.update_xaxes(kit.layer_axis(len(result.layers), PLOT), row=row, col=1)
    fig.update_xaxes(title=kit.title("after layer"), row=len(heights), col=1)
    direct_labels(fig, result)
    return finish(fig, kit.height_of(heights, GAP) + 56, margin={"l": 8, "r": 12, "t": 8, "b": 48})


def scores(result: Layers) -> Chart:
    """The score that each layer would give, were it the last."""
    values = list(result.scores)
    names = [kit.layer_name(layer) for layer in range(len(values))]
    colours = [*[PALE] * (len(values) - 1), ACCENT]
    fig = Chart([kit.bars(values, colours, text=[decimal(value) for value in values])])
    fig.update_yaxes(**kit.down(names))
    fig.update_xaxes(range=kit.from_zero(values), visible=False)
    fig.add_annotation(kit.above(f"{label(result.layers[-1].candidates[0].token, 30)}, read after each layer", 4))
    return finish(fig, max(300, 40 + 30 * len(values)), margin={"l": 8, "r": 16, "t": 28, "b": 8}, bargap=0.28)


def answers(fig: Chart, result: Layers) -> None:
    """A row for each layer from the input down, the first choice on the left."""
    count = min(DRAWN, len(result.layers[0].candidates))
    lines = [answer.candidates[:count] for answer in result.layers]
    letters = {1: 30, 2: 18, 3: 11, 4: 8}.get(count, 7)
    names = [kit.layer_name(layer) for layer in range(len(lines))]
    bits = [f"{a.entropy:.1f} bits of uncertainty, {a.divergence:.1f} from the final answer" for a in result.layers]
    hovers = [[f"{names[i]}: {safe(c.token)}<br>{bits[i]}" for c in line] for i, line in enumerate(lines)]
    shares = np.array([[c.probability for c in line] for line in lines])
    text = [[f"{label(c.token, letters)}<br>{percent(c.probability)}" for c in line] for line in lines]
    font = kit.ink(13 if count < 4 else 12)
    most = max(0.01, float(shares.max()))
    fig.add_trace(kit.cells(shares, SHADES, 0, most, text=text, hover=hovers, textfont=font), 1, 1)
    fig.update_yaxes(kit.down(names), row=1, col=1)
    fig.update_xaxes(visible=False, row=1, col=1)


def ranks(fig: Chart, result: Layers) -> None:
    """A line for each followed word on a logarithmic axis, rank 1 on top."""
    for word, colour, dash in zip(result.followed, COLOURS, DASHES, strict=False):
        ranks = word.ranks.tolist()
        hovers = [
            f"{safe(word.token)} {i or 'input'}: rank {rank:,}, {percent(float(share))}"
            for i, (rank, share) in enumerate(zip(ranks, word.probabilities, strict=True))
        ]
        style: kit.Part = {"dash": dash, "size": 7 if len(ranks) <= 13 else 5, "hovertemplate": kit.HOVER}
        fig.add_trace(kit.line(list(range(len(ranks))), ranks, colour, customdata=hovers, **style), 2, 1)
    low = lowest(result)
    values = [10**power for power in range(int(low) + 1)]
    ticks = {"tickvals": values, "ticktext": [f"{value:,}" for value in values]}
    fig.update_yaxes(type="log", range=[low, -0.08], **ticks, row=2, col=1)


def lowest(result: Layers) -> float:
    """The exponent of 10 at the foot of the ranks' axis."""
    worst = max((int(word.ranks.max()) for word in result.followed), default=1)
    return max(1.0, float(np.log10(worst))) * 1.04


def bits(fig: Chart, result: Layers) -> None:
    """The uncertainty of each layer's answer, and its distance from the final one."""
    lines = ((ACCENT, "solid", [a.entropy for a in result.layers]), (ORANGE, "dash", kl(result)))
    for (colour, dash, values), name in zip(lines, ("uncertainty", "to the final answer"), strict=True):
        tip = f"{name} %{{y:.2f}} bits<extra></extra>"
        fig.add_trace(kit.line(list(range(len(values))), values, colour, dash=dash, hovertemplate=tip), 3, 1)
    fig.update_yaxes(range=[0, top_bits(result)], nticks=4, row=3, col=1)


def held_out(fig: Chart, tuned: Tuned) -> None:
    """The distance of both lenses from the final answer, on sentences outside the fit."""
    top = max(1.0, *tuned.raw, *tuned.tuned) * 1.08
    lines = ((ACCENT, "solid", "tuned lens", tuned.tuned), (GREY, "dash", "raw lens", tuned.raw))
    for colour, dash, name, values in lines:
        tip = f"{name} %{{y:.2f}} bits<extra></extra>"
        fig.add_trace(kit.line(list(range(len(values))), values, colour, dash=dash, hovertemplate=tip), 4, 1)
    ends = [values[-1] for *_, values in lines]
    texts = [f"{values[-1]:.1f} {name}" for *_, name, values in lines]
    x = len(tuned.raw) + kit.room(len(tuned.raw) + 1)
    fig.add_trace(kit.line_names(x, ends, texts, [colour for colour, *_ in lines], (0, top), BITS), 4, 1)
    fig.update_yaxes(range=[0, top], nticks=4, row=4, col=1)


def kl(result: Layers) -> list[float]:
    return [answer.divergence for answer in result.layers]


def top_bits(result: Layers) -> float:
    return max(1.0, *(answer.entropy for answer in result.layers), *kl(result)) * 1.08


def direct_labels(fig: Chart, result: Layers) -> None:
    """Write the name of each line next to its end; spread names whose ends are close."""
    x, low = len(result.layers) - 1 + kit.room(len(result.layers)), lowest(result)
    exponents = [float(np.log10(max(1, word.ranks[-1]))) for word in result.followed]
    texts = [label(f"{w.ranks[-1]:,} {w.token}", 14) for w in result.followed]
    names = kit.line_names(x, exponents, texts, COLOURS[: len(texts)], (low, -0.08), RANKS)
    fig.add_trace({**names, "y": [10**y for y in names["y"]]}, 2, 1)
    last = result.layers[-1]
    texts = [f"{last.entropy:.1f} unsure", f"{last.divergence:.1f} to final"]
    values = [last.entropy, last.divergence]
    fig.add_trace(kit.line_names(x, values, texts, (ACCENT, ORANGE), (0, top_bits(result)), BITS), 3, 1)


def rank_change(first: int, last: int) -> str:
    return f"stays at rank {last:,}" if first == last else f"goes from rank {first:,} to rank {last:,}"


def say(result: Layers) -> str:
    """The layer where the final answer becomes the first choice, and the ranks of the followed words."""
    if result.scored:
        return say_scores(result)
    final = result.layers[-1].candidates[0]
    first = result.layers[0]
    count = len(result.layers) - 1
    start = (
        f"is the first choice from the input on and ends at {percent(final.probability)}"
        if result.settled == 0
        else f"stays the first choice from layer {result.settled} of {count} on and ends at "
        f"{percent(final.probability)}"
    )
    about = f"Tag of {quote(result.word)}: " if result.word else BEST_TOKEN.get(result.target, "")
    sentences = [
        f"{about}{quote(final.token)} {start}; the input alone would have put {quote(first.candidates[0].token)} first."
    ]
    sentences += [
        f"{'The hidden ' if word.hidden else ''}{quote(word.token)} {rank_change(*word.ranks[[0, -1]].tolist())}."
        for word in result.followed
        if word.id != final.id or result.settled == 0
    ][:2]
    sentences.append(
        f"The uncertainty goes from {first.entropy:.1f} to {result.layers[-1].entropy:.1f} bits, and one layer before "
        f"the end the answer is still {result.layers[-2].divergence:.1f} bits away from the final one."
    )
    if result.tuned:
        sentences.append(say_tuned(result.tuned))
    return " ".join([*sentences, *result.caveats, *only_first_mask(result.other_masks)])


def say_scores(result: Layers) -> str:
    first, *_, last = result.scores
    count = len(result.layers) - 1
    settled = (
        "It changes by less than a tenth of its range from the input on."
        if result.settled == 0
        else f"From layer {result.settled} of {count} on it stays within a tenth of its range."
    )
    name = quote(result.layers[-1].candidates[0].token)
    return (
        f"Read from the input alone, {name} would be {decimal(first)}; after the last layer it is {decimal(last)}. "
        + " ".join([settled, *result.caveats])
    )


def say_tuned(tuned: Tuned) -> str:
    """The data of the lens's fit, and whether the lens helps on unseen sentences."""
    middle = len(tuned.raw) // 2
    worse = [kit.layer_name(layer) for layer in tuned.worse]
    no_better = f" It is worse than the raw lens at {join_names(worse)}." if worse else ""
    return (
        f"The tuned lens was fitted at {tuned.positions:,} masks of built-in English sentences in {tuned.seconds:.0f} "
        f"s. At {tuned.held_out:,} other masks it is {tuned.tuned[middle]:.1f} bits from the final answer at "
        f"{kit.layer_name(middle)}, the raw lens {tuned.raw[middle]:.1f}.{no_better}"
    )


def compare(first: Layers, second: Layers) -> str:
    """The largest possible uncertainty of each, if they choose among different numbers of answers."""
    return "" if first.scored or second.scored else unlike_uncertainties(first.most_bits, second.most_bits)

"""Figure for layers: the best answers after each layer, the rank of the followed words, and the distance to the
answer."""

from dataclasses import replace

from bertexplorer.answers.layer_answers import Layers, Tuned
from bertexplorer.charts.marks import GROUPS, Bar, Bars, Cells, Dash, Figure, Line, Lines, Panel, Tone
from bertexplorer.charts.style import (
    decimal,
    join_names,
    layer_name,
    only_first_mask,
    percent,
    quote,
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
TONES: tuple[Tone, ...] = (*GROUPS, "grey")
DASHES: tuple[Dash, ...] = ("solid", "solid", "solid", "dash", "dash", "dash", "dot", "dot")


def draw(result: Layers) -> Figure:
    if result.scored:
        return Figure([Panel([scores(result)], f"{result.layers[-1].candidates[0].token}, read after each layer")])
    steps = ["in", *map(str, range(1, len(result.layers)))]
    rank_title = f"rank of the {result.readout.class_name} (1 is the first choice)"
    panels = [
        Panel([answers(result)]),
        Panel([Lines(steps, ranks(result), scale="rank")], rank_title),
        Panel([Lines(steps, bits(result))], "bits"),
    ]
    if result.tuned:
        panels.append(Panel([Lines(steps, held_out(result.tuned))], "bits to the final answer, held-out text"))
    panels[-1] = replace(panels[-1], x="after layer")  # the axis that all share is named once
    return Figure(panels)


def scores(result: Layers) -> Bars:
    """The score that each layer would give, were it the last."""
    last = len(result.scores) - 1
    bars = []
    for layer, score in enumerate(result.scores):
        tone: Tone = "blue" if layer == last else "pale"
        bars.append(Bar(layer_name(layer), score, decimal(score), tone))
    return Bars(bars)


def answers(result: Layers) -> Cells:
    """A row for each layer from the input down, the first choice on the left."""
    count = min(DRAWN, len(result.layers[0].candidates))
    names = [layer_name(layer) for layer in range(len(result.layers))]
    shares = []
    text = []
    hover = []
    for name, layer in zip(names, result.layers, strict=True):
        bits = f"{layer.entropy:.1f} bits of uncertainty, {layer.divergence:.1f} from the final answer"
        best = layer.candidates[:count]
        shares.append([c.probability for c in best])
        text.append([f"{c.token}\n{percent(c.probability)}" for c in best])
        hover.append([f"{name}: {c.token}\n{bits}" for c in best])
    high = max(0.01, *(share for row in shares for share in row))
    return Cells(names, (), shares, low=0, high=high, text=text, hover=hover)


def ranks(result: Layers) -> list[Line]:
    """A line for each followed word."""
    lines = []
    for word, tone, dash in zip(result.followed, TONES, DASHES, strict=False):
        hover = []
        for layer, (rank, share) in enumerate(zip(word.ranks.tolist(), word.probabilities, strict=True)):
            hover.append(f"{word.token} {layer or 'input'}: rank {rank:,}, {percent(float(share))}")
        end = f"{word.ranks[-1]:,} {word.token}"
        lines.append(Line(word.token, word.ranks, end=end, tone=tone, dash=dash, hover=hover))
    return lines


def bits(result: Layers) -> list[Line]:
    """The uncertainty of each layer's answer, and its distance from the final one."""
    last = result.layers[-1]
    uncertainty = [answer.entropy for answer in result.layers]
    distance = [answer.divergence for answer in result.layers]
    return [
        Line("uncertainty, bits", uncertainty, end=f"{last.entropy:.1f} unsure"),
        Line("to the final answer, bits", distance, end=f"{last.divergence:.1f} to final", tone="orange", dash="dash"),
    ]


def held_out(tuned: Tuned) -> list[Line]:
    """The distance of both lenses from the final answer, on sentences outside the fit; the last layer is the answer."""
    return [
        Line("tuned lens, bits", tuned.tuned, end=f"{tuned.tuned[-1]:.1f} tuned lens"),
        Line("raw lens, bits", tuned.raw, end=f"{tuned.raw[-1]:.1f} raw lens", tone="grey", dash="dash"),
    ]


def rank_change(first: int, last: int) -> str:
    return f"stays at rank {last:,}" if first == last else f"goes from rank {first:,} to rank {last:,}"


def say(result: Layers) -> str:
    """The layer where the final answer becomes the first choice, and the ranks of the followed words."""
    if result.scored:
        return say_scores(result)
    final = result.layers[-1].candidates[0]
    first = result.layers[0]
    # 1. From which layer on the final answer is the first choice.
    if result.settled == 0:
        since = "is the first choice from the input on"
    elif result.settled == len(result.layers) - 1:
        since = "becomes the first choice only in the last layer"
    else:
        since = f"stays the first choice from layer {result.settled} of {len(result.layers) - 1} on"
    sentences = [
        f"{result.subject}{quote(final.token)} {since} and ends at {percent(final.probability)}; the input alone would "
        f"have put {quote(first.candidates[0].token)} first."
    ]
    # 2. Two of the other words that are followed.
    others = [word for word in result.followed if word.id != final.id or result.settled == 0]
    for word in others[:2]:
        name = f"The hidden {quote(word.token)}" if word.hidden else quote(word.token)
        sentences.append(f"{name} {rank_change(*word.ranks[[0, -1]].tolist())}.")
    # 3. How sure each layer is.
    sentences.append(
        f"The uncertainty goes from {first.entropy:.1f} to {result.layers[-1].entropy:.1f} bits, and one layer before "
        f"the end the answer is still {result.layers[-2].divergence:.1f} bits away from the final one."
    )
    if result.tuned:
        sentences.append(say_tuned(result.tuned))
    return " ".join([*sentences, *result.caveats, *only_first_mask(result.other_masks)])


def say_scores(result: Layers) -> str:
    """For a head that gives a score or a cosine: its value at the input and after the last layer, and from which layer
    on it hardly changes."""
    [score] = result.layers[-1].candidates  # the only one of a layer; its token is the name of the score
    at_input = decimal(result.scores[0])
    at_end = decimal(result.scores[-1])
    sentences = [
        f"Read from the input alone, {quote(score.token)} would be {at_input}; after the last layer it is {at_end}."
    ]
    if result.settled == 0:
        sentences.append("It changes by less than a tenth of its range from the input on.")
    else:
        last_layer = len(result.layers) - 1  # layer 0 is the input
        sentences.append(f"From layer {result.settled} of {last_layer} on it stays within a tenth of its range.")
    return " ".join([*sentences, *result.caveats])


def say_tuned(tuned: Tuned) -> str:
    """The data of the lens's fit, and whether the lens helps on unseen sentences."""
    middle = len(tuned.raw) // 2
    sentences = [
        f"The tuned lens was fitted at {tuned.positions:,} masks of built-in English sentences. "
        f"At {tuned.held_out:,} other masks it is {tuned.tuned[middle]:.1f} bits from the final answer at "
        f"{layer_name(middle)}, the raw lens {tuned.raw[middle]:.1f}."
    ]
    if tuned.worse:
        layers = join_names([layer_name(layer) for layer in tuned.worse])
        sentences.append(f"It is worse than the raw lens at {layers}.")
    return " ".join(sentences)


def compare(first: Layers, second: Layers) -> str:
    """The largest possible uncertainty of each, if they choose among different numbers of answers; "" for scores."""
    if first.scored or second.scored:
        return ""
    return unlike_uncertainties(first.most_bits, second.most_bits)

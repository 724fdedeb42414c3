"""Figure for neurons: what each writes at a token, the answer without several, and where the open one answers."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    BAND,
    GREY,
    PALE,
    begin,
    beyond_limit,
    capital,
    clip,
    count,
    decimal,
    finish,
    join_names,
    label,
    measure,
    only_first_mask,
    quote,
    two_lines,
)
from bertexplorer.views.neurons.compute import Neurons, Peak, Writer
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Layers",
    place=2,
    title="Neurons",
    question="Which neurons wrote it?",
    note=(
        "A neuron seldom has one meaning: it may answer in places that have nothing to do with each other, and other "
        "lines may suggest another meaning (Bolukbasi et al., 2021). The words are those that become less probable if "
        "it does not write, read by a head that was trained on the last layer, so in early layers they say little. "
        "That the answer falls without a few neurons does not mean that they hold the fact: others prepare what they "
        "read, and some, such as 1·857 of mini, count for nearly every answer. Random ones are the measure of what any "
        "loss would do. The neurons that count were looked for among those that a gradient ranks first and those that "
        "write most; one may have been missed."
    ),
    papers=(
        "Geva et al., 2021, Transformer Feed-Forward Layers Are Key-Value Memories",
        "Geva et al., 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts",
        "Dai et al., 2022, Knowledge Neurons in Pretrained Transformers",
        "Bolukbasi et al., 2021, An Interpretability Illusion for BERT",
    ),
    examples=(
        Example(
            "The farmers",
            "The farmers cultivate the [MASK] to grow crops.",
            shows='raises() == "land" and half() == 2 and without_random(300) > 0.8 * before()',
        ),
        Example(
            "The capital of France",
            "The capital of France is [MASK].",
            shows="half() == 1 and without(10) < 0.1 * before() < without_random(300)",
        ),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"word": "are"},
            shows='answer() == "are" and raises() == "are" and half() <= 5',
        ),
        Example(
            "A key",
            "The capital of France is [MASK].",
            options={"layer": 4, "neuron": 1280},
            shows='change() < -0.5 and peak_token() == "the"',
        ),
        Example("Nothing hidden", "Paris is the capital of France.", picked="0:0-5", shows='answer() == ""'),
    ),
    slow=True,
    needs=("lines",),
)

WRITER = 40  # px: a neuron
CURVE = 200  # px: the curve
TOKEN = 24  # px: a token
LINE = 62  # px: a line
GAP = 76  # px: between two panels
DRAWN = 40  # tokens
OFFERED = 3  # of the neurons that count most
SHARE = 0.72  # of the width for the curve, whose names are to the right


def draw(result: Neurons) -> Chart:
    shown = len(result.tokens[:DRAWN])
    heights = [WRITER * len(result.writers), *([CURVE] if result.curve else []), TOKEN * shown]
    heights.append(LINE * len(result.peaks))
    fig = kit.panels(heights, GAP)
    draw_writers(fig, result)
    if result.curve:
        draw_curve(fig, result)
    draw_along(fig, result, row=len(heights) - 1)
    draw_peaks(fig, result, row=len(heights))
    for neuron in result.curve.first[:OFFERED] if result.curve else ():
        if neuron != result.open:
            lead = {"set": {"layer": neuron.layer + 1, "neuron": neuron.number + 1}}
            fig.presses.append({"text": f"Open {neuron}, which counts too", **lead})
    return finish(fig, kit.height_of(heights, GAP) + 80, margin={"l": 8, "r": 12, "t": 72, "b": 8})


def draw_writers(fig: Chart, result: Neurons) -> None:
    """A bar for each neuron, with the words that it raises above it. A press opens it."""
    writers = result.writers
    lengths = [writer.length for writer in writers]
    leads = [{"set": {"layer": w.neuron.layer + 1, "neuron": w.neuron.number + 1}} for w in writers]
    colours = [ACCENT if writer.neuron == result.open else PALE for writer in writers]
    tips = [f"{hover(result, writer)}<extra></extra>" for writer in writers]
    text = [decimal(length) for length in lengths]
    bars = kit.bars(lengths, colours, text=text, width=0.3, customdata=leads, hovertemplate=tips)
    fig.add_trace(bars, 1, 1)
    names = [name_writer(result, writer) for writer in writers]
    fig.add_trace(kit.texts(0, [row - 0.4 for row in range(len(writers))], names), 1, 1)
    fig.update_xaxes(range=[0, 1.15 * (max(lengths) or 1.0)], row=1, col=1, **kit.HIDDEN)
    fig.update_yaxes(range=[len(writers) - 0.7, -0.85], row=1, col=1, **kit.HIDDEN)
    title = f"Layer {result.layer + 1}: how much each neuron<br>writes at {label(result.tokens[result.position], 14)}"
    if any(writer.words for writer in writers):
        title += ", and the words it raises"
    fig.add_annotation(kit.above(title, row=1))


def name_writer(result: Neurons, writer: Writer) -> str:
    """Its number, the words that it raises, and whether it is one of those that count most for the answer."""
    words = ", ".join(label(word, 14) for word in writer.words)
    counts = result.curve is not None and writer.neuron in result.curve.first[:OFFERED]
    return f"<b>{writer.neuron}</b>  {words}{'  · counts most' if counts else ''}"


def hover(result: Neurons, writer: Writer) -> str:
    sentences = [f"neuron {writer.neuron}: activation {decimal(writer.activation)}, writes {decimal(writer.length)}"]
    if writer.words:
        sentences.append(f"raises {', '.join(label(word, 20) for word in writer.words)}")
    if not np.isnan(writer.change):
        sentences.append(f"without it: {without(result, writer)}, with all {measure(result.before, result.scored)}")
    return "<br>".join(sentences)


def without(result: Neurons, writer: Writer) -> str:
    """What is left of the answer if this neuron is off at every token."""
    before = result.before
    return measure(before + writer.change if result.scored else before * 2.0**writer.change, result.scored)


def draw_curve(fig: Chart, result: Neurons) -> None:
    """The answer without more and more neurons, and without as many random ones."""
    curve = result.curve
    assert curve
    x = list(range(len(curve.counts)))
    shape = "%{y:.3~f}" if result.scored else "%{y:.1%}"
    quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fig.add_scatter(x=x, y=curve.random.max(axis=0), **quiet, row=2, col=1)
    fig.add_scatter(x=x, y=curve.random.min(axis=0), **quiet, fill="tonexty", fillcolor=BAND, row=2, col=1)
    lines = (
        ("those that<br>count most", curve.strongest, ACCENT, None),
        ("random", curve.random.mean(axis=0), GREY, "dot"),
    )
    for name, values, colour, dash in lines:
        tip = f"without %{{customdata}} neurons, {name.replace('<br>', ' ')}: {shape}<extra></extra>"
        counts = list(curve.counts)
        fig.add_trace(kit.line(x, values.tolist(), colour, dash=dash, customdata=counts, hovertemplate=tip), 2, 1)
    low = min(0.0, float(curve.strongest.min()), float(curve.random.min()))
    high = max(0.0, float(curve.strongest.max()), float(curve.random.max()))
    ends = (low, high + 0.06 * ((high - low) or 1.0))
    last, names, colours = zip(*((float(v[-1]), name, colour) for name, v, colour, _ in lines), strict=True)
    fig.add_trace(kit.line_names(len(x) - 0.7, last, names, colours, ends, CURVE, 8), 2, 1)
    named = [0, *x[1::2]]  # all of them would run into each other on a phone
    ticks = {"tickvals": named, "ticktext": [str(curve.counts[i]) for i in named], "tickangle": 0}
    fig.update_xaxes(domain=[0, SHARE], range=[-0.2, len(x) - 0.5], row=2, col=1, **ticks)
    fig.update_xaxes(title=kit.title(f"neurons off, of {result.total:,}"), showgrid=False, row=2, col=1)
    tickformat = ".2~f" if result.scored else ".0%"
    fig.update_yaxes(range=list(ends), tickformat=tickformat, nticks=4, row=2, col=1)
    first = join_names([str(neuron) for neuron in curve.first[:OFFERED]])
    fig.add_annotation(kit.above(f"{name_number(result)} without several neurons,<br>first {first}", row=2))


def name_number(result: Neurons) -> str:
    return label(result.answer, 20) if result.scored else f"P of {quote(label(result.answer, 16))}"


def draw_along(fig: Chart, result: Neurons, row: int) -> None:
    """The activation of the open neuron at each token."""
    tokens, values = result.tokens[:DRAWN], result.along[:DRAWN]
    text = [decimal(float(value)) for value in values]
    colours = [ACCENT if i == result.position else PALE for i in range(len(tokens))]
    hovers = [f"{label(token, 20)}: activation {t}" for token, t in zip(tokens, text, strict=True)]
    fig.add_trace(kit.bars(values.tolist(), colours, text=text, hover=hovers), row, 1)
    fig.update_yaxes(**kit.down([label(token, 14) for token in tokens], mono=13), row=row, col=1)
    fig.update_xaxes(range=kit.from_zero(values.tolist()), visible=False, row=row, col=1)
    fig.add_annotation(kit.above(f"activation of neuron {result.open} at each token", row=row))


def draw_peaks(fig: Chart, result: Neurons, row: int) -> None:
    """The lines that move it most, the token in question first."""
    values = [peak.activation for peak in result.peaks]
    hovers = [
        f"{label(peak.text, 60)}<br>at {label(peak.token, 20)}: {decimal(peak.activation)}" for peak in result.peaks
    ]
    fig.add_trace(kit.bars(values, PALE, width=0.24, hover=hovers), row, 1)
    names = [two_lines(f"{decimal(peak.activation)} at {peak.token} · {peak.text}") for peak in result.peaks]
    low = min(0.0, *values)
    fig.add_trace(kit.texts(low, [i - 0.42 for i in range(len(values))], names), row, 1)
    fig.update_xaxes(range=[low, 1.04 * (max(0.0, *values) or 1.0)], row=row, col=1, **kit.HIDDEN)
    fig.update_yaxes(range=[len(values) - 0.7, -0.9], row=row, col=1, **kit.HIDDEN)
    fig.add_annotation(kit.above(f"where it answers most, of {lines_read(result)}", row=row))


def lines_read(result: Neurons) -> str:
    return count(result.lines, "built-in sentence" if result.built_in else "uploaded line")


def colours(result: Neurons) -> dict[int, float]:
    """Position -> shade for the strip, -1 to 1: the activation of the open neuron."""
    most = float(np.abs(result.along).max()) or 1.0
    return {i: float(value) / most for i, value in enumerate(result.along)}


def say(result: Neurons) -> str:
    sentences = [*say_together(result), say_opened(result), say_peak(result, result.peaks[0])]
    sentences += [result.notes] if result.notes else []
    if len(result.tokens) > DRAWN:
        sentences.append(f"The first {DRAWN} of {len(result.tokens):,} tokens are drawn.")
    return " ".join([*sentences, *result.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)])


def say_together(result: Neurons) -> list[str]:
    """How few neurons the answer rests on, beside random ones."""
    curve = result.curve
    if curve is None:
        return ["Nothing is asked for here, so there is no answer to measure. Hide a word to see what it rests on."]
    start = f"{capital(begin(result.answer))} {measure(result.before, result.scored)}"
    at = curve.counts.index(curve.half) if curve.half and not result.scored else len(curve.counts) - 1
    few = "the one" if curve.counts[at] == 1 else f"the {curve.counts[at]:,}"
    verb = "counts" if curve.counts[at] == 1 else "count"
    left = measure(float(curve.strongest[at]), result.scored)
    random = measure(float(curve.random[:, at].mean()), result.scored)
    as_many = "a random one" if curve.counts[at] == 1 else f"{curve.counts[at]:,} random ones"
    first = [str(neuron) for neuron in curve.first[: curve.counts[at]]]
    named = f" ({join_names(first)})" if len(first) == curve.counts[at] else ""
    return [
        f"{start}. Without {few} of {result.total:,} neurons that {verb} most for it{named}, {left} is left; without "
        f"{as_many}, {random}. {curve.tried} were switched off one by one to find them."
    ]


def say_opened(result: Neurons) -> str:
    """What the open neuron writes at the followed token, and what the answer loses without it."""
    writer, token = result.opened, quote(result.tokens[result.position])
    rank = 1 + result.writers.index(writer)
    place = "writes most" if rank == 1 else f"is number {rank} of the list"
    words = f" and raises {join_names([quote(clip(word)) for word in writer.words])} there" if writer.words else ""
    sentence = f"In layer {result.layer + 1}, neuron {writer.neuron} {place} at {token}{words}"
    if np.isnan(writer.change):
        return f"{sentence}."
    return f"{sentence}. Without it alone, {begin(result.answer)} {without(result, writer)}."


def say_peak(result: Neurons, peak: Peak) -> str:
    """Where else it answers."""
    return (
        f"Of {lines_read(result)}, {quote(clip(peak.text, 60))} moves it most, at {quote(clip(peak.token))} "
        f"({decimal(peak.activation)}; here it has {decimal(result.opened.activation)})."
    )

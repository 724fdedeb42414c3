"""Figure for neurons: what each writes at a token, the answer without several, and where the open one answers."""

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.heads import Neuron
from bertexplorer.charts.marks import Bar, Bars, Button, Figure, Line, Lines, Panel, Tone
from bertexplorer.charts.style import (
    begin,
    beyond_limit,
    capital,
    clip,
    count,
    decimal,
    join_names,
    measure,
    only_first_mask,
    quote,
)
from bertexplorer.views.neurons.compute import Curve, Neurons, Peak, Writer
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

DRAWN = 40  # tokens
OFFERED = 3  # of the neurons that count most


def draw(result: Neurons) -> Figure:
    panels = [writers(result)]
    if result.curve:
        panels.append(curve(result, result.curve))
    panels += [along(result), peaks(result)]
    offered = result.curve.first[:OFFERED] if result.curve else ()
    buttons = []
    for neuron in offered:
        if neuron != result.open:
            buttons.append(Button(f"Open {neuron}, which counts too", open_neuron(neuron)))
    return Figure(panels, buttons)


def open_neuron(neuron: Neuron) -> dict[str, object]:
    """Where a press leads: to this neuron."""
    return {"set": {"layer": neuron.layer + 1, "neuron": neuron.number + 1}}


def writers(result: Neurons) -> Panel:
    """A bar for each neuron, with the words that it raises above it. A press opens it."""
    bars = []
    for writer in result.writers:
        text = decimal(writer.length)
        tone: Tone = "blue" if writer.neuron == result.open else "pale"
        door = open_neuron(writer.neuron)
        hover = describe(result, writer)
        bars.append(Bar(name_writer(result, writer), writer.length, text, tone, hover=hover, door=door))
    title = f"Layer {result.layer + 1}: how much each neuron writes at {result.tokens[result.position]}"
    if any(writer.words for writer in result.writers):
        title += ", and the words it raises"
    return Panel([Bars(bars, above=True)], title)


def name_writer(result: Neurons, writer: Writer) -> str:
    """Its number, the words that it raises, and whether it is one of those that count most for the answer."""
    name = f"{writer.neuron}  {', '.join(writer.words)}"
    if result.curve is not None and writer.neuron in result.curve.first[:OFFERED]:
        name = f"{name} · counts most"
    return name.rstrip()


def describe(result: Neurons, writer: Writer) -> str:
    """What the pointer shows of a neuron."""
    sentences = [f"neuron {writer.neuron}: activation {decimal(writer.activation)}, writes {decimal(writer.length)}"]
    if writer.words:
        sentences.append(f"raises {', '.join(writer.words)}")
    if not np.isnan(writer.change):
        sentences.append(f"without it: {without(result, writer)}, with all {measure(result.before, result.scored)}")
    return "\n".join(sentences)


def without(result: Neurons, writer: Writer) -> str:
    """What is left of the answer if this neuron is off at every token."""
    if result.scored:
        return measure(result.before + writer.change, scored=True)
    return measure(result.before * 2.0**writer.change, scored=False)


def curve(result: Neurons, measured: Curve) -> Panel:
    """The answer without more and more neurons, and without as many random ones."""
    random = measured.random.mean(axis=0)
    strongest = measured.strongest
    lines = [
        Line(
            "random",
            random,
            tone="grey",
            dash="dot",
            hover=tips(result, "random", random),
            low=measured.random.min(axis=0),
            high=measured.random.max(axis=0),
        ),
        Line("those that count most", strongest, hover=tips(result, "those that count most", strongest)),
    ]
    steps = [str(number) for number in measured.counts]
    first = join_names([str(neuron) for neuron in measured.first[:OFFERED]])
    return Panel(
        [Lines(steps, lines, unit="" if result.scored else "share")],
        title=f"{name_number(result)} without several neurons, first {first}",
        x=f"neurons off, of {result.total:,}",
    )


def tips(result: Neurons, name: str, values: Float[np.ndarray, " c"]) -> list[str]:
    """What the pointer shows at each step of a line."""
    assert result.curve
    pairs = zip(result.curve.counts, values.tolist(), strict=True)
    return [f"without {number} neurons, {name}: {measure(value, result.scored)}" for number, value in pairs]


def name_number(result: Neurons) -> str:
    return result.answer if result.scored else f"P of {quote(result.answer)}"


def along(result: Neurons) -> Panel:
    """The activation of the open neuron at each token."""
    bars = []
    for i, (token, value) in enumerate(zip(result.tokens[:DRAWN], result.along.tolist(), strict=False)):
        text = decimal(value)
        tone: Tone = "blue" if i == result.position else "pale"
        bars.append(Bar(token, value, text, tone, hover=f"{token}: activation {text}"))
    return Panel([Bars(bars, tokens=True)], f"activation of neuron {result.open} at each token")


def peaks(result: Neurons) -> Panel:
    """The lines that move it most, the token in question first."""
    bars = []
    for peak in result.peaks:
        text = decimal(peak.activation)
        hover = f"{peak.text}\nat {peak.token}: {text}"
        bars.append(Bar(peak.text, peak.activation, f"{text} at {peak.token}", "pale", hover=hover))
    return Panel([Bars(bars, above=True)], f"where it answers most, of {lines_read(result)}")


def lines_read(result: Neurons) -> str:
    return count(result.lines, "built-in sentence" if result.built_in else "uploaded line")


def colours(result: Neurons) -> dict[int, float]:
    """Position -> shade for the strip, -1 to 1: the activation of the open neuron."""
    most = float(np.abs(result.along).max()) or 1.0
    return {i: float(value) / most for i, value in enumerate(result.along)}


def say(result: Neurons) -> str:
    sentences = [say_together(result), say_opened(result), say_peak(result, result.peaks[0])]
    if result.notes:
        sentences.append(result.notes)
    if len(result.tokens) > DRAWN:
        sentences.append(f"The first {DRAWN} of {len(result.tokens):,} tokens are drawn.")
    return " ".join([*sentences, *result.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)])


def say_together(result: Neurons) -> str:
    """How few neurons the answer rests on, beside random ones."""
    curve = result.curve
    if curve is None:
        return "Nothing is asked for here, so there is no answer to measure. Hide a word to see what it rests on."
    # 1. The fewest that leave less than half; if none do, or for a score, the most that were off.
    step = len(curve.counts) - 1
    if curve.half and not result.scored:
        step = curve.counts.index(curve.half)
    number = curve.counts[step]
    # 2. In words.
    most = f"the {number:,} of {result.total:,} neurons that count most for it"
    as_many = f"{number:,} random ones"
    if number == 1:
        most = f"the one of {result.total:,} neurons that counts most for it"
        as_many = "a random one"
    if len(curve.first) >= number:
        most = f"{most} ({join_names([str(neuron) for neuron in curve.first[:number]])})"
    before = measure(result.before, result.scored)
    left = measure(float(curve.strongest[step]), result.scored)
    random = measure(float(curve.random[:, step].mean()), result.scored)
    return (
        f"{capital(begin(result.answer))} {before}. Without {most}, {left} is left; without {as_many}, {random}. "
        f"{curve.tried} were switched off one by one to find them."
    )


def say_opened(result: Neurons) -> str:
    """What the open neuron writes at the followed token, and what the answer loses without it."""
    writer = result.opened
    token = quote(result.tokens[result.position])
    rank = 1 + result.writers.index(writer)
    place = "writes most" if rank == 1 else f"is number {rank} of the list"
    sentence = f"In layer {result.layer + 1}, neuron {writer.neuron} {place} at {token}"
    if writer.words:
        sentence = f"{sentence} and raises {join_names([quote(clip(word)) for word in writer.words])} there"
    if np.isnan(writer.change):
        return f"{sentence}."
    return f"{sentence}. Without it alone, {begin(result.answer)} {without(result, writer)}."


def say_peak(result: Neurons, peak: Peak) -> str:
    """Where else it answers."""
    return (
        f"Of {lines_read(result)}, {quote(clip(peak.text, 60))} moves it most, at {quote(clip(peak.token))} "
        f"({decimal(peak.activation)}; here it has {decimal(result.opened.activation)})."
    )

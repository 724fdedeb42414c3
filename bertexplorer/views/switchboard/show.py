"""Figure for switchboard: the effect of each head on the answer, as a grid to press, and the answer with and without
the selected heads."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bertexplorer.answers.board import BoardOutcome
from bertexplorer.answers.heads import Head, Neuron
from bertexplorer.charts.marks import Bar, Bars, Cells, Figure, Panel, StyledWords, TextLines, Tick, Tone
from bertexplorer.charts.style import (
    begin,
    clip,
    count,
    measure,
    name_answer,
    only_first_mask,
    percent,
    quote,
    signed,
)
from bertexplorer.views.switchboard.compute import Switchboard
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Attention",
    place=5,
    title="Switchboard",
    question="Which heads does the answer need?",
    note=(
        "The network was never trained with a head missing, and the layers above have never seen zeros in its place: "
        "compare with the random sets and with the mean. A head picked because it changes the answer most beats random "
        "ones for that reason alone. Heads stand in for each other, so a head that seems unnecessary may still be "
        "used."
    ),
    papers=(
        "Michel et al., 2019, Are Sixteen Heads Really Better than One?",
        "Wang et al., 2023, Interpretability in the Wild",
    ),
    examples=(
        Example(
            "The capital of France",
            "The capital of France is [MASK].",
            options={"off": "6·6"},
            shows="after() < before() / 3",
        ),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"word": "are"},
            shows="largest_change() > 0.8 and share_below(0.5) > 0.8",
        ),
        Example(
            "A patch",
            "The capital of France is [MASK].",
            options={
                "how": "patch",
                "source": "The capital of Russia is [MASK].",
                "off": "6·6",
                "word": "moscow",
            },
            shows="after() > 20 * before()",
        ),
        Example(
            "He or she",
            "The doctor said that [MASK] is busy.",
            options={"word": "she", "how": "mean"},
            shows="largest_change() < 1",
        ),
        Example(
            "Does B follow A",
            "The man went to the store.",
            "Penguins are flightless birds.",
            shows="largest_change() > 1",
        ),
    ),
    slow=True,
)

DONE = {"zero": "off", "mean": "at the mean", "patch": "patched"}
DOING = {"zero": "switching off {}", "mean": "fixing {} at its mean", "patch": "patching {}"}
COLOURS = {
    "zero": "Orange: the answer needs it. Blue: it is in the way",
    "mean": "Orange: the answer needs what it adds here. Blue: that is in the way",
    "patch": "Orange: the other sentence's takes from it. Blue: the other sentence's adds to it",
}


def draw(result: Switchboard) -> Figure:
    first = f"Heads from: {clip(result.source, 44)}" if result.source else "Press a head to switch it off or on."
    panels = [
        Panel([switches(result)], f"{first}\n{COLOURS[result.how]}"),
        Panel([bars(result)], heading(result)),
    ]
    if result.before.candidates:
        panels.append(Panel([choices(result.before)], "All heads on"))
        if result.changed:
            panels.append(Panel([choices(result.after)], "With those off", beside=True))
    return Figure(panels)


def heading(result: Switchboard) -> str:
    """The name of the number that is measured."""
    if result.target == "is next":
        return "P(is next)"
    return clip(result.target, 24) if result.scored else f"P of {quote(clip(result.target, 16))}"


def switches(result: Switchboard) -> Cells:
    """A cell for each head, coloured by its effect alone; a cross marks those that are off. A press on a cell switches
    its head off or on."""
    layers, heads = result.change.shape
    limit = max(0.001 if result.scored else 0.05, float(np.abs(result.change).max()))
    off = set(result.off)
    hover = []
    doors = []  # what a press on each cell sets
    for layer in range(layers):
        hover_row = []
        door_row = []
        for number in range(heads):
            head = Head(layer, number)
            change = format_change(result, float(result.change[layer, number]))
            hover_row.append(f"{head}, off: {change}" if head in off else f"{head}: {change}")
            off_after_press = off - {head} if head in off else off | {head}
            door_row.append({"set": {"off": ", ".join(map(str, sorted(off_after_press)))}})
        hover.append(hover_row)
        doors.append(door_row)
    return Cells(
        rows=[f"layer {layer}" for layer in range(1, layers + 1)],
        columns=[str(head) for head in range(1, heads + 1)],
        values=result.change.round(5 if result.scored else 3),
        palette="strong",
        low=-limit,
        high=limit,
        hover=hover,
        doors=doors,
        crossed=[(head.layer, head.head) for head in sorted(off)],
    )


def bars(result: Switchboard) -> Bars:
    """The target's value before and after, and a tick for each random set of as many heads."""
    rows = [bar(result, "all heads on", result.before.value)]
    if result.changed:
        rows.append(bar(result, name_change(result), result.after.value, "orange"))
    if len(result.controls):
        mean = bar(result, f"{random_switches(result)} at random", float(result.controls.mean()), "grey")
        rows.append(replace(mean, ticks=[Tick(control, "grey") for control in result.controls.tolist()]))
    if result.after.candidates and result.before.is_next is not None:
        rows.append(bar(result, "is next, all heads on", result.before.is_next, "pale"))
        if result.changed and result.after.is_next is not None:
            rows.append(bar(result, "is next, with those off", result.after.is_next, "ochre"))
    return Bars(rows, above=True)


def bar(result: Switchboard, name: str, value: float, tone: Tone = "blue") -> Bar:
    """A bar with its name and its number above it."""
    number = measure(value, result.scored)
    return Bar(f"{name}: {number}", value, tone=tone, hover=f"{name}: {number}")


def choices(outcome: BoardOutcome) -> TextLines:
    """The first choices."""
    lines = [f"{candidate.token}  {percent(candidate.probability)}" for candidate in outcome.candidates]
    return TextLines([StyledWords(line) for line in lines])


def name_change(result: Switchboard) -> str:
    """What is off, and how; neurons are always at zero."""
    parts = []
    if result.off:
        parts.append(f"{names(result.off)} {DONE[result.how]}")
    if result.neurons:
        noun = "neuron" if len(result.neurons) == 1 else "neurons"
        parts.append(f"{noun} {names(result.neurons)} off")
    return " and ".join(parts)


def names(switches: Sequence[Head] | Sequence[Neuron]) -> str:
    """The numbers of some switches; of many, those of the first ones."""
    listed = [str(switch) for switch in sorted(switches)]
    return ", ".join(listed) if len(listed) <= 4 else f"{', '.join(listed[:3])} and {len(listed) - 3} more"


def random_switches(result: Switchboard) -> str:
    """What a random set consists of: other heads, or any heads if there are too few others; other neurons."""
    parts = []
    if result.off:
        enough_others = 2 * len(result.off) <= result.states.size
        parts.append(count(len(result.off), "other head" if enough_others else "head"))
    if result.neurons:
        parts.append(count(len(result.neurons), "other neuron"))
    return " and ".join(parts)


def format_change(result: Switchboard, change: float) -> str:
    """A change with its sign and unit."""
    return signed(change, 3) if result.scored else f"{signed(change)} bits"


def say(result: Switchboard) -> str:
    """The effect of switching heads off, whether it exceeds chance, and the most important head."""
    # 1. The chosen heads and neurons together, beside chance.
    before = measure(result.before.value, result.scored)
    after = measure(result.after.value, result.scored)
    chosen = f"With all heads on, {begin(result.target)} {before}"
    if result.changed:
        chosen = f"With {name_change(result)}, {name_answer(result.target)} goes from {before} to {after}"
    if len(result.controls):
        lowest = measure(float(result.controls.min()), result.scored)
        highest = measure(float(result.controls.max()), result.scored)
        sets = f"{len(result.controls)} random sets of {random_switches(result)}"
        chosen = f"{chosen}; {sets} leave it between {lowest} and {highest}"
    # 2. Each head alone.
    lowers, raises = "none lowers it", "none raises it"
    least, most = float(result.change.min()), float(result.change.max())
    if least < 0:
        lowers = f"{doing(result, int(result.change.argmin()))} lowers it most ({format_change(result, least)})"
    if most > 0:
        raises = f"{doing(result, int(result.change.argmax()))} raises it most ({format_change(result, most)})"
    sentences = [f"{chosen}.", f"Of all single heads, {lowers} and {raises}."]
    return " ".join([*sentences, *result.caveats, *only_first_mask(result.other_masks)])


def doing(result: Switchboard, place: int) -> str:
    """What is done to the head in *place*, counted through all layers from 0."""
    return DOING[result.how].format(Head(*divmod(place, result.change.shape[1])))

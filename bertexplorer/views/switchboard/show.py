"""Figure for switchboard: the effect of each head on the answer, as a grid to press, and the answer with and without
the selected heads."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.answers.heads import Head, Neuron
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    GREY,
    INK,
    ORANGE,
    PALE,
    TEXT,
    begin,
    count,
    finish,
    label,
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

SIGNED = [[0.0, "#d55e00"], [0.25, "#f2b48a"], [0.5, "#f4f6f9"], [0.75, "#9fc1e6"], [1.0, "#2b6cb0"]]
# px
CELL = 34
BAR = 46
GAP = 96
DONE = {"zero": "off", "mean": "at the mean", "patch": "patched"}
COLOURS = {
    "zero": "Orange: the answer needs it.<br>Blue: it is in the way",
    "mean": "Orange: the answer needs what it adds here.<br>Blue: that is in the way",
    "patch": "Orange: the other sentence's takes from it.<br>Blue: the other sentence's adds to it",
}


def draw(result: Switchboard) -> Chart:
    heights = [CELL * len(result.change), BAR * len(bar_rows(result)), 24 * max(1, len(result.after.candidates))]
    fig = kit.panels(heights, GAP)
    switches(fig, result)
    bars(fig, result)
    lists(fig, result)
    below = ""
    if result.after.candidates:
        below = "All heads on, and with those off" if result.changed else "All heads on"
    first = "Press a head to switch it off or on."
    if result.source:
        first = f"Heads from: {label(result.source, 44)}"
    names = (f"{first}<br>{COLOURS[result.how]}", heading(result), below)
    for row, name in enumerate(names, 1):
        fig.add_annotation(kit.above(name, row=row))
    return finish(fig, kit.height_of(heights, GAP) + 110, margin={"l": 8, "r": 12, "t": 84, "b": 26})


def heading(result: Switchboard) -> str:
    if result.target == "is next":
        return "P(is next)"
    return label(result.target, 24) if result.scored else f"P of {quote(label(result.target, 16))}"


def switches(fig: Chart, result: Switchboard) -> None:
    """The effect of each head alone; a cross marks the heads that are off."""
    layers, heads = result.change.shape
    limit = max(0.001 if result.scored else 0.05, float(np.abs(result.change).max()))
    off = set(result.off)
    leads = [
        [{"set": {"off": ", ".join(map(str, sorted(off ^ {Head(i, j)})))}} for j in range(heads)] for i in range(layers)
    ]
    hovers = [
        [
            f"{Head(i, j)}{', off' if result.states[i, j] else ''}: {format_change(result, float(v))}"
            for j, v in enumerate(line)
        ]
        for i, line in enumerate(result.change)
    ]
    change = result.change.round(5 if result.scored else 3).tolist()
    cells = kit.cells(change, SIGNED, -limit, limit, gap=2, customdata=leads, hovertemplate="%{text}<extra></extra>")
    fig.add_trace({**cells, "text": hovers}, 1, 1)
    rows, columns = np.nonzero(result.states)
    fig.add_scatter(
        x=columns.tolist(),
        y=rows.tolist(),
        mode="markers",
        marker={"symbol": "x", "size": 12, "color": INK},
        customdata=[leads[i][j] for i, j in zip(rows, columns, strict=True)],
        hoverinfo="skip",
        row=1,
        col=1,
    )
    ticks = kit.counted(layers, 1 if layers <= 12 else 2, "layer ")
    fig.update_yaxes(autorange="reversed", fixedrange=True, row=1, col=1, **ticks)
    fig.update_xaxes(side="bottom", fixedrange=True, row=1, col=1, **kit.counted(heads))


def bar_rows(result: Switchboard) -> list[tuple[str, float, str]]:
    """(name, value, colour) of each bar."""
    rows = [("all heads on", result.before.value, ACCENT)]
    if result.changed:
        rows.append((name_change(result), result.after.value, ORANGE))
    if len(result.controls):
        name = f"{random_switches(result)} at random"
        rows.append((name, float(result.controls.mean()), GREY))
    if result.after.candidates and result.before.is_next is not None:
        rows.append(("is next, all heads on", result.before.is_next, PALE))
        if result.changed and result.after.is_next is not None:
            rows.append(("is next, with those off", result.after.is_next, "#f2b48a"))
    return rows


def bars(fig: Chart, result: Switchboard) -> None:
    """The target's value before and after, and a tick for each random set of as many heads."""
    rows = bar_rows(result)
    values = [p for _, p, _ in rows] + result.controls.tolist()
    low, top = min(0.0, *values), max(0.0, *values)
    room = top - low or 1.0
    colours = [colour for *_, colour in rows]
    shape = "%{x:.3~f}" if result.scored else "%{x:.2%}"
    tip = f"{shape}<extra></extra>"
    fig.add_trace(kit.bars([p for _, p, _ in rows], colours, width=0.34, hovertemplate=tip), 2, 1)
    if len(result.controls):
        fig.add_scatter(
            x=result.controls.tolist(),
            y=[2] * len(result.controls),
            mode="markers",
            marker={"symbol": "line-ns-open", "size": 16, "color": TEXT, "line": {"width": 1.5}},
            hovertemplate=f"a random set: {tip}",
            row=2,
            col=1,
        )
    labels = [f"{label(name, 40)}: {measure(p, result.scored)}" for name, p, _ in rows]
    fig.add_trace(kit.texts(low, [row - 0.36 for row in range(len(rows))], labels), 2, 1)
    fig.update_xaxes(range=[low - 0.01 * room, top + 0.04 * room], row=2, col=1, **kit.HIDDEN)
    fig.update_yaxes(range=[len(rows) - 0.6, -0.75], row=2, col=1, **kit.HIDDEN)


def lists(fig: Chart, result: Switchboard) -> None:
    """The first choices before and after, side by side."""
    for x, outcome in ((0.0, result.before), (0.5, result.after))[: 1 + result.changed]:
        for row, c in enumerate(outcome.candidates):
            text = f"{label(c.token, 14)}  {percent(c.probability)}"
            fig.add_trace(kit.texts(x, [row], [text]), 3, 1)
    fig.update_xaxes(range=[-0.01, 1], row=3, col=1, **kit.HIDDEN)
    fig.update_yaxes(range=[max(1, len(result.after.candidates)) - 0.5, -0.5], row=3, col=1, **kit.HIDDEN)


def name_change(result: Switchboard) -> str:
    """What is off, and how; neurons are always at zero."""
    heads = f"{names(result.off)} {DONE[result.how]}"
    if not result.neurons:
        return heads
    neurons = f"{'neuron' if len(result.neurons) == 1 else 'neurons'} {names(result.neurons)} off"
    return f"{heads} and {neurons}" if result.off else neurons


def names(switches: Sequence[Head] | Sequence[Neuron]) -> str:
    listed = [str(switch) for switch in sorted(switches)]
    return ", ".join(listed) if len(listed) <= 4 else f"{', '.join(listed[:3])} and {len(listed) - 3} more"


def random_switches(result: Switchboard) -> str:
    """What a random set consists of: other heads, or any heads if there are too few others; other neurons."""
    parts = []
    if result.off:
        parts.append(count(len(result.off), "other head" if 2 * len(result.off) <= result.states.size else "head"))
    if result.neurons:
        parts.append(count(len(result.neurons), "other neuron"))
    return " and ".join(parts)


def format_change(result: Switchboard, change: float) -> str:
    """A change with its sign and unit."""
    return signed(change, 3) if result.scored else f"{signed(change)} bits"


def say(result: Switchboard) -> str:
    """The effect of switching heads off, whether it exceeds chance, and the most important head."""
    before, after = measure(result.before.value, result.scored), measure(result.after.value, result.scored)
    sentences = [f"With all heads on, {begin(result.target)} {before}"]
    if result.changed:
        sentences = [f"With {name_change(result)}, {name_answer(result.target)} goes from {before} to {after}"]
    if len(result.controls):
        sentences[0] += (
            f"; {len(result.controls)} random sets of {random_switches(result)} leave it between "
            f"{measure(float(result.controls.min()), result.scored)} and "
            f"{measure(float(result.controls.max()), result.scored)}"
        )
    ends = (result.change.argmin(), result.change.argmax())
    low, high = (Head(*map(int, np.unravel_index(at, result.change.shape))) for at in ends)
    doing = {"zero": "switching off {}", "mean": "fixing {} at its mean", "patch": "patching {}"}[result.how]
    least, most = float(result.change.min()), float(result.change.max())
    lowers = f"{doing.format(low)} lowers it most ({format_change(result, least)})" if least < 0 else "none lowers it"
    raises = f"{doing.format(high)} raises it most ({format_change(result, most)})" if most > 0 else "none raises it"
    sentences.append(f"Of all single heads, {lowers} and {raises}")
    return " ".join([". ".join(sentences) + ".", *result.caveats, *only_first_mask(result.other_masks)])

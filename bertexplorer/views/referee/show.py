"""Figure for referee: the answer's probability as words are hidden (deletion) and as they are shown (insertion)."""

import numpy as np

from bertexplorer.answers.attribution import SHORT
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    BAND,
    GREY,
    GROUPS,
    begin,
    beyond_limit,
    capital,
    finish,
    join_names,
    label,
    measure,
)
from bertexplorer.views.referee.compute import Referee, Trial
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Saliency",
    place=2,
    title="Referee",
    question="Which explanation holds?",
    note=(
        "A good order makes the probability fall early as words are hidden, and rise early as they are shown. A text "
        "of masks is unlike anything that BERT has read, so part of each curve is surprise, not loss of words. In a "
        "short sentence a random order may be good by luck."
    ),
    papers=(
        "DeYoung et al., 2020, ERASER",
        "Petsiuk et al., 2018, RISE",
    ),
    examples=(
        Example(
            "The farmers",
            "The farmers cultivate the [MASK] to grow crops.",
            shows='holds("occlusion") and not holds("attention")',
        ),
        Example(
            "A birthday cake",
            "She baked a birthday [MASK].",
            shows='holds("occlusion") and holds("integrated gradients")',
        ),
        Example(
            "The capital of France",
            "Paris is the [MASK] of France.",
            shows='holds("occlusion") and not holds("rollout")',
        ),
        Example(
            "Does B follow A?",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"target": "next sentence"},
            shows="holding() >= 2",
        ),
        Example(
            "A long sentence",
            "The doctor told the nurse that the patient in the next room had been [MASK] for two days, and that nobody "
            "knew why.",
            shows='holds("integrated gradients") and not holds("attention")',
        ),
    ),
    slow=True,
)

PANEL, GAP = 240, 96  # pixels
PLOT = 0.56  # share of the width for the lines; their names are to the right
RIGHT = 1.05  # end of the x axis, where the names begin
DASHES = ("solid", "solid", "solid", "solid", "solid", "dash", "dash")


def draw(result: Referee) -> Chart:
    name = label(result.answer, 12) if result.scored else f"P({label(result.answer, 12)})"
    titles = (f"{name} in deletion: lower is better", f"{name} in insertion: higher is better")
    fig = kit.panels([PANEL, PANEL], GAP, titles)
    top = max(float(result.random.max()), *(float(max(t.deletion.max(), t.insertion.max())) for t in result.trials))
    bottom = min(0.0, float(result.random.min()), *(float(min(*t.deletion, *t.insertion)) for t in result.trials))
    ends = (bottom - 0.02 * (top - bottom), bottom + 1.06 * (top - bottom) or 1.0)
    shape = ".0%" if top > 0.1 else ".1%"
    if result.scored:
        shape = ".2~f"
    share = result.hidden / result.hidden[-1]
    deletions = [(share, t.deletion, t.deletion_area) for t in result.trials]
    insertions = [(1 - share[::-1], t.insertion[::-1], t.insertion_area) for t in result.trials]
    for row, lines in ((1, deletions), (2, insertions)):
        x = lines[0][0]
        random = result.random if row == 1 else result.random[:, ::-1]
        band(fig, x, random, row, tip_format(result))
        curves(fig, result, lines, row)
        areas = [*(area for _, _, area in lines), float(result.random_areas.mean())]
        labels(fig, result, areas, ends, row)
        fig.update_xaxes(range=[-0.02, RIGHT], domain=[0, PLOT], tickformat=".0%", nticks=4, row=row, col=1)
        title = f"of {result.count} words {'hidden' if row == 1 else 'shown'}"
        fig.update_xaxes(title=kit.title(title), row=row, col=1)
        fig.update_yaxes(range=list(ends), tickformat=shape, nticks=5, row=row, col=1)
    return finish(fig, 2 * PANEL + GAP + 36 + 56, margin={"l": 8, "r": 8, "t": 36, "b": 56})


def tip_format(result: Referee) -> str:
    """The format of a value in plotly's tooltips."""
    return "%{y:.3~f}" if result.scored else "%{y:.1%}"


def band(fig: Chart, x: np.ndarray, random: np.ndarray, row: int, tip: str) -> None:
    """Draw the range of the random orders, and their mean."""
    quiet = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip"}
    fig.add_scatter(x=x, y=random.max(axis=0), **quiet, row=row, col=1)
    fig.add_scatter(x=x, y=random.min(axis=0), **quiet, fill="tonexty", fillcolor=BAND, row=row, col=1)
    mean = {"mode": "lines", "line": {"color": GREY, "width": 2, "dash": "dot"}}
    mean_tip = f"mean of {len(random)} random orders: {tip}<extra></extra>"
    fig.add_scatter(x=x, y=random.mean(axis=0), **mean, hovertemplate=mean_tip, row=row, col=1)


def curves(fig: Chart, result: Referee, lines: list[tuple[np.ndarray, np.ndarray, float]], row: int) -> None:
    verb = "hidden" if row == 1 else "shown"
    for number, (trial, (x, y, _)) in enumerate(zip(result.trials, lines, strict=True)):
        tip = f"{trial.method}, %{{x:.0%}} {verb}: {tip_format(result)}<extra></extra>"
        curve = kit.line(x, y, GROUPS[number], dash=DASHES[number], size=5, hovertemplate=tip)
        fig.add_trace(curve, row, 1)


def labels(fig: Chart, result: Referee, areas: list[float], ends: tuple[float, float], row: int) -> None:
    """Write each name to the right, with the mean of its line and at that height if there is room."""
    names = [*(SHORT.get(trial.method, trial.method) for trial in result.trials), "random"]
    texts = [f"{measure(area, result.scored)} {name}" for area, name in zip(areas, names, strict=True)]
    fig.add_trace(kit.line_names(RIGHT, areas, texts, [*GROUPS[: len(result.trials)], GREY], ends, PANEL, 8), row, 1)


def say(result: Referee) -> str:
    """The most informative method, compared with the mean of random orders, and the methods that beat all of those."""
    first, start = result.trials[0].deletion, begin(result.answer)
    chance = float(result.random_areas.mean())
    best = max(result.trials, key=gap)
    holding = [trial.method for trial in result.trials if result.holds(trial)]
    failing = [trial.method for trial in result.trials if not result.holds(trial)]
    sentences = [
        f"{capital(start)} {measure(float(first[0]), result.scored)} in the whole text and "
        f"{measure(float(first[-1]), result.scored)} with all {result.count} words hidden.",
        f"The order of {best.method} is the best: {measure(best.deletion_area, result.scored)} on average while its "
        f"first words are hidden, {measure(best.insertion_area, result.scored)} while they are shown; with a random "
        f"order, {measure(chance, result.scored)}.",
    ]
    if holding:
        sentences.append(
            f"Better than each of {len(result.random)} random orders (shaded), both ways: {join_names(holding)}."
        )
    if failing:
        sentences.append(
            f"Not better: {join_names(failing)}."
            if holding
            else f"No method beats all {len(result.random)} random orders (shaded) both ways."
        )
    if result.hidden.size <= result.count:
        sentences.append(f"The curves have {result.hidden.size} points, not one for each word.")
    if result.group > 1:
        sentences.append(f"Occlusion, LIME and SHAP took up to {result.group} neighbouring words together.")
    return " ".join([*sentences, *result.caveats, *beyond_limit(result.left_out)])


def gap(trial: Trial) -> float:
    return trial.insertion_area - trial.deletion_area

"""Figure for referee: the answer's probability as words are hidden (deletion) and as they are shown (insertion)."""

from typing import Any, Literal

import numpy as np

from bertexplorer.answers.attribution import SHORT
from bertexplorer.charts.marks import GROUPS, Dash, Figure, Line, Lines, Panel
from bertexplorer.charts.style import begin, beyond_limit, capital, join_names, measure, share as format_share
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

DASHES: tuple[Dash, ...] = ("solid", "solid", "solid", "solid", "solid", "dash", "dash")  # of the methods


def draw(result: Referee) -> Figure:
    return Figure([panel(result, "hidden"), panel(result, "shown")])


def panel(result: Referee, verb: Literal["hidden", "shown"]) -> Panel:
    """A curve for each method over the share of words, with the range of the random orders and their mean. Read from
    the right, random deletion is insertion."""
    hidden = result.hidden / result.hidden[-1]
    if verb == "hidden":
        share, random = hidden, result.random
    else:
        share, random = 1 - hidden[::-1], result.random[:, ::-1]

    # The lines, each with the mean by which their names are ordered.
    mean = float(result.random_areas.mean())
    style = {"tone": "grey", "dash": "dot", "low": random.min(axis=0), "high": random.max(axis=0), "look": "line"}
    name = f"mean of {len(random)} random orders"
    end = f"{measure(mean, result.scored)} random"
    lines = [(mean, line(result, name, random.mean(axis=0), end=end, share=share, verb=verb, **style))]
    for trial, tone, dash in zip(result.trials, GROUPS, DASHES, strict=False):
        if verb == "hidden":
            values, mean = trial.deletion, trial.deletion_area
        else:
            values, mean = trial.insertion[::-1], trial.insertion_area
        end = f"{measure(mean, result.scored)} {SHORT.get(trial.method, trial.method)}"
        curve = line(result, trial.method, values, end=end, share=share, verb=verb, tone=tone, dash=dash)
        lines.append((mean, curve))
    lines.sort(key=lambda pair: -pair[0])

    # Both panels have one scale.
    curves = np.vstack([result.random, *((trial.deletion, trial.insertion) for trial in result.trials)])
    marks = Lines(
        (),
        [line for _, line in lines],
        low=float(curves.min()),
        high=float(curves.max()),
        unit="" if result.scored else "share",
        at_unit="share",
    )
    name = result.answer if result.scored else f"P({result.answer})"
    better = "deletion: lower" if verb == "hidden" else "insertion: higher"
    return Panel([marks], f"{name} in {better} is better", f"of {result.count} words {verb}")


def line(
    result: Referee, name: str, values: np.ndarray, *, end: str, share: np.ndarray, verb: str, **style: Any
) -> Line:
    """A curve over the *share* of words that is hidden or shown. *style*: further fields of a Line."""
    hover = []
    for at, value in zip(share.tolist(), values.tolist(), strict=True):
        hover.append(f"{name}, {format_share(at)} {verb}: {measure(value, result.scored)}")
    return Line(name, values, end, hover=hover, at=share, **style)


def say(result: Referee) -> str:
    """The most informative method, compared with the mean of random orders, and the methods that beat all of those."""
    curve = result.trials[0].deletion  # all begin with the whole text and end with all words hidden
    chance = float(result.random_areas.mean())
    best = max(result.trials, key=gap)
    holding = [trial.method for trial in result.trials if result.holds(trial)]
    failing = [trial.method for trial in result.trials if not result.holds(trial)]
    sentences = [
        f"{capital(begin(result.answer))} {measure(float(curve[0]), result.scored)} in the whole text and "
        f"{measure(float(curve[-1]), result.scored)} with all {result.count} words hidden.",
        f"The order of {best.method} is the best: {measure(best.deletion_area, result.scored)} on average while its "
        f"first words are hidden, {measure(best.insertion_area, result.scored)} while they are shown; with a random "
        f"order, {measure(chance, result.scored)}.",
    ]
    if holding:
        sentences.append(
            f"Better than each of {len(result.random)} random orders (shaded), both ways: {join_names(holding)}."
        )
        if failing:
            sentences.append(f"Not better: {join_names(failing)}.")
    else:
        sentences.append(f"No method beats all {len(result.random)} random orders (shaded) both ways.")
    if result.hidden.size <= result.count:
        sentences.append(f"The curves have {result.hidden.size} points, not one for each word.")
    if result.group > 1:
        sentences.append(f"Occlusion, LIME and SHAP took up to {result.group} neighbouring words together.")
    return " ".join([*sentences, *result.caveats, *beyond_limit(result.left_out)])


def gap(trial: Trial) -> float:
    """How much an order tells important words from others."""
    return trial.insertion_area - trial.deletion_area

"""Figure for probe: accuracy layer by layer with its deviation over the seeds, the control task, and the majority
label."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from bertexplorer.charts.marks import Figure, Line, Lines, Panel, Tone
from bertexplorer.charts.style import clip, count, decimal, join_names, layer_name, percent, quote, share, signed
from bertexplorer.views.probe.compute import FEW, Probe
from bertexplorer.views.probe.rows import ProbeRow
from bertexplorer.views.rows import unusable_note, unusable_rows
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Behaviour",
    place=2,
    first="task",
    title="Probe",
    question="Which layer knows it?",
    note=(
        "A probe shows that a property can be read from the vectors, not that the checkpoint uses it (Belinkov, 2022). "
        "The control task has random labels, one for each word or sentence: what a probe gets right there, it has "
        "memorised. The best layer was chosen on the held-out rows, which flatters it a little."
    ),
    papers=(
        "Alain and Bengio, 2017, Understanding Intermediate Layers Using Linear Classifier Probes",
        "Hewitt and Liang, 2019, Designing and Interpreting Probes with Control Tasks",
    ),
    examples=(
        Example(
            "Words swapped",
            "",
            options={"task": "word order"},
            shows="accuracy(3) > accuracy(0) + 0.2 and selectivity(3) > 0.2",
        ),
        Example("Present or past", "", options={"task": "tense"}, shows="selectivity(best()) > 0.3"),
        Example("Short or long", "", options={"task": "length"}, shows="accuracy(0) > 0.95"),
        Example(
            "Noun or verb, and its control",
            "",
            options={"task": "part of speech"},
            shows="accuracy(best()) > 0.9 and selectivity(best()) < 0.1",
        ),
        Example("One or many, from the table", "", options={"task": "number"}, shows="accuracy(0) > 0.95"),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)

SCORE = (
    "the probability of the right label minus that of the best other one, mean over the splits that held the row out"
)
NAMED = 4  # labels to name in the sentence
RECURRING = 0.5  # share of the control's held-out words below which its labels must be guessed
VARIED = 10  # different words below which any probe can memorise them


def draw(result: Probe) -> Figure:
    steps = ["in", *map(str, range(1, len(result.accuracy)))]
    level = f"majority {share(result.majority)}"
    majority = Line(
        "majority",
        [result.majority] * len(steps),
        end=level,
        tone="grey",
        dash="dot",
        hover=[level] * len(steps),
        look="line",
    )
    lines = [
        line(result, "probe", result.accuracy, result.deviation, "blue"),
        line(result, "control task", result.control, result.control_deviation, "orange"),
        majority,
    ]
    return Figure([Panel([Lines(steps, lines, high=1, unit="share")], x="after layer")])


def line(result: Probe, name: str, mean: Any, deviation: Any, tone: Tone) -> Line:
    """The mean over the seeds at each layer, with its deviation."""
    end = f"{name.partition(' ')[0]} {share(float(mean[-1]))}"
    hovers = [hover(result, layer, name, mean, deviation) for layer in range(len(mean))]
    low = np.maximum(mean - deviation, 0)
    high = np.minimum(mean + deviation, 1)
    return Line(name, mean, end, tone, hover=hovers, low=low, high=high)


def hover(result: Probe, layer: int, name: str, mean: Any, deviation: Any) -> str:
    """What the pointer shows of the line *name* at a layer."""
    by_seed = result.accuracies if name == "probe" else result.controls
    lines = [f"{layer_name(layer)}, {name}: {share(float(mean[layer]))}"]
    if by_seed.shape[1] > 1:
        seeds = ", ".join(share(float(value)) for value in by_seed[layer])
        lines.append(f"± {100 * deviation[layer]:.1f} points; seeds: {seeds}")
    lines.append(f"selectivity {points(result, layer)} points")
    return "\n".join(lines)


def points(result: Probe, layer: int) -> str:
    """The selectivity in whole per cent points."""
    return decimal(round(100 * float(result.accuracy[layer] - result.control[layer])), 0)


def say(result: Probe) -> str:
    """The best layer with its accuracy, compared with the input, the majority label and the control task."""
    best = result.best
    seeds = result.accuracies.shape[1]
    names = [quote(clip(label, 30)) for label in result.labels[:NAMED]]
    if len(result.labels) > NAMED:
        names.append(f"{len(result.labels) - NAMED} more labels")
    place = "the input of the first layer"
    against = f"{share(result.majority)} for the most frequent label"
    if best:
        place = f"layer {best} of {len(result.accuracy) - 1}"
        against = f"{share(float(result.accuracy[0]))} from the input and {against}"
    held_out = f"the held-out {result.unit}s"
    if seeds > 1:
        held_out = f"{held_out} (± {decimal(100 * float(result.deviation[best]), 1)} points over {seeds} splits)"
    sentences = [
        f"A linear probe tells {join_names(names)} apart best at {place}: it is right for "
        f"{share(float(result.accuracy[best]))} of {held_out}, against {against}"
    ]
    as_good = int((result.accuracy >= result.accuracy[best]).sum()) - 1
    if as_good:
        sentences.append(f"{count(as_good, 'other layer')} {'is' if as_good == 1 else 'are'} as good")
    sentences.append(
        f"On a control task with random labels it gets {share(float(result.control[best]))} there: selectivity "
        f"{points(result, best)} points"
    )
    return ". ".join([*sentences, *remarks(result)]) + "."


def remarks(result: Probe) -> list[str]:
    """Caveats about the rows and the fits, without the full stops."""
    sentences = []
    if len(result.examples) < FEW:
        sentences.append(f"Only {len(result.examples)} rows: differences between layers may be chance")
    if result.unit == "word" and not result.known:
        sentences.append(say_memory(result))
    if result.types < VARIED:
        sentences.append(f"With {count(result.types, f'different {result.unit}')} the control says little")
    elif result.recurring < RECURRING:
        few = f"No {result.unit} of the control recurs"
        if result.recurring:
            few = f"Only {percent(result.recurring)} of the control’s {result.unit}s recur"
        sentences.append(f"{few} in training, so its labels must be guessed")
    if result.unusable:
        sentences.append(unusable_note(result.unusable, "used"))
    if result.left_out:
        sentences.append(f"{result.left_out:,} rows beyond the limit were left out")
    if result.unconverged:
        sentences.append(f"{result.unconverged} of {2 * result.accuracies.size} fits did not converge")
    return sentences


def say_memory(result: Probe) -> str:
    """What follows for the accuracy from held-out words that are all new."""
    new = "No held-out word occurs in training"
    if float(result.accuracy[result.best] - result.control[result.best]) >= 0.005:  # more than 0 points, as printed
        return f"{new}, so memorised words do not explain the accuracy"
    if result.recurring < RECURRING:
        return new
    return (
        f"{new}, but {percent(result.recurring)} of the control’s do: only the control can answer from memory, so this "
        "selectivity says nothing about what the probe memorises"
    )


def compare(first: Probe, second: Probe) -> str:
    """The difference in accuracy of two checkpoints on the same splits, each at its best layer; "" for different
    rows."""
    if first.examples != second.examples or first.accuracies.shape[1] != second.accuracies.shape[1]:
        return ""
    changes = 100 * (second.accuracies[second.best] - first.accuracies[first.best])
    change = f"{signed(float(changes.mean()), 1)} points"
    if len(changes) > 1:
        change = f"{change} (± {decimal(float(changes.std(ddof=1)), 1)} over the same splits)"
    return f"From the best layer of the first to that of the second, the accuracy changes by {change}."


def cases(result: Probe, *others: Probe) -> dict[str, Any]:
    """The table of held-out rows, with the answers of the best layer and of the *others*."""
    theirs = [answers(other) for other in others]
    rows = [
        {
            "line": example.line,
            "category": example.label,
            "texts": (f"{example.word}: {example.text}" if example.word else example.text,),
            "wanted": example.label,
            **answer,
            "rank": None,
            "others": [other.get(example) for other in theirs],
            "state": page_state(example),
        }
        for example, answer in answers(result).items()
    ]
    return {"rows": rows, "score": SCORE, "aside": unusable_rows(result.unusable)}


def answers(result: Probe) -> dict[ProbeRow, dict[str, Any]]:
    """For each held-out row: the answer at the best layer, whether it is right in every split, and the score.
    If a split is wrong, the answer is the most frequent wrong one."""
    predicted = result.predicted[result.best]
    margins = result.margins[result.best]
    by_example = {}
    for i, example in enumerate(result.examples):
        predictions = [result.labels[k] for k in predicted[:, i] if k >= 0]
        if not predictions:
            continue
        answer = example.label
        wrong = Counter(label for label in predictions if label != example.label)
        if wrong:
            answer, splits = wrong.most_common(1)[0]
            if splits < len(predictions):
                answer = f"{answer} ({splits} of {len(predictions)} splits)"
        score = round(float(np.nanmean(margins[:, i])), 3)
        by_example[example] = {"answer": answer, "right": not wrong, "score": score}
    return by_example


def page_state(example: ProbeRow) -> dict[str, Any]:
    """The state of the page for a row: the path of its word, or its sentence on the map."""
    if example.word:
        return {"view": "word-path", "text": example.text, "options": {"word": example.word}}
    return {"view": "embedding-map", "text": example.text, "options": {"unit": "sentences"}}

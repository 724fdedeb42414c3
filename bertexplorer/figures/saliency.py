"""Saliency drawn: a bar for each token to the right of zero or to the left of it; several methods as columns."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from bertexplorer.analysis.attribution import Attribution
from bertexplorer.analysis.saliency import Saliency, shares
from bertexplorer.figures import kit
from bertexplorer.figures.style import ACCENT, ORANGE, TEXT, coloured, finish, label, listed, percent, quote

DRAWN = 40  # units; of a longer text the strongest
ROW, CELL = 24, 27  # pixels of a unit, as a bar and as a row of cells
LETTERS = {"bars": 12, "columns": 9}  # of a unit's name: the columns need the width
SHADES = [[0.0, "#eda063"], [0.5, "#f4f6f8"], [1.0, "#86b3e4"]]  # light enough for INK throughout
SHARES = ("attention", "rollout")  # methods without a sign, about no answer
GRADIENTS = ("integrated gradients", "gradient x input")
SHORT = {"integrated gradients": "IG", "gradient x input": "grad × input"}
HEADINGS = {
    "integrated gradients": "IG",
    "gradient x input": "grad<br>× input",
    "occlusion": "occlu-<br>sion",
    "attention": "atten-<br>tion",
}
NUMBER = {"next sentence": "log-odds", "score": "score"}  # what is explained; else the log-probability, in nats
OFF = 0.05  # of the rise: integrated gradients that miss it by more are not to be trusted


def draw(result: Saliency) -> go.Figure:
    return bars(result) if len(result.attributions) == 1 else columns(result)


def drawn(result: Saliency) -> list[int]:
    """The units that are drawn, in the order of the text: all of them, or those with the largest shares."""
    most = np.max([np.abs(shares(attribution)) for attribution in result.attributions], axis=0)
    return sorted(np.argsort(-most, kind="stable")[:DRAWN].tolist())


def bars(result: Saliency) -> go.Figure:
    (found,) = result.attributions
    kept = drawn(result)
    scores = found.scores[kept]
    text = [number(found, float(score)) for score in scores]
    bars = kit.bars(scores, None, text=text, hover=hover(result, found, kept), textfont={"size": 13, "color": TEXT})
    bars["marker"] = {
        "color": [ACCENT if score >= 0 else ORANGE for score in scores],
        "opacity": [0.5 if result.units[i].special else 1.0 for i in kept],
    }
    fig = go.Figure([bars])
    low, high = min(0.0, float(scores.min())), max(0.0, float(scores.max()))
    room = 0.27 * ((high - low) or 1.0)  # for the numbers
    fig.update_xaxes(range=[low - room * (low < 0), high + room], showticklabels=False, showgrid=False)
    name_rows(fig, result, kept, LETTERS["bars"])
    fig.add_vline(x=0, line={"color": "rgba(138,148,163,0.6)", "width": 1})
    said = (
        f"share of what {source(result)} takes in"
        if found.method in SHARES
        else directions(result) + ", in nats" * (result.target != "score")
    )
    above = heading(fig, said, result)
    return finish(fig, max(300, above + 16 + ROW * len(kept)), bargap=0.25, margin={"l": 8, "r": 8, "t": above, "b": 8})


def columns(result: Saliency) -> go.Figure:
    """A column for each method, its scores as shares of the sum of their sizes, so that all have one scale."""
    kept = drawn(result)
    cells = np.array([shares(found)[kept] for found in result.attributions])
    texts = [[whole_percent(f, float(c)) for c in row] for f, row in zip(result.attributions, cells, strict=True)]
    tips = [hover(result, found, kept) for found in result.attributions]
    root = np.sign(cells) * np.sqrt(np.abs(cells))  # one large share would leave all else white
    most = float(np.abs(root).max()) or 1.0
    text, hovers = list(zip(*texts, strict=True)), list(zip(*tips, strict=True))
    fig = go.Figure([kit.cells(root.T, SHADES, -most, most, text=text, hover=hovers, gap=2)])
    names = [HEADINGS.get(found.method, found.method) for found in result.attributions]
    fig.update_xaxes(side="top", tickangle=0, tickfont={"size": 11}, showgrid=False, **kit.ticks(names))
    name_rows(fig, result, kept, LETTERS["columns"])
    above = 40 + heading(fig, f"per cent of each method's total<br>{directions(result)}", result, 38)
    return finish(fig, max(300, above + 16 + CELL * len(kept)), margin={"l": 8, "r": 8, "t": above, "b": 8})


def name_rows(fig: go.Figure, result: Saliency, kept: Sequence[int], letters: int) -> None:
    """The units on the y axis, the first one on top."""
    ticks = kit.ticks([label(result.units[i].label, letters) for i in kept], mono=13)
    fig.update_yaxes(range=[len(kept) - 0.5, -0.5], showgrid=False, **ticks)


def heading(fig: go.Figure, text: str, result: Saliency, shift: int = 4) -> int:
    """*text* above the plot, and that only some units are drawn. Returns the pixels that it takes."""
    if len(result.units) > DRAWN:
        text += f"<br>the {DRAWN} strongest of {len(result.units):,}"
    fig.add_annotation(kit.above(text, shift))
    return 14 + 20 * (text.count("<br>") + 1)


def directions(result: Saliency) -> str:
    """What the two signs mean."""
    answer = label(result.answer, 14)
    return f"{coloured('◀ against', ORANGE)} {answer} {coloured('for ▶', ACCENT)}"


def source(result: Saliency) -> str:
    """The token whose attention is shown."""
    if result.pooled:
        return "the average token"
    if result.target in ("tag", "span start", "span end"):
        return quote(next(unit.label for unit in result.units if result.position in unit.positions))
    return "the mask" if result.target == "mask" else "[CLS]"


def measured(result: Saliency) -> str:
    """The number that is explained."""
    return NUMBER.get(result.target, "log-probability")


def hover(result: Saliency, found: Attribution, kept: Sequence[int]) -> list[str]:
    share = shares(found)
    return [
        f"{label(result.units[i].label, 30)}, {found.method}: {number(found, float(found.scores[i]))}"
        + ("" if found.method in SHARES else f", {whole_percent(found, float(share[i]))} % of the total")
        for i in kept
    ]


def number(found: Attribution, score: float) -> str:
    return percent(score) if found.method in SHARES else signed(score, 2)


def signed(value: float, digits: int) -> str:
    """A number with its sign, or 0 where no digit is left to show."""
    text = f"{value:+.{digits}f}".replace("-", "−")
    return text if text.strip("+−0.") else "0"


def whole_percent(found: Attribution, share: float) -> str:
    return signed(100 * share, 0).removeprefix("+" if found.method in SHARES else "")


def colours(result: Saliency) -> dict[int, float]:
    """Position -> score, -1 to 1, for the strip, below 0 against the answer; of several methods the first."""
    scores = result.attributions[0].scores
    top = float(np.abs(scores).max()) or 1.0
    return {p: float(score) / top for unit, score in zip(result.units, scores, strict=True) for p in unit.positions}


def say(result: Saliency) -> str:
    """What the answer rests on, by the method or by each of them, and how far integrated gradients can be trusted."""
    number = f"{measured(result)} {signed(result.value, 2)}"
    share = "" if result.target == "score" else f"{percent(result.probability)} here "
    sentences = [
        f"{quote(result.answer)} has {share}({number})." if share else f"{quote(result.answer)} has a {number}."
    ]
    one = len(result.attributions) == 1
    sentences.append(strongest(result, result.attributions[0]) if one else firsts(result))
    sentences += [completeness(result, found) for found in result.attributions if found.completeness]
    sentences += limits(result)
    return " ".join(sentences)


def strongest(result: Saliency, found: Attribution) -> str:
    """The three largest scores above zero, and the one furthest below."""
    order = np.argsort(-found.scores, kind="stable")
    best = [
        f"{quote(result.units[i].label)} ({number(found, float(found.scores[i]))})"
        for i in order[:3]
        if found.scores[i] > 0
    ]
    if found.method in SHARES:
        way = "in the last layer looks most at" if found.method == "attention" else "takes most, by rollout, from"
        name = source(result)[0].upper() + source(result)[1:]
        return f"{name} {way} {listed(best)}; that is about no answer in particular."
    words = f"By {found.method} it rests most on {listed(best)}" if best else f"By {found.method} nothing speaks for it"
    worst = order[-1]
    against = found.scores[worst] < 0
    name = f"; {quote(result.units[worst].label)} speaks against it most ({number(found, float(found.scores[worst]))})"
    return words + name * bool(against) + "."


def firsts(result: Saliency) -> str:
    """The unit that supports the answer most, by each method."""
    by: dict[str, list[str]] = {}
    for found in result.attributions:
        best = int(np.argmax(found.scores))
        name = quote(result.units[best].label) if found.scores[best] > 0 else "nothing"
        by.setdefault(name, []).append(found.method)
    parts = [f"{name} for {listed(methods)}" for name, methods in by.items()]
    return f"What speaks for it most is {'; '.join(parts)}."


def completeness(result: Saliency, found: Attribution) -> str:
    """How far the sum of the scores misses the value that it must have."""
    if found.completeness is None:
        return ""
    rise, error = found.completeness.rise, found.completeness.error
    filler = "the zero vector" if result.baseline == "zero" else result.baseline
    alone, in_all = (" of one text at a time", " in all") if result.bi_encoder else ("", "")
    off = abs(error / rise) if rise else float(error != 0)
    part = f"{percent(off)} of it" if off < 1 else "as large as itself"
    change = f"the text changes the {measured(result)} by {signed(rise, 2)}{in_all}"
    sentence = (
        f"Against {filler} in place of every word{alone}, {change}; the scores of integrated gradients add up to that "
        f"with an error of {signed(error, 3)}, {part}"
    )
    return sentence + (f": {found.completeness.steps} steps are too few." if off > OFF else ".")


def limits(result: Saliency) -> list[str]:
    """What this result leaves out or does more coarsely."""
    found = []
    for attribution in result.attributions:
        if attribution.group > 1:
            read = f" and read {attribution.samples} texts" if attribution.samples else ""
            name = attribution.method if attribution.method == "LIME" else attribution.method.capitalize()
            found.append(f"The text is long: {name} hid up to {attribution.group} neighbouring tokens at a time{read}.")
    if result.precision != "fp32" and any(a.method in GRADIENTS for a in result.attributions):
        found.append("Gradients were taken in fp32.")
    if len(result.units) > DRAWN:
        found.append(f"The {DRAWN} strongest of {len(result.units):,} are drawn.")
    if result.other_masks:
        found.append(f"This is about the first of {result.other_masks + 1} masks.")
    if result.left_out:
        found.append(f"{result.left_out:,} tokens beyond the checkpoint's limit were not read.")
    return found

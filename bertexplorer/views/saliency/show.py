"""Figure for saliency: a bar for each token, to the right or the left of zero; several methods as columns."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.answers.attribution import Attribution, Completeness
from bertexplorer.charts.marks import Bar, Bars, Cells, Figure, Mark, Panel, StyledWords, TextLines, Tone
from bertexplorer.charts.style import (
    begin,
    beyond_limit,
    capital,
    decimal,
    join_names,
    only_first_mask,
    percent,
    quote,
    signed,
)
from bertexplorer.views.saliency.compute import Saliency, shares
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Saliency",
    place=1,
    title="Saliency",
    question="Which words mattered?",
    note=(
        "Each method asks a different question: what a small change of a word's vector would do, what hiding the word "
        "does, or where attention goes. None of them is a reason that BERT gives. If they disagree, try the view "
        "Referee. A word that scores zero may still matter together with another one."
    ),
    papers=(
        "Sundararajan et al., 2017, Axiomatic Attribution for Deep Networks",
        "Shrikumar et al., 2016, Not Just a Black Box",
        "Li et al., 2016, Understanding Neural Networks through Representation Erasure",
        "Ribeiro et al., 2016, LIME",
        "Lundberg and Lee, 2017, A Unified Approach to Interpreting Model Predictions (SHAP)",
        "Abnar and Zuidema, 2020, Quantifying Attention Flow in Transformers",
    ),
    examples=(
        Example("A fish", "The fish swims in the [MASK].", shows='order() == "swims" or order(2) == "swims"'),
        Example("All methods", "The hen laid an [MASK].", options={"method": "all"}, shows='answer() == "egg"'),
        Example(
            "The keys to the cabinet",
            "The keys to the cabinet [MASK] on the table.",
            options={"method": "occlusion", "word": "are"},
            shows='order() == "keys"',
        ),
        Example(
            "Does B follow A?",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"target": "next sentence", "method": "all"},
            shows='p() > 0.5 and order() == "store"',
        ),
        Example(
            "A baseline that fails",
            "Paris is the capital of [MASK].",
            options={"baseline": "[PAD]", "steps": 8},
            shows='answer() == "france"',
        ),
    ),
    slow=True,
)

DRAWN = 40  # units to draw; the strongest, in a longer text
SHARES = ("attention", "rollout")  # methods without a sign, about no answer
GRADIENTS = ("integrated gradients", "gradient x input")
HEADINGS = {"integrated gradients": "IG", "gradient x input": "grad × input"}
OFF = 0.05  # of the rise; integrated gradients that miss it by more are unreliable


def draw(result: Saliency) -> Figure:
    return Figure([bars(result) if len(result.attributions) == 1 else columns(result)])


def drawn_units(result: Saliency) -> list[int]:
    """The units to draw, in the order of the text: all of them, or those with the largest shares."""
    most = np.max([np.abs(shares(attribution)) for attribution in result.attributions], axis=0)
    return sorted(np.argsort(-most, kind="stable")[:DRAWN].tolist())


def bars(result: Saliency) -> Panel:
    """A bar for each unit, by the only method."""
    (attribution,) = result.attributions
    units = drawn_units(result)
    drawn = []
    for i, said in zip(units, hover(result, attribution, units), strict=True):
        unit = result.units[i]
        score = float(attribution.scores[i])
        tone: Tone = "blue" if score >= 0 else "orange"
        drawn.append(Bar(unit.label, score, number(attribution, score), tone, hover=said, faint=unit.special))
    marks: list[Mark] = [Bars(drawn, tokens=True)]
    if attribution.method in SHARES:
        return Panel(marks, heading(f"share of what {attention_source(result)} takes in", result))
    marks.append(directions(result, "" if result.readout.scored else ", in nats"))
    return Panel(marks, heading("", result))


def columns(result: Saliency) -> Panel:
    """A column for each method. Scores are shares of the sum of their magnitudes, so that all methods have the same
    scale."""
    units = drawn_units(result)
    values = np.array([shares(attribution)[units] for attribution in result.attributions])
    root = np.sign(values) * np.sqrt(np.abs(values))  # a single large share would leave all other cells white
    most = float(np.abs(root).max()) or 1.0
    text = []
    tips = []
    for attribution, column in zip(result.attributions, values.tolist(), strict=True):
        text.append([whole_percent(attribution, share) for share in column])
        tips.append(hover(result, attribution, units))
    cells = Cells(
        rows=[result.units[i].label for i in units],
        columns=[HEADINGS.get(attribution.method, attribution.method) for attribution in result.attributions],
        values=root.T,
        palette="signed",
        low=-most,
        high=most,
        text=list(zip(*text, strict=True)),
        hover=list(zip(*tips, strict=True)),
        tokens=True,
    )
    return Panel([cells, directions(result)], heading("per cent of each method's total", result))


def heading(title: str, result: Saliency) -> str:
    """*title*, with a note if only some units are drawn."""
    parts = [title] if title else []
    if len(result.units) > DRAWN:
        parts.append(f"the {DRAWN} strongest of {len(result.units):,}")
    return "; ".join(parts)


def directions(result: Saliency, unit: str = "") -> TextLines:
    """The meaning of the two signs."""
    line = [
        StyledWords("◀", "orange"),
        StyledWords(f" against {result.answer} for "),
        StyledWords("▶", "blue"),
        StyledWords(unit),
    ]
    return TextLines([line])


def attention_source(result: Saliency) -> str:
    """The token that the attention starts from."""
    if result.pooled:
        return "the average token"
    if result.readout.read_at:
        return result.readout.read_at
    return quote(next(unit.label for unit in result.units if result.position in unit.positions))


def hover(result: Saliency, attribution: Attribution, units: Sequence[int]) -> list[str]:
    """What the pointer shows of each of *units*."""
    share = shares(attribution)
    tips = []
    for i in units:
        score = number(attribution, float(attribution.scores[i]))
        parts = [f"{result.units[i].label}, {attribution.method}: {score}"]
        if attribution.errors is not None:
            parts.append(f" ± {decimal(float(attribution.errors[i]), 3)} (standard error)")
        if attribution.method not in SHARES:
            parts.append(f", {whole_percent(attribution, float(share[i]))} % of the total")
        tips.append("".join(parts))
    return tips


def number(attribution: Attribution, score: float) -> str:
    """A score in the unit of its method."""
    return percent(score) if attribution.method in SHARES else signed(score, 2)


def whole_percent(attribution: Attribution, share: float) -> str:
    """A share of the total without decimals, with a sign if its method has signs."""
    text = signed(100 * share, 0)
    return text.removeprefix("+") if attribution.method in SHARES else text


def colours(result: Saliency) -> dict[int, float]:
    """Position -> score for the strip, -1 (against the answer) to 1, by the first method."""
    scores = result.attributions[0].scores
    top = float(np.abs(scores).max()) or 1.0
    shades = {}
    for unit, score in zip(result.units, scores.tolist(), strict=True):
        for position in unit.positions:
            shades[position] = score / top
    return shades


def say(result: Saliency) -> str:
    """The units that support the answer, by each method, and the completeness of integrated gradients."""
    sentences = [say_value(result)]
    if len(result.attributions) == 1:
        sentences.append(say_strongest(result, result.attributions[0]))
    else:
        sentences.append(say_firsts(result))
    for attribution in result.attributions:
        if attribution.completeness:
            sentences.append(say_completeness(result, attribution.completeness))
    return " ".join([*sentences, *remarks(result)])


def say_value(result: Saliency) -> str:
    """The explained number."""
    value = result.readout.write(result.value)
    if result.readout.scored:
        return f"{capital(begin(result.answer))} {value} here."
    return f"{quote(result.answer)} has {percent(result.probability)} here ({result.readout.number_name} {value})."


def say_strongest(result: Saliency, attribution: Attribution) -> str:
    """The three largest scores above zero, and the one furthest below. A method without a sign has only the first."""
    scores = attribution.scores.tolist()
    order = np.argsort(-attribution.scores, kind="stable").tolist()  # of the units, the largest score first
    best = []
    for i in order[:3]:
        if scores[i] > 0:
            best.append(f"{quote(result.units[i].label)} ({number(attribution, scores[i])})")
    if attribution.method in SHARES:
        way = "in the last layer looks most at" if attribution.method == "attention" else "takes most, by rollout, from"
        name = capital(attention_source(result))
        return f"{name} {way} {join_names(best)}; that is about no answer in particular."
    supporters = f"it rests most on {join_names(best)}" if best else "nothing speaks for it"
    lowest = order[-1]
    if scores[lowest] >= 0:
        return f"By {attribution.method} {supporters}."
    opponent = quote(result.units[lowest].label)
    return (
        f"By {attribution.method} {supporters}; {opponent} speaks against it most "
        f"({number(attribution, scores[lowest])})."
    )


def say_firsts(result: Saliency) -> str:
    """The unit that supports the answer most, by each method."""
    by: dict[str, list[str]] = {}
    for attribution in result.attributions:
        best = int(np.argmax(attribution.scores))
        name = quote(result.units[best].label) if attribution.scores[best] > 0 else "nothing"
        by.setdefault(name, []).append(attribution.method)
    parts = [f"{name} for {join_names(methods)}" for name, methods in by.items()]
    return f"What speaks for it most is {'; '.join(parts)}."


def say_completeness(result: Saliency, completeness: Completeness) -> str:
    """How far the sum of the scores misses the value that it must have."""
    # 1. That value.
    change = f"the text changes the {result.readout.number_name} by {signed(completeness.rise, 2)}"
    filler = "the zero vector" if result.baseline == "zero" else result.baseline
    if result.readout.apart:
        against = f"Against {filler} in place of every word of one text at a time, {change} in all"
    else:
        against = f"Against {filler} in place of every word, {change}"
    # 2. How far it is missed.
    error = signed(completeness.error, 3)
    if error == "0":
        missed = "within 0.001"
    else:
        off = abs(completeness.error / completeness.rise) if completeness.rise else 1.0
        part = f"{percent(off).replace('<', 'less than')} of it" if off < 1 else "as large as itself"
        missed = f"with an error of {error}, {part}"
        if off > OFF:
            missed = f"{missed}: {completeness.steps} steps are too few"
    return f"{against}; the scores of integrated gradients add up to that {missed}."


def say_samples(attribution: Attribution) -> str:
    """Whether SHAP is exact; if not, how far it may be off."""
    texts = f"{attribution.samples:,} texts"
    if attribution.exact:
        return f"SHAP is exact: it read every combination, {texts}."
    if attribution.errors is None:
        return f"SHAP is estimated from {texts}, too few to say how far it is off."
    most = decimal(float(attribution.errors.max()), 3)
    return f"SHAP is estimated from {texts}: the standard error of a score is {most} at most."


def remarks(result: Saliency) -> list[str]:
    """What this result leaves out or does more coarsely."""
    sentences = []
    for attribution in result.attributions:
        if attribution.group > 1:
            read = f" and read {attribution.samples} texts" if attribution.method == "LIME" else ""
            name = attribution.method if attribution.method.isupper() else attribution.method.capitalize()
            what = "words" if result.merged else "tokens"
            sentences.append(
                f"The text is long: {name} hid up to {attribution.group} neighbouring {what} at a time{read}."
            )
        if attribution.method == "SHAP" and attribution.samples:
            sentences.append(say_samples(attribution))
    uses_gradients = any(attribution.method in GRADIENTS for attribution in result.attributions)
    if uses_gradients and result.precision != "fp32":
        sentences.append("Gradients were taken in fp32.")
    if len(result.units) > DRAWN:
        sentences.append(f"The {DRAWN} strongest of {len(result.units):,} are drawn.")
    return [*sentences, *result.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)]

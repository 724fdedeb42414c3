"""Figure for word in context: a cell for every pair of occurrences, their mean cosine layer by layer, and the
sentences."""

import numpy as np

from bertexplorer.answers.word_occurrences import Occurrence
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.scatter import excerpt, write_below
from bertexplorer.charts.style import (
    ACCENT,
    GREEN,
    GROUPS,
    INK,
    ORANGE,
    TEXT,
    capital,
    clip,
    count,
    finish,
    quote,
    safe,
)
from bertexplorer.views.view import Example, View
from bertexplorer.views.word_in_context.compute import WordInContext

BANK = (
    "river: Boats lie at the bank of the canal. | river: The river broke through its bank. | money: The bank lent him "
    "money for a house. | money: She works at a bank in the city."
)
SPRING = (
    "season: In spring the birds come back. | coil: The metal spring of the watch is broken. | coil: The clock needs a "
    "new steel spring. | water: Water flows from a spring in the rocks. | water: They drank water from a spring."
)
VIEW = View(
    __package__,
    "Embeddings",
    place=1,
    title="Word in context",
    question="Where does this word live?",
    note=(
        "A high cosine alone says little: in many checkpoints any two words have similar vectors, so the view "
        "subtracts the mean cosine of random words. Two vectors may be similar because of their place in the sentence "
        "or the words around them, not because of a shared sense."
    ),
    papers=(
        "Ethayarajh, 2019, How Contextual Are Contextualized Word Representations?",
        "Pilehvar and Camacho-Collados, 2019, WiC",
    ),
    examples=(
        Example(
            "River bank, money bank",
            "They sat on the bank of the river.",
            options={"word": "bank", "sense": "river", "sentences": BANK},
            shows="within(6) > between(6) + 0.15",
        ),
        Example(
            "Three springs",
            "The garden is lovely in spring.",
            options={"word": "spring", "sense": "season", "sentences": SPRING},
            shows="within(6) > between(6) + 0.1",
        ),
        Example(
            "The capital of France",
            "The capital of France is Paris.",
            options={"word": "capital"},
            shows="mean(6) < static() - 0.1",
        ),
        Example(
            "Doctor and nurse",
            "The doctor came late and the nurse waited.",
            options={"word": "doctor, nurse", "sentences": "A doctor writes. | A nurse writes. | The nurse is ill."},
            shows="mean(6) > static()",
        ),
        Example(
            "With and without not",
            "He can be happy.",
            options={"word": "happy", "sentences": "He cannot be happy. | He is not happy. | He is very happy."},
            shows="mean(6) > 0.9",
        ),
    ),
    chips="pick",
)

SIGNED = [[0.0, "#a04500"], [0.25, "#e9a36f"], [0.5, "#f6f4f1"], [0.75, "#8fb8e2"], [1.0, "#1d548f"]]
WIDEST = 300  # px: the cells
LINES = 190  # px: the panel below
GAP = 62  # px: between them
NUMBERED = 9  # occurrences up to which cells show their numbers
PLOT = 0.55  # share of the width for the lines; their names are to the right


def draw(result: WordInContext) -> Chart:
    count = len(result.occurrences)
    cells = int(min(56, WIDEST / count) * count) if count > 3 else 60 * count
    above = " above random words" if result.subtract else ""
    fig = kit.panels([cells, LINES], GAP, ("", f"mean cosine{above}, layer by layer"))
    matrix(fig, result)
    curves(fig, result)
    below = write_below(fig, key(result), 40)
    return finish(fig, 40 + cells + LINES + GAP + below, margin={"l": 8, "r": 12, "t": 40, "b": below})


def matrix(fig: Chart, result: WordInContext) -> None:
    count, values = len(result.occurrences), result.shown
    most = scale(result)
    hovers = [[hover(result, i, j) for j in range(count)] for i in range(count)]
    numbers = [["" if i == j else f"{values[i, j]:.2f}" for j in range(count)] for i in range(count)]
    strong = np.abs(np.nan_to_num(values)) > 0.7 * most
    text = np.array(numbers)
    for dark in (False, True):  # two layers, so that each number stands out from its cell
        selected = strong == dark
        font = {"size": 13 if count <= 6 else 12, "color": "#ffffff" if dark else INK}
        style: kit.Part = {"gap": 2 if count <= 20 else 1, "hoverongaps": False, "textfont": font}
        if count <= NUMBERED:
            style["text"] = np.where(selected, text, "")
        fig.add_trace(kit.cells(np.where(selected, values, np.nan), SIGNED, -most, most, hover=hovers, **style), 1, 1)
    ticks = {**kit.counted(count, 1 if count <= 20 else 5), "fixedrange": True}
    title = kit.title(title_of(result), 6)
    ends = [-0.5, count - 0.5]
    fig.update_xaxes(side="top", tickangle=0, title=title, range=ends, row=1, col=1, **ticks)
    fig.update_yaxes(range=ends[::-1], row=1, col=1, **ticks)


def scale(result: WordInContext) -> float:
    """The end of the colour scale, the same at every layer."""
    count = len(result.occurrences)
    off = ~np.eye(count, dtype=bool)
    base = result.baseline[:, None] if result.subtract else 0
    return max(0.1, float(np.abs(result.cosines[:, off] - base).max()))


def title_of(result: WordInContext) -> str:
    kind = "cosine above random words" if result.subtract else "cosine"
    return f"{kind}, {kit.layer_name(result.layer)}"


def hover(result: WordInContext, i: int, j: int) -> str:
    if i == j:
        return ""
    cosine, base = result.cosines[result.layer, i, j], result.baseline[result.layer]
    first, second = (f"{k + 1}. {safe(occurrence_text(result.occurrences[k], 60))}" for k in (i, j))
    return f"{first}<br>{second}<br>cosine {cosine:.2f}, random words {base:.2f}"


def occurrence_text(occurrence: Occurrence, length: int) -> str:
    label = f" ({clip(occurrence.label, 16)})" if occurrence.label else ""
    return excerpt(occurrence.sentence, occurrence.start, occurrence.end, length - len(label)) + label


def curves(fig: Chart, result: WordInContext) -> None:
    """The mean cosine of the occurrences after each layer: above that of random words, or beside it."""
    curves = [("the word", ACCENT, "solid", result.mean)]
    if result.within is not None and result.between is not None:
        curves = [("same sense", ACCENT, "solid", result.within), ("other sense", GREEN, "dash", result.between)]
    if result.subtract:  # as in the cells
        curves = [(name, colour, dash, values - result.baseline) for name, colour, dash, values in curves]
    else:
        curves.append(("random words", ORANGE, "dot", result.baseline))
    lines = [
        kit.LayerLine(name, f"{values[-1]:.2f} {name}", values, colour, dash) for name, colour, dash, values in curves
    ]
    ends = (min(0.0, *(float(line.values.min()) for line in lines)), 1.0)
    kit.layer_lines(fig, lines, ends, result.layer, height=LINES, share=PLOT)


def key(result: WordInContext) -> list[tuple[str, str]]:
    """The sentences under the picture, coloured by sense."""
    senses = list(dict.fromkeys(o.label for o in result.occurrences if o.label))
    colours = {sense: GROUPS[i % len(GROUPS)] for i, sense in enumerate(senses)}
    lines = [
        (f"{i}. {safe(occurrence_text(o, 34))}", colours.get(o.label, TEXT))
        for i, o in enumerate(result.occurrences, 1)
    ]
    lines += [(remark, TEXT) for remark in remarks(result)]
    return lines


def remarks(result: WordInContext) -> list[str]:
    """What the figure does not show, as phrases without a full stop."""
    sentences = []
    if result.left_out:
        sentences.append(f"{result.left_out} more occurrences are not drawn")
    if result.lacking:
        sentences.append(f"{count(result.lacking, 'sentence')} without the word")
    return sentences


def say(result: WordInContext) -> str:
    """The mean cosine of the occurrences at the chosen layer, compared with random words, and the layer where senses
    differ most."""
    at = "in the input vectors" if result.layer == 0 else f"in layer {result.layer}"
    mean, base = float(result.mean[result.layer]), float(result.baseline[result.layer])
    size = len(result.occurrences)
    word = " and ".join(quote(clip(word, 30)) for word in result.words[:3])
    spread = f" (±{result.spread[result.layer]:.2f})" if size > 2 else ""
    sentence = f"The {size} occurrences of {word} have a mean cosine of {mean:.2f}{spread} {at}; two random words have "
    drawn = f", so {mean - base:.2f} above them is drawn" if result.subtract else ""
    sentences = [f"{sentence}{base:.2f} there{drawn}."]
    if result.within is not None and result.between is not None:
        gap = result.within - result.between
        best = int(gap.argmax())
        widest = f"furthest apart {'in the input' if best == 0 else f'in layer {best}'} (by {gap[best]:.2f})"
        less = base if result.subtract else 0.0
        above = " above random words" if result.subtract else ""
        sentences.append(
            f"Occurrences of the same sense have {result.within[result.layer] - less:.2f}{above}, of different senses "
            f"{result.between[result.layer] - less:.2f}; the senses are "
            f"{widest if gap[best] > 0.005 else 'not apart in any layer'}."
        )
    off = result.static[np.triu_indices(size, 1)]
    table = "one vector (cosine 1.00)" if off.min() > 0.9999 else f"a mean cosine of {off.mean():.2f}"
    has = "has" if len(result.words) == 1 else "have"
    sentences.append(
        f"In the embedding table {word} {has} {table}; with positions added, before layer 1, {result.mean[0]:.2f}."
    )
    built_in = [o.source == "built-in" for o in result.occurrences]
    if all(built_in):
        sentences.append("None of the sentences is yours; all are built-in ones with this word.")
    elif any(built_in):
        sentences.append("Only the first sentence is yours; the others are built-in ones with the same word.")
    if any(o.hidden for o in result.occurrences):
        sentences.append("Where the word is hidden its vector is that of [MASK].")
    sentences += [f"{capital(remark)}." for remark in remarks(result)]
    if result.beyond:
        sentences.append(
            f"{result.beyond} {'comes' if result.beyond == 1 else 'come'} after the last token that is read."
        )
    return " ".join(sentences)

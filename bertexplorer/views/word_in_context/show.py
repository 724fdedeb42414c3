"""Figure for word in context: a cell for every pair of occurrences, their mean cosine layer by layer, and the
sentences."""

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.word_occurrences import Occurrence
from bertexplorer.charts.marks import GROUPS, Cells, Dash, Figure, Line, Lines, Panel, StyledWords, TextLines, Tone
from bertexplorer.charts.style import capital, clip, count, excerpt, layer_name, quote
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

NUMBERED = 9  # occurrences up to which cells show their numbers


def draw(result: WordInContext) -> Figure:
    above = " above random words" if result.subtract else ""
    panels = [
        Panel([matrix(result)], f"cosine{above}, {layer_name(result.layer)}"),
        Panel([curves(result)], f"mean cosine{above}, layer by layer", "after layer"),
        Panel([TextLines(key(result))]),
    ]
    return Figure(panels)


def matrix(result: WordInContext) -> Cells:
    """The cosine of each two occurrences."""
    count = len(result.occurrences)
    names = [str(number) for number in range(1, count + 1)]
    most = scale(result)
    values = np.where(np.eye(count, dtype=bool), np.nan, result.shown)
    text = []
    hover = []
    for i in range(count):
        numbers = [""] * count
        if count <= NUMBERED:
            numbers = [f"{value:.2f}" for value in values[i].tolist()]
            numbers[i] = ""  # with itself
        text.append(numbers)
        hover.append([pair(result, i, j) for j in range(count)])
    return Cells(names, names, values, palette="strong", low=-most, high=most, text=text, hover=hover)


def scale(result: WordInContext) -> float:
    """The end of the colour scale, the same at every layer."""
    count = len(result.occurrences)
    off = ~np.eye(count, dtype=bool)
    base = result.baseline[:, None] if result.subtract else 0
    return max(0.1, float(np.abs(result.cosines[:, off] - base).max()))


def pair(result: WordInContext, i: int, j: int) -> str:
    """Two occurrences and their cosine."""
    if i == j:
        return ""
    cosine = result.cosines[result.layer, i, j]
    base = result.baseline[result.layer]
    lines = [f"{k + 1}. {occurrence_text(result.occurrences[k], 60)}" for k in (i, j)]
    return "\n".join([*lines, f"cosine {cosine:.2f}, random words {base:.2f}"])


def occurrence_text(occurrence: Occurrence, length: int) -> str:
    """The sentence around an occurrence, and its sense, in *length* characters."""
    label = f" ({clip(occurrence.label, 16)})" if occurrence.label else ""
    return excerpt(occurrence.sentence, occurrence.start, occurrence.end, length - len(label)) + label


def curves(result: WordInContext) -> Lines:
    """The mean cosine of the occurrences after each layer: above that of random words, or beside it."""
    less = result.baseline if result.subtract else np.zeros_like(result.baseline)  # as in the cells
    lines = []
    if result.within is not None and result.between is not None:
        lines.append(line("same sense", result.within - less))
        lines.append(line("other sense", result.between - less, "green", "dash"))
    else:
        lines.append(line("the word", result.mean - less))
    if not result.subtract:
        lines.append(line("random words", result.baseline, "orange", "dot"))
    steps = ["in", *map(str, range(1, len(less)))]
    doors = [{"set": {"layer": layer}} for layer in range(len(less))]
    return Lines(steps, lines, high=1, chosen=result.layer, doors=doors)


def line(name: str, values: np.ndarray, tone: Tone = "blue", dash: Dash = "solid") -> Line:
    """A line with its last value beside its end."""
    hover = [f"{name}, {layer_name(layer)}: {value:.2f}" for layer, value in enumerate(values.tolist())]
    return Line(name, values, end=f"{values[-1]:.2f} {name}", tone=tone, dash=dash, hover=hover)


def key(result: WordInContext) -> list[StyledWords]:
    """The sentences under the picture, coloured by sense."""
    senses = list(dict.fromkeys(o.label for o in result.occurrences if o.label))
    tones = {sense: GROUPS[i % len(GROUPS)] for i, sense in enumerate(senses)}
    lines = []
    for number, occurrence in enumerate(result.occurrences, 1):
        lines.append(StyledWords(f"{number}. {occurrence_text(occurrence, 34)}", tones.get(occurrence.label, "grey")))
    return [*lines, *map(StyledWords, remarks(result))]


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
    layer = result.layer
    base = float(result.baseline[layer])
    size = len(result.occurrences)
    word = " and ".join(quote(clip(word, 30)) for word in result.words[:3])

    # 1. How alike the occurrences are
    mean = f"{result.mean[layer]:.2f}"
    if size > 2:
        mean = f"{mean} (±{result.spread[layer]:.2f})"
    at = f"in layer {layer}" if layer else "in the input vectors"
    random = f"two random words have {base:.2f} there"
    if result.subtract:
        random = f"{random}, so {result.mean[layer] - base:.2f} above them is drawn"
    sentences = [f"The {size} occurrences of {word} have a mean cosine of {mean} {at}; {random}."]

    # 2. Whether senses are apart
    if result.within is not None and result.between is not None:
        sentences.append(say_senses(result, result.within, result.between))

    # 3. What the word has before any layer
    off = result.static[np.triu_indices(size, 1)]
    table = "one vector (cosine 1.00)" if off.min() > 0.9999 else f"a mean cosine of {off.mean():.2f}"
    has = "has" if len(result.words) == 1 else "have"
    sentences.append(
        f"In the embedding table {word} {has} {table}; with positions added, before layer 1, {result.mean[0]:.2f}."
    )

    # 4. Where the sentences are from, and what was left out
    built_in = [occurrence.source == "built-in" for occurrence in result.occurrences]
    if all(built_in):
        sentences.append("None of the sentences is yours; all are built-in ones with this word.")
    elif any(built_in):
        sentences.append("Only the first sentence is yours; the others are built-in ones with the same word.")
    if any(occurrence.hidden for occurrence in result.occurrences):
        sentences.append("Where the word is hidden its vector is that of [MASK].")
    sentences += [f"{capital(remark)}." for remark in remarks(result)]
    if result.beyond:
        comes = "comes" if result.beyond == 1 else "come"
        sentences.append(f"{result.beyond} {comes} after the last token that is read.")
    return " ".join(sentences)


def say_senses(
    result: WordInContext, within: Float[np.ndarray, " layers"], between: Float[np.ndarray, " layers"]
) -> str:
    """How alike occurrences of the same sense are, and of different ones, and the layer that tells senses apart best.
    *within*, *between*: the mean cosine after each layer."""
    gap = within - between
    best = int(gap.argmax())
    apart = "not apart in any layer"
    if gap[best] > 0.005:
        where = f"in layer {best}" if best else "in the input"
        apart = f"furthest apart {where} (by {gap[best]:.2f})"
    same = within[result.layer]
    different = between[result.layer]
    if result.subtract:
        base = float(result.baseline[result.layer])
        same_words = f"{same - base:.2f} above random words"
        different_words = f"{different - base:.2f}"
    else:
        same_words = f"{same:.2f}"
        different_words = f"{different:.2f}"
    return (
        f"Occurrences of the same sense have {same_words}, of different senses {different_words}; the senses are "
        f"{apart}."
    )

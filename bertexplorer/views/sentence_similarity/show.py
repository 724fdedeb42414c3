"""Figure for the similarity of two sentences: what each pair of words adds to it, and what unrelated sentences have."""

import numpy as np
from jaxtyping import Float

from bertexplorer.charts.marks import Button, Cells, Figure, Histogram, Panel, Rule
from bertexplorer.charts.style import clip, count, decimal, join_names, percent, quote, signed
from bertexplorer.views.sentence_similarity.compute import MARKS, MASKS, SentenceSimilarity
from bertexplorer.views.view import Example, View

KIDS = ("The children are playing football in the park.", "Kids kick a ball on the grass.")
VIEW = View(
    __package__,
    "Sentences",
    place=3,
    title="Similarity",
    question="Why are these two similar?",
    note=(
        "A cosine means nothing alone: some checkpoints give 0.4 to any two sentences, so look at where unrelated ones "
        "lie. Similar is what the training made similar, often the topic: “open” and “closed”, or the dog that bit the "
        "man and the man that bit the dog, come out close. Tokens of the last layer have read the whole text, so that "
        "a full stop may carry much of it; ask for the words that go in to see what brought it there."
    ),
    papers=(
        "Reimers and Gurevych, 2019, Sentence-BERT",
        "Moeller et al., 2023, An Attribution Method for Siamese Encoders",
        "Sundararajan et al., 2017, Axiomatic Attribution for Deep Networks",
    ),
    examples=(
        Example(
            "Other words, same meaning",
            *KIDS,
            shows="similarity() > chance() + 0.3 and as_similar() == 0 and shared_words() <= 1",
        ),
        Example(
            "Which words did it",
            *KIDS,
            {"terms": "input words"},
            shows='top_first() == "children" and top_second() == "kids"',
        ),
        Example("Who bit whom", "The dog bit the man.", "The man bit the dog.", shows="similarity() > 0.95"),
        Example(
            "Open and closed", "The museum is open today.", "The museum is closed today.", shows="similarity() > 0.8"
        ),
        Example(
            "Nothing in common",
            "The stock market fell sharply.",
            "She planted tulips in the garden.",
            shows="as_similar() > 0.2",
        ),
    ),
    slow=True,
    needs=("lines",),
)

BINS = 40
NUMBERED = 12  # words of a side up to which cells show their numbers
FEW = 4  # texts up to which cells show numbers of any size
OFF = 0.05  # of the similarity: a gap beyond it is too large
LEAST_NAMED = 0.0005  # a smaller part of the similarity would be said to be 0
FAR = ("euclidean", "manhattan")  # distances: the table has them with a minus
NAMES = {"cosine": "cosine", "dot": "dot product", "euclidean": "distance", "manhattan": "Manhattan distance"}


def draw(result: SentenceSimilarity) -> Figure:
    """What each pair of words adds; how similar several texts are; the similarities of unrelated pairs."""
    panels = [words(result)]
    if result.table is not None:
        panels.append(group(result, result.table))
    panels.append(chance(result))
    return Figure(panels, switch(result))


def words(result: SentenceSimilarity) -> Panel:
    """What each pair of words adds."""
    numbered = len(result.columns) <= NUMBERED
    text = []
    hover = []
    for row, values in zip(result.rows, result.matrix, strict=True):
        text.append([hundredths(float(value)) if numbered else "" for value in values])
        pairs = zip(result.columns, values, strict=True)
        hover.append([f"{row.label} and {column.label}: {signed(float(value), 4)}" for column, value in pairs])
    most = float(np.abs(result.matrix).max()) or 1.0
    cells = Cells(
        rows=[part.label for part in result.rows],
        columns=[part.label for part in result.columns],
        values=result.matrix,
        palette="signed",
        low=-most,
        high=most,
        text=text,
        hover=hover,
        tokens=True,
    )
    title = "what each pair of words adds"
    if numbered:
        total = "dot product" if result.measure == "dot" else "cosine"
        title = f"{title}, in hundredths of the {total} (12 is 0.12)"
    return Panel([cells], title)


def group(result: SentenceSimilarity, table: Float[np.ndarray, "k k"]) -> Panel:
    """The similarity of each two of several texts. A press on a cell opens the pair."""
    texts = result.group
    shown = np.abs(table) if result.measure in FAR else table
    is_cosine = result.measure == "cosine"  # two digits fit into a cell on a phone
    numbered = len(texts) <= (NUMBERED if is_cosine else FEW)
    text = []
    hover = []
    doors = []
    for first, values in zip(texts, shown.tolist(), strict=True):
        numbers = [decimal(100 * value, 0) if is_cosine else decimal(value) for value in values]
        text.append(numbers if numbered else [""] * len(texts))
        hover.append([f"{first}\n{second}\n{decimal(value, 3)}" for second, value in zip(texts, values, strict=True)])
        doors.append([open_pair(result, first, second) for second in texts])
    apart = table[~np.eye(len(texts), dtype=bool)]  # the scale leaves out each text beside itself
    low, high = float(apart.min()) - 0.01, float(apart.max()) + 0.01
    rows = [f"{number}. {text}" for number, text in enumerate(texts, 1)]
    columns = [str(number) for number in range(1, len(texts) + 1)]
    unit = ", in hundredths" if is_cosine and numbered else ""
    return Panel(
        [Cells(rows, columns, table, low=low, high=high, text=text, hover=hover, doors=doors)],
        f"each two of all texts{unit}; press a cell to open the pair",
    )


def open_pair(result: SentenceSimilarity, first: str, second: str) -> dict[str, object]:
    """Where a press on a cell leads: to this pair, with the other texts beside it."""
    others = [text for text in result.group if text not in (first, second) and "|" not in text]
    return {"text": first, "pair": second, "set": {"others": " | ".join(others)}}


def hundredths(value: float) -> str:
    """A number in a cell; nothing for one that would be 0."""
    return "" if abs(value) < 0.005 else decimal(100 * value, 0)


def chance(result: SentenceSimilarity) -> Panel:
    """How many pairs of unrelated lines have each similarity."""
    low = min(float(result.chance[0]), result.similarity)
    high = max(float(result.chance[-1]), result.similarity)
    counts, edges = np.histogram(result.chance, bins=BINS, range=(low, high))
    middles = (edges[:-1] + edges[1:]) / 2
    hover = [f"{decimal(float(at))}: {count(int(number), 'pair')}" for at, number in zip(middles, counts, strict=True)]
    columns = Histogram(middles, counts, hover=hover, low=low, high=high)
    lines = "your lines" if result.own_lines else "unrelated sentences"
    title = f"pairs of {lines}; the line: these two texts"
    return Panel([columns, Rule(result.similarity)], title, NAMES[result.measure])


def switch(result: SentenceSimilarity) -> list[Button]:
    """A button that leads to the other kind of parts."""
    if result.exact:
        return [Button("Which words brought it there?", {"set": {"terms": "input words"}})]
    if result.is_sum:
        return [Button("Where is it in the last layer?", {"set": {"terms": "last layer"}})]
    return []


def colours(result: SentenceSimilarity) -> dict[int, float]:
    """Position -> shade for the strip, -1 to 1: what the word adds."""
    most = max(map(abs, result.shown.values()), default=0.0) or 1.0
    return {position: value / most for position, value in result.shown.items()}


def say(result: SentenceSimilarity) -> str:
    return " ".join([say_number(result), *say_group(result), say_words(result), say_sum(result), *remarks(result)])


def say_number(result: SentenceSimilarity) -> str:
    """The similarity beside that of unrelated pairs."""
    pairs = len(result.chance)
    above = result.as_similar
    lines = "your lines" if result.own_lines else "unrelated sentences"
    number = result.similarity
    mean = float(result.chance.mean())
    if result.measure in FAR:
        number = -number
        mean = abs(mean)
    as_many = {0: "none is", 1: "one is"}.get(above, f"{above:,} ({percent(above / pairs)}) are")
    return (
        f"The {NAMES[result.measure]} is {decimal(number)}. Of {count(pairs, 'pair')} of {lines}, whose mean is "
        f"{decimal(mean)}, {as_many} at least as similar."
    )


def say_group(result: SentenceSimilarity) -> list[str]:
    """Which two of several texts are most similar."""
    if result.table is None:
        return []
    first, second = (quote(clip(result.group[i], 50)) for i in result.closest)
    value = float(result.table[result.closest])
    number = decimal(-value if result.measure in FAR else value)
    return [f"Of {len(result.group)} texts, {first} and {second} are most similar ({number})."]


def say_words(result: SentenceSimilarity) -> str:
    """The pairs of words that add most."""
    names = []
    for i, j in result.pairs[:3]:
        value = float(result.matrix[i, j])
        if value >= LEAST_NAMED:
            first = quote(clip(result.rows[i].label))
            second = quote(clip(result.columns[j].label))
            names.append(f"{first} with {second} ({signed(value, 3)})")
    if not names:
        return "No two words add to it."
    return f"Of the words, most is added by {join_names(names)}."


def say_sum(result: SentenceSimilarity) -> str:
    """What the cells are, and what they sum to."""
    total = "dot product" if result.measure == "dot" else "cosine"
    # 1. Terms of a sum over the tokens.
    if result.exact:
        sentences = [f"The cells sum to the {total} exactly."]
        if any(part.label == MARKS for part in result.rows):
            sentences.append(f"“{MARKS}” is the special tokens together.")
        sentences.append(
            "The tokens are those of the last layer, which have read each other: the cells say where the similarity "
            "is, not which word brought it there."
        )
        return " ".join(sentences)
    # 2. Integrated gradients, whose sum misses the total.
    error = -result.gap  # the sum less the total
    said = "within 0.001" if abs(error) < 0.001 else f"with an error of {signed(error, 3)}"
    tolerated = OFF * max(abs(result.total), 0.1)
    warning = ": too much to rely on small cells" if abs(error) > tolerated else ""
    return (
        "The cells are integrated gradients of the words that go in: what each adds on the way from a text of masks, "
        f"whose own part is the row “{MASKS}”. They sum to the {total} {decimal(result.total)} {said}{warning}."
    )


def remarks(result: SentenceSimilarity) -> list[str]:
    """How the vectors are made, and what is left out."""
    sentences = [f"Each text’s vector is {result.pipeline}."]
    if any(result.prompts):
        first, second = (quote(clip(prompt, 40)) if prompt else "nothing" for prompt in result.prompts)
        sentences.append(f"Before the first text stands {first}, before the second {second}.")
    for tokens, which in zip(result.cut, ("first", "second"), strict=True):
        if tokens:
            sentences.append(f"{count(tokens, 'token')} of the {which} text are beyond the limit and not read.")
    if result.notes:
        sentences.append(result.notes)
    return sentences

"""Figure for tokenization: the steps that cut each word into pieces; below, the lengths of each token's vectors."""

import numpy as np

from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart, grid
from bertexplorer.charts.style import ACCENT, GREEN, GREY, MONO, ORANGE, PALE, clip, finish, label, quote, safe
from bertexplorer.views.tokenization import alignment
from bertexplorer.views.tokenization.compute import Tokenization, Word
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=1,
    title="Pieces",
    question="What goes in?",
    note=(
        "Pieces are strings that were frequent in the text behind the vocabulary, not units of meaning. A long vector "
        "does not mark an important token: LayerNorm evens out the lengths, and only the direction counts."
    ),
    papers=(
        "Wu et al., 2016, Google's Neural Machine Translation System (WordPiece)",
        "Devlin et al., 2019, BERT",
    ),
    examples=(
        Example("Embeddings", "BERT adds three embeddings for each token.", shows='pieces("embeddings") == 4'),
        Example("Unbelievable", "Tokenization is unbelievably misunderstandable.", shows='pieces("unbelievably") > 3'),
        Example("A name", "Beyoncé met Nikolai Rimsky-Korsakov in Reykjavík.", shows='pieces("korsakov") > 2'),
        Example("Unknown characters", "I love 🍕 and 🤖 robots.", shows="unknown() == 2"),
        Example("A pair", "The man went to the store.", "He bought a gallon of milk.", shows="tokens() == 17"),
    ),
)

SHOWN = 64  # tokens whose vectors are drawn
STEPS = 18  # lines of the words that are cut
LETTERS = 26  # of a word
LINE = 26  # px: a step
BAR = 24  # px: a token
TITLE = 44  # px: above the first panel
GAP = 84  # px: between the two
NAMES = {  # in two lines, for a phone
    "position": "posi-<br>tion",
    "segment": "seg-<br>ment",
    "normalised": "after<br>norm",
    "projected": "pro-<br>ject",
}
COLOURS = {"word": ACCENT, "position": ORANGE, "segment": GREEN, "sum": GREY, "normalised": PALE, "projected": PALE}
TAKEN = 1
MATCHED = 2
REST = 3
UNKNOWN = 4
SHADES = ("rgba(138,148,163,0.2)", ACCENT, PALE, "#e69f00")


def draw(result: Tokenization) -> Chart:
    words = words_to_draw(result)
    columns = len(result.parts) + 1
    above = LINE * sum(len(word.steps) for word in words) + LINE // 2 * max(0, len(words) - 1)
    below = BAR * min(SHOWN, len(result.tokens))
    titles = [NAMES.get(part, part) for part in (*result.parts, "cosine")]
    first = [[{"colspan": columns}, *[None] * (columns - 1)]] if words else []
    inner = above + below + (GAP if words else 0)
    fig = grid(
        rows=len(first) + 1,
        cols=columns,
        specs=[*first, [{}] * columns],
        row_heights=[above, below] if words else None,
        vertical_spacing=GAP / inner if words else 0,
        horizontal_spacing=0.012,
        shared_yaxes=True,
        titles=[heading(result, words), *titles] if words else titles,
    )
    if words:
        cuts(fig, words, result.kind)
    lengths(fig, result, len(first) + 1)
    fig.update_annotations(font={"size": 12}, xanchor="left", align="left")
    notes = fig.settings["annotations"]
    for number, note in enumerate(notes[len(first) :], len(first) + 1):
        note["x"] = fig.settings["xaxis" if number == 1 else f"xaxis{number}"]["domain"][0]
    if words:
        notes[0] |= {"x": 0, "font": {"size": 14}}
    return finish(fig, max(320, inner + TITLE + 8), bargap=0.3, margin={"l": 8, "r": 16, "t": TITLE, "b": 8})


def cut_words(result: Tokenization) -> list[Word]:
    """Words of several pieces, and unknown words; each spelling once."""
    unique = {(word.read, word.steps): word for word in result.words if len(word.steps) > 1 or word.reason}
    return list(unique.values())


def words_to_draw(result: Tokenization) -> list[Word]:
    """The first cut words, as many as fit in STEPS lines."""
    lines, words = 0, []
    for word in cut_words(result):
        lines += len(word.steps)
        if lines <= STEPS and len(word.steps) <= STEPS:
            words.append(word)
    return words


def heading(result: Tokenization, words: list[Word]) -> str:
    how = "cut, longest match first" if result.kind == "WordPiece" else f"cut by {result.kind}"
    count = len(cut_words(result))
    return f"{how}: {len(words)} of {count} words" if count > len(words) else how


def cuts(fig: Chart, words: list[Word], kind: str) -> None:
    """A line for each step: the part already matched, the piece of this step, and the rest."""
    width = max(16, min(LETTERS, max(len(word.read) for word in words)))
    scale = [[edge / 4, shade] for i, shade in enumerate(SHADES) for edge in (i, i + 1)]
    places: list[float] = []
    for word in words:
        top = places[-1] + 1.5 if places else 0.0
        lines = [top + line for line in range(len(word.steps))]
        states, texts = letters(word, width)
        hovers = [[hover_text(word, line, kind)] * width for line in range(len(lines))]
        font = {"family": MONO, "size": 13}
        cells = kit.cells(states, scale, 0.5, 4.5, text=texts, hover=hovers, y=lines, textfont=font, hoverongaps=False)
        fig.add_trace({**cells, "xgap": None}, 1, 1)
        places += lines
    pieces = [label(step.piece, 10) for word in words for step in word.steps]
    ticks = {"tickvals": places, "ticktext": pieces, "tickfont": {"family": MONO, "size": 13}}
    fig.update_yaxes(range=[places[-1] + 0.5, -0.5], showgrid=False, **ticks, row=1, col=1)
    fig.update_xaxes(visible=False, row=1, col=1)


def letters(word: Word, width: int) -> tuple[list[list[int | None]], list[list[str]]]:
    """For each step the state and the text of *width* cells; a longer word is cut off."""
    characters = [safe(letter) for letter in clip(word.read, width)]
    blank = width - len(characters)
    states: list[list[int | None]] = []
    for step in word.steps:
        line = [TAKEN] * step.start + [MATCHED] * (step.end - step.start) + [REST] * (len(word.read) - step.end)
        states.append([*([UNKNOWN] * len(characters) if word.reason else line[: len(characters)]), *[None] * blank])
    texts = [
        ["" if s in (TAKEN, None) else c for c, s in zip([*characters, *[""] * blank], line, strict=True)]
        for line in states
    ]
    return states, texts


def hover_text(word: Word, line: int, kind: str) -> str:
    step = word.steps[line]
    if word.reason:
        return f"{safe(word.text)}: {safe(step.piece)}, as {safe(word.reason)}"
    if kind != "WordPiece":
        return f"{safe(word.text)}, piece {line + 1}: {safe(step.piece)}"
    remainder = f"then {safe(step.rest)} is left" if step.rest else "nothing is left"
    return f"{safe(word.text)}, step {line + 1}: {safe(step.piece)}, {remainder}"


def lengths(fig: Chart, result: Tokenization, row: int) -> None:
    """A column for each vector with its own scale, a bar for each token."""
    count = min(SHOWN, len(result.tokens))
    tokens = [safe(token) for token in result.tokens[:count]]
    hovers = [
        f"{token}: id {result.ids[i]}, position {result.positions[i]}, segment {result.segments[i]}"
        for i, token in enumerate(tokens)
    ]
    values = {**dict(zip(result.parts, result.norms, strict=True)), "cosine": result.cosines}
    for column, (name, numbers) in enumerate(values.items(), 1):
        digits = 2 if name == "cosine" or (len(values) < 7 and numbers.max() < 10) else 1
        texts = [f"{number:.{digits}f}" for number in numbers[:count].tolist()]
        style = {"textfont": {"size": 12}, "constraintext": "none"}
        bars = kit.bars(numbers[:count], COLOURS.get(name, GREY), text=texts, hover=hovers, **style)
        tip = "%{customdata}<br>" + name + " %{x:.3f}<extra></extra>"
        fig.add_trace({**bars, "hovertemplate": tip}, row, column)
        low, top = min(0.0, float(numbers[:count].min())), max(float(np.abs(numbers[:count]).max()), 1e-6)
        fig.update_xaxes(range=[low * 3.1, top * 3.1], visible=False, row=row, col=column)
        fig.update_yaxes(range=[count - 0.5, -0.5], showgrid=False, showticklabels=column == 1, row=row, col=column)
    ticks = kit.ticks([label(token, 10) for token in result.tokens[:count]], mono=13)
    fig.update_yaxes(**ticks, row=row, col=1)


def align(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> Chart | None:
    """Two tokenizers on one text; None for two texts."""
    return alignment.draw(first, second, names)


def compare(first: Tokenization, second: Tokenization) -> str:
    """How many pieces each tokenizer makes of one text. "" for two texts."""
    return alignment.say(first, second)


def say(result: Tokenization) -> str:
    """The number of pieces, the word with the most pieces, unknown words, and the parts of the input vectors."""
    count = len(result.words)
    subject = "1 word becomes" if count == 1 else f"{count} words and punctuation marks become"
    sentences = [f"{subject} {len(result.tokens)} tokens, special ones included."]
    cut_known = [word for word in cut_words(result) if not word.reason]
    if cut_known:
        most = max(cut_known, key=lambda word: len(word.steps))
        sentences.append(f"{quote(clip(most.text, 40))} is cut into {' + '.join(s.piece for s in most.steps[:12])}.")
    unknown = [word for word in result.words if word.reason]
    if unknown:
        sentences.append(
            f"{quote(clip(unknown[0].text, 40))} becomes {unknown[0].steps[0].piece}: {unknown[0].reason}."
        )
    means = dict(zip(result.parts, result.norms.mean(axis=1).tolist(), strict=True))
    lengths_text = ", ".join(f"{name} {means[name]:.2f}" for name in ("word", "position", "segment") if name in means)
    after = f", after LayerNorm {means['normalised']:.2f}" if "normalised" in means else ""
    sentences.append(
        f"Lengths on average: {lengths_text}; the sum {means['sum']:.2f}{after}. "
        f"The word vector and the input have a cosine of {result.cosines.mean():.2f} on average."
    )
    if len(result.tokens) > SHOWN:
        sentences.append(f"The first {SHOWN} of {len(result.tokens)} tokens are drawn.")
    return " ".join(sentences)

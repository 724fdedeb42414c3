"""Figure for tokenization: the steps that cut each word into pieces; below, the lengths of each token's vectors."""

import numpy as np

from bertexplorer.charts.marks import Bar, Bars, Cells, Figure, Panel, Tone
from bertexplorer.charts.style import clip, quote
from bertexplorer.views.tokenization import alignment
from bertexplorer.views.tokenization.compute import Step, Tokenization, Word
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
NAMES = {"position": "pos.", "segment": "seg.", "normalised": "norm.", "projected": "proj."}  # short, for a phone
TONES: dict[str, Tone] = {
    "word": "blue",
    "position": "orange",
    "segment": "green",
    "normalised": "pale",
    "projected": "pale",
}
# of a letter, as places in the palette
TAKEN = 0.0
MATCHED = 1.0
REST = 0.15
UNKNOWN = -0.8


def draw(result: Tokenization) -> Figure:
    words = words_to_draw(result)
    panels = []
    if words:
        panels.append(Panel([cuts(words, result.kind)], heading(result, words)))
    return Figure([*panels, *lengths(result)])


def cut_words(result: Tokenization) -> list[Word]:
    """Words of several pieces, and unknown words; each spelling once."""
    unique = {}
    for word in result.words:
        if len(word.steps) > 1 or word.reason:
            unique[word.read, word.steps] = word
    return list(unique.values())


def words_to_draw(result: Tokenization) -> list[Word]:
    """The first cut words, as many as fit in STEPS lines."""
    lines = 0
    words = []
    for word in cut_words(result):
        lines += len(word.steps)
        if lines <= STEPS and len(word.steps) <= STEPS:
            words.append(word)
    return words


def heading(result: Tokenization, words: list[Word]) -> str:
    """How words are cut, and how many of them are drawn if not all are."""
    how = "cut, longest match first" if result.kind == "WordPiece" else f"cut by {result.kind}"
    count = len(cut_words(result))
    return f"{how}: {len(words)} of {count} words" if count > len(words) else how


def cuts(words: list[Word], kind: str) -> Cells:
    """A line for each step: the part that is already taken, without its letters, the piece of this step, the rest."""
    width = max(16, min(LETTERS, max(len(word.read) for word in words)))
    names: list[str] = []
    values: list[list[float]] = []
    text: list[list[str]] = []
    hover: list[list[str]] = []
    for word in words:
        if names:  # an empty line between two words
            names.append("")
            values.append([np.nan] * width)
            text.append([""] * width)
            hover.append([""] * width)
        letters = clip(word.read, width)
        for line, step in enumerate(word.steps):
            shades = [np.nan] * width
            shown = [""] * width
            for at, letter in enumerate(letters):
                shades[at] = shade(word, step, at)
                if shades[at] != TAKEN:
                    shown[at] = letter
            names.append(step.piece)
            values.append(shades)
            text.append(shown)
            hover.append([hover_text(word, line, kind)] * width)
    return Cells(names, (), values, palette="signed", low=-1, high=1, text=text, hover=hover, tokens=True)


def shade(word: Word, step: Step, at: int) -> float:
    """The place in the palette of the letter *at* a place of the word, in a step."""
    if word.reason:
        return UNKNOWN
    if at < step.start:
        return TAKEN
    return MATCHED if at < step.end else REST


def hover_text(word: Word, line: int, kind: str) -> str:
    """What the pointer shows of a step of a word."""
    step = word.steps[line]
    if word.reason:
        return f"{word.text}: {step.piece}, as {word.reason}"
    if kind != "WordPiece":
        return f"{word.text}, piece {line + 1}: {step.piece}"
    remainder = f"then {step.rest} is left" if step.rest else "nothing is left"
    return f"{word.text}, step {line + 1}: {step.piece}, {remainder}"


def lengths(result: Tokenization) -> list[Panel]:
    """A column for each vector with its own scale, a bar for each token."""
    tokens = result.tokens[:SHOWN]
    columns = {**dict(zip(result.parts, result.norms, strict=True)), "cosine": result.cosines}
    panels: list[Panel] = []
    for name, numbers in columns.items():
        has_room = len(columns) < 7 and numbers.max() < 10
        digits = 2 if name == "cosine" or has_room else 1
        bars = []
        for i, (token, value) in enumerate(zip(tokens, numbers.tolist(), strict=False)):
            where = f"id {result.ids[i]}, position {result.positions[i]}, segment {result.segments[i]}"
            label = "" if panels else token  # the rows are named once
            hover = f"{token}: {where}\n{name} {value:.3f}"
            bars.append(Bar(label, value, f"{value:.{digits}f}", TONES.get(name, "grey"), hover=hover))
        panels.append(Panel([Bars(bars, tokens=True)], NAMES.get(name, name), beside=bool(panels)))
    return panels


def align(first: Tokenization, second: Tokenization, names: tuple[str, str]) -> Figure | None:
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
        pieces = " + ".join(step.piece for step in most.steps[:12])
        sentences.append(f"{quote(clip(most.text, 40))} is cut into {pieces}.")
    unknown = [word for word in result.words if word.reason]
    if unknown:
        sentences.append(
            f"{quote(clip(unknown[0].text, 40))} becomes {unknown[0].steps[0].piece}: {unknown[0].reason}."
        )
    means = dict(zip(result.parts, result.norms.mean(axis=1).tolist(), strict=True))
    added = ", ".join(f"{name} {means[name]:.2f}" for name in ("word", "position", "segment") if name in means)
    total = f"the sum {means['sum']:.2f}"
    if "normalised" in means:
        total = f"{total}, after LayerNorm {means['normalised']:.2f}"
    sentences.append(f"Lengths on average: {added}; {total}.")
    sentences.append(f"The word vector and the input have a cosine of {result.cosines.mean():.2f} on average.")
    if len(result.tokens) > SHOWN:
        sentences.append(f"The first {SHOWN} of {len(result.tokens)} tokens are drawn.")
    return " ".join(sentences)

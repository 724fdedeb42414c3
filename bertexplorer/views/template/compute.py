"""Template: one sentence with alternatives, {doctor|nurse}, answered for every way to choose among them."""

from __future__ import annotations

import itertools
import math
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.candidates import encode_masked
from bertexplorer.answers.word_scores import parse_words, score_words, scoring_cost
from bertexplorer.engine.progress import expect
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_FILLINGS = 64
SLOT = re.compile(r"\{([^{}|]*(?:\|[^{}|]*)+)\}")
KEYS, MEASURE = ("filling", "word"), "probability"


@dataclass(frozen=True)
class Options:
    words: Annotated[str, Option("Compare words", info="separated by commas; empty: the likeliest ones")] = ""
    top: Annotated[int, Option("Likeliest words", 1, 20)] = 5


@dataclass(frozen=True)
class Template:
    fillings: tuple[tuple[str, ...], ...]  # the alternative chosen for each slot
    texts: tuple[str, ...]
    words: tuple[str, ...]
    probabilities: Float[np.ndarray, "n w"]  # of each word in each filling's first mask, 0 to 1
    answers: tuple[str, ...]  # the likeliest piece of each filling


def first(checkpoint: Checkpoint, text: Text) -> Text:
    """*text* with the first alternative of each slot, as the strip of tokens shows it."""
    parts = SLOT.split(with_masks(checkpoint, text))
    choices = tuple(slot.split("|")[0].strip() for slot in parts[1::2])
    hidden_in_second = tuple(span for span in text.hidden if span.side)
    return replace(text, first=fill(parts, choices), hidden=hidden_in_second, picked=())


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Template:
    """Answer the first mask of every filling of *text*. Raises ExplorerError without a slot or a mask, or for more
    than 64 fillings."""
    _ = checkpoint.masked_lm  # if there is no head, raise before asking for alternatives
    text = Text.of(text)
    tokenizer = checkpoint.tokenizer

    # 1. The fillings
    parts = SLOT.split(with_masks(checkpoint, text))  # text, slot, text, slot, …, text
    slots = [[choice.strip() for choice in slot.split("|")] for slot in parts[1::2]]
    if SLOT.search(text.second):
        raise ExplorerError("The alternatives are in the second sentence. Write them in the first one.")
    if not slots:
        raise ExplorerError(
            "The text has no alternatives. Write some in braces, such as: The {doctor|nurse} said that [MASK] is busy."
        )
    fillings = tuple(itertools.islice(itertools.product(*slots), MAX_FILLINGS + 1))
    if len(fillings) > MAX_FILLINGS:
        raise ExplorerError(f"The alternatives give more than {MAX_FILLINGS} sentences. Remove some.")

    # 2. What the mask of each may be
    hidden_in_second = tuple(span for span in text.hidden if span.side)
    texts = tuple(fill(parts, choices) for choices in fillings)
    encodings = []
    for first in texts:
        encodings.append(encode_masked(checkpoint, replace(text, first=first, hidden=hidden_in_second)))
    masks = [encoding.masked[0] for encoding in encodings]
    words = parse_words(options.words)
    cost = 0
    for encoding, mask in zip(encodings, masks, strict=True):
        cost += len(encoding) + scoring_cost(checkpoint, encoding, mask, words)
    expect(cost)
    positions = [[mask] for mask in masks]
    log_probs = [row[0] for row in engine.masked_log_probs(checkpoint, encodings, positions=positions)]

    # 3. The probability of each word in each filling: of those that are named, else of the likeliest in all together
    table = []
    if words:
        for encoding, mask, row in zip(encodings, masks, log_probs, strict=True):
            scores = score_words(checkpoint, encoding, mask, row, words)
            probability = {score.word: score.probability for score in scores}
            table.append([probability[word] for word in words])
    else:
        total = log_probs[0].exp()
        for row in log_probs[1:]:
            total = total + row.exp()
        total = total[: tokenizer.vocab_size]
        likely = total.topk(min(options.top, len(total))).indices.tolist()
        words = tokenizer.show_all(likely)
        for row in log_probs:
            table.append([float(row[i].exp()) for i in likely])
    answers = tokenizer.show_all(int(row[: tokenizer.vocab_size].argmax()) for row in log_probs)
    return Template(
        fillings=fillings,
        texts=texts,
        words=words,
        probabilities=np.array(table, dtype=np.float64),
        answers=answers,
    )


def with_masks(checkpoint: Checkpoint, text: Text) -> str:
    """The first text, with the mask written where a span is hidden."""
    source, _ = checkpoint.tokenizer.prepare(text.first)
    for span in sorted(set(text.hidden), key=lambda span: -span.start):  # those behind stay where they are
        if span.side == 0:
            source = source[: span.start] + checkpoint.tokenizer.mask_token + source[span.end :]
    return source


def fill(parts: list[str], choices: tuple[str, ...]) -> str:
    """The text whose *parts* are text, slot, text, slot, …, text, with these *choices* in its slots."""
    filled = parts[0]
    for choice, text in zip(choices, parts[2::2], strict=True):
        filled += choice + text
    return filled


def rows(result: Template) -> list[dict[str, object]]:
    """One row for every filling and word."""
    return [
        {"filling": " / ".join(filling), "text": text, "word": word, "probability": float(p)}
        for filling, text, line in zip(result.fillings, result.texts, result.probabilities, strict=True)
        for word, p in zip(result.words, line, strict=True)
    ]


class Facts(facts.Facts[Template]):
    """*filling* is the alternative that was chosen, such as "nurse"; with several slots, "nurse / calm"."""

    def p(self, filling: str, word: str) -> float:
        """Probability of one of the words at the mask of that sentence, 0 to 1."""
        return float(self._result.probabilities[self._row(filling), facts.name_index(self._result.words, word, "word")])

    def ratio(self, filling: str, word: str, other: str) -> float:
        """log2 of how many times more probable *word* is than *other* in that sentence, in bits."""
        return math.log2(self.p(filling, word) / self.p(filling, other))

    def top(self, filling: str) -> str:
        """The first answer in that sentence."""
        return self._result.answers[self._row(filling)]

    def sentences(self) -> float:
        """Sentences that the alternatives give."""
        return len(self._result.texts)

    def _row(self, filling: str) -> int:
        return facts.name_index([" / ".join(choices) for choices in self._result.fillings], filling, "filling")

"""Windows: a question and a part of its passage, as many as it takes to read the whole passage."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Int

from bertexplorer.model.text import Tokenizer
from bertexplorer.training.answers.rows import Answer
from bertexplorer.training.texts import Item

NOWHERE = (0, 0)  # the answer of a window that does not contain one: [CLS] (Devlin et al., 2019, 4.3)


@dataclass(frozen=True, eq=False)
class Passage:
    """A passage as ids, with the characters of each: *starts* up to, not including, *ends*."""

    ids: list[int]
    starts: Int[np.ndarray, " n"]
    ends: Int[np.ndarray, " n"]


class Window(NamedTuple):
    """The part of a passage in an Item: its tokens *first* up to, not including, *after*, at position *at* of the item.
    *answer*: the first and last token of the answer in the item."""

    question: int
    passage: Passage
    first: int
    after: int
    at: int
    answer: tuple[int, int]


class Frame(NamedTuple):
    """The special tokens that a family puts around and between a pair, and the segments of the two."""

    before: list[int]
    between: list[int]
    after: list[int]
    segments: list[int]  # of each part: before, question, between, passage, after


def frame(tokenizer: Tokenizer) -> Frame:
    """The Frame of a tokenizer, read from a pair of letters."""
    tokenizer.check_pairs()
    found = tokenizer.whole.encode("a", "b")
    sides: list[int | None] = found.sequence_ids
    one, two = sides.index(0), sides.index(1)
    last = len(sides) - sides[::-1].index(1)
    middle = len(sides) - sides[::-1].index(0)
    places = (0, one, middle, two, min(last, len(sides) - 1))
    segments = [found.type_ids[place] for place in places]
    return Frame(found.ids[:one], found.ids[middle:two], found.ids[last:], segments)


@dataclass(frozen=True)
class Cutter:
    """Cuts windows of at most *most* tokens, *question* of them for the question, a *stride* apart. The stride is
    reduced where an answer of *longest* tokens might otherwise be whole in no window, but not below half a window."""

    tokenizer: Tokenizer
    most: int
    question: int
    stride: int
    longest: int

    def items(
        self, pairs: Sequence[tuple[str, str]], answers: Sequence[Answer | None] | None = None
    ) -> list[list[Item]]:
        """The windows of each (question, passage). Each text is tokenised once, however many pairs contain it."""
        around = frame(self.tokenizer)
        special = sum(map(len, around[:3]))
        asked = {text: found.ids for text, found in self.encode(pair[0] for pair in pairs).items()}
        passages = {text: read(text, found) for text, found in self.encode(pair[1] for pair in pairs).items()}
        wanted = answers if answers is not None else [None] * len(pairs)
        found = []
        for number, ((question, context), answer) in enumerate(zip(pairs, wanted, strict=True)):
            ids = asked[question][: min(self.question, (self.most - special) // 2)]
            passage = passages[context]
            room = self.most - special - len(ids)
            at = len(around.before) + len(ids) + len(around.between)
            span = place(passage, answer) if answer else None
            windows = []
            for first, after in self.cuts(len(passage.ids), room):
                parts = (around.before, ids, around.between, passage.ids[first:after], around.after)
                segments = [s for s, part in zip(around.segments, parts, strict=True) for _ in part]
                held = NOWHERE
                if span and first <= span[0] and span[1] < after:
                    held = (span[0] - first + at, span[1] - first + at)
                about = Window(number, passage, first, after, at, held)
                whole = [i for part in parts for i in part]
                windows.append(Item(whole, segments, about, len(asked[question]) - len(ids)))
            found.append(windows)
        return found

    def encode(self, texts: Any) -> dict[str, Any]:
        """Each distinct text as tokens, without special tokens."""
        different = list(dict.fromkeys(texts))
        return dict(zip(different, self.tokenizer.whole.encode_batch(different, add_special_tokens=False), strict=True))

    def cuts(self, tokens: int, room: int) -> list[tuple[int, int]]:
        """(first, after) of each window over so many tokens, *room* tokens each."""
        step = max(1, min(self.stride, max(room // 2, room - self.longest)))
        starts = range(0, max(1, tokens - room + step), step)
        return [(start, min(tokens, start + room)) for start in starts]


def read(text: str, found: Any) -> Passage:
    """Some byte-level tokenizers count the space before a word to it; here it is not."""
    bounds = np.array(found.offsets, int).reshape(-1, 2)
    starts = [start + (len(piece) - len(piece.lstrip())) for start, end in bounds for piece in [text[start:end]]]
    return Passage(found.ids, np.minimum(np.array(starts, int), bounds[:, 1]), bounds[:, 1])


def place(passage: Passage, answer: Answer) -> tuple[int, int] | None:
    """(first, last) token of the answer; None if the tokenizer drops it entirely."""
    first = int(np.searchsorted(passage.ends, answer.start, side="right"))
    last = int(np.searchsorted(passage.starts, answer.start + len(answer.text), side="left")) - 1
    return (first, last) if first <= last < len(passage.ids) else None

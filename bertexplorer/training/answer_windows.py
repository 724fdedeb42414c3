"""Windows: a question and a part of its passage, enough of them to read the whole passage; and their best spans."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.model.text import Tokenizer
from bertexplorer.training.tasks.question_answering import GoldAnswer
from bertexplorer.training.texts import Item

NOWHERE = (0, 0)  # the answer of a window that does not contain one: [CLS] (Devlin et al., 2019, 4.3)


@dataclass(frozen=True, eq=False)
class Passage:
    """A passage as ids."""

    ids: list[int]
    starts: Int[np.ndarray, " n"]  # the first character of each
    ends: Int[np.ndarray, " n"]  # the one after its last


class Window(NamedTuple):
    """The part of a passage that an Item holds; the Item's target."""

    question: int  # index of the question
    passage: Passage
    first: int  # its first token in the passage
    after: int  # the token after its last
    at: int  # position of its first token in the item
    answer: tuple[int, int]  # the first and last token of the answer in the item, or NOWHERE


class Frame(NamedTuple):
    """The special tokens that a family puts around and between a pair, and the segments of the two."""

    before: list[int]
    between: list[int]
    after: list[int]
    segments: list[int]  # of each part: before, question, between, passage, after


def frame(tokenizer: Tokenizer) -> Frame:
    """The Frame of a tokenizer, read from a pair of letters. Raises ExplorerError if it reads no pairs."""
    tokenizer.check_pairs()
    encoding = tokenizer.backend.encode("a", "b")
    sides: list[int | None] = encoding.sequence_ids  # 0 and 1 at the tokens of the letters, None at special ones
    first_start, second_start = sides.index(0), sides.index(1)
    first_end, second_end = (len(sides) - sides[::-1].index(side) for side in (0, 1))
    positions = (0, first_start, first_end, second_start, min(second_end, len(sides) - 1))
    segments = [encoding.type_ids[position] for position in positions]
    ids = encoding.ids
    return Frame(ids[:first_start], ids[first_end:second_start], ids[second_end:], segments)


@dataclass(frozen=True)
class WindowCutter:
    """Cuts windows. Their stride is reduced so that every answer of up to *longest* tokens fits in some window, but not
    below half a window."""

    tokenizer: Tokenizer
    max_tokens: int  # of a window
    question: int  # at most so many of them for the question
    stride: int  # tokens from one window to the next
    longest: int  # tokens of an answer

    def items(
        self, pairs: Sequence[tuple[str, str]], answers: Sequence[GoldAnswer | None] | None = None
    ) -> list[list[Item]]:
        """The windows of each of *pairs*, of a question and a passage. Each text is tokenised once, however many pairs
        contain it. *answers*: one of each pair, None for no answer."""
        # 1. The texts as tokens
        around = frame(self.tokenizer)
        special = len(around.before) + len(around.between) + len(around.after)
        questions = self.encode(question for question, _ in pairs)
        contexts = self.encode(context for _, context in pairs)
        passages = {context: read_passage(context, encoding) for context, encoding in contexts.items()}

        # 2. Pair by pair
        answers = answers if answers is not None else [None] * len(pairs)
        items = []
        for number, ((question, context), answer) in enumerate(zip(pairs, answers, strict=True)):
            all_ids = questions[question].ids
            ids = all_ids[: min(self.question, (self.max_tokens - special) // 2)]
            passage = passages[context]
            span = token_span(passage, answer) if answer else None
            room = self.max_tokens - special - len(ids)
            at = len(around.before) + len(ids) + len(around.between)
            windows = []
            for first, after in self.cuts(len(passage.ids), room):
                parts = (around.before, ids, around.between, passage.ids[first:after], around.after)
                window_ids: list[int] = []
                segments: list[int] = []
                for part, segment in zip(parts, around.segments, strict=True):
                    window_ids += part
                    segments += [segment] * len(part)
                position = NOWHERE
                if span and first <= span[0] and span[1] < after:
                    position = (span[0] - first + at, span[1] - first + at)
                window = Window(number, passage, first=first, after=after, at=at, answer=position)
                windows.append(Item(window_ids, segments, target=window, left_out=len(all_ids) - len(ids)))
            items.append(windows)
        return items

    def encode(self, texts: Iterable[str]) -> dict[str, Any]:
        """Each distinct text -> its tokenizers.Encoding without special tokens."""
        distinct = list(dict.fromkeys(texts))
        encodings = self.tokenizer.backend.encode_batch(distinct, add_special_tokens=False)
        return dict(zip(distinct, encodings, strict=True))

    def cuts(self, tokens: int, room: int) -> list[tuple[int, int]]:
        """(first, after) of each window over a passage of *tokens*; each window holds *room* of them."""
        step = max(1, min(self.stride, max(room // 2, room - self.longest)))
        starts = range(0, max(1, tokens - room + step), step)
        return [(start, min(tokens, start + room)) for start in starts]


def read_passage(text: str, encoding: Any) -> Passage:
    """A tokenised passage. Some byte-level tokenizers count the space before a word as part of it; here it is not."""
    starts = []
    ends = []
    for start, end in encoding.offsets:
        token = text[start:end]
        indent = len(token) - len(token.lstrip())
        starts.append(min(start + indent, end))
        ends.append(end)
    return Passage(encoding.ids, np.array(starts, int), np.array(ends, int))


def token_span(passage: Passage, answer: GoldAnswer) -> tuple[int, int] | None:
    """(first, last) token of the answer; None if the tokenizer drops it entirely."""
    first = int(np.searchsorted(passage.ends, answer.start, side="right"))
    last = int(np.searchsorted(passage.starts, answer.start + len(answer.text), side="left")) - 1
    return (first, last) if first <= last < len(passage.ids) else None


class WindowSpans(NamedTuple):
    """The n best spans of each window, in tokens, best first; the score is -inf where there are fewer."""

    scores: Float[Tensor, "b n"]
    first: Int[Tensor, "b n"]
    last: Int[Tensor, "b n"]


def best_spans(
    start: Float[Tensor, "b t"], end: Float[Tensor, "b t"], inside: Bool[Tensor, "b t"], longest: int, count: int
) -> WindowSpans:
    """Score all spans of 1 to *longest* tokens *inside* the passage, not only those of the best starts and ends,
    by the sum of both logits (Devlin et al., 2019, 4.2)."""
    start, end = (logits.masked_fill(~inside, float("-inf")) for logits in (start, end))
    longest = min(longest, start.shape[1])
    ends = torch.nn.functional.pad(end, (0, longest - 1), value=float("-inf")).unfold(1, longest, 1)  # b t longest
    sums = (start.unsqueeze(2) + ends).flatten(1)
    scores, indices = sums.topk(min(count, sums.shape[1]))
    first = indices // longest
    return WindowSpans(scores, first, first + indices % longest)


class PassageSpan(NamedTuple):
    """A span of a passage, in characters, with its score."""

    score: float
    start: int
    end: int


def merge_windows(spans: Sequence[PassageSpan], count: int) -> list[PassageSpan]:
    """The best spans of all windows of a passage. A span found in several windows counts once, with its best score."""
    best: dict[tuple[int, int], PassageSpan] = {}
    for span in sorted(spans, reverse=True):
        best.setdefault((span.start, span.end), span)
    return list(best.values())[:count]

"""Edits of a text: words replaced or removed, checked with the tokenizer, and replacements to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bertexplorer.answers.task_head import Word, words
from bertexplorer.answers.texts import visible_side
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text, Tokenizer
from bertexplorer.views.counterfactuals.predictions import Predictor, Query, map_by_length, mask_rows

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Changes = Mapping[int, str]  # index of a word -> what takes its place; '' removes it
NOT_A_WORD = -1
FUNCTION_WORDS = frozenset(
    """
    a an the this that these those some any each every no all both either neither such i me my mine myself you your
    yours yourself he him his himself she her hers herself it its itself we us our ours ourselves they them their
    theirs themselves who whom whose which what where when why how there here and or but nor so yet if because although
    though while since unless until as than about above across after against along among around at before behind below
    beneath beside between beyond by despite down during except for from in inside into like near of off on onto out
    outside over past through throughout to toward towards under up upon with within without am is are was were be been
    being do does did done doing have has had having can could may might must shall should will would not never n s t
    d m re ve ll
    """.split()  # noqa: SIM905 - a list would fill a page
)


@dataclass(frozen=True)
class Draft:
    """A changed text and its tokens."""

    changes: Changes
    query: Query
    words: tuple[Word, ...]

    @property
    def texts(self) -> tuple[str, str]:
        return self.query.encoding.texts


@dataclass(frozen=True)
class Editor:
    """The words of a text, and which of them may change: all but masks, [CLS], [SEP] and the word whose tag is
    predicted."""

    checkpoint: Checkpoint
    predictor: Predictor
    encoding: Encoding  # of the text, cut at the limit, with a typed mask for every hidden piece
    words: tuple[Word, ...]
    locations: tuple[tuple[int, int, int], ...]  # of each word: side, first character, one past the last
    free: tuple[int, ...]  # indices of the words that may be removed
    excluded: frozenset[str]  # words, in lower case, that are neither replaced nor inserted

    @classmethod
    def of(cls, checkpoint: Checkpoint, predictor: Predictor, *, function_words: bool = True) -> Editor:
        """*function_words*: whether they are replaced and inserted too, which HotFlip's authors rule out. Raises
        ExplorerError if the text cannot be written down with typed masks."""
        question = predictor.question
        encoding = checkpoint.tokenizer.encode(visible_text(checkpoint, question.encoding))
        if encoding.ids != question.encoding.ids:
            raise ExplorerError(
                f"With {checkpoint.tokenizer.mask_token} written where words are hidden, the text is cut into "
                f"different pieces. Type {checkpoint.tokenizer.mask_token} with spaces around it, and hide no words."
            )
        all_words, hideable = words(encoding), set(question.hideable)
        tagged = {question.position} if question.word else set()
        free = [i for i, word in enumerate(all_words) if set(word.positions) <= hideable - tagged]
        locations = tuple(word_location(encoding, word) for word in all_words)
        excluded = frozenset[str]() if function_words else FUNCTION_WORDS
        return cls(checkpoint, predictor, encoding, all_words, locations, tuple(free), excluded)

    @property
    def replaceable(self) -> tuple[int, ...]:
        """Indices of the words that may be replaced: those of letters or of digits."""
        names = [word.text for word in self.words]
        plain = [i for i in self.free if character_class(names[i], spaced=True) != NOT_A_WORD]
        return tuple(i for i in plain if names[i].casefold() not in self.excluded)

    def draft(self, changes: Changes) -> Draft | None:
        """The text after *changes*; None if a side of it is empty then, or if the tokenizer does not read it back word
        by word, with one piece for each new word."""
        texts, new_words = [], [changes.get(i, word.text) for i, word in enumerate(self.words)]
        for side, text in enumerate(self.encoding.texts):
            parts = []
            copied = 0
            remaining = 0
            for index, new in enumerate(new_words):
                word_side, start, end = self.locations[index]
                if word_side != side:
                    continue
                remaining += bool(new)
                if index in changes:
                    parts += [text[copied:start], new or " "]
                    copied = end
            if text.strip() and not remaining:
                return None
            joined = "".join([*parts, text[copied:]])
            texts.append(joined if all(changes.values()) else " ".join(joined.split()))
        encoding = self.checkpoint.tokenizer.encode(Text(texts[0], texts[1]))
        read_words = words(encoding)
        mask = self.checkpoint.tokenizer.special.get("mask")
        if [word.text for word in read_words] != [new if new != mask else "[MASK]" for new in new_words if new]:
            return None
        new_indices = {i: sum(map(bool, new_words[:i])) for i, new in changes.items() if new}
        if any(len(read_words[index].positions) != 1 for index in new_indices.values()):
            return None
        return Draft(changes, Query(encoding, self.position(encoding, read_words, new_words)), read_words)

    def position(self, encoding: Encoding, read_words: Sequence[Word], new_words: Sequence[str]) -> int:
        """The token that the answer is read from: it moves if words before it go."""
        question = self.predictor.question
        before = question.position
        if not (question.readout.at_mask or question.word):
            return before
        index = next(i for i, word in enumerate(self.words) if before in word.positions)
        read, piece = read_words[sum(map(bool, new_words[:index]))], self.words[index].positions.index(before)
        return read.positions[min(piece, len(read.positions) - 1)]  # at the start of a text it may be cut otherwise


def word_location(encoding: Encoding, word: Word) -> tuple[int, int, int]:
    """(side, first character, one past the last character) of a word."""
    first, last = (encoding.spans[word.positions[end]] for end in (0, -1))
    assert first and last  # only [CLS] and [SEP] have no span, and they are no words
    return first.side, first.start, last.end


def visible_text(checkpoint: Checkpoint, encoding: Encoding) -> Text:
    """The text of *encoding*, cut at the limit of tokens, with a typed mask for every hidden piece."""
    ends = [[span.end for span in encoding.spans if span and span.side == side] for side in (0, 1)]
    cut = [text[: max(end, default=0)] for text, end in zip(encoding.texts, ends, strict=True)]
    visible = replace(encoding, texts=(cut[0], cut[1]))
    return Text(visible_side(checkpoint, visible, 0), visible_side(checkpoint, visible, 1))


def character_class(text: str, *, spaced: bool) -> int:
    """The class of a word, which its replacement must share: letters or digits, ASCII or not, one character or several,
    after a space or not. NOT_A_WORD for anything else."""
    if not (text.isalpha() or text.isdigit()):
        return NOT_A_WORD
    return text.isalpha() + 2 * text.isascii() + 4 * (len(text) == 1) + 8 * spaced


def starts_word(tokenizer: Tokenizer, token: int) -> bool:
    """Whether a piece begins a word after a space; always true for WordPiece, whose pieces do not show it."""
    return tokenizer.kind == "WordPiece" or str(tokenizer.backend.id_to_token(token))[:1] in "Ġ▁"


@lru_cache(maxsize=2)
def piece_classes(tokenizer: Tokenizer) -> Int[np.ndarray, " v"]:
    """The class of every piece of the vocabulary. Special and unused pieces, and those that continue a word, have
    none."""
    special = tokenizer.special_ids
    return np.array(
        [
            character_class("" if i in special else piece, spaced=starts_word(tokenizer, i))
            for i, piece in enumerate(tokenizer.all_pieces)
        ]
    )


def best_pieces(editor: Editor, index: int, scores: Float[np.ndarray, " v"], count: int) -> list[str]:
    """The *count* words of the vocabulary with the highest *scores* that are of the class of the word at *index*. The
    word itself is left out, and at a mask the answer and the wanted answer, which would only be copied."""
    tokenizer = editor.checkpoint.tokenizer
    predictor = editor.predictor
    word = editor.words[index]
    first = editor.encoding.ids[word.positions[0]]
    same_class = piece_classes(tokenizer) == character_class(word.text, spaced=starts_word(tokenizer, first))
    excluded = {word.text.casefold()}
    if predictor.question.readout.at_mask:
        excluded |= {tokenizer.show(i).casefold() for i in (predictor.answer, predictor.wanted) if i is not None}
    allowed_ids = np.flatnonzero(same_class)
    excluded |= editor.excluded
    order = allowed_ids[np.argsort(-scores[allowed_ids], kind="stable")][: count + len(excluded)]
    names = tokenizer.show_all(order.tolist())
    return [name for name in names if name.casefold() not in excluded][:count]


def propose_by_gradient(editor: Editor, draft: Draft, free: Sequence[int], count: int) -> list[Changes]:
    """For each word of one piece, the *count* words that promise most by HotFlip's first-order estimate."""
    from bertexplorer.engine import gradients

    positions = [draft.words[i].positions[0] for i in free]
    target = editor.predictor.question.gradient_target()
    scores = gradients.replacement_scores(editor.checkpoint, draft.query.encoding, target, positions).numpy()
    rows = zip(free, -editor.predictor.sign * scores, strict=True)
    return [{**draft.changes, i: new} for i, row in rows for new in best_pieces(editor, i, row, count)]


def propose_by_masking(editor: Editor, draft: Draft, free: Sequence[int], count: int) -> list[Changes]:
    """*draft* with one more change: each of its words at *free*, replaced by each of the *count* words that the MLM
    head finds likeliest where the word is hidden. Words that cannot be hidden are left out."""
    mask = editor.checkpoint.tokenizer.mask_token
    hidden_word: dict[Query, int] = {}  # a text with one word hidden -> the index of that word
    for i in free:
        masked = editor.draft({**draft.changes, i: mask})
        if masked:
            hidden_word[Query(masked.query.encoding, masked.words[i].positions[0])] = i

    def proposals(texts: Sequence[Query]) -> Iterator[list[Changes]]:
        """For each of some hidden texts of the same length, what may stand there."""
        for text, scores in zip(texts, mask_rows(editor.checkpoint, texts), strict=True):
            i = hidden_word[text]
            yield [{**draft.changes, i: new} for new in best_pieces(editor, i, scores, count)]

    proposed = map_by_length(list(hidden_word), proposals)
    return list(chain.from_iterable(proposed))

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
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
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
    locations: tuple[Span, ...]  # the characters of each word
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
        all_words = words(encoding)
        changeable = set(question.hideable)
        if question.word:
            changeable.discard(question.position)
        return cls(
            checkpoint=checkpoint,
            predictor=predictor,
            encoding=encoding,
            words=all_words,
            locations=tuple(word_location(encoding, word) for word in all_words),
            free=tuple(i for i, word in enumerate(all_words) if set(word.positions) <= changeable),
            excluded=frozenset() if function_words else FUNCTION_WORDS,
        )

    @property
    def replaceable(self) -> tuple[int, ...]:
        """Indices of the words that may be replaced: those of letters or of digits."""
        indices = []
        for i in self.free:
            name = self.words[i].text
            is_plain = character_class(name, spaced=True) != NOT_A_WORD
            if is_plain and name.casefold() not in self.excluded:
                indices.append(i)
        return tuple(indices)

    def draft(self, changes: Changes) -> Draft | None:
        """The text after *changes*; None if a side of it is empty then, or if the tokenizer does not read it back word
        by word, with one piece for each new word."""
        new_words = [changes.get(i, word.text) for i, word in enumerate(self.words)]
        has_removal = not all(changes.values())

        # 1. The two texts, with the changes written into them.
        texts = []
        for side, text in enumerate(self.encoding.texts):
            parts = []
            copied = 0  # characters of the text that the parts cover
            remaining = 0  # words
            for index, location in enumerate(self.locations):
                if location.side != side:
                    continue
                new = new_words[index]
                if new:
                    remaining += 1
                if index in changes:
                    parts += [text[copied : location.start], new or " "]
                    copied = location.end
            if text.strip() and not remaining:
                return None
            joined = "".join([*parts, text[copied:]])
            texts.append(" ".join(joined.split()) if has_removal else joined)

        # 2. Whether the tokenizer reads these words back, and each new one as a single piece.
        encoding = self.checkpoint.tokenizer.encode(Text(texts[0], texts[1]))
        read_words = words(encoding)
        mask = self.checkpoint.tokenizer.special.get("mask")
        expected = ["[MASK]" if new == mask else new for new in new_words if new]
        if [word.text for word in read_words] != expected:
            return None
        for index, new in changes.items():
            if new and len(read_words[index_after(new_words, index)].positions) != 1:
                return None
        return Draft(changes, Query(encoding, self.position(read_words, new_words)), read_words)

    def position(self, read_words: Sequence[Word], new_words: Sequence[str]) -> int:
        """The token that the answer is read from: it moves if words before it go."""
        question = self.predictor.question
        before = question.position
        is_at_word = question.readout.at_mask or question.word
        if not is_at_word:
            return before
        index = next(i for i, word in enumerate(self.words) if before in word.positions)
        piece = self.words[index].positions.index(before)
        positions = read_words[index_after(new_words, index)].positions
        return positions[min(piece, len(positions) - 1)]  # at the start of a text the word may have fewer pieces


def index_after(new_words: Sequence[str], index: int) -> int:
    """The index that the word at *index* has once the removed ones, which are empty, are gone."""
    return sum(map(bool, new_words[:index]))


def word_location(encoding: Encoding, word: Word) -> Span:
    """The characters of a word."""
    first = encoding.spans[word.positions[0]]
    last = encoding.spans[word.positions[-1]]
    assert first and last  # only [CLS] and [SEP] have no span, and they are no words
    return Span(first.side, first.start, last.end)


def visible_text(checkpoint: Checkpoint, encoding: Encoding) -> Text:
    """The text of *encoding*, cut at the limit of tokens, with a typed mask for every hidden piece."""
    cut = []
    for side, text in enumerate(encoding.texts):
        ends = [span.end for span in encoding.spans if span and span.side == side]
        cut.append(text[: max(ends, default=0)])
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
    """The class of every piece of the vocabulary. It is NOT_A_WORD for special and unused pieces, and for those that
    continue a word."""
    special = tokenizer.special_ids
    classes = []
    for i, piece in enumerate(tokenizer.all_pieces):
        if i in special:
            classes.append(NOT_A_WORD)
        else:
            classes.append(character_class(piece, spaced=starts_word(tokenizer, i)))
    return np.array(classes)


def best_pieces(editor: Editor, index: int, scores: Float[np.ndarray, " v"], count: int) -> list[str]:
    """The *count* words of the vocabulary with the highest *scores* that are of the class of the word at *index*. The
    word itself is left out, and at a mask the answer and the wanted answer, which would only be copied."""
    tokenizer = editor.checkpoint.tokenizer
    predictor = editor.predictor
    word = editor.words[index]
    first_piece = editor.encoding.ids[word.positions[0]]
    word_class = character_class(word.text, spaced=starts_word(tokenizer, first_piece))
    excluded = {word.text.casefold(), *editor.excluded}
    if predictor.question.readout.at_mask:
        for answer in (predictor.answer, predictor.wanted):
            if answer is not None:
                excluded.add(tokenizer.show(answer).casefold())
    same_class = np.flatnonzero(piece_classes(tokenizer) == word_class)
    best_first = same_class[np.argsort(-scores[same_class], kind="stable")]
    names = tokenizer.show_all(best_first[: count + len(excluded)].tolist())
    return [name for name in names if name.casefold() not in excluded][:count]


def propose_by_gradient(editor: Editor, draft: Draft, free: Sequence[int], count: int) -> list[Changes]:
    """*draft* with one more change: each of its words at *free*, which have one piece, replaced by each of the *count*
    words that promise most by HotFlip's first-order estimate."""
    from bertexplorer.engine import gradients

    positions = [draft.words[i].positions[0] for i in free]
    target = editor.predictor.question.gradient_target()
    scores = gradients.replacement_scores(editor.checkpoint, draft.query.encoding, target, positions).numpy()
    proposed: list[Changes] = []
    for i, row in zip(free, -editor.predictor.sign * scores, strict=True):
        for new in best_pieces(editor, i, row, count):
            proposed.append({**draft.changes, i: new})
    return proposed


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

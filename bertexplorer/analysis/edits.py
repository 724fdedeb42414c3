"""Words of a text replaced or removed, read back to check what the tokenizer makes of it, and words to try."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bertexplorer.analysis.next_sentence import shown
from bertexplorer.analysis.predictions import Predictor, Read, at_masks, by_length
from bertexplorer.analysis.task_head import Word, words
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text, Tokenizer

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
    """A changed text as the tokenizer reads it."""

    changes: Changes
    read: Read
    words: tuple[Word, ...]

    @property
    def texts(self) -> tuple[str, str]:
        return self.read.encoding.texts


@dataclass(frozen=True)
class Editor:
    """The words of a text, and which of them may change: all but masks, [CLS], [SEP] and the word whose tag is asked
    for."""

    checkpoint: Checkpoint
    predictor: Predictor
    encoding: Encoding  # of the text as it is read: cut at the limit, a typed mask for every hidden piece
    words: tuple[Word, ...]
    places: tuple[tuple[int, int, int], ...]  # of each word: side, first character, one past the last
    free: tuple[int, ...]  # indices of the words that may be removed
    kept: frozenset[str]  # words, in lower case, that are neither replaced nor put in

    @classmethod
    def of(cls, checkpoint: Checkpoint, predictor: Predictor, *, function_words: bool = True) -> Editor:
        """*function_words*: whether they are replaced and put in too, which HotFlip's authors rule out. Raises
        ExplorerError if the text cannot be written down with typed masks."""
        question = predictor.question
        encoding = checkpoint.tokenizer.encode(as_read(checkpoint, question.encoding))
        if encoding.ids != question.encoding.ids:
            raise ExplorerError(
                f"With {checkpoint.tokenizer.mask_token} written where words are hidden, the text is cut into other "
                f"pieces. Type {checkpoint.tokenizer.mask_token} with spaces around it instead of hiding words."
            )
        found, hideable = words(encoding), set(question.hideable)
        held = {question.position} if predictor.target == "tag" else set()
        free = [i for i, word in enumerate(found) if set(word.positions) <= hideable - held]
        places = tuple(place(encoding, word) for word in found)
        kept = frozenset[str]() if function_words else FUNCTION_WORDS
        return cls(checkpoint, predictor, encoding, found, places, tuple(free), kept)

    @property
    def replaceable(self) -> tuple[int, ...]:
        """Indices of the words that may be replaced: those of letters or of digits."""
        names = [word.text for word in self.words]
        plain = [i for i in self.free if sort_of(names[i], spaced=True) != NOT_A_WORD]
        return tuple(i for i in plain if names[i].casefold() not in self.kept)

    def draft(self, changes: Changes) -> Draft | None:
        """The text after *changes*; None if a side of it is empty then, or if the tokenizer does not read it back word
        by word, with one piece for each new word."""
        texts, wanted = [], [changes.get(i, word.text) for i, word in enumerate(self.words)]
        for side, text in enumerate(self.encoding.texts):
            parts, done, left = [], 0, 0
            for index, new in enumerate(wanted):
                here, start, end = self.places[index]
                if here != side:
                    continue
                left += bool(new)
                if index in changes:
                    parts += [text[done:start], new or " "]
                    done = end
            if text.strip() and not left:
                return None
            whole = "".join([*parts, text[done:]])
            texts.append(whole if all(changes.values()) else " ".join(whole.split()))
        encoding = self.checkpoint.tokenizer.encode(Text(texts[0], texts[1]))
        found = words(encoding)
        mask = self.checkpoint.tokenizer.mask_token
        if [word.text for word in found] != [new if new != mask else "[MASK]" for new in wanted if new]:
            return None
        moved = {i: sum(map(bool, wanted[:i])) for i, new in changes.items() if new}
        if any(len(found[place].positions) != 1 for place in moved.values()):
            return None
        return Draft(changes, Read(encoding, self.position(encoding, found, wanted)), found)

    def position(self, encoding: Encoding, found: Sequence[Word], wanted: Sequence[str]) -> int:
        """The token that the answer is read from: it moves if words before it go."""
        before, kind = self.predictor.question.position, self.predictor.target
        if kind not in ("mask", "tag"):
            return before
        index = next(i for i, word in enumerate(self.words) if before in word.positions)
        return found[sum(map(bool, wanted[:index]))].positions[0]


def place(encoding: Encoding, word: Word) -> tuple[int, int, int]:
    """(side, first character, one past the last character) of a word."""
    first, last = (encoding.spans[word.positions[end]] for end in (0, -1))
    assert first and last  # only [CLS] and [SEP] have no span, and they are no words
    return first.side, first.start, last.end


def as_read(checkpoint: Checkpoint, encoding: Encoding) -> Text:
    """The text that *encoding* was made from, without what is beyond the limit, and with a typed mask for every hidden
    piece."""
    ends = [[span.end for span in encoding.spans if span and span.side == side] for side in (0, 1)]
    cut = [text[: max(end, default=0)] for text, end in zip(encoding.texts, ends, strict=True)]
    kept = replace(encoding, texts=(cut[0], cut[1]))
    return Text(shown(checkpoint, kept, 0), shown(checkpoint, kept, 1))


def sort_of(text: str, *, spaced: bool) -> int:
    """The sort of a word, so that a word is replaced by one of its sort: letters or digits, ASCII or not, one character
    or several, after a space or not. NOT_A_WORD for anything else."""
    if not (text.isalpha() or text.isdigit()):
        return NOT_A_WORD
    return text.isalpha() + 2 * text.isascii() + 4 * (len(text) == 1) + 8 * spaced


def spaced(tokenizer: Tokenizer, token: int) -> bool:
    """Whether a piece begins a word after a space; WordPiece does not tell."""
    return tokenizer.kind == "WordPiece" or str(tokenizer.whole.id_to_token(token))[:1] in "Ġ▁"


@lru_cache(maxsize=2)
def sorts(tokenizer: Tokenizer) -> Int[np.ndarray, " v"]:
    """The sort of every piece of the vocabulary. Special and unused pieces, and those that continue a word, have
    none."""
    known = range(tokenizer.vocab_size)
    names = ["" if i in tokenizer.special_ids else tokenizer.show(i) for i in known]
    return np.array([sort_of(name, spaced=spaced(tokenizer, i)) for i, name in zip(known, names, strict=True)])


def best_pieces(editor: Editor, index: int, scores: Float[np.ndarray, " v"], count: int) -> list[str]:
    """The *count* words of the vocabulary with the highest *scores* that are of the sort of the word at *index*. The
    word itself is left out, and at a mask the answer and the wanted answer, which would only be copied."""
    tokenizer, predictor, word = editor.checkpoint.tokenizer, editor.predictor, editor.words[index]
    first = editor.encoding.ids[word.positions[0]]
    fits = sorts(tokenizer) == sort_of(word.text, spaced=spaced(tokenizer, first))
    barred = {word.text.casefold()}
    if predictor.target == "mask":
        barred |= {tokenizer.show(i).casefold() for i in (predictor.answer, predictor.wanted) if i is not None}
    places = np.flatnonzero(fits)
    barred |= editor.kept
    order = places[np.argsort(-scores[places], kind="stable")][: count + len(barred)]
    names = [tokenizer.show(int(token)) for token in order]
    return [name for name in names if name.casefold() not in barred][:count]


def by_gradient(editor: Editor, draft: Draft, free: Sequence[int], count: int) -> list[Changes]:
    """For each word of one piece, the *count* words that promise most by HotFlip's first-order estimate."""
    from bertexplorer.engine import gradients

    places = [draft.words[i].positions[0] for i in free]
    target = editor.predictor.question.target()
    found = gradients.replacement_scores(editor.checkpoint, draft.read.encoding, target, places).numpy()
    rows = zip(free, -editor.predictor.sign * found, strict=True)
    return [{**draft.changes, i: new} for i, row in rows for new in best_pieces(editor, i, row, count)]


def by_masking(editor: Editor, draft: Draft, free: Sequence[int], count: int) -> list[Changes]:
    """For each word, the *count* words that the MLM head finds likeliest where the word is hidden."""
    mask = editor.checkpoint.tokenizer.mask_token
    drafts = [(i, made) for i in free if (made := editor.draft({**draft.changes, i: mask}))]
    spots = {Read(made.read.encoding, made.words[i].positions[0]): i for i, made in drafts}

    def words_at(texts: Sequence[Read]) -> Iterator[list[str]]:
        for one, row in zip(texts, at_masks(editor.checkpoint, texts), strict=True):
            yield best_pieces(editor, spots[one], row, count)

    found = by_length(list(spots), words_at)
    return [{**draft.changes, i: new} for i, names in zip(spots.values(), found, strict=True) for new in names]

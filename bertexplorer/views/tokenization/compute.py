"""Tokenization: how the text is cut into pieces, and the vectors of each piece that add up to the input."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("place", "token"), "norm_sum"


@dataclass(frozen=True)
class Options:
    """Nothing to set: the tokenizer belongs to the checkpoint."""


@dataclass(frozen=True)
class Step:
    """One piece of a word. For WordPiece it is the longest piece with which the remaining letters begin; *rest* remains
    after it."""

    piece: str
    id: int
    start: int  # characters of Word.read that it covers
    end: int
    rest: str


@dataclass(frozen=True)
class Word:
    """A word of the text as it was cut."""

    text: str  # as written
    read: str  # as the tokenizer reads it: lower-cased and without accents where the checkpoint wants that
    side: int  # 0: first text, 1: second
    steps: tuple[Step, ...]  # left to right
    reason: str = ""  # why it became [UNK]


@dataclass(frozen=True)
class Tokenization:
    """A text as the encoder's input. Arrays have one column for each of t tokens."""

    kind: str  # WordPiece, BPE or Unigram
    words: tuple[Word, ...]  # without [CLS], [SEP] and masks that were typed
    tokens: tuple[str, ...]  # as the encoder reads them: [MASK] if a word is hidden
    ids: tuple[int, ...]
    positions: tuple[int, ...]  # rows of the position table, or places where there is none
    segments: tuple[int, ...]
    texts: tuple[str, str]  # cleaned; what spans point into
    spans: tuple[Span | None, ...]  # the characters of each token; None for [CLS] and [SEP]
    parts: tuple[str, ...]  # names of the vectors, in the order they are made
    norms: Float[np.ndarray, "parts t"]  # Euclidean length of each vector
    cosines: Float[np.ndarray, " t"]  # of the word vector with the input after LayerNorm, before any projection
    left_out: int = 0  # tokens beyond the checkpoint's limit


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Tokenization:
    """Cut *text* and look up its vectors; no layer is run and no head is needed. Raises ExplorerError if nothing is
    left to read."""
    encoding = checkpoint.tokenizer.encode(text)
    parts = {name: vectors.numpy() for name, vectors in engine.input_parts(checkpoint, encoding).items()}
    norms = np.stack([np.linalg.norm(vectors, axis=1) for vectors in parts.values()])
    entering = parts.get("normalised", parts["sum"])
    inner = (parts["word"] * entering).sum(axis=1)
    lengths = np.linalg.norm(parts["word"], axis=1) * np.linalg.norm(entering, axis=1)
    return Tokenization(
        kind=checkpoint.tokenizer.kind,
        words=cut_words(checkpoint.tokenizer, encoding),
        tokens=checkpoint.tokenizer.show_all(encoding.ids),
        ids=encoding.ids,
        positions=tuple(checkpoint.config.first_position + i for i in range(len(encoding))),
        segments=encoding.segments,
        texts=encoding.texts,
        spans=encoding.spans,
        parts=tuple(parts),
        norms=norms,
        cosines=inner / np.maximum(lengths, 1e-12),
        left_out=encoding.left_out,
    )


def cut_words(tokenizer: Tokenizer, encoding: Encoding) -> tuple[Word, ...]:
    """The words of *encoding*, each with its pieces. Hidden words appear as they were before."""
    groups: dict[int, list[int]] = {}
    for position, word in enumerate(encoding.words):
        is_typed_mask = encoding.original_ids[position] == encoding.mask_id
        is_typed_special = (
            encoding.special[position] and tokenizer.slice(encoding, position) == encoding.tokens[position]
        )
        if word is not None and not is_typed_mask and not is_typed_special:
            groups.setdefault(word, []).append(position)
    model: dict[str, Any] = {}
    vocabulary: dict[str, int] = {}
    if tokenizer.kind == "WordPiece":
        model = json.loads(tokenizer.backend.to_str())["model"]
        vocabulary = tokenizer.backend.get_vocab()
    return tuple(cut_word(tokenizer, encoding, positions, model, vocabulary) for positions in groups.values())


def cut_word(
    tokenizer: Tokenizer, encoding: Encoding, positions: list[int], model: dict[str, Any], vocabulary: Mapping[str, int]
) -> Word:
    """The word of the tokens at *positions*. *model*: the description of a WordPiece tokenizer, else empty."""
    spans = list(filter(None, (encoding.spans[position] for position in positions)))
    ids = [encoding.original_ids[position] for position in positions]
    side = spans[0].side
    start = spans[0].start
    written = encoding.texts[side][start : spans[-1].end]

    # WordPiece's own search, if it gives these tokens
    if model:
        read = written
        if tokenizer.backend.normalizer:
            read = tokenizer.backend.normalizer.normalize_str(written)
        read = read.strip()
        steps, reason = longest_match_first(read, vocabulary, model)
        if [step.id for step in steps][: len(ids)] == ids:
            return Word(text=written, read=read, side=side, steps=steps[: len(ids)], reason=reason)

    # Another tokenizer does not say how it cut
    pieces = []
    for token, span in zip(ids, spans, strict=True):
        name = tokenizer.show(token)
        pieces.append(Step(name, id=token, start=span.start - start, end=span.end - start, rest=""))
    is_unknown = [step.piece for step in pieces] == [tokenizer.special.get("unk")]
    reason = "no piece of the vocabulary covers it" if is_unknown else ""
    return Word(text=written, read=written, side=side, steps=tuple(pieces), reason=reason)


def longest_match_first(
    word: str, vocabulary: Mapping[str, int], model: Mapping[str, Any]
) -> tuple[tuple[Step, ...], str]:
    """WordPiece (Wu et al., 2016; Devlin et al., 2019): from the left, take the longest piece of the vocabulary with
    which the rest begins; all but the first have the prefix "##".

    Returns the steps and, if the whole word is unknown, the reason. *model* is the tokenizer's own description: its
    unknown token, prefix and longest word."""
    unknown = model["unk_token"]
    prefix = model["continuing_subword_prefix"]
    longest = model["max_input_chars_per_word"]
    whole_unknown: tuple[Step, ...] = ()
    if unknown in vocabulary:
        whole_unknown = (Step(unknown, vocabulary[unknown], start=0, end=len(word), rest=""),)
    if len(word) > longest:
        return whole_unknown, f"it has {len(word)} characters, and more than {longest} are not tried"
    steps: list[Step] = []
    start = 0
    while start < len(word):
        mark = prefix if start else ""
        end = next((e for e in range(len(word), start, -1) if mark + word[start:e] in vocabulary), None)
        if end is None:
            remainder = mark + word[start:]
            return whole_unknown, f"no piece of the vocabulary begins “{remainder}”"
        piece = mark + word[start:end]
        steps.append(Step(piece, vocabulary[piece], start=start, end=end, rest=word[end:]))
        start = end
    return tuple(steps), ""


def rows(result: Tokenization) -> list[dict[str, object]]:
    """One row for each token, with the length of each of its vectors."""
    return [
        {
            "place": i,
            "token": token,
            "id": result.ids[i],
            "position": result.positions[i],
            "segment": result.segments[i],
            **{f"norm_{part}": float(result.norms[row, i]) for row, part in enumerate(result.parts)},
            "cosine_word_input": float(result.cosines[i]),
        }
        for i, token in enumerate(result.tokens)
    ]


class Facts(facts.Facts[Tokenization]):
    def tokens(self) -> float:
        """Tokens that go in, [CLS] and [SEP] among them."""
        return len(self._result.tokens)

    def token(self, place: int) -> str:
        """The token at this place, from 1; -1 is the last."""
        return self._result.tokens[-1] if place == -1 else facts.item(self._result.tokens, place, "token")

    def pieces(self, word: str) -> float:
        """Pieces that a word of the text is cut into."""
        return len(self._word(word).steps)

    def piece(self, word: str, number: int) -> str:
        """A piece of a word of the text, from 1."""
        return facts.item(self._word(word).steps, number, "piece").piece

    def longest(self) -> float:
        """Pieces of the word that is cut into the most."""
        return max((len(word.steps) for word in self._result.words), default=0)

    def unknown(self) -> float:
        """Tokens that the vocabulary does not have."""
        special = self._checkpoint.tokenizer.special
        return self._result.tokens.count(special["unk"]) if "unk" in special else 0

    def length(self, part: str, place: int) -> float:
        """Euclidean length of a vector ("word", "position", "segment", "sum", …) of the token at this place."""
        row = facts.name_index(self._result.parts, part, "vector")
        return float(facts.item(self._result.norms[row], place, "token"))

    def _word(self, word: str) -> Word:
        return self._result.words[facts.label_index([entry.text for entry in self._result.words], word)]

"""Tokenizer: text (or a pair) -> Encoding, and every piece back to the characters and the word it came from."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import tokenizers
from tokenizers import normalizers, pre_tokenizers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.small_pieces import FEWEST, LARGE, Piece, language_note
from bertexplorer.model.special_tokens import USUAL, find_special_tokens, read_settings
from bertexplorer.model.vocabulary import VOCABULARIES, convert, ignored_normalizer, load_like_transformers
from bertexplorer.wording import plural

MAX_CHARACTERS = 20_000
MAX_WORD = 200  # characters of a word to look up
REMEMBERED = 8  # texts whose encoding is kept
TOKENS = 2  # the side of a span that counts tokens
TYPED_MASK = re.compile(r"\[mask\]|<mask>|_{3,}", re.IGNORECASE)
NO_MASK = "This checkpoint has no mask token, so no word can be hidden from it. Choose another checkpoint"
FILES = ("tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json", "merges.txt")


class Span(NamedTuple):
    """The characters from *start* up to, but not including, *end* in the first (side 0) or second (side 1) text. On
    side 2 these are tokens of the encoding instead; this is how [CLS] and [SEP] are picked."""

    side: int
    start: int
    end: int


@dataclass(frozen=True)
class Text:
    """A user's input: one text or a pair, the spans that are hidden from the checkpoint, and the picked spans, which
    a view is about."""

    first: str
    second: str = ""
    hidden: tuple[Span, ...] = ()
    picked: tuple[Span, ...] = ()

    @classmethod
    def of(cls, text: "Text | str") -> "Text":
        """*text*; a string is a single text with nothing hidden or picked."""
        return cls(text) if isinstance(text, str) else text

    def alone(self, side: int) -> "Text":
        """The first text (*side* 0) or the second (1) as a single text. What is hidden stays hidden."""
        hidden = tuple(Span(0, span.start, span.end) for span in self.hidden if span.side == side)
        return Text(self.second if side else self.first, hidden=hidden)


@dataclass(frozen=True)
class Encoding:
    """A text in the form that the encoder reads. All tuples are t long. Positions are 0-based."""

    texts: tuple[str, str]  # cleaned; what spans point into
    tokens: tuple[str, ...]  # pieces as the vocabulary spells them, before hiding
    original_ids: tuple[int, ...]  # ids before hiding
    ids: tuple[int, ...]  # ids with the mask where a span is hidden
    segments: tuple[int, ...]
    spans: tuple[Span | None, ...]  # None for [CLS] and [SEP]
    words: tuple[int | None, ...]  # counted from 0 through both texts
    special: tuple[bool, ...]
    mask_id: int | None  # None if the checkpoint has no mask token
    picked: tuple[int, ...] = ()  # positions that a view is about, ascending
    unpooled: int = 0  # tokens at the beginning that are not pooled: those of a prompt, if the files say so
    cut: tuple[int, int] = (0, 0)  # tokens of each side beyond the checkpoint's limit
    notes: tuple[str, ...] = ()  # messages for the user

    def __len__(self) -> int:
        return len(self.ids)

    @property
    def left_out(self) -> int:
        """Tokens beyond the checkpoint's limit."""
        return sum(self.cut)

    @property
    def masked(self) -> tuple[int, ...]:
        """Positions of the masks, typed or hidden."""
        return tuple(i for i, token in enumerate(self.ids) if token == self.mask_id)

    @property
    def second_start(self) -> int | None:
        """The position of the first token of the second text; None if no token of one is read."""
        return next((i for i, span in enumerate(self.spans) if span and span.side == 1), None)

    def with_ids(self, changes: dict[int, int]) -> "Encoding":
        """The same encoding with other ids at the given positions."""
        return replace(self, ids=tuple(changes.get(i, token) for i, token in enumerate(self.ids)))

    def hide(self, positions: Iterable[int]) -> "Encoding":
        """The same encoding with the mask at *positions*. Raises ExplorerError if the checkpoint has no mask token."""
        if self.mask_id is None:
            raise ExplorerError(f"{NO_MASK}.")
        return self.with_ids(dict.fromkeys(positions, self.mask_id))


INVISIBLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff\u200b\u2060]")  # but tab and line ends


def clean(text: str) -> tuple[str, int]:
    """(*text* without invisible characters, how many were removed). These are lone surrogates, control characters, BOM
    and zero-width space."""
    visible = INVISIBLE.sub("", text)
    return visible, len(text) - len(visible)


def split_words(text: str) -> list[tuple[int, int]]:
    """The words of *text* as spans of characters: at spaces and punctuation as BERT does, Chinese and Japanese
    character by character."""
    signs = pre_tokenizers.Split(tokenizers.Regex(r"[\p{Han}\p{Hiragana}\p{Katakana}]"), "isolated")
    splitter = pre_tokenizers.Sequence([pre_tokenizers.BertPreTokenizer(), signs])
    return [span for _, span in splitter.pre_tokenize_str(text)]


@contextmanager
def without_panic() -> Iterator[None]:
    """A panic of the tokenizers library, which is not an Exception, becomes an ExplorerError: a regular expression of
    the tokenizer may need too many attempts for a text."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise ExplorerError(
            f"This checkpoint's tokenizer fails at this text ({error!s:.100}). Change the text, or choose another "
            "checkpoint."
        ) from error


class Tokenizer:
    """A checkpoint's own tokenizer, without the truncation and padding that some files carry."""

    def __init__(
        self,
        backend: tokenizers.Tokenizer,
        *,
        max_tokens: int,
        pad_id: int = 0,
        segments: int = 0,
        source: Path | None = None,
        settings: dict[str, Any] | None = None,
        notes: tuple[str, ...] = (),
    ) -> None:
        """*segments*: how many segments the checkpoint distinguishes; 0 if it has no vectors for them. *settings*: see
        `special_tokens.read_settings`. *notes*: what people should know of its files, said with every text. Raises
        ExplorerError if no tokens stand for the beginning and end of a text."""
        self.max_tokens = max_tokens
        self.pad_id = pad_id
        self.source = source
        self.notes = notes
        self.language = ""  # that the checkpoint was trained on, if its card names one
        settings = settings or {}
        stored = (backend.truncation or {}).get("direction")  # of tokenizer.json
        direction = settings.get("truncation_side") or stored
        self.cuts_beginning = direction == "left"  # of a text that is too long
        backend.no_truncation()
        backend.no_padding()
        self.backend = backend
        self.segments = segments
        self.pair_segments = 1 + max(backend.encode("a", "b").type_ids, default=0)
        self.truncating_backend = self.truncated_to(max_tokens)
        self.vocab_size = 1 + max(backend.get_vocab(with_added_tokens=True).values(), default=-1)  # ids may have gaps
        model = json.loads(backend.to_str())["model"]
        special_tokens = find_special_tokens(backend, model, settings)
        self.special = special_tokens.roles  # role -> token
        self.special_ids = special_tokens.ids  # of all, with a role or without
        self.mask: int | None = backend.token_to_id(self.special["mask"]) if "mask" in self.special else None
        self.unknown = self.special.get("unk", "")
        # By its id: where the pieces are those of a unigram, the backend gives the characters instead of the token.
        self.unknown_id: int | None = backend.token_to_id(self.unknown) if self.unknown else None
        missing = [USUAL[role][0] for role in ("cls", "sep") if role not in self.special]
        if missing:
            raise ExplorerError(
                f"The tokenizer's files name no token like {' and none like '.join(missing)}; wanted the tokenizer of "
                "an encoder, which frames each text."
            )
        self.remembered = lru_cache(maxsize=REMEMBERED)(self.encode_anew)
        self.kind: str = model["type"]  # WordPiece, BPE or Unigram
        self.continuation: str = model.get("continuing_subword_prefix") or "##" if self.kind == "WordPiece" else ""

    @classmethod
    def from_folder(cls, folder: Path, *, max_tokens: int, pad_id: int = 0, segments: int = 0) -> "Tokenizer":
        """Read tokenizer.json, or let transformers build one from vocab.txt, vocab.json + merges.txt or sentencepiece.

        Raises ExplorerError if the folder has no readable tokenizer."""
        try:
            settings, ignored = read_settings(folder), ""
            with without_panic():
                if (folder / "tokenizer.json").is_file():
                    backend = load_like_transformers(folder)
                    ignored = ignored_normalizer(folder, backend)
                else:
                    backend = convert(folder)
        except ExplorerError:
            raise
        except Exception as error:  # the Rust side raises plain Exception
            possible = dict.fromkeys([*FILES, *(name for names in VOCABULARIES for name in names)])
            files = ", ".join(name for name in possible if (folder / name).is_file()) or "no tokenizer file"
            raise ExplorerError(
                f"The tokenizer of {folder.name} cannot be read ({files}): {error}. Put the tokenizer.json of the same "
                "checkpoint next to the weights."
            ) from error
        limits: dict[str, Any] = {"max_tokens": max_tokens, "pad_id": pad_id, "segments": segments}
        with without_panic():
            return cls(backend, source=folder, settings=settings, notes=(ignored,) if ignored else (), **limits)

    def limited(self, max_tokens: int) -> "Tokenizer":
        """This tokenizer, which reads at most *max_tokens* tokens of a text, if that is fewer than now."""
        if max_tokens >= self.max_tokens:
            return self
        other = copy(self)
        other.max_tokens = max_tokens
        other.truncating_backend = self.truncated_to(max_tokens)
        other.remembered = lru_cache(maxsize=REMEMBERED)(other.encode_anew)
        return other

    def reading(self, tokens: Sequence[str], *, lower_case: bool = False) -> "Tokenizer":
        """This tokenizer, which reads each of *tokens* in a text as one, and a text in lower case if that is asked. No
        note calls these tokens special."""
        other = copy(self)
        other.backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        if lower_case:
            own = [other.backend.normalizer] if other.backend.normalizer else []
            other.backend.normalizer = normalizers.Sequence([normalizers.Lowercase(), *own])
        whole = [token for token in tokens if other.backend.encode(token, add_special_tokens=False).tokens != [token]]
        other.backend.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in whole])
        other.special_ids = self.special_ids - {other.backend.token_to_id(token) for token in tokens}
        other.truncating_backend = other.truncated_to(self.max_tokens)
        other.remembered = lru_cache(maxsize=REMEMBERED)(other.encode_anew)
        return other

    def truncated_to(self, max_tokens: int) -> tokenizers.Tokenizer:
        """The backend, which cuts a text at *max_tokens* tokens."""
        backend = tokenizers.Tokenizer.from_str(self.backend.to_str())
        backend.enable_truncation(max_tokens, direction="left" if self.cuts_beginning else "right")
        return backend

    @property
    def mask_id(self) -> int:
        """The id of the mask. Raises ExplorerError if the checkpoint has no mask token."""
        if self.mask is None:
            raise ExplorerError(f"{NO_MASK}.")
        return self.mask

    @property
    def mask_token(self) -> str:
        """The mask as the vocabulary spells it. Raises ExplorerError if the checkpoint has no mask token."""
        if self.mask is None:
            raise ExplorerError(f"{NO_MASK}.")
        return self.special["mask"]

    def save(self, folder: Path) -> None:
        """Write the original files, so that transformers loads the same tokenizer."""
        self.backend.save(str(folder / "tokenizer.json"))
        for name in FILES[1:]:
            if self.source and (self.source / name).is_file():
                (folder / name).write_bytes((self.source / name).read_bytes())

    def prepare(self, text: str) -> tuple[str, list[str]]:
        """(*text* cleaned, with any spelling of the mask changed to this checkpoint's; notes for the user).

        Raises ExplorerError beyond MAX_CHARACTERS, before anything is tokenised, and for a mask if the checkpoint has
        no mask token."""
        if len(text) > MAX_CHARACTERS:
            raise ExplorerError(f"The text has {len(text):,} characters; the limit is {MAX_CHARACTERS:,}. Shorten it.")
        cleaned, removed = clean(text)
        notes = []
        if removed:
            notes.append(f"{removed} invisible {plural('character', removed)} removed.")
        special = [str(self.backend.id_to_token(i)) for i in sorted(self.special_ids)]
        typed = [token for token in special if token in cleaned and token != self.special.get("mask")]
        if typed:
            verb = "is" if len(typed) == 1 else "are"
            notes.append(f"{' and '.join(typed)} in your text {verb} read as special, not as words.")
        mask = TYPED_MASK.search(cleaned)
        if mask and self.mask is None:
            raise ExplorerError(f"{NO_MASK}, or write a word in place of {mask[0]:.20}.")
        return TYPED_MASK.sub(self.special.get("mask", ""), cleaned), notes

    def encode(self, text: Text | str) -> Encoding:
        """Tokenise. The latest texts are remembered: an answer encodes its text once, however many parts ask for it.
        Raises ExplorerError if nothing is left to read, or for a second text without a first."""
        return self.remembered(Text.of(text))

    def encode_anew(self, text: Text) -> Encoding:
        """As `encode`, without looking at what is remembered."""
        first, notes = self.prepare(text.first)
        second, more_notes = self.prepare(text.second)
        if not first.strip():
            raise ExplorerError("The text is empty. Type a sentence.")
        pair = (first, second) if second.strip() else (first,)
        if len(pair) == 2:
            self.check_pairs()
        with without_panic():
            full = self.backend.encode(*pair)
            encoded = self.truncating_backend.encode(*pair) if len(full) > self.max_tokens else full
        if 0 not in encoded.sequence_ids:
            raise ExplorerError("The text holds nothing that this checkpoint can read. Type a sentence.")
        encoding = self.describe(encoded, (first, second if len(pair) == 2 else ""), text)
        notes += [*more_notes, *self.notes]
        cut = [full.sequence_ids.count(side) - encoded.sequence_ids.count(side) for side in (0, 1)]
        if any(cut):
            where = " at its beginning, as the checkpoint's files say" if self.cuts_beginning else ""
            notes.append(f"Shortened{where}: {len(encoded):,} of {len(full):,} tokens are read.")
        unknown = [self.slice(encoding, i) for i, t in enumerate(encoding.tokens) if t == self.unknown]
        if unknown:
            notes.append(f"Not in the vocabulary, read as {self.unknown}: {', '.join(dict.fromkeys(unknown))}.")
        foreign = self.say_language(encoding)
        if foreign:
            notes.append(foreign)
        return replace(encoding, cut=(cut[0], cut[1]), notes=tuple(dict.fromkeys(notes)))

    def say_language(self, encoding: Encoding) -> str:
        """A note for people if a text is in a language that the vocabulary hardly has; "" if it is not."""
        pieces: tuple[list[Piece], list[Piece]] = ([], [])
        for i, span in enumerate(encoding.spans):
            unknown = encoding.tokens[i] == self.unknown
            apart = encoding.special[i] or encoding.original_ids[i] == self.mask
            if span and (unknown or not apart):
                pieces[span.side].append(Piece(span.start, span.end, encoding.words[i], unknown))
        note = language_note(encoding.texts, pieces, self.unknown, self.language)
        if note and not self.has_words:
            return ""
        return note

    def check_pairs(self) -> None:
        """Raises ExplorerError if the tokenizer gives a pair of texts segments that the checkpoint has no vectors for;
        transformers fails there too."""
        if self.segments and self.pair_segments > self.segments:
            raise ExplorerError(
                f"This checkpoint reads one text at a time: its config.json says type_vocab_size {self.segments}, and "
                f"a pair takes {self.pair_segments} segments. Remove the second text, or choose another checkpoint."
            )

    def describe(self, encoded: Any, texts: tuple[str, str], text: Text) -> Encoding:
        """The Encoding of the backend's *encoded*. *texts*: cleaned; *text*: with the hidden and picked spans."""
        spans: list[Span | None] = []
        words: list[int | None] = []
        ids = encoded.ids
        tokens = [self.unknown if i == self.unknown_id else token for i, token in zip(ids, encoded.tokens, strict=True)]
        sides = encoded.sequence_ids
        word_ids = encoded.word_ids
        firsts = [word for word, side in zip(word_ids, sides, strict=True) if side == 0]
        seconds = [word for word, side in zip(word_ids, sides, strict=True) if side == 1]
        # A text that was cut at its beginning does not begin with the backend's word 0.
        skipped = (min(firsts, default=0), min(seconds, default=0))
        count = 1 + max(firsts) - skipped[0] if firsts else 0
        for (start, end), side, word in zip(encoded.offsets, sides, word_ids, strict=True):
            if side is None:
                spans.append(None)
                words.append(None)
                continue
            piece = texts[side][start:end]
            start += len(piece) - len(piece.lstrip())  # some byte-level tokenizers count the space before a word
            spans.append(Span(side, start, max(start, end)))
            words.append(word - skipped[side] + (count if side else 0))
        if text.hidden and self.mask is None:
            raise ExplorerError(f"{NO_MASK}.")
        special = tuple(i in self.special_ids and i != self.mask for i in ids)
        seen = list(ids)
        if text.hidden:
            for position, span in enumerate(spans):
                is_word = not special[position] or tokens[position] == self.unknown
                if span is not None and is_word and any(overlap(span, hidden) for hidden in text.hidden):
                    seen[position] = self.mask_id
        return Encoding(
            texts=texts,
            tokens=tuple(tokens),
            original_ids=tuple(ids),
            ids=tuple(seen),
            segments=tuple(encoded.type_ids),
            spans=tuple(spans),
            words=tuple(words),
            special=special,
            mask_id=self.mask,
            picked=self.find_picked(spans, text),
        )

    @staticmethod
    def find_picked(spans: Sequence[Span | None], text: Text) -> tuple[int, ...]:
        """The tokens that the picked spans of *text* cover."""
        if not text.picked:
            return ()
        positions = []
        for position, span in enumerate(spans):
            place = span or Span(TOKENS, position, position + 1)
            if any(overlap(place, picked) for picked in text.picked):
                positions.append(position)
        return tuple(positions)

    def slice(self, encoding: Encoding, position: int) -> str:
        """The characters that the piece at *position* covers; '' for [CLS] and [SEP]."""
        span = encoding.spans[position]
        if span is None:
            return ""
        return encoding.texts[span.side][span.start : span.end]

    def pieces(self, word: str, *, spaced: bool = True) -> tuple[int, ...]:
        """The ids of *word* after a space, or without one (*spaced* False), as after a bracket. Only WordPiece does not
        distinguish the two. Raises ExplorerError if nothing is left of the word."""
        if len(word) > MAX_WORD:
            raise ExplorerError(f"A word of {len(word):,} characters was given; the limit is {MAX_WORD}. Shorten it.")
        word = clean(word)[0].strip()
        text = f" {word}" if spaced and self.kind != "WordPiece" else word
        with without_panic():
            ids = tuple(self.backend.encode(text, add_special_tokens=False).ids)
            if self.kind == "Unigram" and not spaced:  # `encode` puts a space before it
                read = self.backend.normalizer.normalize_str(word) if self.backend.normalizer else word
                ids = tuple(token.id for token in self.backend.model.tokenize(read.replace(" ", "▁")))
        if not ids or self.mask in ids:
            raise ExplorerError(f"{word!r} is not a word to look up. Type a word such as 'paris'.")
        if self.unknown in (self.backend.id_to_token(i) for i in ids):
            raise ExplorerError(f"{word!r} is not in the vocabulary, so it has no probability. Choose another word.")
        return ids

    def show(self, token: int) -> str:
        """A piece for display: WordPiece unchanged; other kinds without their space mark, "…" before a piece
        that continues a word."""
        piece: str = self.backend.id_to_token(token) or f"#{token}"
        if self.kind == "WordPiece" or token in self.special_ids:
            return piece
        text: str = self.backend.decode([token], skip_special_tokens=False)
        starts_word = piece[:1] in "Ġ▁" or text[:1].isspace() or not text[:1].isalnum()
        if not starts_word:
            return f"…{text}"
        return text.strip() or repr(text)

    @cached_property
    def all_pieces(self) -> tuple[str, ...]:
        """The whole vocabulary for display."""
        return self.show_all(range(self.vocab_size))

    @cached_property
    def has_words(self) -> bool:
        """Whether the vocabulary has more than characters."""
        vocabulary = self.backend.get_vocab(with_added_tokens=False)
        large = sum(len(piece.removeprefix(self.continuation).strip("Ġ▁")) >= LARGE for piece in vocabulary)
        return large >= FEWEST

    def show_all(self, tokens: Iterable[int]) -> tuple[str, ...]:
        """Each of *tokens* for display."""
        return tuple(map(self.show, tokens))

    def join(self, ids: Sequence[int]) -> str:
        """The text of the pieces of one or several words."""
        return str(self.backend.decode(list(ids), skip_special_tokens=False)).strip()


def overlap(a: Span, b: Span) -> bool:
    """Whether two spans have a character, or a token, in common."""
    return a.side == b.side and a.start < b.end and b.start < a.end

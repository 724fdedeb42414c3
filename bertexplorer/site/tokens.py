"""What tokens.js needs to know of a tokenizer: its pieces, its rules, and what it puts around a text."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from typing import Any

from tokenizers import normalizers, pre_tokenizers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer


def describe(tokenizer: Tokenizer) -> dict[str, Any]:
    """*tokenizer* as JSON. Raises ExplorerError unless it works as BERT's: WordPiece, after BERT's own rules for
    spaces, accents and punctuation."""
    whole = json.loads(tokenizer.backend.to_str())
    normalizer, splitter = whole["normalizer"] or {}, whole["pre_tokenizer"] or {}
    if (tokenizer.kind, normalizer.get("type"), splitter.get("type")) != (
        "WordPiece",
        "BertNormalizer",
        "BertPreTokenizer",
    ):
        raise ExplorerError(
            f"The tokenizer is {tokenizer.kind} with {normalizer.get('type')} and {splitter.get('type')}; a site reads "
            "WordPiece as BERT does. Choose a checkpoint with BERT's tokenizer."
        )
    if tokenizer.cuts_beginning:
        raise ExplorerError(
            "The tokenizer cuts a long text at its beginning; a site cuts the end. Choose a checkpoint whose "
            "tokenizer_config.json does not say truncation_side left."
        )
    accents = normalizer["strip_accents"]
    backend = tokenizer.backend
    pieces = [backend.id_to_token(i) or "" for i in range(tokenizer.vocab_size)]
    return {
        "pieces": pieces,
        "continuation": tokenizer.continuation,
        "special": tokenizer.special,
        "special_ids": sorted(tokenizer.special_ids),
        "lowercase": normalizer["lowercase"],
        "strip_accents": normalizer["lowercase"] if accents is None else accents,
        "chinese": normalizer["handle_chinese_chars"],
        "clean": normalizer["clean_text"],
        "max_tokens": tokenizer.max_tokens,
        "language": tokenizer.language,
        "has_words": tokenizer.has_words,
        **character_classes(),
        "frame": {"single": frame(tokenizer, "a"), "pair": frame(tokenizer, "a", "a")},
    }


@cache
def character_classes() -> dict[str, str]:
    """The characters that BERT's rules treat apart, as classes of a regular expression. The library of the tokenizer
    and a browser may follow different versions of Unicode; with these lists they agree."""
    codes = [*range(0xD800), *range(0xE000, 0x20000), *range(0xE0000, 0xE0200)]  # without surrogates
    characters = [chr(code) for code in codes]
    bare = normalizers.BertNormalizer(clean_text=True, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    accents = normalizers.BertNormalizer(
        clean_text=False, handle_chinese_chars=False, strip_accents=True, lowercase=False
    )
    splitter = pre_tokenizers.BertPreTokenizer()

    def splits(character: str) -> bool:
        parts = [part for part, _ in splitter.pre_tokenize_str(f"a{character}")]
        return parts == ["a", character]

    cleaned = {character: bare.normalize_str(character) for character in characters}
    return {
        "space": as_class(c for c in characters if cleaned[c] == " "),
        "control": as_class(c for c in characters if cleaned[c] == ""),
        "marks": as_class(c for c in characters if accents.normalize_str(c) == ""),
        "punctuation": as_class(filter(splits, characters)),
    }


def as_class(characters: Iterable[str]) -> str:
    """*characters* in ascending order as ranges, such as \\u{21}-\\u{2f}."""
    ranges: list[list[int]] = []
    for code in map(ord, characters):
        if ranges and ranges[-1][1] == code - 1:
            ranges[-1][1] = code
        else:
            ranges.append([code, code])
    return "".join(f"\\u{{{low:x}}}" + (f"-\\u{{{high:x}}}" if high > low else "") for low, high in ranges)


def frame(tokenizer: Tokenizer, text: str, pair: str | None = None) -> list[dict[str, int]]:
    """What is read for one text or a *pair*, from left to right: the id of a special token, or the side of a text, each
    with its segment."""
    encoded = tokenizer.backend.encode(text, pair)
    return [
        {"id": token, "segment": segment} if side is None else {"side": side, "segment": segment}
        for token, side, segment in zip(encoded.ids, encoded.sequence_ids, encoded.type_ids, strict=True)
    ]

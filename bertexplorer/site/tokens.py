"""What tokens.js needs to know of a tokenizer: its pieces, its rules, and what it puts around a text."""

from __future__ import annotations

import json
from typing import Any

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
        "frame": {"single": frame(tokenizer, "a"), "pair": frame(tokenizer, "a", "a")},
    }


def frame(tokenizer: Tokenizer, *texts: str) -> list[dict[str, int]]:
    """What is read for *texts*, from left to right: the id of a special token, or the side of a text, each with its
    segment."""
    encoded = tokenizer.backend.encode(*texts)
    return [
        {"id": token, "segment": segment} if side is None else {"side": side, "segment": segment}
        for token, side, segment in zip(encoded.ids, encoded.sequence_ids, encoded.type_ids, strict=True)
    ]

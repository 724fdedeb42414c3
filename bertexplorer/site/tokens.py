"""What tokens.js needs to know of a tokenizer: its pieces, its rules, and what it puts around a text."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from bertexplorer.answers.word_occurrences import is_uncased
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer, without_panic
from bertexplorer.site import rules
from bertexplorer.site.characters import CHARACTERS


def describe(tokenizer: Tokenizer) -> dict[str, Any]:
    """*tokenizer* as JSON. Raises ExplorerError if a site would cut a text otherwise."""
    if tokenizer.cuts_beginning:
        raise ExplorerError(
            "The tokenizer cuts a long text at its beginning; a site cuts the end. Choose a checkpoint whose "
            "tokenizer_config.json does not say truncation_side left."
        )
    backend = tokenizer.backend
    return {
        "pieces": [backend.id_to_token(i) or "" for i in range(tokenizer.vocab_size)],
        "special": tokenizer.special,
        "special_ids": sorted(tokenizer.special_ids),
        "lowercase": is_uncased(tokenizer),
        "max_tokens": tokenizer.max_tokens,
        "language": tokenizer.language,
        "has_words": tokenizer.has_words,
        "refuses_pairs": why_no_pairs(tokenizer),
        "frame": {"single": frame(tokenizer, "a"), "pair": frame(tokenizer, "a", "a")},
        "rules": followed(tokenizer),
    }


def why_no_pairs(tokenizer: Tokenizer) -> str:
    """Why *tokenizer* reads no pair of texts; "" if it does."""
    try:
        tokenizer.check_pairs()
    except ExplorerError as error:
        return str(error)
    return ""


def followed(tokenizer: Tokenizer) -> dict[str, Any]:
    """The rules of the tokenizer.json of *tokenizer*, as the scripts of a site follow them."""
    backend = tokenizer.backend
    whole = json.loads(backend.to_str())
    needs = rules.Rules()
    normalizer, splitter = needs.normalizer(whole["normalizer"]), needs.splitter(whole["pre_tokenizer"])
    normalize = backend.normalizer.normalize_str if backend.normalizer else str
    check_normalizer(normalize)
    vocabulary = whole["model"]["vocab"]
    known = set(vocabulary.values()) if isinstance(vocabulary, dict) else range(len(vocabulary))
    return {
        "normalizer": normalizer,
        "pre_tokenizer": splitter,
        "model": rules.model(whole["model"], splitter),
        "outside": [i for i in range(tokenizer.vocab_size) if i not in known],  # what only the added tokens have
        "added": rules.added(whole["added_tokens"], normalize),
        "trims": rules.trims(whole["post_processor"]),
        "decoder": rules.decoder(whole["decoder"]),
        "classes": needs.characters(),
    }


def check_normalizer(normalize: Callable[[str], str]) -> None:
    """Raises ExplorerError for a normalizer that fails at some character, as one with a broken table does."""
    try:
        with without_panic():
            normalize(" ".join(CHARACTERS))
    except ExplorerError as error:
        raise rules.refused("a normalizer that fails at some characters") from error


def frame(tokenizer: Tokenizer, text: str, pair: str | None = None) -> list[dict[str, int]]:
    """What is read for one text or a *pair*, from left to right: the id of a special token, or the side of a text, each
    with its segment."""
    encoded = tokenizer.backend.encode(text, pair)
    found: list[dict[str, int]] = []
    for token, side, segment in zip(encoded.ids, encoded.sequence_ids, encoded.type_ids, strict=True):
        part = {"id": token, "segment": segment} if side is None else {"side": side, "segment": segment}
        if side is None or part not in found:  # a letter may be several pieces
            found.append(part)
    return found

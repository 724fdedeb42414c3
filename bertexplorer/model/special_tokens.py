"""Special tokens: those of a vocabulary that are no words, and the roles of some of them, as the tokenizer's files say.

Checkpoints spell them differently: [CLS] of BERT is <s> in RoBERTa and <bos> in mmBERT. A vocabulary may also hold a
piece that is spelt like another family's special token and is an ordinary word."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tokenizers

from bertexplorer.model.vocabulary import read_json

USUAL = {  # role -> the spellings of BERT and RoBERTa, for files that name no token
    "mask": ("[MASK]", "<mask>"),
    "cls": ("[CLS]", "<s>"),
    "sep": ("[SEP]", "</s>"),
    "pad": ("[PAD]", "<pad>"),
    "unk": ("[UNK]", "<unk>"),
}
LISTS = ("additional_special_tokens", "extra_special_tokens")  # of tokens without a role


@dataclass(frozen=True)
class SpecialTokens:
    """The special tokens of a vocabulary."""

    roles: dict[str, str]  # those of USUAL that the checkpoint has -> the token, as the vocabulary spells it
    ids: frozenset[int]  # of all special tokens, with and without a role


def read_settings(folder: Path) -> dict[str, Any]:
    """What tokenizer_config.json and special_tokens_map.json in *folder* say together; {} if there are none."""
    return read_json(folder / "tokenizer_config.json") | read_json(folder / "special_tokens_map.json")


def find_special_tokens(
    backend: tokenizers.Tokenizer, model: dict[str, Any], settings: dict[str, Any]
) -> SpecialTokens:
    """The special tokens of *backend*. *model*: that part of its tokenizer.json; *settings*: see `read_settings`. Those
    that only the settings name are marked special in *backend*, as transformers does, so that a text may contain them.

    [CLS] and [SEP] are what the post-processor puts around a text, whatever else the settings call so."""
    mark_named_tokens(backend, settings)
    marked = {token.content for token in backend.get_added_tokens_decoder().values() if token.special}

    # 1. The roles that the settings name.
    named: dict[str, str] = {}
    for key, token in named_tokens(settings):
        if key.endswith("_token") and backend.token_to_id(token) is not None:
            named[key.removesuffix("_token")] = token

    # 2. Those of the usual spellings; where the settings name none, also of tokens that are not marked special.
    roles: dict[str, str] = {}
    for role, spellings in USUAL.items():
        for spelling in reversed(spellings):  # the first one counts
            is_known = backend.token_to_id(spelling) is not None
            if spelling in marked or (not named and is_known):
                roles[role] = spelling

    # 3. What the files say counts more, and most what the tokenizer does.
    for role, token in named.items():
        if role in USUAL:
            roles[role] = token
    roles |= find_frame(backend) | unknown_token(model)

    # 4. The ids of all of them.
    tokens = marked | set(roles.values())
    for _, token in named_tokens(settings):
        tokens.add(token)
    ids = {backend.token_to_id(token) for token in tokens}
    return SpecialTokens(roles, frozenset(i for i in ids if i is not None))


def mark_named_tokens(backend: tokenizers.Tokenizer, settings: dict[str, Any]) -> None:
    """Make the tokens that the *settings* name special in *backend*, unless it has them as added tokens, or lacks
    them."""
    added = {token.content for token in backend.get_added_tokens_decoder().values()}
    named = {token for _, token in named_tokens(settings)} - added
    known = sorted(token for token in named if backend.token_to_id(token) is not None)
    backend.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in known])


def named_tokens(settings: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """(key in the settings, token) for every token that they name."""
    for key, value in settings.items():
        if key.endswith("_token"):
            values = [value]
        elif key in LISTS:
            values = list(value.values()) if isinstance(value, dict) else value
        elif key == "added_tokens_decoder" and isinstance(value, dict):
            values = [token for token in value.values() if isinstance(token, dict) and token.get("special")]
        else:
            continue
        if not isinstance(values, list):
            continue
        for token in values:
            spelt = token.get("content") if isinstance(token, dict) else token
            if isinstance(spelt, str) and spelt:
                yield key, spelt


def find_frame(backend: tokenizers.Tokenizer) -> dict[str, str]:
    """The tokens that the post-processor puts before ("cls") and after ("sep") a text."""
    encoding = backend.encode("a")
    sides = encoding.sequence_ids
    read = [i for i, side in enumerate(sides) if side is not None]
    if not read:
        return {}
    before = encoding.tokens[: read[0]]
    after = encoding.tokens[read[-1] + 1 :]
    frame = {}
    if before:
        frame["cls"] = before[0]
    if after:
        frame["sep"] = after[-1]
    return frame


def unknown_token(model: dict[str, Any]) -> dict[str, str]:
    """The token that the *model* of a tokenizer.json gives for what it does not know, as {"unk": token}; {} if there is
    none."""
    token = model.get("unk_token")
    index = model.get("unk_id")
    if token is None and isinstance(index, int):
        token = model["vocab"][index][0]
    if not token:
        return {}
    return {"unk": token}

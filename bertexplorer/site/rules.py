"""What of a tokenizer.json the scripts of a site follow (web/static/site/tokenizer): the parts that they read, with the
classes of characters that these need. Anything else is refused by its name, as a text would be cut otherwise than here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tokenizers import pre_tokenizers

from bertexplorer.errors import ExplorerError
from bertexplorer.site.characters import combining_classes, of_kind
from bertexplorer.site.patterns import translate

Part = dict[str, Any]  # of a tokenizer.json
COMPOSED = ("combining", "nfd")
NORMALIZERS: dict[str, tuple[str, ...]] = {  # type -> the classes of characters that it needs
    "BertNormalizer": ("space", "control", "chinese", "nonspacing", "changes_case", *COMPOSED),
    "Lowercase": ("changes_case",),
    "StripAccents": ("marks",),
    "Strip": (),
    "Prepend": (),
    "Replace": (),
    "Precompiled": ("extend", "prepend", "breaks"),
    "NFC": COMPOSED,
    "NFD": COMPOSED,
    "NFKC": (*COMPOSED, "nfkd"),
    "NFKD": (*COMPOSED, "nfkd"),
}
SPLITTERS: dict[str, tuple[str, ...]] = {
    "BertPreTokenizer": ("punctuation",),
    "ByteLevel": ("s", "L", "N"),
    "Metaspace": (),
    "Split": (),
    "Punctuation": ("punctuation",),
    "Digits": ("numeric",),
    "WhitespaceSplit": (),
}
DECODERS = {"WordPiece", "ByteLevel", "Metaspace", "Replace", "ByteFallback", "Fuse", "Strip"}
PROCESSORS = {"TemplateProcessing", "BertProcessing", "RobertaProcessing", "ByteLevel"}
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]


@dataclass
class Rules:
    """The parts of a tokenizer.json as the scripts read them, and the classes of characters that they need."""

    classes: set[str] = field(default_factory=set)

    def normalizer(self, part: Part | None) -> Part | None:
        return self.steps(part, "normalizer", "normalizers", NORMALIZERS)

    def splitter(self, part: Part | None) -> Part | None:
        return self.steps(part, "pre-tokenizer", "pretokenizers", SPLITTERS)

    def steps(self, part: Part | None, what: str, inner: str, known: dict[str, tuple[str, ...]]) -> Part | None:
        """*part*, a normalizer or pre-tokenizer (*what*), or a sequence of them."""
        if not part:
            return None
        if part["type"] == "Sequence":
            return {"type": "Sequence", inner: [self.steps(one, what, inner, known) for one in part[inner]]}
        if part["type"] not in known:
            raise refused(f"the {what} {part['type']}")
        self.classes |= set(known[part["type"]])
        written = part.get("pattern") or {}
        if "Regex" not in written:
            return part
        pattern, classes = translate(written["Regex"])
        self.classes |= classes
        return {**part, "pattern": {"Regex": pattern}}

    def characters(self) -> dict[str, Any]:
        """The classes of characters that the parts need."""
        found: dict[str, Any] = {name: of_kind(name) for name in sorted(self.classes - {"combining"})}
        return found | ({"combining": combining_classes()} if "combining" in self.classes else {})


def refused(what: str) -> ExplorerError:
    return ExplorerError(f"The tokenizer has {what}, which a site does not follow. Choose another checkpoint.")


def steps_of(part: Part | None, inner: str) -> list[Part]:
    """The parts of a sequence, which are called *inner*; *part* itself if it is none."""
    steps: list[Part] = part.get(inner, [part]) if part else []
    return steps


def decoder(part: Part | None) -> Part | None:
    for one in steps_of(part, "decoders"):
        pattern = one.get("pattern", {"String": ""})
        if one["type"] not in DECODERS or "String" not in pattern:
            raise refused(f"the decoder {one['type']}")
    return part


def trims(part: Part | None) -> Part | None:
    """What the post-processor *part* says of spaces at the ends of a piece: None, or whether one was added before a
    text. What it puts around a text is known from an example (`tokens.frame`)."""
    found = None
    for one in steps_of(part, "processors"):
        if one["type"] not in PROCESSORS:
            raise refused(f"the post-processor {one['type']}")
        if one.get("trim_offsets"):
            if found:
                raise refused("two post-processors that trim spaces")
            found = {"add_prefix_space": one["add_prefix_space"]}
    return found


def added(parts: list[Part], normalize: Callable[[str], str]) -> list[Part]:
    """The tokens that are found in a text before it is split; of two with the same spelling the first counts."""
    for one in parts:
        if one["single_word"]:
            raise refused(f"the added token {one['content']!r:.40}, which must stand as a word of its own")
        if one["normalized"] and not normalize(one["content"]):
            raise refused(f"the added token {one['content']!r:.40}, of which the normalizer leaves nothing")
    names = ("id", "content", "lstrip", "rstrip", "normalized")
    special_first = sorted(parts, key=lambda one: not one["special"])
    return [{name: one[name] for name in names} for one in special_first]


def model(part: Part, splitter: Part | None) -> Part:
    """The *part* of that name without its vocabulary. *splitter*: what gives it words."""
    kind = part["type"]
    if kind not in MODELS:
        raise refused(f"the model {kind}")
    return {"type": kind, **MODELS[kind](part, types_in(splitter))}


def wordpiece(part: Part, splitters: set[str]) -> Part:
    if part["unk_token"] not in part["vocab"]:
        raise refused("no piece for what is not in the vocabulary")
    names = ("unk_token", "continuing_subword_prefix", "max_input_chars_per_word")
    return {name: part[name] for name in names}


def bpe(part: Part, splitters: set[str]) -> Part:
    """Each character must be a piece, fall into bytes that are, or be unknown: the library drops others."""
    vocabulary = part["vocab"]
    for name in ("dropout", "continuing_subword_prefix", "end_of_word_suffix"):
        if part.get(name):
            raise refused(f"byte-pair encoding with {name}")
    every_byte = part.get("byte_fallback") and vocabulary.keys() >= set(BYTES)
    every_character = "ByteLevel" in splitters and vocabulary.keys() >= set(pre_tokenizers.ByteLevel.alphabet())
    unknown = part.get("unk_token") in vocabulary and not part.get("byte_fallback")
    if not (every_byte or every_character or unknown):
        raise refused("no piece for some characters and none for what is unknown")
    merges = []
    for one in part["merges"]:
        first, second = one if isinstance(one, list) else one.split(" ")
        merges += [vocabulary[first], vocabulary[second], vocabulary[first + second]]
    names = ("unk_token", "fuse_unk", "byte_fallback", "ignore_merges")
    return {"merges": merges, **{name: part.get(name) for name in names}}


def unigram(part: Part, splitters: set[str]) -> Part:
    if part["unk_id"] is None:
        raise refused("no piece for what is not in the vocabulary")
    return {
        "scores": [score for _, score in part["vocab"]],
        "unk_id": part["unk_id"],
        "byte_fallback": part["byte_fallback"],
    }


MODELS: dict[str, Callable[[Part, set[str]], Part]] = {"WordPiece": wordpiece, "BPE": bpe, "Unigram": unigram}


def types_in(part: Part | None) -> set[str]:
    """The types of *part* and of its steps."""
    if not part:
        return set()
    return {part["type"]}.union(*(types_in(one) for one in part.get("pretokenizers", [])))

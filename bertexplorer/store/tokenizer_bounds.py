"""Tokenizer bounds: what a tokenizer.json may hold, and how much more than the text its parts may produce.

A normalizer may write a hundred thousand characters for one, and a template as many tokens around a text. Such parts
are refused by what their file says, before a text is read with them."""

import base64
import binascii
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.store.linear_patterns import check_pattern, letters

MAX_WORDS = {"Unigram": 300_000}  # by the kind of model: building one holds up all other answers of the server
MAX_OTHER_WORDS = 520_000  # of the others; LaBSE, the largest in use, has 501,153
MAX_MERGES = 1_000_000  # of a BPE; that of Gemma and mmBERT, the largest in use, has 580,604
MAX_ADDED = 20_000  # tokens beside the vocabulary
MAX_WORD = 1000  # characters of a word, and of one that a WordPiece cuts into pieces
MAX_AFFIX = 20  # characters of ## and its like
MAX_GROWTH = 16  # characters that the normalizer, or the decoder, may make of one
MAX_FRAME = 64  # special tokens around a text
MAX_LETTERS = 40  # to try a tokenizer with


def check(parts: Any) -> None:
    """Raises ExplorerError if the tokenizer described by *parts*, a tokenizer.json, is larger, or makes more of a
    text, than that of any encoder does. What does not have the form of such a file is left to the library."""
    try:
        check_parts(parts)
    except ExplorerError:
        raise
    except (KeyError, TypeError, AttributeError, IndexError, ValueError):
        return


def check_parts(parts: Mapping[str, Any]) -> None:
    """As `check`. Raises Python's own errors for what is not a tokenizer.json."""
    check_words(parts.get("model") or {}, parts.get("added_tokens") or [])
    for name in ("normalizer", "decoder"):
        if (times := growth(parts.get(name))) > MAX_GROWTH:
            raise refusal(f"The {name} makes {times:,.0f} characters of one", f"at most {MAX_GROWTH}")
    for kind, pattern in patterns(parts):
        if kind == "Regex":
            check_pattern(pattern)
    if (tokens := frame_tokens(parts.get("post_processor"))) > MAX_FRAME:
        raise refusal(f"The template puts {tokens:,} tokens around a text", f"at most {MAX_FRAME}")


def refusal(given: str, wanted: str) -> ExplorerError:
    """The error for a tokenizer that is *given* so, where *wanted* is allowed."""
    return ExplorerError(f"{given}; wanted {wanted}. Choose another checkpoint.")


def check_words(model: Mapping[str, Any], added: list[Any]) -> None:
    """Raises ExplorerError for too many words, or for words that are too long."""
    vocabulary = model.get("vocab") or {}
    most = MAX_WORDS.get(str(model.get("type")), MAX_OTHER_WORDS)
    if len(vocabulary) > most:
        raise refusal(f"The vocabulary has {len(vocabulary):,} entries", f"{most:,} at most")
    if (merges := len(model.get("merges") or [])) > MAX_MERGES:
        raise refusal(f"The vocabulary has {merges:,} merges", f"{MAX_MERGES:,} at most")
    if len(added) > MAX_ADDED:
        raise refusal(f"There are {len(added):,} added tokens", f"{MAX_ADDED:,} at most")
    words = [entry if isinstance(entry, str) else entry[0] for entry in vocabulary]
    words += [token["content"] for token in added]
    if (longest := max(map(len, words), default=0)) > MAX_WORD:
        raise refusal(f"A word of the vocabulary has {longest:,} characters", f"at most {MAX_WORD:,}")
    if (cut := model.get("max_input_chars_per_word") or 0) > MAX_WORD:
        raise refusal(f"Words of {cut:,} characters are cut into pieces", f"at most {MAX_WORD:,}")
    for name in ("continuing_subword_prefix", "end_of_word_suffix", "unk_token"):
        if len(model.get(name) or "") > MAX_AFFIX:
            raise refusal(f"{name} has {len(model[name]):,} characters", f"at most {MAX_AFFIX}")


def steps(part: Any) -> Iterator[dict[str, Any]]:
    """The steps of a *part*: itself, or those of a Sequence in their order."""
    waiting = [part]
    while waiting:
        step = waiting.pop()
        if not isinstance(step, dict):
            continue
        inner = [step.get(name) for name in ("normalizers", "pretokenizers", "decoders", "processors")]
        lists = [steps for steps in inner if isinstance(steps, list)]
        if not lists:
            yield step
        for each in lists:
            waiting += reversed(each)


def growth(part: Any) -> float:
    """How many characters a normalizer or a decoder may make of one, beyond what Unicode itself prescribes."""
    times = 1.0
    for step in steps(part):
        if step.get("type") == "Replace":
            pattern = step["pattern"]
            replaced = len(pattern["String"]) if "String" in pattern else 0
            content = len(str(step["content"]))
            if replaced:
                times *= max(1.0, content / replaced)
            else:  # a regular expression may match the empty text
                times *= 1.0 + content
        elif step.get("type") == "Prepend":
            times *= 1.0 + len(step["prepend"])
        elif step.get("type") == "Precompiled":
            times *= max(1.0, longest_replacement(step["precompiled_charsmap"]) / MAX_AFFIX)
        else:
            affix = str(step.get("prefix") or step.get("suffix") or "")
            times *= 1.0 + len(affix) / MAX_AFFIX
    return times


def longest_replacement(charsmap: str) -> int:
    """The characters of the longest text that sentencepiece's table of characters puts in place of one."""
    try:
        table = base64.b64decode(charsmap)
        (size,) = struct.unpack_from("<I", table)
    except (binascii.Error, struct.error, TypeError, ValueError):
        return 0  # building the tokenizer reports it
    texts = table[4 + size :].split(b"\0")
    return max(len(text.decode("utf-8", "replace")) for text in texts)


def patterns(parts: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """("String" or "Regex", the pattern) of each step that has one."""
    for name in ("normalizer", "pre_tokenizer", "decoder"):
        for step in steps(parts.get(name)):
            pattern = step.get("pattern")
            if isinstance(pattern, dict):
                yield from ((kind, str(text)) for kind, text in pattern.items())


def frame_tokens(part: Any) -> int:
    """How many tokens a post-processor puts around a text or a pair. One that it repeats counts as too many."""
    tokens = 0
    for step in steps(part):
        if step.get("type") != "TemplateProcessing":
            tokens += 4
            continue
        ids = {name: len(token["ids"]) for name, token in step["special_tokens"].items()}
        for name in ("single", "pair"):
            pieces = step[name]
            texts = [piece["Sequence"]["id"] for piece in pieces if "Sequence" in piece]
            if len(texts) > len(set(texts)):
                return MAX_FRAME + len(texts)
            tokens += sum(ids.get(piece["SpecialToken"]["id"], 0) for piece in pieces if "SpecialToken" in piece)
            tokens += len(pieces) // MAX_FRAME * MAX_FRAME
    return tokens


def telling_letters(parts: Mapping[str, Any]) -> str:
    """Up to MAX_LETTERS characters that the patterns of a tokenizer name: repeated, they show what it makes of them."""
    named = ""
    for kind, pattern in patterns(parts):
        named += letters(pattern) if kind == "Regex" else pattern
    return "".join(dict.fromkeys(named))[:MAX_LETTERS]

"""What a tokenizer may cost is bounded by what its file says, and by what it makes of texts in a process of its own."""

import base64
import struct
from typing import Any

import pytest
import tokenizers
from tokenizers import normalizers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import MAX_CHARACTERS, Tokenizer, without_panic
from bertexplorer.store import examine, tokenizer_bounds
from bertexplorer.store.linear_patterns import check_pattern, letters
from tests.conftest import Tiny

SEP = {"SpecialToken": {"id": "[SEP]", "type_id": 0}}
FIRST = {"Sequence": {"id": "A", "type_id": 0}}
PUBLISHED = [  # regular expressions of published tokenizers
    r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",  # GPT-2
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)"
    r"|\s+",  # Llama 3, EuroBERT
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}"
    r"{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+",  # GPT-4o
    r"<\|startoftext\|>|<\|endoftext\|>|'s|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+",  # CLIP
    r" {2,}",  # XLM-R, ALBERT
    r"\n",
    "[\u4e00-\u9fa5]+",
]
SLOW = ["(ж+)+ё", "ж+ж+ё", "(?:ж+ж+)ё", "(a|aa)+b", "a?a?a?a?a?b", r"(a+)\1b", "a{0,99}a{0,99}a{0,9}b", "(a", "(?>a)"]


def replace(content: str, **pattern: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def template(*single: Any, ids: int = 1) -> dict[str, Any]:
    token = {"id": "[SEP]", "ids": [0] * ids, "tokens": ["[SEP]"] * ids}
    return {
        "type": "TemplateProcessing",
        "single": list(single),
        "pair": [FIRST],
        "special_tokens": {"[SEP]": token},
    }


def charsmap(longest: int) -> str:
    return base64.b64encode(struct.pack("<I", 4) + b"\0" * 4 + b"a\0" + b"b" * longest + b"\0").decode()


@pytest.mark.parametrize("pattern", PUBLISHED)
def test_regular_expressions_of_published_tokenizers_are_read(pattern: str) -> None:
    tokenizers.Regex(pattern)
    check_pattern(pattern)


@pytest.mark.parametrize("pattern", SLOW)
def test_a_regular_expression_that_may_take_for_ever_is_refused(pattern: str) -> None:
    with pytest.raises(ExplorerError, match="so it might take for ever. Choose another checkpoint"):
        check_pattern(pattern)


def test_the_letters_of_a_regular_expression_are_tried() -> None:
    assert set(letters(r"(ж+)+[а-ё]\s\p{L}")) == set("жа-ё a")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalizer": replace("a" * 100_000, String="ж")}, "The normalizer makes 100,000 characters of one"),
        ({"normalizer": {"type": "Sequence", "normalizers": [replace("aaa", String="a")] * 3}}, "makes 27 characters"),
        ({"normalizer": replace("a" * 16, Regex="")}, "The normalizer makes 17 characters of one"),
        ({"normalizer": {"type": "Prepend", "prepend": "a" * 100}}, "The normalizer makes 101"),
        ({"normalizer": {"type": "Precompiled", "precompiled_charsmap": charsmap(2000)}}, "The normalizer makes 100"),
        ({"decoder": replace("a" * 100_000, String="a")}, "The decoder makes 100,000"),
        ({"pre_tokenizer": {"type": "Split", "pattern": {"Regex": "(ж+)+ё"}}}, "might take for ever"),
        ({"post_processor": template(*[SEP] * 300_000)}, "The template puts 300,000 tokens|puts [0-9,]+ tokens"),
        ({"post_processor": template(FIRST, SEP, ids=100)}, "The template puts 100 tokens"),
        ({"post_processor": template(FIRST, FIRST)}, "The template puts"),
        ({"added_tokens": [{"content": "a"}] * 20_001}, "20,001 added tokens"),
        ({"model": {"type": "Unigram", "vocab": [["a", 0.0]] * 300_001}}, "300,001 entries"),
        ({"model": {"type": "WordPiece", "vocab": {str(i): i for i in range(520_001)}}}, "520,001 entries"),
        ({"model": {"type": "WordPiece", "vocab": {"a" * 1001: 0}}}, "A word of the vocabulary has 1,001 characters"),
        ({"model": {"type": "WordPiece", "max_input_chars_per_word": 10**9}}, "Words of 1,000,000,000 characters"),
        ({"model": {"type": "BPE", "end_of_word_suffix": "x" * 50_000}}, "end_of_word_suffix has 50,000 characters"),
    ],
)
def test_what_makes_more_of_a_text_than_any_encoder_does_is_refused(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        tokenizer_bounds.check(change)


@pytest.mark.parametrize(
    ("kind", "words"), [("Unigram", 250_002), ("BPE", 128_256), ("BPE", 262_144), ("WordPiece", 501_153)]
)
def test_large_vocabularies_of_published_encoders_pass(kind: str, words: int) -> None:
    vocabulary = {str(i): i for i in range(words)}
    listed: Any = [[word, 0.0] for word in vocabulary] if kind == "Unigram" else vocabulary
    tokenizer_bounds.check({"model": {"type": kind, "vocab": listed}, "added_tokens": [{"content": "a"}] * 256})


@pytest.mark.parametrize("recipe", ["bert", "roberta", "modernbert", "deberta", "albert", "xlm-roberta", "eurobert"])
def test_tokenizers_of_the_families_pass(tiny: Tiny, recipe: str) -> None:
    examine.open_files(str(tiny(recipe)))


def test_what_is_no_tokenizer_is_left_to_the_library() -> None:
    for parts in (3, [], {}, {"model": 5}, {"normalizer": replace("a", Other="b")}, {"post_processor": template(5)}):
        tokenizer_bounds.check(parts)


class Costly:
    """A tokenizer that makes *times* tokens of a character."""

    def __init__(self, times: int) -> None:
        self.backend = self
        self.times = times

    def encode(self, text: str) -> range:
        return range(len(text) * self.times)


def test_what_a_tokenizer_makes_of_the_longest_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    longest = "a" * MAX_CHARACTERS
    examine.check_cost(Costly(16), longest)  # type: ignore[arg-type]
    with pytest.raises(ExplorerError, match=r"for 20,000 characters .* makes 340,000 tokens; wanted 320,000 at most"):
        examine.check_cost(Costly(17), longest)  # type: ignore[arg-type]
    seconds = iter((0.0, 3.5))
    monkeypatch.setattr(examine.time, "process_time", lambda: next(seconds))
    with pytest.raises(ExplorerError, match=r"takes 3.5 s; wanted 3 at most"):
        examine.check_cost(Costly(1), longest)  # type: ignore[arg-type]


def test_a_panic_of_the_library_is_a_sentence(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    tokenizer = Tokenizer.from_folder(folder, max_tokens=64)
    tokenizer.backend.normalizer = normalizers.Replace(tokenizers.Regex("(ж+)+ё"), "b")  # type: ignore[assignment]
    with pytest.raises(ExplorerError, match="tokenizer fails at this text .* Change the text, or choose another"):
        tokenizer.encode("ж" * 40)
    with pytest.raises(ExplorerError, match="tokenizer fails at this text"):
        tokenizer.pieces("ж" * 40)
    with pytest.raises(KeyboardInterrupt), without_panic():
        raise KeyboardInterrupt

"""What a site tells its tokenizer, and what it refuses to follow."""

import base64
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tokenizers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Text, Tokenizer
from bertexplorer.site.characters import as_class, combining_classes, of_kind
from bertexplorer.site.tokens import describe
from tests.conftest import BUNDLED, ROOT
from tests.site.kinds import KINDS
from tests.site.lines import many_lines


def test_the_tokenizer_of_mini_in_full() -> None:
    words = describe(load(BUNDLED, precision="fp32").tokenizer)
    assert words["pieces"][103] == "[MASK]"
    assert [part.get("id", part.get("side")) for part in words["frame"]["pair"]] == [101, 0, 102, 1, 102]
    assert [part["segment"] for part in words["frame"]["pair"]] == [0, 0, 0, 1, 1]
    assert words["language"] == "English" and words["has_words"]
    assert words["lowercase"] and words["refuses_pairs"] == ""
    assert words["rules"]["model"]["type"] == "WordPiece" and words["rules"]["outside"] == []


def test_a_text_of_several_pieces_stands_once_in_the_frame() -> None:
    tokenizer = Tokenizer(KINDS["characters or unknown"](), max_tokens=16)
    assert tokenizer.backend.encode("a", add_special_tokens=False).tokens == ["▁", "a"]
    assert [part.get("side") for part in describe(tokenizer)["frame"]["pair"]] == [None, 0, None, 1, None]


def test_characters_are_written_as_ranges() -> None:
    assert as_class("abcx") == "\\u{61}-\\u{63}\\u{78}"
    assert "\\u{21}-\\u{2f}" in of_kind("punctuation")
    assert "\\u{300}-" in of_kind("nonspacing")
    assert "\\u{ad}" in of_kind("control") and "\\u{f0000}-\\u{ffffd}" in of_kind("control")
    assert "\\u{a0}" in of_kind("space") and "\\u{a0}" in of_kind("s")
    assert combining_classes()[240] == "\\u{345}"
    assert "\\u{200d}" in of_kind("extend") and "\\u{a}" not in of_kind("extend")


def changed(name: str, change: Callable[[dict[str, Any]], None]) -> Tokenizer:
    """The tokenizer of a kind, with a *change* of its tokenizer.json."""
    whole = json.loads(KINDS[name]().to_str())
    change(whole)
    return Tokenizer(tokenizers.Tokenizer.from_str(json.dumps(whole)), max_tokens=16)


def with_part(**parts: Any) -> Callable[[dict[str, Any]], None]:
    return lambda whole: whole.update(parts)


def with_model(**parts: Any) -> Callable[[dict[str, Any]], None]:
    return lambda whole: whole["model"].update(parts)


def with_added(**parts: Any) -> Callable[[dict[str, Any]], None]:
    return lambda whole: whole["added_tokens"][-1].update(parts)


def with_pattern(pattern: str) -> Callable[[dict[str, Any]], None]:
    split = {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
    return with_part(pre_tokenizer=split)


def without_bytes(whole: dict[str, Any]) -> None:
    whole["model"] |= {"vocab": {"a": 0, "[CLS]": 2, "[SEP]": 3, "[UNK]": 1, "[PAD]": 4, "[MASK]": 5}, "merges": []}


def with_a_broken_table(whole: dict[str, Any]) -> None:
    """Units that point far behind its end."""
    table = bytearray(base64.b64decode(whole["normalizer"]["precompiled_charsmap"]))
    for unit in range(4, 4 + int.from_bytes(table[:4], "little"), 4):
        if unit > 4 and table[unit] == 0xCC:  # of the combining marks
            table[unit + 3] ^= 0x15
    whole["normalizer"]["precompiled_charsmap"] = base64.b64encode(table).decode()


STRIP = {"type": "Strip", "strip_left": True, "strip_right": True}
UNFOLLOWED = {
    "the normalizer Nmt": ("Unigram of XLM-R", with_part(normalizer={"type": "Nmt"})),
    "the pre-tokenizer UnicodeScripts": ("Unigram of XLM-R", with_part(pre_tokenizer={"type": "UnicodeScripts"})),
    "the decoder CTC": (
        "bytes of RoBERTa",
        with_part(decoder={"type": "CTC", "pad_token": "a", "word_delimiter_token": "|", "cleanup": True}),
    ),
    "the added token '<mask>', which must stand as a word": ("Unigram of XLM-R", with_added(single_word=True)),
    "of which the normalizer leaves nothing": (
        "bytes of ModernBERT",
        with_part(normalizer={"type": "Strip", "strip_left": True, "strip_right": True}),
    ),
    "a normalizer that fails at some characters": ("Unigram of XLM-R", with_a_broken_table),
    "byte-pair encoding with dropout": ("bytes of RoBERTa", with_model(dropout=0.1)),
    "byte-pair encoding with end_of_word_suffix": ("bytes of RoBERTa", with_model(end_of_word_suffix="</w>")),
    "no piece for some characters": ("bytes of ModernBERT", without_bytes),
    "no piece for what is not in the vocabulary": ("Unigram of XLM-R", with_model(unk_id=None)),
    "what repeats has parts that repeat": ("bytes of Llama", with_pattern("(a+)+b")),
    "it matches nothing at all": ("bytes of Llama", with_pattern("a*")),
    "it has 3,000 characters": ("bytes of Llama", with_pattern("a" * 3000)),
    "groups lie in each other": ("bytes of Llama", with_pattern("(" * 300 + "a" + ")" * 300)),
    "a part repeats more than": ("bytes of Llama", with_pattern("a{5000}")),
    "parts of it ignore case": ("bytes of Llama", with_pattern("(?i:ss)")),
    "a repetition follows a repetition": ("bytes of Llama", with_pattern("a?+b")),
    "'?<!a)b' at character 1": ("bytes of Llama", with_pattern("(?<!a)b")),
    "'^a' at character 0": ("bytes of Llama", with_pattern("^a")),
    "'[a-z]]' inside of brackets": ("bytes of Llama", with_pattern("[b[a-z]]")),
}


@pytest.mark.parametrize("said", UNFOLLOWED)
def test_what_a_site_does_not_follow_is_refused_by_its_name(said: str) -> None:
    name, change = UNFOLLOWED[said]
    with pytest.raises(ExplorerError) as caught:
        describe(changed(name, change))
    assert said in str(caught.value)
    assert "which a site does not follow" in str(caught.value) and "Choose another checkpoint" in str(caught.value)


@pytest.mark.slow
@pytest.mark.parametrize("name", KINDS)
def test_many_lines_are_cut_as_the_library_cuts_them(name: str, tmp_path: Path) -> None:
    """The script reads them in node: ids, characters and words are the same for each line."""
    node = shutil.which("node")
    if not node:
        pytest.skip("needs node")
    tokenizer = Tokenizer(KINDS[name](), max_tokens=100_000)
    (tmp_path / "about.json").write_text(json.dumps(describe(tokenizer)), "utf-8")
    with (tmp_path / "lines.jsonl").open("w", encoding="utf-8") as file:
        for line in many_lines(3_000):
            try:
                found = tokenizer.encode_anew(Text(line))
            except ExplorerError:
                continue
            spans = [span and [span.start, span.end] for span in found.spans]
            file.write(json.dumps([line, [found.original_ids, spans, found.words]]) + "\n")
    command = [node, ROOT / "tests" / "scripts" / "same_tokens.js", tmp_path]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    lines, different, first = json.loads(said)
    assert lines > 2_500 and different == 0, first

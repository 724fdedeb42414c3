"""Any input quickly gives a result, or an ExplorerError that explains the problem."""

import json
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from bertexplorer.analysis import contrast, export, fill_mask, template
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from tests.filling import FILLING

NOTHING = {
    "empty": "",
    "spaces": "  \t\n ",
    "zero-width": "\u200b\ufeff\u2060",
    "control": "\x00\x01\x7f",
    "lone": "\ud800",
}
ODD = {  # with a mask in it: these are answered
    "NUL": "The \x00cat [MASK] here.",
    "lone surrogates": "The \ud800\udfff cat [MASK] here.",
    "BOM": "\ufeffThe cat [MASK] here.",
    "RTL": "\u202eالقطة [MASK] هنا\u202c.",
    "emoji": "👩‍🔬 loves 🤖 and [MASK] 🏳️‍🌈.",
    "script": "<script>alert(1)</script> [MASK] <img src=x onerror=1>",
    "markup": "$$\\rule{9999em}{9999em}$$ {{7*7}} ${7*7} **[MASK]** `x` %s %(x)s",
    "CJK": "巴黎是法国的[MASK]。",
    "combining": "e" + "\u0301" * 300 + " [MASK]",
    "special": "[CLS] [SEP] [PAD] [UNK] [MASK] [SEP] x",
    "punctuation": "!!! [MASK] ???",
    "other spellings": "The <mask> is ___ and [mask].",
    "a single mask": "[MASK]",
    "many": "[MASK] " * 15,
    "long": "word " * 700 + "[MASK] " + "word " * 700,
    "mask within the limit": "[MASK] " + "word " * 2000,
}


def name_of(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def options(module: ModuleType, **more: Any) -> Any:
    return module.Options(**({"other": "A [MASK] here."} if module is contrast else {}), **more)


def fitted(module: ModuleType, text: str) -> str:
    return text + " {a|b}" if module is template and text.strip() else text


def ask(module: ModuleType, checkpoint: Checkpoint, text: Text | str) -> list[dict[str, object]]:
    return module.rows(module.run(checkpoint, text, options=options(module)))


@pytest.mark.parametrize("module", FILLING, ids=name_of)
@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING)
def test_a_text_without_words_is_rejected(module: ModuleType, text: str, small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="Type a sentence|no alternatives"):
        ask(module, small, text)


@pytest.mark.parametrize("module", FILLING, ids=name_of)
@pytest.mark.parametrize("text", ODD.values(), ids=ODD)
def test_odd_text_is_answered_or_explained(module: ModuleType, text: str, small: Checkpoint) -> None:
    text = fitted(module, text)
    try:
        rows = ask(module, small, text)
    except ExplorerError as error:
        message = str(error)
        assert len(message) < 400 and message.endswith("."), message
        assert "[MASK]" in text and any(
            w in message for w in ("within the tokens", "masks; the limit is", "has only masks")
        ), message
    else:
        assert rows
        question = Text(text)
        export.as_csv(rows)
        json.loads(export.as_json(module, small, question, options(module), rows))
        compile(export.as_python(module, small, question, options(module)), "receipt", "exec")


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_a_million_characters_are_rejected_immediately(module: ModuleType, small: Checkpoint) -> None:
    started = time.perf_counter()
    with pytest.raises(ExplorerError, match=r"1,0\d\d,\d+ characters.*20,000"):
        ask(module, small, Text(fitted(module, "a [MASK] " + "x" * 1_000_000)))
    assert time.perf_counter() - started < 1


@pytest.mark.parametrize("module", [m for m in FILLING if name_of(m) != "pseudo_likelihood"], ids=name_of)
def test_a_text_without_a_mask_is_rejected(module: ModuleType, small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=r"Nothing is hidden.*\[MASK\].*click"):
        ask(module, small, fitted(module, "The cat is here."))


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_a_checkpoint_without_a_fill_mask_head_is_rejected(module: ModuleType, tiny: Callable[[str], Path]) -> None:
    checkpoint = load(tiny("electra-discriminator"), precision="fp32", device="cpu")
    for text in (fitted(module, "a [MASK] b"), ""):
        with pytest.raises(ExplorerError, match=r"no fill-mask head \(it has replaced-token\).*random"):
            ask(module, checkpoint, text)


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_pairs_and_hidden_spans_outside_the_text_are_answered(module: ModuleType, small: Checkpoint) -> None:
    spans = (Span(0, 900, 990), Span(1, 0, 3), Span(0, 2, 2))
    assert ask(module, small, Text(fitted(module, "The [MASK] is here."), "The cat.", spans))


@pytest.mark.parametrize("module", [fill_mask, template], ids=name_of)
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (", ".join(f"w{i}" for i in range(51)), "51 words.*50"),
        ("a" * 1_000_000, "1,000,000 characters"),
        ("[MASK]", "not a word"),
        ("cat, \u200b", "not a word"),
        ("🤖", "vocabulary"),
        ("1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1", "21 pieces.*20"),
    ],
)
def test_unusable_words_are_rejected_quickly(module: ModuleType, words: str, message: str, small: Checkpoint) -> None:
    started = time.perf_counter()
    with pytest.raises(ExplorerError, match=message) as caught:
        module.run(small, fitted(module, "a [MASK] b"), options=options(module, words=words))
    assert time.perf_counter() - started < 1 and len(str(caught.value)) < 400


@pytest.mark.parametrize("words", ["", " , ,, ", "cat,,cat,  cat ", "\ud800cat"])
def test_requested_words_are_tidied(words: str, small: Checkpoint) -> None:
    (blank,) = fill_mask.run(small, "a [MASK] b", options=fill_mask.Options(words=words)).blanks
    assert len(blank.words) == ("cat" in words)


def test_a_word_that_makes_the_text_too_long_is_rejected(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="tokens long; shorten"):
        fill_mask.run(small, "a " * 61 + "[MASK]", options=fill_mask.Options(words="dogs"))


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_every_family_answers(module: ModuleType, tiny: Callable[[str], Path]) -> None:
    for family in ("roberta", "xlm-roberta", "electra-generator", "distilbert", "modernbert"):
        checkpoint = load(tiny(family), precision="fp32", device="cpu")
        assert ask(module, checkpoint, Text(fitted(module, "The ___ is <mask> here."), "It is so."))

"""Every view, whatever text it gets and whatever the family: a result that can be drawn, said and exported, or an
ExplorerError that explains the problem."""

import csv
import io
import json
import re
import time
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import Figure
from bertexplorer.core import export
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.options import option_specs
from bertexplorer.views import VIEWS
from bertexplorer.views.attention import compute as attention
from bertexplorer.views.attention_flow import compute as attention_flow
from bertexplorer.views.bertviz import compute as bertviz
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.head_roles import compute as head_roles
from bertexplorer.views.query_key import compute as query_key
from bertexplorer.views.template import compute as template
from bertexplorer.views.view import View
from tests.conftest import Tiny
from tests.eager import FAMILIES
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
QUICK = ("bert", "roberta", "deberta", "modernbert")  # one for each kind of position
READING = [view for view in VIEWS.values() if view.text]
PAIRED = ("next-sentence", "sentence-similarity", "late-interaction")
SETTINGS: dict[str, dict[str, Any]] = {  # what a view needs, or what makes it quick
    "contrast": {"other": "A [MASK] here."},
    "counterfactuals": {"candidates": 3, "edits": 1},
    "head-roles": {"on": "this text"},
    "referee": {"orders": 3, "points": 4},
    "saliency": {"method": "all", "steps": 4, "samples": 50},
}
REFUSED = {  # view -> odd texts that it cannot answer, and why
    "pseudo-likelihood": (("CJK", "a single mask", "many"), "The text has only masks or characters outside"),
    "masking": (("CJK", "a single mask", "many"), "There is no token that could be masked"),
    "referee": (("combining", "a single mask", "many"), "so there is no order to test"),
    "counterfactuals": (
        ("RTL", "emoji", "combining", "punctuation", "other spellings", "a single mask", "many"),
        "no word to replace|only function words|cut into several pieces",
    ),
}
BEYOND = "Nothing is hidden"  # in "long", whose mask is not read
ASKING = ("fill-mask", "decoding", "contrast", "left-context", "template", "layers", "switchboard", "saliency")


def name_of(module: ModuleType) -> str:
    return module.__name__.split(".")[-2]  # of its folder


def fitted(view: View, text: str) -> Text:
    """*text* as *view* wants it: with alternatives, as two sentences, or as a pair."""
    if view.name == "template":
        text = f"{text} {{a|b}}"
    if view.name in ("sentence_matrix", "sentence_pairs"):
        text = f"{text}\nIt is so."
    if view.name == "word_in_context" and len(text) < 9000:
        text = f"{text} {text}"
    return Text(text, f"A {text}" if view.slug in PAIRED else "")


def ask(view: View, checkpoint: Checkpoint, text: Text, **more: Any) -> list[dict[str, object]]:
    """The rows of *view*, after they were exported, and drawn and said without markup."""
    analysis, options = view.analysis, view.analysis.Options(**{**SETTINGS.get(view.slug, {}), **more})
    result = view.run(checkpoint, text, options)
    rows = analysis.rows(result)
    assert rows and len({tuple(row) for row in rows}) == 1, "all rows have the same columns"
    if hasattr(analysis, "KEYS"):
        assert {*analysis.KEYS, analysis.MEASURE} <= set(rows[0])
    table = list(csv.reader(io.StringIO(as_csv(rows[:50]), newline="")))
    assert table[0] == [*rows[0]] and len(table) == len(rows[:50]) + 1
    whole = json.loads(export.as_json(view, checkpoint, text, options, rows[:50]), parse_constant=pytest.fail)
    assert whole["analysis"] == view.name and len(whole["rows"]) == len(rows[:50])
    compile(export.as_python(view, checkpoint, text, options), "receipt", "exec")
    drawn = view.figure.draw(result)
    if isinstance(drawn, Figure):
        json.loads(drawn.to_json(), parse_constant=pytest.fail)
        drawn = chart(drawn)
    shown = drawn if isinstance(drawn, str) else drawn.to_json()
    json.dumps([view.figure.say(result)]).encode()
    assert "<img" not in shown and "<script>alert" not in shown
    return rows


@pytest.fixture(scope="module")
def reader(tiny: Tiny) -> Callable[[View], Checkpoint]:
    """A tiny checkpoint with the head that a view needs."""
    plain, tuned = (
        load(tiny(name), precision="fp32", device="cpu") for name in ("bert", "bert-SequenceClassification")
    )
    return lambda view: tuned if view.tuned else plain


@pytest.mark.parametrize("view", READING, ids=lambda view: view.slug)
def test_a_text_without_words_is_rejected(view: View, reader: Callable[[View], Checkpoint]) -> None:
    for text in NOTHING.values():
        with pytest.raises(ExplorerError, match="Type a sentence|no alternatives"):
            ask(view, reader(view), Text(text, "It is." if view.slug in PAIRED else ""))


@pytest.mark.parametrize("view", READING, ids=lambda view: view.slug)
def test_odd_text_is_answered_or_explained(view: View, reader: Callable[[View], Checkpoint]) -> None:
    refused, why = REFUSED.get(view.slug, ((), ""))
    spans = (Span(0, 900, 990), Span(1, 0, 3), Span(0, 2, 2))  # outside the text
    for name, text in ODD.items():
        if name in refused or (name == "long" and view.slug in (*ASKING, "referee", "counterfactuals")):
            with pytest.raises(ExplorerError, match=BEYOND if name == "long" else why) as caught:
                ask(view, reader(view), fitted(view, text))
            assert len(str(caught.value)) < 400 and str(caught.value).endswith("."), name
        else:
            assert ask(view, reader(view), fitted(view, text)), name
    plain = fitted(view, "The [MASK] cat is here.")
    assert ask(view, reader(view), Text(plain.first, plain.second or "The cat.", spans, spans))


@pytest.mark.parametrize("view", READING, ids=lambda view: view.slug)
def test_a_million_characters_are_rejected_immediately(view: View, reader: Callable[[View], Checkpoint]) -> None:
    started = time.thread_time()
    with pytest.raises(ExplorerError, match=r"[12],0\d\d,\d+ characters.*20,000"):
        ask(view, reader(view), fitted(view, "a [MASK] " + "x" * 1_000_000))
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("view", [view for view in READING if not view.tuned], ids=lambda view: view.slug)
def test_every_family_answers_or_lacks_a_head(view: View, tiny: Tiny) -> None:
    for family in (*QUICK, "albert", "mpnet", "electra-discriminator"):  # each kind of weights, and no fill-mask head
        checkpoint = load(tiny(family), precision="fp32", device="cpu")
        text = fitted(view, "The ___ bank is <mask> here, the bank.")
        try:
            assert ask(view, checkpoint, Text(text.first, text.second or "It is so."))
        except ExplorerError as error:
            few_words = "is cut into several pieces" if view.name == "counterfactuals" else "head"
            assert re.search(f"has no (fill-mask|next-sentence) head|{few_words}", str(error)), (family, error)


@pytest.mark.parametrize("module", [m for m in FILLING if name_of(m) != "pseudo_likelihood"], ids=name_of)
def test_a_text_without_a_mask_is_rejected(module: ModuleType, small: Checkpoint) -> None:
    view = VIEWS[name_of(module).replace("_", "-")]
    with pytest.raises(ExplorerError, match=r"Nothing is hidden.*\[MASK\].*click"):
        ask(view, small, fitted(view, "The cat is here."))


@pytest.mark.parametrize("module", FILLING, ids=name_of)
def test_a_checkpoint_without_a_fill_mask_head_is_rejected(module: ModuleType, tiny: Tiny) -> None:
    checkpoint = load(tiny("electra-discriminator"), precision="fp32", device="cpu")
    view = VIEWS[name_of(module).replace("_", "-")]
    for text in (fitted(view, "a [MASK] b"), Text("")):
        with pytest.raises(ExplorerError, match=r"no fill-mask head \(it has replaced-token\).*random"):
            ask(view, checkpoint, text)


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
    started = time.thread_time()
    with pytest.raises(ExplorerError, match=message) as caught:
        module.run(small, "a [MASK] b {a|b}", options=module.Options(words=words))
    assert time.thread_time() - started < 1 and len(str(caught.value)) < 400


@pytest.mark.parametrize("words", ["", " , ,, ", "cat,,cat,  cat ", "\ud800cat"])
def test_requested_words_are_tidied(words: str, small: Checkpoint) -> None:
    (blank,) = fill_mask.run(small, "a [MASK] b", options=fill_mask.Options(words=words)).blanks
    assert len(blank.words) == ("cat" in words)


def test_a_word_that_makes_the_text_too_long_is_rejected(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="tokens long; shorten"):
        fill_mask.run(small, "a " * 61 + "[MASK]", options=fill_mask.Options(words="dogs"))


@pytest.mark.parametrize(
    ("family", "module"),
    [
        pytest.param(
            family, module, id=f"{family}-{name_of(module)}", marks=() if family in QUICK else pytest.mark.slow
        )
        for family in (*FAMILIES, "camembert", "bert-classifier")
        for module in (attention, query_key, attention_flow, head_roles, bertviz)
        if family in QUICK or module is not head_roles  # which takes longest, and reads the same attention
    ],
)
def test_every_setting_of_attention_works_in_every_family(family: str, module: ModuleType, tiny: Tiny) -> None:
    checkpoint, view = load(tiny(family), precision="fp32", device="cpu"), VIEWS[name_of(module).replace("_", "-")]
    text = Text("The doctor was unbelievably good.", "It is <mask>.", picked=(Span(0, 4, 10),))
    columns = {
        tuple(ask(view, checkpoint, text, **{setting.name: choice})[0])
        for setting in option_specs(module.Options)
        for choice in setting.choices or ((True,) if setting.kind is bool else (setting.default,))
    }
    assert len(columns) == 1

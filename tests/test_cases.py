"""Tables of cases that Python and the scripts both answer: tests/scripts/*.test.js read the same files.

python -m tests.test_cases     write what is computed here: tokens.json, tokenizers.json, strips.json, and the keys of
                               grading.json
"""

import json
import re
import tempfile
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from urllib.parse import parse_qsl

import numpy as np
import pytest
import torch

from bertexplorer.answers.heads import name_heads, one_or_all, parse_heads
from bertexplorer.answers.texts import parse_candidates
from bertexplorer.answers.word_occurrences import parse_sentences
from bertexplorer.charts import style
from bertexplorer.core.state import State, from_link, read_spans, shift_spans, to_link, write_spans
from bertexplorer.core.strip import draw as draw_strip
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.answer_keys import answer_key, click_key
from bertexplorer.learn.grading import Grade, grade
from bertexplorer.learn.lesson import Block, read_lesson
from bertexplorer.learn.numbers import readings
from bertexplorer.learn.prose import inline
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.sentence_encoder import SIMILARITIES, Dense, Normalize, SentenceEncoder, Truncate, VectorStep
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
from bertexplorer.options import Option, OptionSpec
from bertexplorer.site.finds import find_key
from bertexplorer.site.offer import Offer
from bertexplorer.site.tokens import describe
from bertexplorer.views.next_sentence import show as next_sentence
from bertexplorer.views.template import compute as template
from bertexplorer.wording import counted
from tests import tiny as recipes
from tests.conftest import Tiny
from tests.learn.test_lesson import HEAD
from tests.site.kinds import KINDS

FOLDER = Path(__file__).parent / "cases"


def table(name: str) -> Any:
    return json.loads((FOLDER / f"{name}.json").read_text("utf-8"))


# Numbers, words and statistics


@pytest.mark.parametrize("case", table("numbers"), ids=lambda case: f"{case['typed']} for {case['key']}")
def test_a_typed_number(case: dict[str, Any]) -> None:
    prompt = "How much, in %?" if case["percent"] else "How much?"
    try:
        read = min(readings(case["typed"], prompt), key=lambda reading: abs(reading - case["key"]))
    except ExplorerError:
        assert case["read"] is None
    else:
        assert read == pytest.approx(case["read"])


def cases_of(name: str) -> list[Any]:
    return [
        pytest.param(function, *case, id=f"{function} {case[0]}")
        for function, rows in table(name).items()
        for case in rows
    ]


WRITERS: dict[str, Callable[..., Any]] = {
    "counted": counted,
    "ordinal": next_sentence.ordinal,
    "of_two": lambda p: list(style.of_two(p)),
}


@pytest.mark.parametrize(("function", "given", "text"), cases_of("wording"))
def test_numbers_and_names_in_sentences(function: str, given: list[Any], text: Any) -> None:
    write: Callable[..., Any] = WRITERS.get(function) or getattr(style, function)
    assert write(*given) == text


# What a person types


def refused(case: dict[str, Any]) -> Any:
    """Whether what is done with *case* is refused, with its words."""
    return pytest.raises(ExplorerError, match=f"^{re.escape(case['refused'])}$") if "refused" in case else nullcontext()


def typed(case: dict[str, Any]) -> str:
    return str(case["typed"] * case.get("times", 1))


HEADS = table("typed")["heads"]
SIZES = HEADS["layers"], HEADS["heads"]


@pytest.mark.parametrize("case", HEADS["typed"], ids=lambda case: case["typed"])
def test_heads(case: dict[str, Any]) -> None:
    with refused(case):
        assert [str(head) for head in parse_heads(typed(case), *SIZES)] == [f"{i}·{j}" for i, j in case["heads"]]


@pytest.mark.parametrize("case", HEADS["named"], ids=lambda case: f"{case['layer']} {case['head']}")
def test_the_name_of_heads(case: dict[str, Any]) -> None:
    with refused(case):
        assert name_heads(one_or_all(case["layer"], case["head"], *SIZES), *SIZES) == case["name"]


@pytest.mark.parametrize("case", table("typed")["texts"], ids=lambda case: case["typed"])
def test_other_texts(case: dict[str, Any]) -> None:
    with refused(case):
        assert parse_candidates(typed(case)) == case["texts"]


@pytest.mark.parametrize("case", table("typed")["checked"], ids=lambda case: f"{case['setting']} {case['given']!r}")
def test_a_setting(case: dict[str, Any]) -> None:
    about = table("typed")["settings"][case["setting"]]
    option = Option(about["label"], about["low"], about["high"])
    kind = {"int": int, "float": float, "bool": bool, "str": str}[about["kind"]]
    setting = OptionSpec(case["setting"], kind, None, option, tuple(about["choices"]))
    with refused(case):
        found = setting.check(case["given"])
        assert (found, type(found)) == (case["value"], kind)


@pytest.mark.parametrize(("value", "cell"), table("csv"), ids=repr)
def test_a_cell_of_a_csv_file(value: Any, cell: str) -> None:
    assert as_csv([{"a": value, "b": 1}]) == f"a,b\r\n{cell},1\r\n"


# Texts with labels and alternatives

TYPED = table("typed_texts")


@pytest.mark.parametrize(("typed", "wanted"), TYPED["sentences"])
def test_sentences_with_labels(typed: str, wanted: list[list[str]]) -> None:
    assert [list(each) for each in parse_sentences(typed)] == wanted


@pytest.mark.parametrize(("typed", "hidden", "wanted"), TYPED["templates"])
def test_the_first_filling_of_a_template(typed: str, hidden: list[list[int]], wanted: str) -> None:
    tokenizer = SimpleNamespace(prepare=lambda text: (text, ()), mask_token="[MASK]")
    checkpoint: Any = SimpleNamespace(tokenizer=tokenizer)
    text = Text(typed, hidden=tuple(Span(0, *place) for place in hidden))
    assert template.first(checkpoint, text).first == wanted


# The vector of a text


def made(step: dict[str, Any]) -> VectorStep:
    """A step of a case, with its weights."""
    if step["kind"] == "normalize":
        return Normalize()
    if step["kind"] == "truncate":
        return Truncate(step["size"])
    weight, bias = torch.tensor(step["weight"]).float(), step["bias"]
    linear = torch.nn.Linear(weight.shape[1], len(weight), bias=bias is not None)
    with torch.no_grad():
        linear.weight.copy_(weight)
        if bias is not None:
            linear.bias.copy_(torch.tensor(bias))
    return Dense(linear, step["activation"])


VECTORS = table("sentence_encoders")


@pytest.mark.parametrize("case", VECTORS["vectors"], ids=lambda case: "-".join(case["modes"]))
def test_a_vector_of_a_text(case: dict[str, Any]) -> None:
    encoder = SentenceEncoder(tuple(case["modes"]), tuple(map(made, case.get("steps", ()))))
    tokens, unpooled = torch.tensor(case["tokens"]).float(), case.get("unpooled", 0)
    found = encoder.transform(encoder.pool(tokens, unpooled)[None])[0]
    assert found.tolist() == pytest.approx(case["vector"], abs=1e-6)
    if encoder.is_sum:
        assert encoder.parts(tokens, unpooled).sum(0).tolist() == pytest.approx(case["vector"], abs=1e-6)


@pytest.mark.parametrize(("measure", "first", "second", "value"), VECTORS["similarities"])
def test_a_similarity(measure: str, first: list[float], second: list[float], value: float) -> None:
    found = SIMILARITIES[measure](torch.tensor([first]).float(), torch.tensor([second]).float())
    assert found.tolist() == pytest.approx([value])


@pytest.mark.parametrize(("known", "usual", "name", "before"), VECTORS["prompts"])
def test_a_prompt(known: dict[str, str], usual: str, name: str | None, before: str) -> None:
    encoder = SentenceEncoder(prompts=known, default_prompt=usual)
    if before.startswith("files"):
        with pytest.raises(ExplorerError, match=before):
            encoder.prompt(name)
    else:
        assert encoder.prompt(name) == before


STATISTICS: dict[str, Callable[..., Any]] = {
    "sum": np.sum,
    "mean": np.mean,
    "median": np.median,
    "percentile": np.quantile,
    "argmax": np.argmax,
    "most": np.max,
    "least": np.min,
    "topk": lambda values, count: np.argsort(-np.array(values), kind="stable")[:count],
    "rank_of": lambda values, index: 1 + np.sum(np.array(values) > values[index]),
    "entropy_bits": lambda logs: -np.sum(np.exp(logs) * np.array(logs)) / np.log(2),
    "dot": np.dot,
    "cosine": lambda a, b: np.dot(a, b) / np.linalg.norm(a) / np.linalg.norm(b),
    "mean_row": lambda rows, weights=None: np.average(rows, axis=0, weights=weights),
    "sigmoid": lambda x: np.exp(-np.logaddexp(0, -x)),
}


@pytest.mark.parametrize(("function", "given", "value"), cases_of("statistics"))
def test_statistics(function: str, given: list[Any], value: Any) -> None:
    assert STATISTICS[function](*given) == pytest.approx(value)


# Spans and links


def spans_of(rows: list[list[int]]) -> tuple[Span, ...]:
    return tuple(Span(*row) for row in rows)


@pytest.mark.parametrize("case", table("spans")["read"], ids=lambda case: case["written"] or "nothing")
def test_spans_are_read(case: dict[str, Any]) -> None:
    spans = read_spans(case["written"])
    assert spans == spans_of(case["spans"])
    assert read_spans(write_spans(spans)) == spans


@pytest.mark.parametrize("case", table("spans")["shift"], ids=lambda case: case["name"])
def test_spans_shift(case: dict[str, Any]) -> None:
    assert shift_spans(spans_of(case["spans"]), case["side"], case["old"], case["new"]) == spans_of(case["shifted"])


def state_of(fields: Mapping[str, Any]) -> State:
    spans = {name: read_spans(fields.get(name, "")) for name in ("hidden", "picked")}
    return State(**{**fields, **spans})


@pytest.mark.parametrize("case", table("links")["written"], ids=lambda case: json.dumps(case["query"][1:]))
def test_a_state_as_a_link(case: dict[str, Any]) -> None:
    state = state_of(case["state"])
    link = to_link(state, table("links")["views"][state.view])
    assert parse_qsl(link.removeprefix("?"), keep_blank_values=True) == [tuple(pair) for pair in case["query"]]


@pytest.mark.parametrize("case", table("links")["read"], ids=lambda case: json.dumps(case["query"]))
def test_a_link_as_a_state(case: dict[str, Any]) -> None:
    state = from_link(dict(case["query"]), State("opening", view="fill-mask"), table("links")["views"])
    wanted = state_of(case["state"])
    for name in case["state"]:
        assert getattr(state, name) == getattr(wanted, name)


# Tokens

TEXTS: tuple[Text, ...] = (
    Text("The capital of France is [MASK]."),
    Text("the capital of france", "Paris is a city!"),
    Text("Unbelievable   films\tand\nmats", hidden=(Span(0, 0, 3),)),
    Text("the cat sat", "the dog", hidden=(Span(0, 4, 7), Span(1, 4, 7)), picked=(Span(0, 0, 3), Span(2, 0, 1))),
    Text("ÉTÉ café 日本 a日b", picked=(Span(0, 9, 11),)),
    Text("a\u200bb\x00c \ufeff___ and <mask> or [mask]"),
    Text("[CLS] he said [SEP] it"),
    Text("🙂 the 👩‍👩‍👧 cat ﬁn İs", hidden=(Span(0, 0, 1),)),
    Text('it\'s (un-believable): "x" -- 1,000/2'),
    Text("word " * 80),
    Text("the cat " * 20, "a dog " * 30),
    Text("the", "a dog " * 60),
    Text("x" * 101 + " cat"),
    Text("שלום עולם und schöne Grüße", ""),
    Text("   ", "second alone"),
    Text("\u0300\u0301 .", "\u00ad"),
    Text(""),
)


def as_json(encoding: Encoding) -> dict[str, Any]:
    """*encoding* by the names that it has in tokens.js."""
    return {
        "tokens": encoding.tokens,
        "originalIds": encoding.original_ids,
        "ids": encoding.ids,
        "segments": encoding.segments,
        "spans": [span and span._asdict() for span in encoding.spans],
        "words": encoding.words,
        "special": encoding.special,
        "picked": encoding.picked,
        "masked": encoding.masked,
        "cut": encoding.cut,
        "leftOut": encoding.left_out,
        "secondStart": -1 if encoding.second_start is None else encoding.second_start,
        "notes": encoding.notes,
    }


def text_json(text: Text) -> dict[str, Any]:
    """*text* as the scripts have it."""
    typed = {"first": text.first, "second": text.second}
    return typed | {name: [span._asdict() for span in getattr(text, name)] for name in ("hidden", "picked")}


def tokens_table(tokenizer: Tokenizer) -> dict[str, Any]:
    found = {"vocabulary": describe(tokenizer), "cases": [case(tokenizer, text) for text in TEXTS]}
    return json.loads(json.dumps(found))


def case(tokenizer: Tokenizer, text: Text) -> dict[str, Any]:
    typed = {"first": text.first, "second": text.second}
    marked = {name: [span._asdict() for span in getattr(text, name)] for name in ("hidden", "picked")}
    try:
        answer: dict[str, Any] = {"encoding": as_json(tokenizer.encode(text))}
    except ExplorerError as error:
        answer = {"refused": str(error)}
    return {"text": typed | marked, **answer}


SCRIPTS = (
    "The capital of France is <mask>.",
    "the [MASK]  said:\tit's GREAT\n\n  (“good” – bad!?)",
    " leading, trailing ",
    "caf\u00e9 cafe\u0301 e\u0301\u0323 e\u0323\u0301 \u00c5ngstr\u00f6m \u212b \u0301x",
    "ﬁne ½ … ® ㍿ ｶﾞ ™\u0301 é\u0301 ²",
    "日本語のテキスト。 中文 한국어 한국어 \u1112\u1161\u11ab\u0301",
    "हिन्दी में एक वाक्य। ภาษาไทย العَرَبِيَّة עִבְרִית Ελλάς ΣΑΣ",
    "🙂👩‍👩‍👧🇩🇪 ☺️ 1️⃣ ©\u200d© 👍🏽",
    "12,345.67 ३४५ don't I'LL they're 'ſ we've",
    "a▁b ▁▁ ĠĠa <0x41> ##s   the    |||ÉMAIL|||  the",
    "İstanbul ẞ ŉ\u00a0x\u3000y\u2009z\u00ad\u0085w \ua7d2 \U00010940",
)


def tokenizers_table() -> dict[str, Any]:
    """Each kind of tokenizer with what it makes of texts in many scripts. They share their classes of characters."""
    found: dict[str, Any] = {"classes": {}, "tokenizers": {}}
    for name, make in KINDS.items():
        tokenizer = Tokenizer(make(), max_tokens=96)
        about = describe(tokenizer)
        found["classes"] |= about["rules"].pop("classes")
        encodings = [tokenizer.encode(Text(first, hidden=(Span(0, 4, 6),))) for first in SCRIPTS]
        spaced, bare = tokenizer.pieces("the"), tokenizer.pieces("the", spaced=False)
        found["tokenizers"][name] = {
            "about": about,
            "pieces": tokenizer.all_pieces,  # as people read them
            "the": [spaced, bare],
            "joined": tokenizer.join(range(5, 40)),
            "texts": [[text, *rows_of(encoding)] for text, encoding in zip(SCRIPTS, encodings, strict=True)],
            "pair": rows_of(tokenizer.encode(Text(SCRIPTS[0], SCRIPTS[1]))),
            "chips": [chips_of(tokenizer, encoding) for encoding in encodings[:4]],
        }
    return json.loads(json.dumps(found))


def chips_of(tokenizer: Tokenizer, encoding: Encoding) -> list[list[str]]:
    """The labels and titles of a text's chips, for which a checkpoint's tokenizer is enough."""
    checkpoint = cast(Checkpoint, SimpleNamespace(tokenizer=tokenizer))
    return [[chip["label"], chip["title"]] for chip in draw_strip(checkpoint, encoding)["chips"]]


def rows_of(encoding: Encoding) -> list[Any]:
    """Ids before and after hiding, spans, words, segments."""
    spans = [span and list(span) for span in encoding.spans]
    return [encoding.original_ids, encoding.ids, spans, encoding.words, encoding.segments]


def test_texts_as_tokens_of_every_kind() -> None:
    assert tokenizers_table() == table("tokenizers")


def test_texts_as_tokens(tiny: Tiny) -> None:
    assert tokens_table(load(tiny("bert"), precision="fp32").tokenizer) == table("tokens")


STRIPS = (  # of the texts above: with a word to hide or to pick, and shades of tokens
    (TEXTS[2], "hide", {1: 0.5, 2: -0.25}),
    (TEXTS[3], "pick", {1: 0.12345, 3: 1.0}),
    (TEXTS[3], "hide", {}),
    (TEXTS[5], "hide", {}),
    (TEXTS[9], "", {}),
)


def strips_table(checkpoint: Checkpoint) -> list[dict[str, Any]]:
    cases = []
    for text, press, colours in STRIPS:
        strip = draw_strip(checkpoint, checkpoint.tokenizer.encode(text), colours, press=press)
        cases.append({"text": text_json(text), "press": press, "colours": colours, "strip": strip})
    return json.loads(json.dumps(cases))


def test_tokens_as_chips(tiny: Tiny) -> None:
    assert strips_table(load(tiny("bert"), precision="fp32")) == table("strips")


# Grading


def block_of(case: dict[str, Any]) -> Block:
    lesson = read_lesson(f"{HEAD}```{case['lesson']}\n```", "x")
    assert not lesson.problems, lesson.problems
    return lesson.blocks[0]


def facts_of(case: dict[str, Any]) -> dict[str, Callable[..., Any]]:
    return {
        name: value.__getitem__ if isinstance(value, dict) else partial(lambda x: x, value)
        for name, value in case["facts"].items()
    }


def key_of(case: dict[str, Any]) -> dict[str, Any]:
    """The key of a case, as a site has it."""
    block, facts = block_of(case), facts_of(case)
    try:
        key = answer_key(block, facts)
    except ExplorerError as error:
        key = {"problem": str(error)}
    if block.kind == "click":
        key |= click_key(block, facts, case["tokens"])
    key |= {"kind": block.kind, "choices": [inline(item.text) for item in block.items]}
    if block.kind == "find":
        key["graded_by"] = find_key(block, Offer())
    return json.loads(json.dumps(key))


@pytest.mark.parametrize("case", table("grading"), ids=lambda case: case["lesson"].partition("\n")[0])
def test_answers_are_graded(case: dict[str, Any]) -> None:
    assert key_of(case) == case["key"]
    block, facts = block_of(case), facts_of(case)
    for wanted in case["graded"]:
        try:
            found: Grade = grade(block, wanted["answer"], facts, wanted["attempt"])
        except ExplorerError as error:
            assert wanted.get("refused", "").removeprefix("Not on this checkpoint: ") == str(error)
            continue
        named = {
            "right": found.right,
            "done": found.done,
            "text": found.text,
            "shown": found.answer,
            "after": found.after,
        }
        criteria = {"criteria": list(found.criteria)} if found.criteria else {}
        assert {"answer": wanted["answer"], "attempt": wanted["attempt"]} | named | criteria == wanted


def write() -> None:
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = load(recipes.write(Path(folder) / "bert", "bert"), precision="fp32")
        tokens, strips = tokens_table(checkpoint.tokenizer), strips_table(checkpoint)
    graded = [{**case, "key": key_of(case)} for case in table("grading")]
    written = {"tokens": tokens, "tokenizers": tokenizers_table(), "strips": strips, "grading": graded}
    for name, found in written.items():
        indent = None if name == "tokenizers" else 1  # it is long
        (FOLDER / f"{name}.json").write_text(json.dumps(found, ensure_ascii=False, indent=indent) + "\n", "utf-8")


if __name__ == "__main__":
    write()

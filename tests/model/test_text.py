"""Text becomes pieces that know their characters, with notes about every change."""

import json

import pytest
import torch
import transformers
from hypothesis import HealthCheck, given, settings, strategies as st

from bertexplorer import engine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import MAX_CHARACTERS, Encoding, Span, Text, Tokenizer
from bertexplorer.training.answer_windows import frame
from bertexplorer.training.texts import LimitedTokenizer
from tests.tiny import write

KINDS = {"wordpiece": "bert", "roberta bytes": "roberta", "modern bytes": "modernbert", "unigram": "xlm-roberta"}
KINDS["albert"] = "albert"  # unigram, lower case
TEXTS = {
    "plain": "The capital of France is Paris.",
    "accents": "Café naïve ÀÉÎ",
    "combining": "Cafe\u0301 nai\u0308ve",
    "emoji": "a 🙂 cat 👩‍👩‍👧 sat",
    "CJK": "日本 is a 日",
    "RTL": "שלום عالم paris",
    "fullwidth": "ＰＡＲＩＳ１２",
    "spaces": "  the   cat\tsat\non  ",
    "markup": "<script>alert(1)</script> $$x$$ {{7*7}}",
    "digits": "12 345, 6.7!",
}


@pytest.fixture(scope="session", params=KINDS.values(), ids=KINDS.keys())
def tokenizer(request: pytest.FixtureRequest, tiny) -> Tokenizer:
    checkpoint = load(tiny(request.param), precision="fp32", device="cpu")
    assert checkpoint.tokenizer.kind in ("WordPiece", "BPE", "Unigram")
    return checkpoint.tokenizer


@pytest.fixture(scope="session")
def bert(tiny) -> Tokenizer:
    return load(tiny("bert"), precision="fp32", device="cpu").tokenizer


def check(encoding: Encoding) -> None:
    """Check the invariants of an encoding: equal lengths, spans inside their text and in order, segments by side."""
    columns = (encoding.tokens, encoding.original_ids, encoding.segments, encoding.spans, encoding.words)
    assert {len(column) for column in columns} == {len(encoding)} == {len(encoding.special)}
    for side in (0, 1):
        spans = [s for s in encoding.spans if s is not None and s.side == side]
        assert all(0 <= s.start <= s.end <= len(encoding.texts[side]) for s in spans)
        assert [s.start for s in spans] == sorted(s.start for s in spans)
    words = [w for w in encoding.words if w is not None]
    assert words == sorted(words)
    assert all((word is None) == (span is None) for word, span in zip(encoding.words, encoding.spans, strict=True))


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS.keys())
def test_spans_point_back_to_the_characters(tokenizer: Tokenizer, text: str) -> None:
    encoding = tokenizer.encode(text)
    check(encoding)
    covered = set()
    for span in filter(None, encoding.spans):
        piece = text[span.start : span.end]
        assert piece == piece.strip() or not piece.strip()
        covered |= set(range(span.start, span.end))
    visible = {i for i, c in enumerate(text) if not c.isspace() and c != "\u200d"}
    assert visible <= covered | {i for i, c in enumerate(text) if c in "\u0301\u0308"}  # WordPiece strips accents


def test_a_sentence_has_its_pieces(bert: Tokenizer) -> None:
    encoding = bert.encode("Unbelievable cats!")
    assert encoding.tokens == ("[CLS]", "un", "##believ", "##able", "cat", "##s", "!", "[SEP]")
    pieces: dict[int, list] = {}
    for token, word, span in zip(encoding.tokens, encoding.words, encoding.spans, strict=True):
        if word is not None:
            pieces.setdefault(word, []).append((token, encoding.texts[0][span.start : span.end]))
    assert list(pieces) == [0, 1, 2]
    assert "".join(text for _, text in pieces[0]) == "Unbelievable"
    assert pieces[1] == [("cat", "cat"), ("##s", "s")]
    assert pieces[2] == [("!", "!")]


def test_a_pair_has_two_sides(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode(Text("the cat sat", "a dog works"))
    check(encoding)
    sides = [span.side for span in encoding.spans if span]
    assert sides == sorted(sides)
    assert set(sides) == {0, 1}
    first, second = (
        {w for w, s in zip(encoding.words, encoding.spans, strict=True) if s and s.side == i} for i in (0, 1)
    )
    assert max(first) < min(second)
    assert encoding.texts == ("the cat sat", "a dog works")
    if tokenizer.kind == "WordPiece":
        assert encoding.segments == (0,) * (encoding.tokens.index("[SEP]") + 1) + (1,) * (1 + sides.count(1))


def test_only_hidden_spans_become_masks(tokenizer: Tokenizer) -> None:
    text = "the cat sat on the mat"
    plain, hidden = tokenizer.encode(text), tokenizer.encode(Text(text, hidden=(Span(0, 4, 7),)))
    assert hidden.original_ids == plain.ids
    assert not plain.masked
    covered = [i for i, s in enumerate(plain.spans) if s and s.start < 7 and s.end > 4]
    assert list(hidden.masked) == covered
    assert covered
    other = tokenizer.encode(Text(text, "the cat", hidden=(Span(1, 4, 7),)))
    assert {other.spans[i].side for i in other.masked} == {1}


def test_an_unknown_word_can_be_hidden_too(bert: Tokenizer) -> None:
    encoding = bert.encode(Text("the 漢 cat", hidden=(Span(0, 4, 5),)))
    assert encoding.tokens[2] == "[UNK]"
    assert encoding.masked == (2,)
    assert any("[UNK]: 漢" in note for note in encoding.notes)


@pytest.mark.parametrize("typed", ["[MASK]", "[mask]", "<mask>", "<MASK>", "___", "______"])
def test_every_spelling_of_the_mask_is_read(tokenizer: Tokenizer, typed: str) -> None:
    encoding = tokenizer.encode(f"the {typed} sat")
    assert len(encoding.masked) == 1
    assert not encoding.special[encoding.masked[0]]
    span = encoding.spans[encoding.masked[0]]
    assert encoding.texts[0][span.start : span.end] == tokenizer.mask_token
    assert not tokenizer.encode("snake_case and __ too").masked


def test_a_long_text_is_truncated_with_a_note(tokenizer: Tokenizer) -> None:
    encoding = tokenizer.encode("the cat sat on the mat . " * 40)
    check(encoding)
    assert len(encoding) == tokenizer.max_tokens
    whole = len(tokenizer.backend.encode("the cat sat on the mat . " * 40))
    assert encoding.left_out == whole - tokenizer.max_tokens > 0
    assert f"Shortened: {tokenizer.max_tokens} of {whole} tokens are read." in encoding.notes
    assert encoding.special[0]
    assert encoding.special[-1]
    pair = tokenizer.encode(Text("the cat " * 100, "a dog"))
    assert len(pair) == tokenizer.max_tokens
    assert {s.side for s in pair.spans if s} == {0, 1}


def test_typed_special_tokens_are_reported(tokenizer: Tokenizer) -> None:
    sep = tokenizer.special["sep"]
    encoding = tokenizer.encode(f"the cat {sep} a dog")
    assert any(sep in note and "special" in note for note in encoding.notes)
    assert set(encoding.segments) <= {0} or tokenizer.kind != "WordPiece"
    assert not tokenizer.encode("the cat").notes


@pytest.mark.parametrize("odd", ["\x00", "\ufeff", "\ud800", "\u200b", "\x1b"])
def test_invisible_characters_are_removed_and_reported(tokenizer: Tokenizer, odd: str) -> None:
    encoding = tokenizer.encode(f"the {odd}cat{odd} sat")
    assert encoding.ids == tokenizer.encode("the cat sat").ids
    assert encoding.texts[0] == "the cat sat"
    assert "2 invisible characters removed." in encoding.notes


@pytest.mark.parametrize(
    "text", ["", "   ", "\n\t", "\u200b\ufeff", "\x00\x07", "\ud800", "\u00ad", "\u200d", "\u3000"]
)
def test_an_empty_text_is_rejected(bert: Tokenizer, text: str) -> None:
    with pytest.raises(ExplorerError, match="Type a sentence"):
        bert.encode(text)
    with pytest.raises(ExplorerError, match="Type a sentence"):
        bert.encode(Text(text, "the cat"))


def test_a_million_characters_are_rejected_before_they_are_read(bert: Tokenizer) -> None:
    with pytest.raises(ExplorerError, match="1,000,000 characters; the limit is 20,000"):
        bert.encode("a" * 1_000_000)
    with pytest.raises(ExplorerError, match="20,001 characters"):
        bert.encode(Text("a", "b" * (MAX_CHARACTERS + 1)))
    bert.encode("a " * (MAX_CHARACTERS // 2))


@pytest.mark.parametrize("name", ["bert", "roberta", "modernbert", "xlm-roberta", "distilbert", "mini"])
def test_ids_are_those_of_transformers(tiny, bundled, name: str) -> None:
    folder = bundled if name == "mini" else tiny(name)
    ours = load(folder, precision="fp32", device="cpu").tokenizer
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in TEXTS.values():
        assert list(ours.encode(text).ids) == theirs(text)["input_ids"]
        pair = theirs(text, "a dog works")
        encoding = ours.encode(Text(text, "a dog works"))
        assert list(encoding.ids) == pair["input_ids"]
        assert list(encoding.segments) == pair.get("token_type_ids", list(encoding.segments))


def test_a_tokenizer_file_needs_neither_its_limits_nor_tokenizer_json(tiny_copy, bundled, tmp_path) -> None:
    folder = tiny_copy("bert")
    whole = load(folder, precision="fp32").tokenizer.backend
    whole.enable_truncation(8)
    whole.enable_padding(length=128)
    whole.save(str(folder / "tokenizer.json"))
    encoding = load(folder, precision="fp32").tokenizer.encode("the cat sat on the mat . " * 3)
    assert len(encoding) == 2 + 7 * 3
    assert encoding.left_out == 0
    for name in ("vocab.txt", "tokenizer_config.json", "config.json"):
        (tmp_path / name).write_bytes((bundled / name).read_bytes())
    text = "The capital of France is [MASK]."
    one, other = (Tokenizer.from_folder(f, max_tokens=64) for f in (bundled, tmp_path))
    assert one.encode(text) == other.encode(text)


@pytest.mark.parametrize(("name", "kind"), [("bert", "BertTokenizer"), ("roberta", "RobertaTokenizer")])
def test_a_missing_vocabulary_is_an_error(tiny_copy, name: str, kind: str) -> None:
    folder = tiny_copy(name)
    for config in ({"tokenizer_class": kind}, None):  # transformers answers with the special tokens alone
        (folder / "tokenizer.json").unlink(missing_ok=True)
        (folder / "tokenizer_config.json").unlink(missing_ok=True)
        if config:
            (folder / "tokenizer_config.json").write_text(json.dumps(config))
        with pytest.raises(ExplorerError, match="cannot be read .*no vocabulary"):
            load(folder, precision="fp32")


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(first=st.text(max_size=60), second=st.text(max_size=20), start=st.integers(-3, 70), size=st.integers(-3, 70))
def test_any_text_is_encoded_or_rejected(tokenizer: Tokenizer, first: str, second: str, start: int, size: int) -> None:
    try:
        encoding = tokenizer.encode(Text(first, second, hidden=(Span(0, start, start + size),)))
    except ExplorerError:
        return
    check(encoding)
    assert len(encoding) <= tokenizer.max_tokens
    assert all(0 <= i < tokenizer.vocab_size for i in encoding.ids)
    torch.tensor(encoding.ids)


@pytest.mark.parametrize("texts", [("the cat " * 20,), ("the cat " * 9, "a dog " * 4), ("the cat " * 30, "a dog")])
def test_the_tokens_beyond_a_limit_are_counted_once(tokenizer: Tokenizer, texts: tuple[str, ...]) -> None:
    (item,) = LimitedTokenizer(tokenizer, 16).items([texts])
    assert len(item.ids) == 16 and item.left_out == len(tokenizer.backend.encode(*texts)) - 16 > 0


def test_a_pair_requires_segments_of_the_checkpoint(tiny_copy, tmp_path) -> None:
    """transformers raises an IndexError there; RoBERTa has one segment too, and its tokenizer uses no other."""
    checkpoint = load(write(tmp_path / "one", "bert", type_vocab_size=1), precision="fp32", device="cpu")
    assert engine.hidden_states(checkpoint, checkpoint.tokenizer.encode("a great movie")).isfinite().all()
    message = "reads one text at a time: its config.json says type_vocab_size 1, and a pair takes 2 segments. Remove"
    with pytest.raises(ExplorerError, match=message):
        checkpoint.tokenizer.encode(Text("a great movie", "a terrible movie"))
    with pytest.raises(ExplorerError, match=message):
        LimitedTokenizer(checkpoint.tokenizer, 32).items([("a great movie", "a terrible movie")])
    with pytest.raises(ExplorerError, match=message):
        frame(checkpoint.tokenizer)
    for name in ("bert", "roberta", "distilbert"):
        other = load(tiny_copy(name), precision="fp32", device="cpu")
        encoding = other.tokenizer.encode(Text("a great movie", "a terrible movie"))
        assert engine.hidden_states(other, encoding).isfinite().all()

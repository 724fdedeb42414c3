"""Word occurrences are located in the text and mapped to the right pieces, for every kind of tokenizer."""

import pytest

from bertexplorer.answers.word_occurrences import MAX_SENTENCES, Occurrences, find_occurrences, parse_sentences
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import TOKENS, Span, Text
from tests.conftest import Tiny

FAMILIES = ("bert", "roberta", "xlm-roberta", "electra-discriminator", "distilbert", "modernbert")


def said(found: Occurrences) -> list[tuple[int, str]]:
    return [(o.encoding_index, o.sentence[o.start : o.end]) for o in found.occurrences]


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pieces_of_an_occurrence_spell_the_word(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    result = find_occurrences(
        checkpoint, "the unbelievable bank, bank.", "bank, unbelievable", "a riverbank | banks | no bank!"
    )
    assert said(result) == [(0, "unbelievable"), (0, "bank"), (0, "bank"), (1, "bank")]
    for o in result.occurrences:
        encoding = result.encodings[o.encoding_index]
        spans = [encoding.spans[i] for i in o.positions]
        assert spans[0].start <= o.start and spans[-1].end >= o.end and list(o.positions) == sorted(o.positions)
        outside = [s for i, s in enumerate(encoding.spans) if s is not None and i not in o.positions]
        assert all(s.end <= o.start or s.start >= o.end for s in outside)
    assert result.lacking == 2 and result.beyond == 0


def test_case_matters_if_the_tokenizer_keeps_it(tiny: Tiny, mini: Checkpoint) -> None:
    assert len(find_occurrences(mini, "Bank and bank and BANK.", "bank").occurrences) == 3
    cased = load(tiny("roberta"), precision="fp32", device="cpu")
    assert said(find_occurrences(cased, "Bank and bank and BANK.", "bank")) == [(0, "bank")]


def test_a_picked_token_selects_its_word(mini: Checkpoint) -> None:
    text = "An unbelievable bank is a bank."
    assert find_occurrences(mini, Text(text, picked=(Span(0, 17, 18),)), "").words == ("bank",)
    assert find_occurrences(mini, Text(text, picked=(Span(0, 5, 6), Span(0, 16, 20))), "").words == (
        "unbelievable",
        "bank",
    )
    assert find_occurrences(mini, Text(text, picked=(Span(0, 30, 31),)), "").words == (".",)
    assert find_occurrences(mini, Text("a [MASK] b", picked=(Span(0, 2, 8),)), "").words == ("[MASK]",)
    with pytest.raises(ExplorerError, match=r"\[CLS\] is picked, but it is not a word"):
        find_occurrences(mini, Text(text, picked=(Span(TOKENS, 0, 1),)), "")


def test_the_default_is_a_word_that_occurs_repeatedly_or_a_long_one(mini: Checkpoint) -> None:
    assert find_occurrences(mini, "The bank lent and the bank took.", "").words == ("bank",)
    assert find_occurrences(mini, "The money is there.", "", "It is money. | Where is it?").words == ("money",)
    assert find_occurrences(mini, "The happy farmers sing.", "").words == ("farmers",)
    assert find_occurrences(mini, "it is", "").occurrences
    with pytest.raises(ExplorerError, match="has no word"):
        find_occurrences(mini, "!?", "")


def test_labels_precede_their_sentences() -> None:
    result = list(
        parse_sentences(
            "river: We sat there.|\n no label \r\n river bank: a: b | http://x | x:y | One two three: no | a:"
        )
    )
    assert result == [
        ("river", "We sat there."),
        ("", "no label"),
        ("river bank", "a: b"),
        ("", "http://x"),
        ("", "x:y"),
        ("", "One two three: no"),
        ("", "a:"),
    ]
    with pytest.raises(ExplorerError, match=f"101 sentences.*{MAX_SENTENCES}"):
        list(parse_sentences("a|" * 101))


def test_built_in_sentences_are_added(mini: Checkpoint) -> None:
    result = find_occurrences(mini, "The capital of France is [MASK].", "", least=2)
    assert result.words == ("capital",) and [o.source for o in result.occurrences] == ["text", "built-in", "built-in"]
    assert result.lacking == 0 and len(result.encodings) == 3
    own = find_occurrences(mini, "The bank and the bank.", "bank", least=2)
    assert [o.source for o in own.occurrences] == ["text", "text"]


@pytest.mark.parametrize(
    ("word", "sentences", "said"),
    [
        ("zebra", "", r"'zebra' does not occur in the text or the built-in sentences\. Choose"),
        ("zebra, ox", "a cat | a dog", r"'zebra' or 'ox' does not occur in any of the 3 sentences"),
        ("france", "a cat", r"'france' occurs once; at least 2 .*one per line"),
        ("</script><img src=x onerror=1>", "", "does not occur"),
        ("(((", "", "does not occur"),
        ("x" * 500_000, "", "500,000 characters was given; the limit is 200"),
    ],
)
def test_too_few_occurrences_are_reported(word: str, sentences: str, said: str, mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=said) as caught:
        find_occurrences(mini, "The capital of France.", word, sentences, least=2)
    assert len(str(caught.value)) < 400


def test_occurrences_beyond_the_limit_are_counted_and_those_of_a_pair_found(
    small: Checkpoint, mini: Checkpoint
) -> None:
    result = find_occurrences(small, "bank " + "a " * 100 + "bank", "bank")
    assert len(result.occurrences) == 1 and result.beyond == 1
    with pytest.raises(ExplorerError, match="1 more beyond the last token"):
        find_occurrences(small, "a " * 100 + "bank", "bank")
    result = find_occurrences(mini, Text("The bank is open.", "A bank!", (Span(1, 2, 6),)), "bank")
    assert [(o.sentence, o.hidden) for o in result.occurrences] == [("The bank is open.", False), ("A bank!", True)]


@pytest.mark.parametrize(
    "text", ["银行在河边的银行", "\u202eالبنك في البنك\u202c", "\ud800bank bank", "<img src=x> bank"]
)
def test_occurrences_in_odd_scripts_are_found(text: str, mini: Checkpoint) -> None:
    word = {"银": "银行", "\u202e": "البنك"}.get(text[0], "bank")
    assert len(find_occurrences(mini, text, word).occurrences) >= 1


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_a_typed_mask_is_no_occurrence_of_the_word(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    result = find_occurrences(checkpoint, "the mask before the [MASK] .", "mask", "a mask")
    assert said(result) == [(0, "mask"), (1, "mask")] and not any(o.hidden for o in result.occurrences)
    assert find_occurrences(checkpoint, "the [MASK] doctor .", "").words == ("doctor",)
